"""What one method says about each true line: whether it finds the line, and where it sees it; and lines without truth.

Only *sure* predictions say where lines are: in each class, as many as there are true lines, the most confident first.
A quarter more are enough to find a true line.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import ranges
from mapgauge.metrics.assigned import assigned
from mapgauge.metrics.groups import Block, Groups
from mapgauge.results.results import Results
from mapgauge.typing import Flags, Floats, Indices, Points, Progress

COVERED = 0.3  # share of a line near other lines from which these say something about it
OTHER_CLASS = 0.7  # share of a prediction near one true line of another class from which it has the wrong class
NOTICED = 1.25  # predictions for a true line that are enough to find one: fainter ones do not count
MEASURED = 0.5  # share of the points of a true line that must be matched, to measure where a method sees it
RIDGE = 0.05  # of the points: a straight line says nothing about a shift along itself, which is then 0


class ThinnedLines(NamedTuple):
    """Lines of all frames as they are compared. Boxes have no points."""

    frame: Indices
    label: Indices
    points: Points  # about one metre apart, in the coordinates of the frame
    offsets: Indices  # (lines + 1,)
    length: Floats  # metres


class Observed(NamedTuple):
    """What one method says."""

    found: Flags  # (true lines,): whether a prediction that counts is matched with it, or covers a part of it
    shift: Floats  # (true lines, 2): metres from the line to where the method sees it; NaN if it does not measure it
    alone: ThinnedLines  # the sure predictions that have no truth nearby, in the order of the predictions
    row: Indices  # of these in the predictions


class _PartObserved(NamedTuple):
    """What one method says about the frames of a block, by rows of the sides of the whole data."""

    true: Indices
    found: Flags
    shift: Floats
    alone: Indices
    lines: "_PartLines"  # of ``alone``


class _PartLines(NamedTuple):
    """Some lines of a block: their rows in the side of the whole data, their points and their lengths."""

    row: Indices
    sizes: Indices
    points: Points
    length: Floats


def sure_predictions(predictions: MapFrames, truth: MapFrames, share: float = 1.0) -> Flags:
    """Return which predictions are among the most confident of their class, as many as there are true lines.

    Predictions with the same confidence as the last of them are sure, too. ``share`` is their number for a true line.
    """
    if predictions.confidence is None:
        return np.ones(len(predictions.polylines), np.bool_)
    sure = predictions.confidence > 0
    for label in range(len(predictions.classes)):
        rows = np.flatnonzero(predictions.label == label)
        count = round(share * np.count_nonzero(truth.label == label))
        if count == 0:
            sure[rows] = False
        elif count < len(rows):
            confidence = predictions.confidence[rows]
            sure[rows] &= confidence >= np.partition(confidence, len(rows) - count)[len(rows) - count]
    return sure


def observe(results: Results, workers: int | None, progress: Progress | None) -> Observed:
    """Return what a method says about the true lines of its results."""
    data = results.need_data()
    x, y = data.sides
    sure = sure_predictions(x, y)
    noticed = sure_predictions(x, y, NOTICED)
    cutoff = results.cutoff_or_first(cutoff=None)
    protocol = results.protocol

    def work(block: Block) -> _PartObserved:
        first = x.offsets[block.frames.start]
        groups = block.lines
        row = groups.row + np.where(groups.is_prediction, first, y.offsets[block.frames.start])
        predictions = groups.is_prediction
        is_sure = np.zeros(len(row), np.bool_)
        is_sure[predictions] = sure[row[predictions]]
        is_noticed = np.zeros(len(row), np.bool_)
        is_noticed[predictions] = noticed[row[predictions]]
        matches = assigned(groups, protocol, cutoff)
        predicted, true = matches.pairs
        found = np.zeros(len(row), np.bool_)
        found[true[is_noticed[predicted]]] = True
        shift = np.full((len(row), 2), np.nan)
        for t in true[is_sure[predicted]].tolist():
            shift[t] = _shift_of(groups, t, matches.partner)
        matched = np.zeros(len(row), np.bool_)
        matched[predicted] = True
        others = np.flatnonzero(~predictions & ~found)
        # A point that is matched belongs to another true line. A prediction may go on along this one.
        free = matches.partner < 0
        found[others] = (
            _shares_near(groups, others, np.flatnonzero(is_noticed), cutoff=cutoff, counts=free)[0] >= COVERED
        )
        lone = np.flatnonzero(is_sure & ~matched)
        truth = np.flatnonzero(~predictions)
        every = np.ones(len(free), np.bool_)
        of_class, elsewhere = _shares_near(groups, lone, truth, cutoff=cutoff, counts=every)
        lone = lone[(of_class < COVERED) & (elsewhere < OTHER_CLASS)]
        lines = _lines_of(groups, lone, row)
        return _PartObserved(row[truth], found[truth], shift[truth], alone=row[lone], lines=lines)

    parts = data.in_blocks(work, known=results.scores, workers=workers, progress=progress)
    alone = np.sort(np.concatenate([part.alone for part in parts]))
    observed = Observed(
        found=np.ones(len(y.polylines), np.bool_),
        shift=np.full((len(y.polylines), 2), np.nan),
        alone=_gathered([part.lines for part in parts], x, alone),
        row=alone,
    )
    for part in parts:
        observed.found[part.true] = part.found
        observed.shift[part.true] = part.shift
    return observed


def _shift_of(groups: Groups, line: int, partner: Indices) -> Floats:
    """Return by how far the points of a prediction lie beside those of a true line: one shift for the whole line.

    It is the shift ``v`` with the smallest sum of squares of ``n v - d`` over matched points, where ``n`` is the normal
    of the true line at a point and ``d`` the distance of the matched point along it.
    """
    start = int(groups.offsets[line])
    stop = int(groups.offsets[line + 1]) - int(groups.repeats[line])
    points = groups.points[:2, start:stop]
    of_points = partner[start:stop]
    matched = of_points >= 0
    if stop - start < 2 or matched.mean() < MEASURED:
        return np.full(2, np.nan)
    along = np.empty_like(points)
    if groups.closed[line]:
        along = np.roll(points, -1, axis=1) - np.roll(points, 1, axis=1)
    else:
        along[:, 1:-1] = points[:, 2:] - points[:, :-2]
        along[:, 0] = points[:, 1] - points[:, 0]
        along[:, -1] = points[:, -1] - points[:, -2]
    size = np.sqrt(np.square(along).sum(axis=0))
    normal = np.stack([-along[1], along[0]]) / np.where(size > 0, size, 1.0)
    normal = normal[:, matched]
    beside = ((groups.points[:2, of_points[matched]] - points[:, matched]) * normal).sum(axis=0)
    ridge = RIDGE * normal.shape[1]
    a = float((normal[0] * normal[0]).sum()) + ridge
    b = float((normal[0] * normal[1]).sum())
    c = float((normal[1] * normal[1]).sum()) + ridge
    right = (normal * beside).sum(axis=1)
    determinant = a * c - b * b
    shift: Floats = np.array([c * right[0] - b * right[1], a * right[1] - b * right[0]]) / determinant
    return shift


def _shares_near(
    groups: Groups, lines: Indices, others: Indices, cutoff: float, counts: Flags
) -> tuple[Floats, Floats]:
    """Return which share of each line lies within the cutoff of other lines of its frame.

    The first is the share near any line of its class. The second is the largest share near one line of another class.
    ``counts`` says which points of other lines count.
    """
    same = np.zeros(len(lines))
    different = np.zeros(len(lines))
    if not len(lines) or not len(others):
        return same, different
    group = groups.side // 2
    frame = groups.frame[group]
    label = groups.label[group]
    low = np.minimum.reduceat(groups.points[:2], groups.offsets[:-1], axis=1)
    high = np.maximum.reduceat(groups.points[:2], groups.offsets[:-1], axis=1)
    in_order = others[np.argsort(frame[others], kind="stable")]
    begin = np.searchsorted(frame[in_order], frame[lines], side="left")
    end = np.searchsorted(frame[in_order], frame[lines], side="right")
    for k, i in enumerate(lines.tolist()):
        rivals = in_order[begin[k] : end[k]]
        near = (low[:, rivals] <= high[:, i, None] + cutoff) & (high[:, rivals] >= low[:, i, None] - cutoff)
        points = groups.points[:2, groups.offsets[i] : groups.offsets[i + 1]]
        covered = np.zeros(points.shape[1], np.bool_)
        for j in rivals[near.all(axis=0)].tolist():
            span = slice(int(groups.offsets[j]), int(groups.offsets[j + 1]))
            other = groups.points[:2, span][:, counts[span]]
            gap = np.square(points[:, :, None] - other[:, None, :]).sum(axis=0)
            close = (gap < cutoff * cutoff).any(axis=1)
            if label[j] == label[i]:
                covered |= close
            else:
                different[k] = max(different[k], float(close.mean()))
        same[k] = covered.mean()
    return same, different


def true_lines(results: Results, workers: int | None) -> ThinnedLines:
    """Return the true lines of results, in the order of the truth."""
    data = results.need_data()
    y = data.sides[1]

    def work(block: Block) -> _PartLines:
        groups = block.lines
        return _lines_of(groups, np.flatnonzero(~groups.is_prediction), groups.row + y.offsets[block.frames.start])

    parts = data.in_blocks(work, known=results.scores, workers=workers)
    return _gathered(parts, y, np.arange(len(y.polylines)))


def _lines_of(groups: Groups, lines: Indices, row: Indices) -> _PartLines:
    """Return some lines of groups. ``row`` are the rows of all."""
    chosen, count, length = _thinned(groups, lines)
    return _PartLines(row[lines], count, groups.points[:2, chosen].T, length=length)


def _gathered(parts: Sequence[_PartLines], side: MapFrames, rows: Indices) -> ThinnedLines:
    """Return the lines of some rows of a side, in their order. Rows that no part has have no points."""
    row, count, points, length = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    place = np.searchsorted(rows, row)
    counts = np.zeros(len(rows), np.int64)
    counts[place] = count
    lengths = np.zeros(len(rows))
    lengths[place] = length
    offsets = np.concatenate([[0], counts.cumsum()])
    ordered = np.empty_like(points)
    ordered[ranges(offsets[place], count)] = points
    return ThinnedLines(side.frame[rows], side.label[rows], ordered, offsets=offsets, length=lengths)


def _thinned(groups: Groups, rows: Indices) -> tuple[Indices, Indices, Floats]:
    """Return points of lines that are about one metre apart: their indices, their numbers, and the lengths of lines."""
    steps = np.sqrt(np.square(np.diff(groups.points[:2], axis=1)).sum(axis=0))
    along = np.concatenate([[0.0], steps.cumsum()])
    start = groups.offsets[:-1][rows]
    last = groups.offsets[1:][rows] - 1
    length = along[last] - along[start]
    count = np.minimum(np.ceil(length).astype(np.int64) + 1, last - start + 1)
    first = np.cumsum(count) - count
    step = np.arange(int(count.sum())) - np.repeat(first, count)
    share = step / np.repeat(np.maximum(count - 1, 1), count)
    chosen = np.repeat(start, count) + np.rint(share * np.repeat(last - start, count)).astype(np.int64)
    return chosen, count, length
