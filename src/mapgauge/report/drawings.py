"""Which frames are drawn, and what is drawn of them: instances as they were compared, and who was assigned to whom."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.frames.map_frames import MapFrames
from mapgauge.protocols import Protocol
from mapgauge.report.pack import steps
from mapgauge.report.scalars import frame_pld
from mapgauge.results.assignment import Match
from mapgauge.results.results import Results
from mapgauge.scoring.score import group

KINDS = ("worst", "best", "median", "random")
CENTIMETRES = 100  # per metre: what a drawing needs

Arrays = dict[str, NDArray[Any]]


def choose(results: Results, count: int, seed: int = 0) -> dict[int, str]:
    """The frames to draw and why: a quarter each of the worst, the best, the median and random ones, by PLD.

    All frames if there are no more than ``count``; random ones if there is no PLD.
    """
    total = len(results.tokens)
    if count >= total:
        return dict.fromkeys(range(total), "all")
    rng = np.random.default_rng(seed)
    values = frame_pld(results)
    if values is None:
        return dict.fromkeys(sorted(rng.choice(total, count, replace=False).tolist()), "random")
    worst, best, median, random = (count // 4 + (k < count % 4) for k in range(4))
    order = np.argsort(-values, kind="stable")
    rest = order[worst : total - best]
    start = (len(rest) - median) // 2
    others = np.concatenate([rest[:start], rest[start + median :]])
    chosen = (
        order[:worst],
        order[total - best :],
        rest[start : start + median],
        rng.choice(others, random, replace=False),
    )
    kinds = {frame: kind for kind, frames in zip(KINDS, chosen, strict=True) for frame in frames.tolist()}
    return dict(sorted(kinds.items()))


def drawings(results: Results, frames: list[int]) -> Arrays:
    """The geometry of some frames of one method, as columns. The results must have their data."""
    if results.data is None:
        return {}
    sides: tuple[list[_Shapes], list[_Shapes]] = ([], [])
    matches: list[list[Match]] = []
    for frame in frames:
        token = results.tokens[frame]
        place = results.data[1].index[token]
        x, y = (side.between(slice(place, place + 1)) for side in results.data)
        shapes = _shapes(x, y, results.protocol)
        sides[0].append(shapes[0])
        sides[1].append(shapes[1])
        matches.append(results.assignment(token).matches if results.protocol.cutoffs else [])
    found: Arrays = {}
    for name, side in zip(("predictions", "truth"), sides, strict=True):
        found |= {f"{name}.{key}": column for key, column in _columns(side).items()}
    return found | {
        f"matches.{key}": column for key, column in _match_columns(matches, *sides, results.protocol).items()
    }


@dataclass
class _Shapes:
    """Instances of one side of one frame, class by class."""

    lines: list[NDArray[np.float64]] = field(default_factory=list)
    label: list[int] = field(default_factory=list)
    closed: list[bool] = field(default_factory=list)
    confidence: list[float] = field(default_factory=list)


def _shapes(predictions: MapFrames, truth: MapFrames, protocol: Protocol) -> tuple[_Shapes, _Shapes]:
    """Both sides of one frame in the order of an ``Assignment``, which does not say what is closed."""
    groups = group(predictions, truth, protocol)
    offsets, repeats = groups.polylines.offsets.tolist(), groups.repeats.tolist()
    sides = (_Shapes(), _Shapes())
    for label, (begin, split, end) in enumerate(groups.bounds.tolist()):
        for side, rows in zip(sides, (range(begin, split), range(split, end)), strict=True):
            side.lines += [groups.polylines.coords[offsets[i] : offsets[i + 1] - repeats[i]] for i in rows]
            side.label += [label] * len(rows)
            side.closed += groups.closed[rows.start : rows.stop].tolist()
            side.confidence += groups.confidence[rows.start : rows.stop].tolist()
    return sides


def _columns(frames: list[_Shapes]) -> Arrays:
    lines = [line for shapes in frames for line in shapes.lines]
    offsets = _offsets([len(line) for line in lines])
    coords = np.concatenate([np.empty((0, 2)), *(line[:, :2] for line in lines)]) * CENTIMETRES
    largest = float(np.abs(coords).max(initial=0.0))
    kind = np.int16 if largest < np.iinfo(np.int16).max else np.int32
    bound = np.iinfo(kind).max
    return {
        "frames": _offsets([len(shapes.lines) for shapes in frames]).astype(np.int32),
        "label": np.array([label for shapes in frames for label in shapes.label], np.int32),
        "closed": np.array([closed for shapes in frames for closed in shapes.closed], np.uint8),
        "confidence": np.array([value for shapes in frames for value in shapes.confidence], np.float32),
        "points": offsets.astype(np.int32),
        "coords": steps(np.rint(coords).clip(-bound, bound).astype(kind), offsets),
    }


def _match_columns(
    frames: list[list[Match]], predictions: list[_Shapes], truth: list[_Shapes], protocol: Protocol
) -> Arrays:
    matches = [match for found in frames for match in found]
    costs = [
        _costs(match, x, y, protocol) for found, x, y in zip(frames, predictions, truth, strict=True) for match in found
    ]
    offsets = _offsets([len(match.pairs) for match in matches])
    pairs = np.concatenate([np.empty((0, 2), np.int64), *(match.pairs for match in matches)])
    return {
        "frames": _offsets([len(found) for found in frames]).astype(np.int32),
        "prediction": np.array([match.prediction for match in matches], np.int32),
        "truth": np.array([match.truth for match in matches], np.int32),
        "distance": np.array([match.distance for match in matches], np.float32),
        "costs": np.array(costs, np.float32).reshape(-1, 3),
        "points": offsets.astype(np.int32),
        "pairs": steps(pairs.astype(np.int32), offsets),
    }


def _costs(match: Match, predictions: _Shapes, truth: _Shapes, protocol: Protocol) -> tuple[float, float, float]:
    """What a match adds to the parts of its class, unnormalised: matched points, unmatched points, confidence."""
    order, cutoff = protocol.order, protocol.cutoffs[0]
    x, y = predictions.lines[match.prediction], truth.lines[match.truth]
    r, s = predictions.confidence[match.prediction], truth.confidence[match.truth]
    gaps = x[match.pairs[:, 0]] - y[match.pairs[:, 1]]
    matched = float((np.sqrt(np.square(gaps).sum(axis=1)) ** order).sum())
    total = matched + cutoff**order / 2 * (len(x) + len(y) - 2 * len(match.pairs))
    weighted = min(r, s) * match.distance**order
    share = matched / total if total > 0 else 0.0
    return weighted * share, weighted * (1 - share), abs(r - s) / 2


def _offsets(sizes: list[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.array(sizes, np.int64)]).cumsum()
