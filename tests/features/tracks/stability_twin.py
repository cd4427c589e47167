"""The slow twin of mAS: one pair of lines after the other, and all segments of a line at all places."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from tests.arrays import Floats, Points

import mapgauge as mg
from mapgauge.features.tracks.consistent_ap import APPEARED, BETA, OMEGA, PLACES, _tracks, assigned
from mapgauge.geometry.cropping import check_region
from mapgauge.plugin import Groups
from mapgauge.typing import Bounds


def slow_sums(groups: Groups, protocol: mg.Protocol, interval: int) -> Floats:
    """Return the sums over the pairs of each anchor frame and class of a scene."""
    sums = np.zeros((len(groups.bounds), 6))
    assert groups.poses is not None
    poses = groups.poses[groups.frame]
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
                rows += [_pair(groups, pair, motion, region, protocol.settings["mas"].presence) for pair in pairs]
            sums[a] = [math.fsum(column) for column in zip(*rows, strict=True)] or 0.0
    return sums


def _pair(
    groups: Groups, pair: tuple[int, int], motion: NDArray[np.float64], region: Bounds | None, threshold: float
) -> tuple[float, ...]:
    """Return the row of a pair of an earlier and a later prediction, -1 for a missing one."""
    if max(pair) < 0:
        return (0.0,) * 6
    sure = [k >= 0 and bool(groups.confidence[k] >= threshold) for k in pair]
    presence = 1.0 if sure[0] == sure[1] else APPEARED
    if min(pair) < 0:
        return presence, presence, 0.0, 0.0, 1.0, 0.0
    earlier, later = (groups.polylines[k][:, :2] for k in pair)
    moved = earlier @ motion[:2, :2].T + motion[:2, 3]
    both = profiles(moved, later, motion, region)
    if both is None:
        return (0.0,) * 6
    at, heights = both
    localisation = max(0.0, 1 - float(np.abs(heights[1] - heights[0]).mean()) / BETA)
    angles = [turning(at, height) for height in heights]
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


def turning(at: Floats, height: Floats) -> float:
    """Return the mean turning angle of a function, in radians; 0 for fewer than three places."""
    if len(at) < 3:
        return 0.0
    angle = np.arctan(np.diff(height) / np.diff(at))
    return float(np.abs(np.diff(angle)).mean())
