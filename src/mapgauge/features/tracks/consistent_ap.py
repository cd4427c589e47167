"""Scores of maps over time from the field: MapTracker's C-mAP, and mAS."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mapgauge import kernels
from mapgauge.arguments import check_confidence, check_whole
from mapgauge.frames.tracks import codes_of
from mapgauge.geometry.cropping import check_region
from mapgauge.geometry.polylines import Polylines, boxes_of, ranges
from mapgauge.geometry.poses import check_poses
from mapgauge.metrics.average_precision import ChamferSettings, chamfer_distances, matches_by
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import Bits, HitRows, Metric, Setting, SumRows, Value
from mapgauge.metrics.settings import Settings, setting, thresholds_of
from mapgauge.protocols import Protocol
from mapgauge.typing import Bounds, Flags, Floats, Indices, Points


def _score(groups: Groups, protocol: Protocol) -> Bits:
    """Return the consistent true positives of a scene, as bits, one per threshold."""
    own = protocol.settings["c_map"]
    hits, nearest = matches_by(chamfer_distances, groups, protocol, own=own)
    codes = track_codes(groups)
    # Groups without truth take no part. Otherwise their predictions could become the owner of "no match".
    with_truth = groups.bounds[:, 2] > groups.bounds[:, 1]
    rows = np.flatnonzero(groups.is_prediction & with_truth[groups.side // 2])
    scored = np.zeros(len(hits), np.uint16)
    for t in range(len(own.thresholds)):
        hit = (hits[rows] >> t) & 1 == 1
        # Codes of tracks are at least 0. Each class has its own code of "no match" below 0.
        match = np.where(hit, codes[nearest[rows]], -1 - groups.label[groups.side[rows] // 2])
        kept = hit & keeps_owner(groups.side[rows], codes[rows], match)
        scored[rows] |= kept.astype(np.uint16) << t
    return scored


def track_codes(groups: Groups) -> Indices:
    """Return a number for the class and the track of each instance. An instance without a track is a track of its own.

    Predictions and true instances are numbered together: a number says nothing across the sides.
    """
    count = len(groups.confidence)
    names = groups.column("track")
    code = np.where(names == "", count + np.arange(count), codes_of(names))
    codes: Indices = groups.label[groups.side // 2] * 2 * count + code
    return codes


def keeps_owner(frame: Indices, track: Indices, match: Indices) -> Flags:
    """Return which predictions have the id that owns what this id is matched to.

    Predictions are in the order of time, and within a frame in the order of the groups. ``frame`` numbers the frame and
    class of each. A match below 0 is none.

    >>> keeps_owner(np.array([0, 0, 1, 1]), np.array([5, 6, 6, 5]), np.array([1, 2, 1, -1])).tolist()
    [True, True, False, True]
    """
    count = track.max(initial=0) + 1
    entries, first, of = np.unique(frame * count + track, return_index=True, return_inverse=True)
    ids = entries % count
    last = np.zeros(len(ids), np.int64)
    np.maximum.at(last, of, np.arange(len(of)))
    matched = match[last]
    order = np.argsort(first)
    targets, owner = np.unique(matched[order], return_index=True)
    owners = ids[order][owner]
    kept: Flags = owners[np.searchsorted(targets, matched[of])] == track
    return kept


@dataclass(frozen=True, kw_only=True)
class ConsistentSettings(ChamferSettings):
    """Settings of C-mAP."""

    thresholds: tuple[float, ...] = thresholds_of((0.5, 1.0, 1.5), word="consistent")


C_MAP = Metric(
    name="c_map",
    title="C-mAP",
    symbol="C-AP",
    lower_is_better=False,
    values=(Value(key="c_map", part="", title="C-mAP", role="main"),),
    rows=HitRows(_score),
    setting=Setting("thresholds", "threshold"),
    settings_type=ConsistentSettings,
    level="scene",
    needs=frozenset({"confidences", "tracks"}),
    stated=lambda _: "MapTracker's rules, mean over thresholds in metres",
    limits=(0.0, 1.0),
    order=60,
)


PLACES = 20  # places at which two lines are compared
BLOCK = 256  # pairs that are compared together; they take some megabytes


class _PairLines(NamedTuple):
    """One line of each pair, in the coordinates of the later frame."""

    points: Points  # (points, 2), line by line
    start: Indices  # (lines,): the first point of each line
    sizes: Indices  # (lines,): the number of points of each line

    @classmethod
    def of(cls, polylines: Polylines, rows: Indices, motions: Floats | None = None) -> "_PairLines":
        """Pick lines, and move them."""
        sizes = np.diff(polylines.offsets)[rows]
        points = polylines.coords[ranges(polylines.offsets[rows], sizes), :2]
        if motions is not None:
            x, y = points.T
            turn = np.repeat(motions, sizes, axis=0)
            points = np.stack([x * row[:, 0] + y * row[:, 1] + row[:, 3] for row in (turn[:, 0], turn[:, 1])], axis=1)
        return cls(points, sizes.cumsum() - sizes, sizes)


def compare_lines(
    polylines: Polylines, pairs: Indices, motions: Floats, region: Bounds | None, *, size: int = BLOCK
) -> tuple[Floats, Floats, Flags]:
    """Return how far the lines of each pair are apart, and how much their mean turning angles differ.

    ``pairs`` has the earlier and the later line, ``motions`` the motion between their frames. Only places inside the
    region of both frames are compared. The numbers are the mean distance in metres, the difference of the mean turning
    angles in radians, and whether the lines have a common place; without one, the numbers are 0. ``size`` pairs are
    compared at once.
    """
    numbers = np.empty((2, len(pairs)))
    common = np.empty(len(pairs), np.bool_)
    for first in range(0, len(pairs), size):
        block = slice(first, first + size)
        numbers[:, block], common[block] = _compared(polylines, pairs[block], motions[block], region=region)
    return numbers[0], numbers[1], common


def _compared(polylines: Polylines, pairs: Indices, motions: Floats, region: Bounds | None) -> tuple[Floats, Flags]:
    earlier = _PairLines.of(polylines, pairs[:, 0], motions)
    later = _PairLines.of(polylines, pairs[:, 1])
    low, high = zip(*(boxes_of(line.points, line.start) for line in (earlier, later)), strict=True)
    axis = np.argmax(high[1] - low[1], axis=1)
    along = np.arange(len(pairs)), axis
    begin = np.maximum(low[0], low[1])[along]
    end = np.minimum(high[0], high[1])[along]
    at = begin[:, None] + (np.arange(PLACES) + 0.5) / PLACES * (end - begin)[:, None]
    heights = np.stack([_heights(line, axis, at, motions=motions, region=region) for line in (earlier, later)])
    # Nowhere if ``begin >= end``: a place that both lines have lies between them.
    common: Flags = np.isfinite(heights[0]) & np.isfinite(heights[1])
    numbers = np.zeros((2, len(pairs)))
    count = common.sum(axis=1)
    for places in np.unique(count[count > 0]).tolist():
        rows = np.flatnonzero(count == places)
        some = common[rows]
        x = at[rows][some].reshape(-1, places)
        values = heights[:, rows][:, some].reshape(2, -1, places)
        numbers[0, rows] = np.abs(values[1] - values[0]).mean(axis=1)
        if places > 2:
            angles = [np.arctan(np.diff(value) / np.diff(x)) for value in values]
            turning = [np.abs(np.diff(angle)).mean(axis=1) for angle in angles]  # the mean turning angle of each line
            numbers[1, rows] = np.abs(turning[1] - turning[0])
    return numbers, count > 0


def _heights(lines: _PairLines, axis: Indices, at: Floats, motions: Floats, region: Bounds | None) -> Floats:
    """Return the mean value of each line at each place, over its points there inside both regions; NaN without any."""
    line = np.repeat(np.arange(len(axis)), lines.sizes - 1)
    first = ranges(lines.start, lines.sizes - 1)
    u = lines.points[first, axis[line]]
    v = lines.points[first + 1, axis[line]]
    low = np.minimum(u, v)[:, None]
    high = np.maximum(u, v)[:, None]
    places = at[line]
    segment, place = np.nonzero((low <= places) & (places < high))
    # Few places lie on a segment, so everything else is computed for these only.
    line = line[segment]
    first = first[segment]
    along = places[segment, place]
    across = 1 - axis[line]
    share = (along - u[segment]) / (v - u)[segment]
    start = lines.points[first, across]
    end = lines.points[first + 1, across]
    value = start + share * (end - start)
    if region is not None:
        x = np.where(across == 1, along, value)
        y = np.where(across == 1, value, along)
        turn = motions[line]
        dx = x - turn[:, 0, 3]
        dy = y - turn[:, 1, 3]
        earlier = dx * turn[:, 0, 0] + dy * turn[:, 1, 0], dx * turn[:, 0, 1] + dy * turn[:, 1, 1]
        places_of = np.stack([(x, y), earlier], axis=-1)  # in both frames
        inside = ((region[:2] <= places_of.T) & (region[2:] >= places_of.T)).all(axis=(0, 2))
        line = line[inside]
        place = place[inside]
        value = value[inside]
    key = line * PLACES + place
    number = np.bincount(key, minlength=at.size)
    total = np.bincount(key, value, minlength=at.size)
    return (total / np.where(number, number, np.nan)).reshape(at.shape)


BETA = 15.0  # metres of mean difference at which localisation is 0
OMEGA = 0.7  # weight of localisation; shape has the rest
APPEARED = 0.5  # presence of a line that appears or disappears

_COLUMNS = ("stability", "presence", "localisation", "shape", "pairs", "compared")


def _stability_of_scenes(groups: Groups, protocol: Protocol, interval: int) -> Floats:
    """Return the sums over the pairs of each anchor frame and class of a scene."""
    sums = np.zeros((len(groups.bounds), len(_COLUMNS)))
    if groups.poses is None:
        return sums
    poses = check_poses(groups.poses[groups.frame], len(groups.frame))
    region = None
    if protocol.region is not None:
        region = check_region(protocol.region, groups.forward)
    anchor, pairs, motions = _pairs(groups, poses, interval)
    rows = _rows(groups, pairs, motions, region=region, threshold=protocol.settings["mas"].presence)
    begin = np.flatnonzero(np.diff(anchor, prepend=-1))
    for a, block in zip(anchor[begin].tolist(), np.split(rows, begin[1:]), strict=False):
        # Each sum is rounded once, so the order of instances has no effect.
        sums[a] = [math.fsum(column) for column in block.T.tolist()]
    return sums


def _pairs(groups: Groups, poses: Floats, interval: int) -> tuple[Indices, Indices, Floats]:
    """Return all pairs of predictions of a scene that are assigned to the same true track, by anchor.

    They are the anchor group, the earlier and the later prediction, -1 for a missing one, and the motion between them.
    """
    prediction = assigned(groups)
    names = [_tracks(groups, g) for g in range(len(groups.bounds))]
    anchor = []
    pairs = []
    motions = []
    for label in np.unique(groups.label).tolist():
        places = np.flatnonzero(groups.label == label).tolist()
        for t, a in enumerate(places[: max(len(places) - interval, 0)]):
            for b in places[t + 1 : t + 1 + interval]:
                shared = [(row, names[b][name]) for name, row in names[a].items() if name in names[b]]
                anchor += [a] * len(shared)
                pairs += shared
                motions += [np.linalg.inv(poses[b]) @ poses[a]] * len(shared)
    rows = np.array(pairs, np.int64).reshape(-1, 2)
    return np.array(anchor, np.int64), prediction[rows], np.array(motions).reshape(-1, 4, 4)


def _rows(groups: Groups, pairs: Indices, motions: Floats, region: Bounds | None, threshold: float) -> Floats:
    """Return the numbers of ``_COLUMNS`` for each pair of an earlier and a later prediction."""
    present = pairs >= 0
    sure = present & (np.append(groups.confidence, 0.0)[pairs] >= threshold)
    presence = np.where(sure[:, 0] == sure[:, 1], 1.0, APPEARED)
    rows = np.zeros((len(pairs), len(_COLUMNS)))
    single = present.sum(axis=1) == 1
    rows[single, 0] = rows[single, 1] = presence[single]
    rows[single, 4] = 1.0
    both = np.flatnonzero(present.all(axis=1))
    distance, turning, common = compare_lines(groups.polylines, pairs[both], motions[both], region=region)
    both = both[common]
    distance = distance[common]
    turning = turning[common]
    localisation = np.maximum(0.0, 1 - distance / BETA)
    shape = 1 - turning / math.pi
    stability = presence[both] * (OMEGA * localisation + (1 - OMEGA) * shape)
    ones = np.ones(len(both))
    rows[both] = np.stack([stability, presence[both], localisation, shape, ones, ones], axis=1)
    return rows


def _tracks(groups: Groups, group: int) -> dict[tuple[str, int], int]:
    """Return the true instances of a group by track. Several of one track are numbered in the order of the groups."""
    names = groups.column("track")
    seen: Counter[str] = Counter()
    tracks = {}
    for row in range(*groups.bounds[group, 1:].tolist()):
        name = str(names[row])
        if name:
            tracks[name, seen[name]] = row
            seen[name] += 1
    return tracks


def assigned(groups: Groups) -> Indices:
    """Return the prediction that is assigned to each true instance by Chamfer distance; -1 for none."""
    distance = np.empty(groups.pairs)
    ones = np.ones(len(groups.confidence))
    kernels.chamfer.chamfer_pairs(groups.whole, groups.bounds, ones, limit=np.inf, nearest_only=False, out=distance)
    partner = np.full(len(groups.confidence), -1)
    at = 0
    for first, true, end in groups.bounds.tolist():
        shape = true - first, end - true
        cost = distance[at : at + shape[0] * shape[1]].reshape(shape)
        at += cost.size
        if cost.size:
            rows, columns = kernels.assignment.cheapest_pairs(cost)
            partner[true + columns] = first + rows
    return partner


def _values(sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return the means over pairs; NaN without pairs."""
    keys = ("mas", "mas_presence", "mas_localisation", "mas_shape")
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums[..., :4] / sums[..., [4, 4, 5, 5]]
    return dict(zip(keys, np.moveaxis(means, -1, 0), strict=True))


