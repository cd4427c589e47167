"""Packs the instances and assignments of the frames that the page can draw."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.checks.context import extent_of
from mapgauge.frames.instances import Instance
from mapgauge.frames.links import LINK_STATES, FrameLink
from mapgauge.metrics.groups import Block
from mapgauge.metrics.pld import PLD, pld_value
from mapgauge.results.assignment import Assignment, match_frames
from mapgauge.results.results import Results
from mapgauge.scoring.data import Data
from mapgauge.typing import Flags, Indices, Points
from mapgauge.views.report.drawn_block import DrawnBlock, DrawnMatches, DrawnSide, drawn_block
from mapgauge.views.report.pack import Arrays, steps

CENTIMETRES = 100  # per metre; this precision is enough for a drawing


def is_map(results: Results) -> bool:
    """Whether the truth is a map, in world coordinates or by its protocol. False if the results lack their data."""
    if results.geometry is None:
        return False
    return not results.protocol.has_ego or is_map_data(results.geometry)


def is_map_data(data: Data) -> bool:
    """Whether the truth of frames is a map, in world coordinates or by their protocol."""
    if not data.protocol.has_ego:
        return True
    extent = extent_of(data.all_sides[1])
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

    def work(block: Block) -> tuple[DrawnBlock, Arrays]:
        drawn = drawn_block(block, protocol, cutoff, centred=centred, least=least)
        for _ in block.sides[1].tokens:
            advance()
        return drawn, more(block) if more is not None else {}

    blocks = results.need_data().in_blocks(work, known=results.scores)
    drawn = [block for block, _ in blocks]
    kept = np.concatenate([block.kept for block in drawn])
    classes = results.need_data().sides[1].classes
    labels = {name: label for label, name in enumerate(results.class_names)}
    label_of = np.array([labels[name] for name in classes], np.int32)
    arrays: Arrays = {}
    for side in ("predictions", "truth"):
        columns = _line_columns([getattr(block, side) for block in drawn], label_of)
        arrays |= {f"{side}.{key}": column for key, column in columns.items()}
    ignored = [lines for block in drawn for lines in block.ignored]
    if any(ignored):
        arrays |= {f"ignored.{key}": column for key, column in _ignored_columns(ignored, labels).items()}
    if cutoff is not None:
        arrays["predictions.far"] = np.concatenate([block.levels for block in drawn])
    arrays |= {f"matches.{key}": column for key, column in _match_columns([block.matches for block in drawn]).items()}
    links = [links for block in drawn for links in block.links]
    arrays |= {f"links.{key}": column for key, column in _link_columns(links).items()}
    for name in blocks[0][1]:
        arrays[name] = np.concatenate([columns[name] for _, columns in blocks])
    return DrawnPredictions(arrays | {"scale": _scale(results)}, kept)


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


def _line_columns(lines: Sequence[DrawnSide], label_of: NDArray[np.int32]) -> Arrays:
    """Return the columns of the instances of one side of all frames. ``label_of`` has the number of each class."""
    joined = DrawnSide._make(np.concatenate(columns) for columns in zip(*lines, strict=True))
    offsets = _offsets(joined.sizes)
    return {
        "frames": _offsets(joined.frames).astype(np.int32),
        "label": label_of[joined.label],
        "closed": joined.closed.astype(np.uint8),
        "confidence": joined.confidence.astype(np.float32),
        "points": offsets.astype(np.int32),
        "coords": _packed_coords(joined.points, offsets),
    }


def _ignored_columns(frames: Sequence[Sequence[Instance]], labels: dict[str, int]) -> Arrays:
    """Return the columns of the ignored instances of all frames. They are few, and none was compared as closed."""
    lines = [line for of_frame in frames for line in of_frame]
    offsets = _offsets([len(line.points) for line in lines])
    return {
        "frames": _offsets([len(of_frame) for of_frame in frames]).astype(np.int32),
        "label": np.array([labels[line.class_name] for line in lines], np.int32),
        "closed": np.zeros(0, np.uint8),
        "confidence": np.array([1.0 if line.confidence is None else line.confidence for line in lines], np.float32),
        "points": offsets.astype(np.int32),
        "coords": _packed_coords(np.concatenate([line.points for line in lines]), offsets),
    }


def _packed_coords(points: Points, offsets: Indices) -> NDArray[np.signedinteger[Any]]:
    """Return points in centimetres, as ``steps`` of the smallest type that holds them."""
    coords = points * CENTIMETRES
    kind: type[np.signedinteger[Any]] = np.int16
    if np.abs(coords).max(initial=0.0) >= np.iinfo(np.int16).max:
        kind = np.int32
    bound = np.iinfo(kind).max
    return steps(np.rint(coords).clip(-bound, bound).astype(kind), offsets)


def _match_columns(matches: Sequence[DrawnMatches]) -> Arrays:
    joined = DrawnMatches._make(np.concatenate(columns) for columns in zip(*matches, strict=True))
    offsets = _offsets(joined.sizes)
    return {
        "frames": _offsets(joined.frames).astype(np.int32),
        "prediction": joined.prediction.astype(np.int32),
        "truth": joined.truth.astype(np.int32),
        "distance": joined.distance.astype(np.float32),
        "costs": joined.costs.astype(np.float32),
        "points": offsets.astype(np.int32),
        "pairs": steps(joined.pairs.astype(np.int32), offsets),
    }


def _link_columns(frames: Sequence[Sequence[FrameLink]]) -> Arrays:
    links = [link for of_frame in frames for link in of_frame]
    kinds = {"predicted": np.uint8, "source": np.int32, "target": np.int32, "score": np.float32}
    return {
        "frames": _offsets([len(of_frame) for of_frame in frames]).astype(np.int32),
        "state": np.array([LINK_STATES.index(link.state) for link in links], np.uint8),
        **{name: np.array([getattr(link, name) for link in links], kind) for name, kind in kinds.items()},
    }


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


def _offsets(sizes: Sequence[int] | Indices) -> NDArray[np.int64]:
    return np.concatenate([[0], np.array(sizes, np.int64)]).cumsum()
