"""mAS, mean average stability, as its paper defines it (Shan et al., ICLR 2026), not as its public code computes it.

Predictions are assigned to the truth of each frame. Two lines of different frames that are assigned to the same true
track are a pair. Its stability is ``presence * (0.7 localisation + 0.3 shape)``:

- Presence is 1 if both confidences reach the threshold or both are below it, and 0.5 otherwise.
- The earlier line is moved into the later frame. Both lines are read as functions along the axis on which the later
  one is longer. Localisation is ``1 - mean |difference| / 15 m``, at least 0.
- Shape is ``1 - |difference of the mean turning angles| / pi``.

What the paper leaves open is decided here as follows. All pairs up to the largest interval count, not a random sample
of them. Lines are assigned by their Chamfer distances. A line that has several values at one place has their mean
there. Only places inside the region of both frames are compared. A missing line has the confidence 0. A pair with one
missing line has the presence alone. A pair without lines, or without a common place, is left out.
"""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.frames.groups import Groups
from mapgauge.geometry.cropping import check_region
from mapgauge.geometry.poses import check_poses
from mapgauge.metrics.metric import Metric, Setting, SumRows, Value
from mapgauge.protocols import Protocol
from mapgauge.typing import Bounds, Floats, Indices, Points

BETA = 15.0  # metres of mean difference at which localisation is 0
OMEGA = 0.7  # weight of localisation; shape has the rest
APPEARED = 0.5  # presence of a line that appears or disappears
PLACES = 20  # places at which two lines are compared

_COLUMNS = ("stability", "presence", "localisation", "shape", "pairs", "compared")


def _score(groups: Groups, protocol: Protocol, interval: int) -> Floats:
    """Return the sums over the pairs of each anchor frame and class of a scene."""
    sums = np.zeros((len(groups.bounds), len(_COLUMNS)))
    if groups.poses is None or groups.track is None:
        return sums
    poses = check_poses(groups.poses[groups.frame], len(groups.frame))
    region = None if protocol.region is None else check_region(protocol.region, groups.forward)
    found = assigned(groups)
    names = [_tracks(groups, g) for g in range(len(groups.bounds))]
    for label in np.unique(groups.label).tolist():
        places = np.flatnonzero(groups.label == label).tolist()
        for t, a in enumerate(places[: max(len(places) - interval, 0)]):
            rows = []
            for b in places[t + 1 : t + 1 + interval]:
                motion = np.linalg.inv(poses[b]) @ poses[a]
                shared = [(row, names[b][name]) for name, row in names[a].items() if name in names[b]]
                pairs = [(int(found[i]), int(found[j])) for i, j in shared]
                rows += [_pair(groups, pair, motion, region, protocol.presence) for pair in pairs]
            # Each sum is rounded once, so the order of instances has no effect.
            sums[a] = [math.fsum(column) for column in zip(*rows, strict=True)] or 0.0
    return sums


def _tracks(groups: Groups, group: int) -> dict[tuple[str, int], int]:
    """Return the true instances of a group by track. Several of one track are numbered in the order of the file."""
    seen: Counter[str] = Counter()
    found = {}
    for row in range(*groups.bounds[group, 1:].tolist()):
        name = "" if groups.track is None else str(groups.track[row])
        if name:
            found[name, seen[name]] = row
            seen[name] += 1
    return found


def assigned(groups: Groups) -> Indices:
    """Return the prediction that is assigned to each true instance by Chamfer distance; -1 for none."""
    distance = np.empty(groups.pairs)
    ones = np.ones(len(groups.confidence))
    kernels.chamfer.chamfer_pairs(groups.whole, groups.bounds, ones, np.inf, False, distance)
    found = np.full(len(groups.confidence), -1)
    at = 0
    for first, true, end in groups.bounds.tolist():
        shape = true - first, end - true
        cost = distance[at : at + shape[0] * shape[1]].reshape(shape)
        at += cost.size
        if not cost.size:
            continue
        if shape[0] <= shape[1]:
            columns, _ = kernels.assignment.cheapest_columns(np.ascontiguousarray(cost))
            found[true + columns] = first + np.arange(shape[0])
        else:
            rows, _ = kernels.assignment.cheapest_columns(np.ascontiguousarray(cost.T))
            found[true + np.arange(shape[1])] = first + rows
    return found


