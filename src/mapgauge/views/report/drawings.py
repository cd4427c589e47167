"""Packs the instances and assignments of the frames that the page can draw."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.checks.context import extent_of
from mapgauge.frames.instances import Instance
from mapgauge.frames.links import LINK_STATES
from mapgauge.metrics.groups import Block
from mapgauge.metrics.pld import PLD, pld_value
from mapgauge.protocols import Protocol
from mapgauge.results.assignment import Assignment, Match, match_frames
from mapgauge.results.marks import levels_of_frames
from mapgauge.results.results import Results
from mapgauge.typing import Flags, Floats, Indices, Points
from mapgauge.views.report.pack import Arrays, steps

CENTIMETRES = 100  # per metre; this precision is enough for a drawing


def is_map(results: Results) -> bool:
    """Whether the truth is a map, in world coordinates or by its protocol. False if the results lack their data."""
    if not results.protocol.has_ego:
        return results.geometry is not None
    if results.geometry is None:
        extent = None
    else:
        extent = extent_of(results.geometry.all_sides[1])
    return extent is not None and extent.is_world


class DrawnPredictions(NamedTuple):
    """What is drawn of one method."""

    columns: Arrays
    kept: Flags  # which predictions of all frames are drawn


def drawings(
    results: Results,
    advance: Callable[[], None],
    *,
    centred: bool = False,
    least: float = 0.0,
    more: Callable[[Block], Arrays] | None = None,
) -> DrawnPredictions:
    """Return the geometry of all frames of one method as columns. The results must have their data.

    ``advance`` is called after each frame. With ``centred``, as for a map, the centre of every frame is the origin.
    Predictions with a confidence below ``least`` are left out unless they are matched or linked. ``more`` returns
    further columns of a block, of all its instances.
    """
    protocol = results.protocol
    if protocol.cutoffs:
        cutoff = protocol.cutoffs[0]
    else:
        cutoff = None

    def work(block: Block) -> tuple[list[tuple[Assignment, Flags]], Arrays]:
        drawn = []
        for frame in match_frames(block, protocol, cutoff):
            placed = _around_centre(frame) if centred else frame
            kept = _certain_or_matched(placed, least)
            drawn.append((_with_predictions(placed, kept), kept))
            advance()
        return drawn, more(block) if more is not None else {}

    blocks = results.need_data().in_blocks(work, known=results.scores)
    frames = [frame for drawn, _ in blocks for frame, _ in drawn]
    kept = np.concatenate([np.zeros(0, np.bool_), *(flags for drawn, _ in blocks for _, flags in drawn)])
    labels = {name: label for label, name in enumerate(results.class_names)}
    arrays: Arrays = {}
    sides = ["predictions", "truth"]
    if any(frame.ignored for frame in frames):
        sides.append("ignored")
    for side in sides:
        arrays |= {f"{side}.{key}": column for key, column in _columns(frames, side, labels).items()}
    if cutoff is not None:
        arrays["predictions.far"] = levels_of_frames(frames)
    arrays |= {f"matches.{key}": column for key, column in _match_columns(frames, protocol).items()}
    arrays |= {f"links.{key}": column for key, column in _link_columns(frames).items()}
    for name in blocks[0][1]:
        arrays[name] = np.concatenate([columns[name] for _, columns in blocks])
    return DrawnPredictions(arrays | {"scale": _scale(results)}, kept)


def _certain_or_matched(frame: Assignment, least: float) -> Flags:
    """Return which predictions are drawn.

    Most methods predict many lines with almost no confidence, and they are most of the size of a page. Predictions that
    are matched or linked stay, whatever their confidence, so that the truth is found or missed as before.
    """
    keep = np.array([line.confidence is None or line.confidence >= least for line in frame.predictions], np.bool_)
    for match in frame.matches:
        keep[match.prediction] = True
    for link in frame.links:
        if link.predicted:
            keep[[link.source, link.target]] = True
    return keep


def _with_predictions(frame: Assignment, kept: Flags) -> Assignment:
    """Return a frame with some of its predictions. All that are matched or linked must be among them."""
    if kept.all():
        return frame
    place = (kept.cumsum() - 1).tolist()
    rows = np.flatnonzero(kept).tolist()
    links = []
    for link in frame.links:
        if link.predicted:
            link = link._replace(source=place[link.source], target=place[link.target])
        links.append(link)
    return replace(
        frame,
        predictions=[frame.predictions[i] for i in rows],
        predictions_closed=[frame.predictions_closed[i] for i in rows],
        matches=[
            Match(match.class_name, place[match.prediction], match.truth, distance=match.distance, pairs=match.pairs)
            for match in frame.matches
        ],
        links=links,
    )


def truth_bounds(results: Results, *, centred: bool = False) -> list[float]:
    """Return what the truth of all frames spans in the drawings, in centimetres: left, right, bottom, top.

    The results must have their data. Without truth, the bounds are a unit square.
    """
    blocks = results.need_data().in_blocks(lambda block: match_frames(block, results.protocol, cutoff=None))
    lines = [np.zeros((0, 2))]
    for frame in (frame for block in blocks for frame in block):
        if centred:
            drawn = _around_centre(frame)
        else:
            drawn = frame
        turned = drawn.forward != "y"  # then x is forward, and y to the left
        lines += [line.points[:, 1::-1] * (-1, 1) if turned else line.points[:, :2] for line in drawn.truth]
    points = np.concatenate(lines) * CENTIMETRES
    if not len(points):
        return [-1.0, 1.0, -1.0, 1.0]
    left, bottom = points.min(axis=0).tolist()
    right, top = points.max(axis=0).tolist()
    return [left, right, bottom, top]


def _around_centre(frame: Assignment) -> Assignment:
    """Return a frame with its centre at the origin, and with y upwards unless an axis points forward."""
    lines = [line.points for line in frame.truth or frame.predictions if len(line.points)]
    if not lines:
        return frame
    points = np.concatenate(lines)
    centre = points.min(axis=0) / 2 + points.max(axis=0) / 2
    truth, predictions, ignored = (
        [line._replace(points=line.points - centre) for line in side]
        for side in (frame.truth, frame.predictions, frame.ignored)
    )
    return replace(frame, truth=truth, predictions=predictions, ignored=ignored, forward=frame.forward or "y")


def _columns(frames: list[Assignment], side: str, labels: dict[str, int]) -> Arrays:
    """Return the columns of the instances of one side of all frames. Ignored ones are as in the file."""
    instances: list[Instance] = []
    lines = []
    confidence = []
    for frame in frames:
        for instance in getattr(frame, side):
            instances.append(instance)
            lines.append(_with_x_forward(instance.points, frame.forward))
            confidence.append(_confidence_of(instance))
    offsets = _offsets([len(line) for line in lines])
    coords = np.concatenate([np.empty((0, 2)), *lines]) * CENTIMETRES
    kind: type[np.signedinteger[Any]] = np.int16
    if np.abs(coords).max(initial=0.0) >= np.iinfo(np.int16).max:
        kind = np.int32
    bound = np.iinfo(kind).max
    return {
        "frames": _offsets([len(getattr(frame, side)) for frame in frames]).astype(np.int32),
        "label": np.array([labels[instance.class_name] for instance in instances], np.int32),
        "closed": np.array([flag for frame in frames for flag in getattr(frame, f"{side}_closed", ())], np.uint8),
        "confidence": np.array(confidence, np.float32),
        "points": offsets.astype(np.int32),
        "coords": steps(np.rint(coords).clip(-bound, bound).astype(kind), offsets),
    }


def _confidence_of(instance: Instance) -> float:
    """Return the confidence of an instance; 1 for truth."""
    if instance.confidence is None:
        return 1.0
    return instance.confidence


def _with_x_forward(points: Floats, forward: str | None) -> Floats:
    """Return points with x forward and y to the left, so that the panels of all methods have the same axes."""
    if forward == "y":
        turned: Floats = points[:, 1::-1] * (1.0, -1.0)
        return turned
    return points[:, :2]


def _match_columns(frames: list[Assignment], protocol: Protocol) -> Arrays:
    matches = [match for frame in frames for match in frame.matches]
    offsets = _offsets([len(match.pairs) for match in matches])
    pairs = np.concatenate([np.empty((0, 2), np.int64), *(match.pairs for match in matches)])
    return {
        "frames": _offsets([len(frame.matches) for frame in frames]).astype(np.int32),
        "prediction": np.array([match.prediction for match in matches], np.int32),
        "truth": np.array([match.truth for match in matches], np.int32),
        "distance": np.array([match.distance for match in matches], np.float32),
        "costs": _costs(frames, pairs, offsets, protocol=protocol).astype(np.float32),
        "points": offsets.astype(np.int32),
        "pairs": steps(pairs.astype(np.int32), offsets),
    }


def _link_columns(frames: list[Assignment]) -> Arrays:
    links = [link for frame in frames for link in frame.links]
    kinds = {"predicted": np.uint8, "source": np.int32, "target": np.int32, "score": np.float32}
    return {
        "frames": _offsets([len(frame.links) for frame in frames]).astype(np.int32),
        "state": np.array([LINK_STATES.index(link.state) for link in links], np.uint8),
        **{name: np.array([getattr(link, name) for link in links], kind) for name, kind in kinds.items()},
    }


def _costs(frames: list[Assignment], pairs: Indices, offsets: Indices, *, protocol: Protocol) -> Floats:
    """Return the unnormalised costs of all matches: matched points, unmatched points, confidence; ``(matches, 3)``.

    Match ``k`` has the rows ``offsets[k]:offsets[k + 1]`` of ``pairs``.
    """
    matched = [(frame.predictions[match.prediction], frame.truth[match.truth]) for frame, match in _matches(frames)]
    if not matched:
        return np.zeros((0, 3))
    order = protocol.order
    cutoff = protocol.cutoffs[0]
    gaps = _points_at([x for x, _ in matched], pairs[:, 0], offsets)
    gaps = gaps - _points_at([y for _, y in matched], pairs[:, 1], offsets)
    count = np.diff(offsets)
    owner = np.repeat(np.arange(len(matched)), count)
    of_points = np.bincount(owner, np.sqrt(np.square(gaps).sum(axis=1)) ** order, len(matched))
    points = np.array([len(x.points) + len(y.points) for x, y in matched])
    total = of_points + cutoff**order / 2 * (points - 2 * count)
    share = np.divide(of_points, total, out=np.zeros(len(matched)), where=total > 0)
    r, s = np.array([[1.0 if line.confidence is None else line.confidence for line in pair] for pair in matched]).T
    distance = np.array([match.distance for _, match in _matches(frames)])
    weighted = np.minimum(r, s) * distance**order
    return np.stack([weighted * share, weighted * (1 - share), np.abs(r - s) / 2], axis=1)


def _matches(frames: list[Assignment]) -> list[tuple[Assignment, Match]]:
    return [(frame, match) for frame in frames for match in frame.matches]


def _points_at(lines: list[Instance], points: Indices, offsets: Indices) -> Points:
    """Return some points of each line: line ``k`` has the rows ``offsets[k]:offsets[k + 1]``."""
    first = _offsets([len(line.points) for line in lines])[:-1]
    chosen: Points = np.concatenate([line.points for line in lines])[np.repeat(first, np.diff(offsets)) + points]
    return chosen


def has_shares(results: Results) -> bool:
    """Whether the costs of a match add up to PLD: it was computed and splits into parts."""
    return PLD.name in results.metrics and results.protocol.order == 1


def _scale(results: Results) -> NDArray[np.float32]:
    """Return ``(frames, classes)`` factors from a cost to its share of the PLD of its class and frame (eq. 13).

    The factors are 1 if there are no such shares.
    """
    if not has_shares(results):
        return np.ones((len(results.tokens), len(results.class_names)), np.float32)
    sums = results.scores.sums[PLD.name][0]
    total = sums[..., 5] + pld_value(sums, 1.0)
    scale: NDArray[np.float32] = np.divide(2.0, total, out=np.zeros_like(total), where=total > 0).astype(np.float32)
    return scale


def least_drawn(methods: Sequence[Results]) -> float:
    """Return the confidence below which predictions are not drawn by default.

    It comes from all frames, so a frame has the same drawing in a report of a few frames, in ``view`` and in ``show``.
    """
    return max(least_confidence(method.scores.confidence, int(method.scores.true.sum())) for method in methods)


def least_confidence(confidence: NDArray[np.floating], true_count: int) -> float:
    """Return the confidence from which there are at most twice as many predictions as true lines, in steps of 0.01.

    Most methods predict many lines with almost no confidence. Together they hide the others in a drawing.

    >>> least_confidence(np.array([0.9, 0.8, 0.301, 0.1, 0.1]), 1)
    0.31
    """
    if not true_count or len(confidence) <= 2 * true_count:
        return 0.0  # without truth, predictions are all there is to see
    first_left_out = float(np.sort(confidence)[::-1][2 * true_count])
    return min(int(first_left_out * 100) + 1, 99) / 100


def _offsets(sizes: list[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.array(sizes, np.int64)]).cumsum()