@dataclass(frozen=True, kw_only=True)
class MasSettings(Settings):
    """Settings of mAS."""

    intervals: tuple[int, ...] = setting(
        (2,),
        unit="frames",
        check=lambda name, value: check_whole(name, value, least=1),
        help="Largest intervals between two frames. The summary shows the first.",
    )
    presence: float = setting(
        0.3,
        check=lambda name, value: float(check_confidence(name, [value], count=1, of="protocol")[0]),
        help="Confidence from which a line is present.",
    )


MAS = Metric(
    name="mas",
    title="mAS (paper)",
    symbol="AS",
    lower_is_better=False,
    values=(
        Value(key="mas", part="", title="mAS", role="main"),
        Value(key="mas_presence", part="presence", title="presence", role="headline"),
        Value(key="mas_localisation", part="localisation", title="localisation", role="headline"),
        Value(key="mas_shape", part="shape", title="shape", role="headline"),
    ),
    rows=SumRows(_COLUMNS, _stability_of_scenes, _values),
    setting=Setting("intervals", "interval", "frames"),
    level="scene",
    needs=frozenset({"confidences", "truth tracks", "poses"}),
    settings_type=MasSettings,
    stated=lambda protocol: (
        f"pairs up to {protocol.settings['mas'].intervals[0]} frames apart, presence from "
        f"{protocol.settings['mas'].presence:g}"
    ),
    limits=(0.0, 1.0),
    order=60,
)
