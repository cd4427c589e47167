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

import numpy as np

from mapgauge import kernels
from mapgauge.frames.groups import Groups
from mapgauge.geometry.cropping import check_region
from mapgauge.geometry.poses import check_poses
from mapgauge.metrics.line_profiles import compare_lines
from mapgauge.metrics.metric import Metric, Setting, SumRows, Value
from mapgauge.protocols import Protocol
from mapgauge.typing import Bounds, Floats, Indices

BETA = 15.0  # metres of mean difference at which localisation is 0
OMEGA = 0.7  # weight of localisation; shape has the rest
APPEARED = 0.5  # presence of a line that appears or disappears

_COLUMNS = ("stability", "presence", "localisation", "shape", "pairs", "compared")


def _score(groups: Groups, protocol: Protocol, interval: int) -> Floats:
    """Return the sums over the pairs of each anchor frame and class of a scene."""
    sums = np.zeros((len(groups.bounds), len(_COLUMNS)))
    if groups.poses is None or groups.track is None:
        return sums
    poses = check_poses(groups.poses[groups.frame], len(groups.frame))
    region = None if protocol.region is None else check_region(protocol.region, groups.forward)
    anchor, pairs, motions = _pairs(groups, poses, interval)
    rows = _rows(groups, pairs, motions, region, protocol.presence)
    for a, first, end in zip(*_runs(anchor), strict=True):
        # Each sum is rounded once, so the order of instances has no effect.
        sums[a] = [math.fsum(column) for column in rows[first:end].T.tolist()]
    return sums


def _pairs(groups: Groups, poses: Floats, interval: int) -> tuple[Indices, Indices, Floats]:
    """Return all pairs of predictions of a scene that are assigned to the same true track, by anchor.

    Returns:
        The anchor group ``(pairs,)``; the earlier and the later prediction ``(pairs, 2)``, -1 for a missing one; the
        motion from the earlier frame to the later one ``(pairs, 4, 4)``.
    """
    found = assigned(groups)
    names = [_tracks(groups, g) for g in range(len(groups.bounds))]
    anchor, pairs, motions = [], [], []
    for label in np.unique(groups.label).tolist():
        places = np.flatnonzero(groups.label == label).tolist()
        for t, a in enumerate(places[: max(len(places) - interval, 0)]):
            for b in places[t + 1 : t + 1 + interval]:
                shared = [(row, names[b][name]) for name, row in names[a].items() if name in names[b]]
                if shared:
                    anchor += [a] * len(shared)
                    pairs += shared
                    motions += [np.linalg.inv(poses[b]) @ poses[a]] * len(shared)
    rows = np.array(pairs, np.int64).reshape(-1, 2)
    return np.array(anchor, np.int64), found[rows], np.array(motions).reshape(-1, 4, 4)


def _runs(values: Indices) -> tuple[list[int], list[int], list[int]]:
    """Return each run of equal values: the value, where it begins, and where it ends."""
    begin = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]])) if len(values) else values
    return values[begin].tolist(), begin.tolist(), [*begin[1:].tolist(), len(values)][: len(begin)]


def _rows(groups: Groups, pairs: Indices, motions: Floats, region: Bounds | None, threshold: float) -> Floats:
    """Return the numbers of ``_COLUMNS`` for each pair of an earlier and a later prediction."""
    there = pairs >= 0
    sure = there & (np.append(groups.confidence, 0.0)[pairs] >= threshold)
    presence = np.where(sure[:, 0] == sure[:, 1], 1.0, APPEARED)
    rows = np.zeros((len(pairs), len(_COLUMNS)))
    one = there.sum(axis=1) == 1
    rows[one, 0] = rows[one, 1] = presence[one]
    rows[one, 4] = 1.0
    both = np.flatnonzero(there.all(axis=1))
    distance, turning, common = compare_lines(groups.polylines, pairs[both], motions[both], region)
    both, distance, turning = both[common], distance[common], turning[common]
    localisation = np.maximum(0.0, 1 - distance / BETA)
    shape = 1 - turning / math.pi
    stability = presence[both] * (OMEGA * localisation + (1 - OMEGA) * shape)
    ones = np.ones(len(both))
    rows[both] = np.stack([stability, presence[both], localisation, shape, ones, ones], axis=1)
    return rows


def _tracks(groups: Groups, group: int) -> dict[tuple[str, int], int]:
    """Return the true instances of a group by track. Several of one track are numbered in the order of the groups."""
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
