"""What is suspicious in single frames: three rules, each symmetric in the methods.

A weakness that methods share is no error of the truth. So each rule asks what is usual: how often lines of the class
are found at this distance, how far they seem to be shifted there, and by how much a method shifts all lines.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapgauge.features.suspects.observing import Observed, ThinnedLines
from mapgauge.frames.map_frames import MapFrames
from mapgauge.typing import Flags, Floats, Indices

# The numbers were chosen with ``benchmarks/planted_label_errors.py``.
USUAL = 0.6  # share of the lines at a distance that each method finds, from which it is remarkable that none finds one
USUAL_ONCE = 0.85  # the same without poses, where each frame stands alone
SHIFTED = 0.5  # metres: a smaller shift is not suspicious
FEW = 20  # lines: with fewer at a distance, all lines of the class say what is usual
BOUNDS = (5.0, 10.0, 15.0, 20.0, 25.0)  # metres from the vehicle to the nearest point, between rings


class Evidence(NamedTuple):
    """What methods say about each true line."""

    found: Flags  # (methods, true lines)
    is_usual: Flags  # (true lines,): whether all methods usually find lines of the class at this distance
    shift: Floats  # (methods, true lines, 2): metres in the frame, less the usual shift; NaN if it is not measured
    usual_shift: Floats  # (true lines,): the standard deviation of shifts of lines of the class at this distance


class LoneLines(NamedTuple):
    """The sure predictions of all methods that have no truth nearby."""

    lines: ThinnedLines
    method: Indices
    row: Indices  # in the predictions of the method
    confidence: Floats


def most(methods: int) -> int:
    """Return how many methods must agree: more than half, and at least two."""
    return max(2, methods // 2 + 1)


def _rings_of(lines: ThinnedLines, *, has_ego: bool) -> Indices:
    """Return a number for the class of each line and its distance from the vehicle."""
    if not has_ego or not len(lines.points):
        return lines.label.copy() * (len(BOUNDS) + 1)
    distance = np.sqrt(np.square(lines.points).sum(axis=1))
    there = np.diff(lines.offsets) > 0
    nearest = np.full(len(lines.label), np.inf)
    nearest[there] = np.minimum.reduceat(distance, lines.offsets[:-1][there])
    return lines.label * (len(BOUNDS) + 1) + np.searchsorted(BOUNDS, nearest, side="right")


def evidence_of(lines: ThinnedLines, observed: Sequence[Observed], *, has_ego: bool, has_poses: bool) -> Evidence:
    """Return what methods say about each true line, and what is usual there."""
    ring = _rings_of(lines, has_ego=has_ego)
    found = np.stack([one.found for one in observed])
    is_usual = lines.length > 0
    least = USUAL if has_poses else USUAL_ONCE
    for of_method in found:
        is_usual &= _usual_share(lines, ring, of_method) >= least
    shift = np.stack([_without_bias(lines, one.shift) for one in observed])
    size = np.sqrt(np.square(shift).sum(axis=2))
    usual = np.full(len(lines.label), np.nan)
    for number in np.unique(ring).tolist():
        rows = np.flatnonzero(ring == number)
        measured = size[:, rows][~np.isnan(size[:, rows])]
        if len(measured) < FEW:
            of_class = size[:, lines.label == lines.label[rows[0]]]
            measured = of_class[~np.isnan(of_class)]
        if len(measured):
            # 1.48 times the median of sizes is the standard deviation of normal errors across a line.
            usual[rows] = 1.48 * np.median(measured)
    return Evidence(found, is_usual, shift=shift, usual_shift=usual)


def _without_bias(lines: ThinnedLines, shift: Floats) -> Floats:
    """Return shifts less the median of a method: of the class, in each quarter around the vehicle."""
    middle = np.zeros((len(lines.label), 2))
    sizes = np.diff(lines.offsets)
    there = sizes > 0
    if there.any():
        middle[there] = np.add.reduceat(lines.points, lines.offsets[:-1][there]) / sizes[there, None]
    quarter = 4 * lines.label + 2 * (middle[:, 0] >= 0) + (middle[:, 1] >= 0)
    left = shift.copy()
    for number in np.unique(quarter).tolist():
        rows = np.flatnonzero((quarter == number) & ~np.isnan(shift[:, 0]))
        if len(rows) >= FEW:
            left[rows] -= np.median(shift[rows], axis=0)
    return left


def _usual_share(lines: ThinnedLines, ring: Indices, found: Flags) -> Floats:
    """Return for each line which share of the lines of its ring is found: of those of its class if the ring has few."""
    share = np.zeros(len(found))
    for number in np.unique(ring).tolist():
        rows = np.flatnonzero(ring == number)
        among = rows
        if len(rows) < FEW:
            among = np.flatnonzero(lines.label == lines.label[rows[0]])
        share[rows] = found[among].mean()
    return share


def lone_lines(predictions: Sequence[MapFrames], observed: Sequence[Observed]) -> LoneLines:
    """Return the predictions of all methods that have no truth nearby."""
    every = [one.alone for one in observed]
    sizes = np.concatenate([np.diff(lines.offsets) for lines in every])
    confidence = []
    for x, one in zip(predictions, observed, strict=True):
        confidence.append(np.ones(len(one.row)) if x.confidence is None else x.confidence[one.row])
    return LoneLines(
        lines=ThinnedLines(
            frame=np.concatenate([lines.frame for lines in every]),
            label=np.concatenate([lines.label for lines in every]),
            points=np.concatenate([lines.points for lines in every]),
            offsets=np.concatenate([[0], sizes.cumsum()]),
            length=np.concatenate([lines.length for lines in every]),
        ),
        method=np.repeat(np.arange(len(every)), [len(one.row) for one in observed]),
        row=np.concatenate([one.row for one in observed]),
        confidence=np.concatenate(confidence),
    )
