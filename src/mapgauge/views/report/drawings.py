"""Packs the instances and assignments of the frames that the page can draw."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.checks.context import extent_of
from mapgauge.frames.links import LINK_STATES
from mapgauge.metrics.groups import Block
from mapgauge.metrics.pld import PLD, pld_value
from mapgauge.protocols import Protocol
from mapgauge.results.assignment import Assignment, Match, match_frames
from mapgauge.results.marks import levels_of
from mapgauge.results.results import Results
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


def drawings(results: Results, advance: Callable[[], None], *, centred: bool = False) -> Arrays:
    """Return the geometry of all frames of one method as columns. The results must have their data.

    ``advance`` is called after each frame. With ``centred``, as for a map, the centre of every frame is the origin.
    """
    protocol = results.protocol
    if protocol.cutoffs:
        cutoff = protocol.cutoffs[0]
    else:
        cutoff = None

    def work(block: Block) -> list[Assignment]:
        drawn = []
        for frame in match_frames(block, protocol, cutoff):
            drawn.append(_around_centre(frame) if centred else frame)
            advance()
        return drawn

    blocks = results.need_data().in_blocks(work, known=results.scores)
    frames = [frame for block in blocks for frame in block]
    labels = {name: label for label, name in enumerate(results.class_names)}
    arrays: Arrays = {}
    for side in ("predictions", "truth", *(["ignored"] if any(frame.ignored for frame in frames) else [])):
        arrays |= {f"{side}.{key}": column for key, column in _columns(frames, side, labels).items()}
    if cutoff is not None:
        levels = [level for frame in frames for level in levels_of(frame)]
        arrays["predictions.far"] = np.concatenate([np.empty(0, np.uint8), *levels])
    arrays |= {f"matches.{key}": column for key, column in _match_columns(frames, protocol).items()}
    arrays |= {f"links.{key}": column for key, column in _link_columns(frames).items()}
    return arrays | {"scale": _scale(results)}


def truth_bounds(results: Results, *, centred: bool = False) -> list[float]:
    """Return what the truth of all frames spans in the drawings, in centimetres: left, right, bottom, top.

    The results must have their data. Without truth, the bounds are a unit square.
    """
    blocks = results.need_data().in_blocks(lambda block: match_frames(block, results.protocol, None))
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
    instances = [instance for frame in frames for instance in getattr(frame, side)]
    offsets = _offsets([len(instance.points) for instance in instances])
    lines = [  # with x forward and y to the left, so that the panels of all methods have the same axes
        instance.points[:, 1::-1] * (1.0, -1.0) if frame.forward == "y" else instance.points[:, :2]
        for frame in frames
        for instance in getattr(frame, side)
    ]
    coords = np.concatenate([np.empty((0, 2)), *lines]) * CENTIMETRES
    largest = float(np.abs(coords).max(initial=0.0))
    kind = np.int16 if largest < np.iinfo(np.int16).max else np.int32
    bound = np.iinfo(kind).max
    confidence = [1.0 if instance.confidence is None else instance.confidence for instance in instances]
    return {
        "frames": _offsets([len(getattr(frame, side)) for frame in frames]).astype(np.int32),
        "label": np.array([labels[instance.class_name] for instance in instances], np.int32),
        "closed": np.array([flag for frame in frames for flag in getattr(frame, f"{side}_closed", ())], np.uint8),
        "confidence": np.array(confidence, np.float32),
        "points": offsets.astype(np.int32),
        "coords": steps(np.rint(coords).clip(-bound, bound).astype(kind), offsets),
    }


def _match_columns(frames: list[Assignment], protocol: Protocol) -> Arrays:
    matches = [match for frame in frames for match in frame.matches]
    costs = [_costs(match, frame, protocol) for frame in frames for match in frame.matches]
    offsets = _offsets([len(match.pairs) for match in matches])
    pairs = np.concatenate([np.empty((0, 2), np.int64), *(match.pairs for match in matches)])
    return {
        "frames": _offsets([len(frame.matches) for frame in frames]).astype(np.int32),
        "prediction": np.array([match.prediction for match in matches], np.int32),
        "truth": np.array([match.truth for match in matches], np.int32),
        "distance": np.array([match.distance for match in matches], np.float32),
        "costs": np.array(costs, np.float32).reshape(-1, 3),
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


def _costs(match: Match, frame: Assignment, protocol: Protocol) -> tuple[float, float, float]:
    """Return the unnormalised costs of a match: matched points, unmatched points, confidence."""
    order = protocol.order
    cutoff = protocol.cutoffs[0]
    x = frame.predictions[match.prediction]
    y = frame.truth[match.truth]
    r, s = (1.0 if side.confidence is None else side.confidence for side in (x, y))
    gaps = x.points[match.pairs[:, 0]] - y.points[match.pairs[:, 1]]
    matched = float((np.sqrt(np.square(gaps).sum(axis=1)) ** order).sum())
    total = matched + cutoff**order / 2 * (len(x.points) + len(y.points) - 2 * len(match.pairs))
    weighted = min(r, s) * match.distance**order
    if total > 0:
        share = matched / total
    else:
        share = 0.0
    return weighted * share, weighted * (1 - share), abs(r - s) / 2


def without_faint(columns: Arrays, least: float) -> Arrays:
    """Return the columns of drawings without unmatched predictions whose confidence is below ``least``.

    Most methods predict many lines with almost no confidence, and they are most of the size of a page. Predictions that
    are matched or linked stay, whatever their confidence, so that the truth is found or missed as before. ``columns``
    may have the causes of the instances.
    """
    frames: NDArray[np.int64] = columns["predictions.frames"].astype(np.int64)
    keep = columns["predictions.confidence"] >= least
    owner = np.repeat(frames[:-1], _sizes(columns["matches.frames"]))
    keep[owner + columns["matches.prediction"]] = True
    linked = columns["links.predicted"] == 1
    of_link = np.repeat(frames[:-1], _sizes(columns["links.frames"]))
    for end in ("links.source", "links.target"):
        keep[(of_link + columns[end])[linked]] = True
    if keep.all():
        return columns
    before = np.concatenate([[0], keep.cumsum()])  # predictions that stay, in front of each
    lengths = _sizes(columns["predictions.points"])
    points = np.repeat(keep, lengths)
    shorter = dict(columns)
    shorter["predictions.frames"] = before[frames].astype(np.int32)
    for name in ("label", "closed", "confidence"):
        shorter[f"predictions.{name}"] = columns[f"predictions.{name}"][keep]
    shorter["predictions.points"] = _offsets(lengths[keep].tolist()).astype(np.int32)
    shorter["predictions.coords"] = columns["predictions.coords"].reshape(2, -1)[:, points]
    if "predictions.causes" in columns:
        costs = np.repeat(keep, columns["predictions.causes"])
        shorter["predictions.causes"] = columns["predictions.causes"][keep]
        shorter["predictions.cause"] = columns["predictions.cause"][costs]
        shorter["predictions.cost"] = columns["predictions.cost"][costs]

    def renumbered(numbers: NDArray[Any], first: NDArray[np.int64]) -> NDArray[np.int32]:
        after: NDArray[np.int32] = (before[first + numbers] - before[first]).astype(np.int32)
        return after

    shorter["matches.prediction"] = renumbered(columns["matches.prediction"], owner)
    for end in ("links.source", "links.target"):
        shorter[end] = np.where(linked, renumbered(np.where(linked, columns[end], 0), of_link), columns[end])
    return shorter


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


def _sizes(offsets: NDArray[Any]) -> NDArray[np.int64]:
    sizes: NDArray[np.int64] = offsets[1:].astype(np.int64) - offsets[:-1]
    return sizes


def _offsets(sizes: list[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.array(sizes, np.int64)]).cumsum()
