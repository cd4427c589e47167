"""What correcting the truth would save: PLD of frames with and without the correction, the mean over methods."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mapgauge.frames.columns import column_of
from mapgauge.frames.map_frames import MapFrames, members_of
from mapgauge.geometry.polylines import Polylines, ranges
from mapgauge.metrics.pld import PLD, normalised_pld
from mapgauge.results.results import Results
from mapgauge.scoring.data import Data
from mapgauge.scoring.score import score_frames
from mapgauge.typing import Flags, Floats, Indices

_AT_ONCE = 4096  # frames that are corrected together


class Corrections(NamedTuple):
    """Corrected frames: each is one class of one frame."""

    frame: Indices  # (cases,): of the results
    label: Indices  # (cases,)
    removed: dict[int, list[int]]  # by case: rows of the truth
    moved: dict[int, list[tuple[int, Floats]]]  # by case: rows of the truth, and metres in the frame
    added: dict[int, list[Floats]]  # by case: the points of new true lines


def savings(methods: Sequence[Results], corrections: Corrections) -> Floats:
    """Return by how much each correction lowers PLD of its frame: the mean over methods."""
    saved = np.zeros(len(corrections.frame))
    for before, after in corrected_sums(methods, corrections):
        order = methods[0].protocol.order
        saved += normalised_pld(_over_classes(before), order) - normalised_pld(_over_classes(after), order)
    return saved / len(methods)


def corrected_means(
    methods: Sequence[Results], corrections: Corrections
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the mean PLD of each method without and with corrections, of which no two are of one frame and class."""
    means: tuple[list[float], list[float]] = ([], [])
    for method, (before, after) in zip(methods, corrected_sums(methods, corrections), strict=True):
        whole = _pooled(method.rows.scores.sums[PLD.name][0])
        change = _pooled(after - before)
        order = method.protocol.order
        there = whole[:, -1] > 0  # a class without predictions and truth has no value
        for mean, sums in zip(means, (whole, whole + change), strict=True):
            mean.append(float(normalised_pld(sums, order)[there].mean()) if there.any() else float("nan"))
    return tuple(means[0]), tuple(means[1])


def _pooled(rows: Floats) -> Floats:
    """Return the sums over frames, rounded once, so that the order of the frames has no effect."""
    frames, classes, width = rows.shape
    columns = rows.reshape(frames, classes * width).T.tolist()
    return np.array([math.fsum(column) for column in columns]).reshape(classes, width)


def corrected_sums(methods: Sequence[Results], corrections: Corrections) -> list[tuple[Floats, Floats]]:
    """Return the parts of PLD of each corrected frame, before and after, ``(cases, classes, 6)``, for each method."""
    sums = []
    for method in methods:
        before = method.rows.scores.sums[PLD.name][0][corrections.frame]
        after = before.copy()
        for start in range(0, len(after), _AT_ONCE):
            cases = np.arange(start, min(start + _AT_ONCE, len(after)))
            label = corrections.label[cases]
            after[cases, label] = _scored(method, corrections, cases)[np.arange(len(cases)), label]
        sums.append((before, after))
    return sums


def _over_classes(sums: Floats) -> Floats:
    """Return sums over classes, as the values of frames have them."""
    added: Floats = sums.sum(axis=1)
    return added


def _scored(method: Results, corrections: Corrections, cases: Indices) -> Floats:
    """Return the parts of PLD of corrected frames. Only the corrected class is there."""
    x, y = method.need_data().sides
    frames = corrections.frame[cases].tolist()
    label = corrections.label[cases]
    predictions = x.at(frames)
    predictions = predictions.keep(predictions.label == label[predictions.frame])
    truth = y.at(frames)
    # The row of each instance before frames were picked.
    counts = np.diff(y.offsets)[corrections.frame[cases]]
    row = ranges(y.offsets[corrections.frame[cases]], counts)
    kept = truth.label == label[truth.frame]
    truth = _corrected(truth.keep(kept), row[kept], corrections, cases=cases)
    scores = score_frames(Data.of(predictions, truth, method.protocol), (PLD.name,))
    sums: Floats = scores.sums[PLD.name][0]
    return sums


def _corrected(truth: MapFrames, row: Indices, corrections: Corrections, cases: Indices) -> MapFrames:
    """Return true lines after the corrections. ``row`` are their rows in the truth of the results."""
    start = truth.offsets
    lines = [truth.polylines[i] for i in range(len(row))]
    kept: Flags = np.ones(len(row), np.bool_)
    new_lines = []
    new_frames = []
    for k, case in enumerate(cases.tolist()):
        place = {int(row[i]): i for i in range(int(start[k]), int(start[k + 1]))}
        for removed in corrections.removed.get(case, ()):
            kept[place[removed]] = False
        for moved, by in corrections.moved.get(case, ()):
            line = lines[place[moved]].copy()
            line[:, :2] += by
            lines[place[moved]] = line
        for points in corrections.added.get(case, ()):
            new_lines.append(points)
            new_frames.append(k)
    chosen = np.flatnonzero(kept)
    frame = np.concatenate([truth.frame[chosen], np.array(new_frames, np.int64)])
    order = np.argsort(frame, kind="stable")
    every = [*(lines[i] for i in chosen.tolist()), *new_lines]
    label = np.concatenate([truth.label[chosen], corrections.label[cases][np.array(new_frames, np.int64)]])
    columns = {}
    for name, values in truth.columns.items():
        columns[name] = np.concatenate([values[chosen], column_of(name).empties(len(new_lines))])[order]
    confidence = truth.confidence
    if confidence is not None:
        confidence = np.concatenate([confidence[chosen], np.ones(len(new_lines))])[order]
    return replace(
        truth,
        frame=frame[order],
        label=label[order],
        polylines=Polylines.pack([every[i] for i in order.tolist()], [""] * len(every), truth.dimension),
        links=None,
        history=None,
        aside=None,
        confidence=confidence,
        **members_of(columns),
    )
