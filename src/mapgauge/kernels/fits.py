"""Which lines of a frame lie along each other: near pairs of predictions and truth, and how much they cover.

A line covers a point if one of its points is closer than the cutoff.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._jit import ZERO, U, jit, jit_allocating
from mapgauge.kernels.lines import box_distance_squared, length_of
from mapgauge.kernels.nearest import nearest_points, share_within

NONE = -1


class Fits(NamedTuple):
    """The predictions and the true lines of a frame, and the near pairs of the same class."""

    xs: NDArray[np.uint64]  # (predictions,): indices of lines, by class and content
    ys: NDArray[np.uint64]  # (truth,)
    label: NDArray[np.int64]  # (predictions,): the class of each
    other: NDArray[np.int64]  # (truth,)
    at_truth: NDArray[np.uint64]  # (truth,): the first point of each true line among all true points of the frame
    matched: NDArray[np.int64]  # (predictions,): index into ``ys`` of the matched true line, or -1
    slot: NDArray[np.int64]  # (predictions, truth): where the numbers of a pair begin, or -1
    gap: NDArray[np.float64]  # squared distances to the nearest point of the other line; those of the prediction first
    nearest: NDArray[np.int64]  # that point
    share_x: NDArray[np.float64]  # (predictions, truth): the share of the prediction that the true line covers
    share_y: NDArray[np.float64]  # (predictions, truth): the share of the true line that the prediction covers


@jit_allocating
def find_fits(lines, xs, ys, label, other, at_truth, matched, cutoff, reach):
    """Nearest points of all pairs of the same class that are within the cutoff, and of matched pairs within reach."""
    slot = np.full((len(xs), len(ys)), NONE)
    share_x, share_y = np.zeros(slot.shape), np.zeros(slot.shape)
    total = 0
    for i in range(len(xs)):
        for j in range(len(ys)):
            limit = reach if matched[i] == j else cutoff
            if label[i] == other[j] and box_distance_squared(lines.line_box, xs[i], ys[j]) < limit * limit:
                slot[i, j] = total
                total += np.int64(length_of(lines, xs[i]) + length_of(lines, ys[j]))
    gap, nearest = np.empty(total), np.empty(total, np.int64)
    for i in range(len(xs)):
        for j in range(len(ys)):
            if slot[i, j] >= 0:
                limit = reach if matched[i] == j else cutoff
                n, m, at = length_of(lines, xs[i]), length_of(lines, ys[j]), U(slot[i, j])
                nearest_points(lines, xs[i], ys[j], limit * limit, gap, nearest, at, at + n)
                share_x[i, j] = share_within(gap, at, n, cutoff * cutoff)
                share_y[i, j] = share_within(gap, at + n, m, cutoff * cutoff)
    return Fits(xs, ys, label, other, at_truth, matched, slot, gap, nearest, share_x, share_y)


@jit
def _shares_of_pair(lines, x, y, limit, gap, nearest):
    """The shares of two lines that are closer to the other than a limit, with working memory."""
    if box_distance_squared(lines.line_box, x, y) >= limit:
        return 0.0, 0.0
    n, m = length_of(lines, x), length_of(lines, y)
    nearest_points(lines, x, y, limit, gap, nearest, ZERO, n)
    return share_within(gap, ZERO, n, limit), share_within(gap, n, m, limit)


@jit
def best_fit(lines, fits, i, same, limit, covered, gap, nearest):
    """The true line that a prediction fits best, and the share of that line; -1 if there is none.

    If ``same``, it is a line of the same class, and each must be near the other. If not, it is one of another class.
    """
    best, most, share = NONE, 0.0, 0.0
    for j in range(len(fits.ys)):
        if (fits.other[j] == fits.label[i]) == same:
            of_x, of_y = _shares_of_pair(lines, fits.xs[i], fits.ys[j], limit, gap, nearest)
            if of_x >= covered and (of_y >= covered or not same) and of_x + of_y > most:
                best, most, share = j, of_x + of_y, of_y
    return best, share


@jit
def along_truth(lines, fits, i, taken, limit, covered, cover):
    """The true line that a prediction lies along, how many it covers, and whether most of this was taken before.

    The true line is -1 if less than the share ``covered`` of the prediction is near true lines of its class. ``taken``
    says which true points other predictions have. ``cover`` is working memory.
    """
    n = length_of(lines, fits.xs[i])
    for k in range(n):
        cover[k] = False
    own = over = had = inside = 0
    best = NONE
    for j in range(len(fits.ys)):
        if fits.slot[i, j] < 0:
            continue
        at = U(fits.slot[i, j])
        for k in range(n):
            cover[k] = cover[k] or fits.gap[at + k] < limit
        for k in range(length_of(lines, fits.ys[j])):
            if fits.gap[at + n + k] < limit:
                over += 1
                had += 1 if taken[fits.at_truth[j] + k] else 0
        own += 1 if fits.share_y[i, j] >= covered else 0
        if fits.share_x[i, j] > 0.0 and (best < 0 or fits.share_x[i, j] > fits.share_x[i, best]):
            best = j
    for k in range(n):
        inside += 1 if cover[k] else 0
    return (best if inside >= covered * n else NONE), own, 2 * had >= over


@jit
def take_points(lines, fits, i, j, limit, taken):
    """Mark the points of a true line that a prediction covers as taken."""
    at = U(fits.slot[i, j]) + length_of(lines, fits.xs[i])
    for k in range(length_of(lines, fits.ys[j])):
        if fits.gap[at + k] < limit:
            taken[fits.at_truth[j] + k] = True