def _pair(
    groups: Groups, pair: tuple[int, int], motion: NDArray[np.float64], region: Bounds | None, threshold: float
) -> tuple[float, ...]:
    """Return the row of a pair of an earlier and a later prediction, -1 for a missing one."""
    if max(pair) < 0:
        return (0.0,) * len(_COLUMNS)
    sure = [k >= 0 and bool(groups.confidence[k] >= threshold) for k in pair]
    presence = 1.0 if sure[0] == sure[1] else APPEARED
    if min(pair) < 0:
        return presence, presence, 0.0, 0.0, 1.0, 0.0
    earlier, later = (groups.polylines[k][:, :2] for k in pair)
    moved = earlier @ motion[:2, :2].T + motion[:2, 3]
    both = profiles(moved, later, motion, region)
    if both is None:
        return (0.0,) * len(_COLUMNS)
    at, heights = both
    localisation = max(0.0, 1 - float(np.abs(heights[1] - heights[0]).mean()) / BETA)
    angles = [_turning(at, height) for height in heights]
    shape = 1 - abs(angles[1] - angles[0]) / math.pi
    return presence * (OMEGA * localisation + (1 - OMEGA) * shape), presence, localisation, shape, 1.0, 1.0


def profiles(
    earlier: Points, later: Points, motion: NDArray[np.float64], region: Bounds | None
) -> tuple[Floats, Floats] | None:
    """Return two lines as functions along an axis, at places that both have; None if there are none.

    Args:
        earlier: The earlier line, in the later frame.
        later: The later line.
        motion: The motion from the earlier frame to the later one.
        region: The region of each frame.

    Returns:
        The places along the axis, and the values of both lines ``(2, places)``.
    """
    axis = int(np.argmax(np.ptp(later, axis=0)))
    low = max(line[:, axis].min() for line in (earlier, later))
    high = min(line[:, axis].max() for line in (earlier, later))
    if not low < high:
        return None
    at = low + (np.arange(PLACES) + 0.5) / PLACES * (high - low)
    heights = np.stack([_heights(line, axis, at, motion, region) for line in (earlier, later)])
    there = np.isfinite(heights).all(axis=0)
    return (at[there], heights[:, there]) if there.any() else None


def _heights(line: Points, axis: int, at: Floats, motion: NDArray[np.float64], region: Bounds | None) -> Floats:
    """Return the mean value of a line at each place, over its points there inside both regions; NaN without any."""
    start, end = line[:-1], line[1:]
    u, v = start[:, axis, None], end[:, axis, None]
    crosses = ((u <= at) & (at < v)) | ((v <= at) & (at < u))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (at - u) / (v - u)
        value = start[:, 1 - axis, None] + share * (end[:, 1 - axis] - start[:, 1 - axis])[:, None]
        if region is not None:
            points = np.stack(np.broadcast_arrays(at, value)[:: 1 if axis == 0 else -1], axis=-1)
            for seen in _in_both(points, motion):
                crosses &= ((seen >= region[:2]) & (seen <= region[2:])).all(axis=-1)
        number = crosses.sum(axis=0)
        return np.asarray(np.where(crosses, value, 0.0).sum(axis=0) / np.where(number, number, np.nan))


def _in_both(points: Points, motion: NDArray[np.float64]) -> Iterator[Points]:
    """Yield points of the later frame in the later and in the earlier frame."""
    yield points
    yield (points - motion[:2, 3]) @ motion[:2, :2]


def _turning(at: Floats, height: Floats) -> float:
    """Return the mean turning angle of a function, in radians; 0 for fewer than three places."""
    if len(at) < 3:
        return 0.0
    angle = np.arctan(np.diff(height) / np.diff(at))
    return float(np.abs(np.diff(angle)).mean())


def _values(sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return the means over pairs; NaN without pairs."""
    number = {"stability": 4, "presence": 4, "localisation": 5, "shape": 5}
    keys = {"stability": "mas", "presence": "mas_presence", "localisation": "mas_localisation", "shape": "mas_shape"}
    with np.errstate(divide="ignore", invalid="ignore"):
        return {keys[name]: sums[..., k] / sums[..., number[name]] for k, name in enumerate(keys)}


MAS = Metric(
    name="mas",
    title="mAS (paper)",
    symbol="AS",
    lower_is_better=False,
    values=(
        Value("mas", "", "mAS", "main"),
        Value("mas_presence", "presence", "presence", "headline"),
        Value("mas_localisation", "localisation", "localisation", "headline"),
        Value("mas_shape", "shape", "shape", "headline"),
    ),
    rows=SumRows(_COLUMNS, _score, _values),
    setting=Setting("intervals", "interval", "frames"),
    level="scene",
    needs=frozenset({"confidences", "truth tracks", "poses"}),
    stated=lambda protocol: f"pairs up to {protocol.intervals[0]} frames apart, presence from {protocol.presence:g}",
    limits=(0.0, 1.0),
)
