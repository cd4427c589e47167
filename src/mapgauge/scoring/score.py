"""Scores of a range of frames: the work that is spread over threads, processes and machines.

Everything of one frame is computed from that frame alone, and every row of the answer belongs to one frame. So however
the frames are cut into chunks, putting the rows together gives the same bits.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.buffering import buffers_meet
from mapgauge.geometry.polylines import Polylines
from mapgauge.geometry.resampling import resample_polylines
from mapgauge.protocols import Protocol
from mapgauge.typing import Confidences, Flags

if TYPE_CHECKING:
    from mapgauge.kernels.lines import Lines

_HITS = "hits/"
PARTS = 6  # five parts of PLD, and the mass

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scores:
    """Rows of some frames: one per frame and class, and one per prediction.

    Predictions are ordered by frame and class, and within those as in the file.
    """

    predicted: Indices  # (frames, classes): number of predictions
    true: Indices  # (frames, classes): number of true instances
    parts: Floats  # (cutoffs, frames, classes, 6): five parts of PLD and the mass, p-th powers
    ring_parts: Floats  # (rings, frames, classes, 6): the same at the first cutoff, of the points in each ring
    confidence: Confidences  # (predictions,)
    hits: dict[str, NDArray[np.uint16]]  # by metric: (predictions,), bit t says hit or not at the t-th threshold

    def arrays(self) -> dict[str, Any]:
        """All columns by name, as files hold them."""
        hits = {f"{_HITS}{name}": column for name, column in self.hits.items()}
        return hits | {name: getattr(self, name) for name in ("predicted", "true", "parts", "ring_parts", "confidence")}

    @classmethod
    def of_arrays(cls, arrays: dict[str, NDArray[Any]]) -> "Scores":
        """From what ``arrays`` gave."""
        hits = {name.removeprefix(_HITS): column for name, column in arrays.items() if name.startswith(_HITS)}
        return cls(**{name: column for name, column in arrays.items() if not name.startswith(_HITS)}, hits=hits)

    @classmethod
    def join(cls, chunks: list["Scores"]) -> "Scores":
        """Chunks of consecutive frames as one."""
        return cls(
            np.concatenate([chunk.predicted for chunk in chunks]),
            np.concatenate([chunk.true for chunk in chunks]),
            np.concatenate([chunk.parts for chunk in chunks], axis=1),
            np.concatenate([chunk.ring_parts for chunk in chunks], axis=1),
            np.concatenate([chunk.confidence for chunk in chunks]),
            {name: np.concatenate([chunk.hits[name] for chunk in chunks]) for name in chunks[0].hits},
        )


@dataclass(frozen=True, eq=False)
class Groups:
    """The polylines of a range of frames, group by group: one class of one frame, its predictions, then its truth."""

    polylines: Polylines
    bounds: Indices  # (groups, 3): first prediction, first truth, end
    confidence: Confidences
    closed: Flags
    repeats: Flags  # whether the last point repeats the first

    @cached_property
    def points(self) -> Floats:
        """``(dimension, points)``, as kernels take them."""
        return np.ascontiguousarray(self.polylines.coords.T)

    @cached_property
    def whole(self) -> "Lines":
        """The lines with their closing points, as Chamfer takes them."""
        return self._lines(np.zeros_like(self.repeats))

    @cached_property
    def lines(self) -> "Lines":
        """The lines without closing points, as SOSPA and Fréchet take them."""
        return self._lines(self.repeats)

    def _lines(self, drop: Flags) -> "Lines":
        start, stop = self.polylines.offsets[:-1], self.polylines.offsets[1:] - drop
        lines: Lines = kernels.lines.index_lines(self.points, start.astype(np.uint64), stop.astype(np.uint64))
        return lines

    @cached_property
    def part(self) -> Indices:
        """For each instance twice its group, plus one if it is truth."""
        return np.repeat(np.arange(2 * len(self.bounds)), np.diff(self.bounds, axis=1).ravel())

    @cached_property
    def by_confidence(self) -> Indices:
        """All instances: group by group, predictions before truth, from high confidence to low."""
        return np.lexsort((-self.confidence, self.part))

    @property
    def pairs(self) -> int:
        """Number of pairs of a prediction and a truth of the same group."""
        predicted, true = np.diff(self.bounds, axis=1).T
        return int(predicted @ true)


def group(predictions: MapFrames, truth: MapFrames, protocol: Protocol) -> Groups:
    """Frames that are aligned, resampled and sorted by frame, class and side."""
    x, y = (_resampled(side.polylines, protocol) for side in (predictions, truth))
    classes = len(truth.classes)
    key = [2 * (side.frame * classes + side.label) for side in (predictions, truth)]
    order = np.argsort(np.concatenate([key[0], key[1] + 1]), kind="stable")
    polylines = x.and_then(y).pick(order)
    counts = np.stack([np.bincount(k // 2, minlength=len(truth) * classes) for k in key], axis=1)
    ends = counts.sum(axis=1).cumsum()
    bounds = np.stack([ends - counts.sum(axis=1), ends - counts[:, 1], ends], axis=1)
    ones = [np.ones(len(s.polylines)) if s.confidence is None else s.confidence for s in (predictions, truth)]
    closed, repeats = polylines.closed(protocol.closed, protocol.closed_tolerance)
    return Groups(polylines, bounds, np.concatenate(ones)[order], closed, repeats)


def _resampled(polylines: Polylines, protocol: Protocol) -> Polylines:
    if protocol.spacing is None and protocol.count is None:
        return polylines
    return resample_polylines(polylines, spacing=protocol.spacing, count=protocol.count)


def score(
    predictions: MapFrames, truth: MapFrames, protocol: Protocol, metrics: tuple[str, ...], rings: tuple[float, ...]
) -> Scores:
    """All scores of frames that are aligned."""
    groups = group(predictions, truth, protocol)
    shape = (len(truth), len(truth.classes))
    counts = np.diff(groups.bounds, axis=1).reshape(*shape, 2)
    is_prediction = groups.part % 2 == 0
    hits = {name: _hits(groups, protocol, name)[is_prediction] for name in metrics if name in DISTANCES}
    cutoffs = protocol.cutoffs if "pld" in metrics else ()
    parts = np.zeros((len(cutoffs), shape[0] * shape[1], PARTS))
    for k, cutoff in enumerate(cutoffs):
        _pld(groups, protocol, cutoff, parts[k])
    ring_parts = np.zeros((max(len(rings) - 1, 0), shape[0] * shape[1], PARTS))
    for k in range(len(ring_parts) if cutoffs else 0):
        _pld(_ring(groups, rings[k], rings[k + 1]), protocol, cutoffs[0], ring_parts[k])
    return Scores(
        counts[..., 0],
        counts[..., 1],
        parts.reshape(len(cutoffs), *shape, PARTS),
        ring_parts.reshape(-1, *shape, PARTS),
        groups.confidence[is_prediction],
        hits,
    )


def _hits(groups: Groups, protocol: Protocol, metric: str) -> NDArray[np.uint16]:
    """Which predictions hit, as bits; truth never does."""
    count = len(groups.confidence)
    thresholds = thresholds_of(protocol, metric)
    distance = DISTANCES[metric](groups, protocol, max(thresholds))
    hits = np.zeros(count, np.uint16)
    kernels.hits.hits_of_groups(
        *(groups.bounds, groups.by_confidence, distance, np.array(thresholds), protocol.strict),
        *(np.empty(count, np.int64), np.empty(count), np.empty(count, np.bool_), hits),
    )
    return hits


def _chamfer(groups: Groups, protocol: Protocol, limit: float) -> Floats:
    distance = np.empty(groups.pairs)
    factor, no_filter = _factor(groups, protocol), protocol.buffers is None
    kernels.chamfer.chamfer_pairs(groups.whole, groups.bounds, factor, limit, no_filter, distance)
    if protocol.buffers is not None:
        near = np.flatnonzero(distance <= limit)
        pairs = kernels.band.pairs_of_groups(groups.bounds)[near]
        distance[near[~buffers_meet(groups.polylines, pairs, protocol.buffers)]] = np.inf
    return distance


def _frechet(groups: Groups, protocol: Protocol, limit: float) -> Floats:
    factor = _factor(groups, protocol)
    distance = np.zeros(groups.pairs)
    if protocol.prefilter is not None:
        kernels.chamfer.chamfer_pairs(groups.whole, groups.bounds, factor, protocol.prefilter, False, distance)
        distance[distance >= protocol.prefilter] = np.inf
    kernels.frechet.frechet_pairs(
        groups.lines, groups.closed, groups.bounds, factor, protocol.directed, limit, distance
    )
    return distance


def _sospa(groups: Groups, protocol: Protocol, limit: float) -> Floats:
    distance = np.empty(groups.pairs)
    pairs = kernels.band.pairs_of_groups(groups.bounds)
    cutoff = protocol.cutoffs[0]
    kernels.sospa.normalised_pairs(
        groups.lines, groups.closed, pairs, protocol.directed, cutoff, protocol.order, distance
    )
    return distance


# What average precision can rest on: one function and one row each.
DISTANCES = {"ap_chamfer": _chamfer, "ap_frechet": _frechet, "ap_sospa": _sospa}
METRICS = ("pld", *DISTANCES)


def thresholds_of(protocol: Protocol, metric: str) -> tuple[float, ...]:
    """The thresholds of an average precision."""
    thresholds: tuple[float, ...] = getattr(protocol, metric.removeprefix("ap_"))
    return thresholds


def _factor(groups: Groups, protocol: Protocol) -> Floats:
    """By how much distances to each line shrink: OpenLane-V2 asks less of far truth, down to half at 100 m."""
    factor = np.ones(len(groups.confidence))
    if protocol.relaxed and len(factor):
        radius = np.sqrt(np.square(groups.polylines.coords).sum(axis=1))
        nearest = np.minimum.reduceat(np.append(radius, np.inf), groups.polylines.offsets[:-1])
        factor = np.maximum(0.5, 1 - 0.005 * nearest)
    return factor


def _pld(groups: Groups, protocol: Protocol, cutoff: float, out: Floats) -> None:
    kernels.pld.pld_of_groups(
        *(groups.lines, groups.closed, groups.confidence, groups.bounds),
        *(protocol.directed, cutoff, protocol.order, out),
    )


def _ring(groups: Groups, inner: float, outer: float) -> Groups:
    """Only the points at a range from the ego, closing points left out; a polyline without such points is not there."""
    offsets = groups.polylines.offsets
    radius = np.sqrt(np.square(groups.polylines.coords[:, :2]).sum(axis=1))
    inside = (radius >= inner) & (radius < outer)
    inside[offsets[1:][groups.repeats] - 1] = False
    sizes = np.add.reduceat(np.append(inside, False).astype(np.int64), offsets[:-1]) * (np.diff(offsets) > 0)
    there = sizes > 0
    whole = sizes == np.diff(offsets) - groups.repeats
    before = np.concatenate([[0], there.cumsum()])
    return Groups(
        Polylines(groups.polylines.coords[inside], np.concatenate([[0], sizes[there]]).cumsum()),
        before[groups.bounds],
        groups.confidence[there],
        (groups.closed & whole)[there],
        np.zeros(np.count_nonzero(there), np.bool_),
    )
