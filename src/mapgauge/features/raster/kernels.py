"""Counts the pixels that drawn predictions and truth share, for whole groups and for pairs of instances.

A drawing is given by ``points``, ``offsets`` and ``filled`` of its pieces, in the order of groups. ``bounds`` are
``(groups, 3)``: the first piece of the predictions of a group, the first of its truth, and the end.
"""

import numpy as np
from numpy.typing import NDArray

from mapgauge.features.raster.drawing_kernels import draw_pieces, memory_of, spread
from mapgauge.kernels._jit import jit, jit_allocating


@jit_allocating
def count_shared(points, offsets, filled, bounds, frame, rows, columns, thickness, reach, covers, counts):
    """Count the pixels of each group that both sides have, that predictions have, and that truth has.

    With ``covers``, the predictions of a class hide those of earlier classes of the same frame.
    """
    memory = memory_of(offsets)
    groups = len(bounds)
    true = np.zeros((rows, columns), np.uint8)
    other = np.zeros((rows, columns), np.uint8)
    predicted = np.zeros((rows, columns), np.uint8)
    later = np.zeros((rows, columns), np.uint8)
    for k in range(groups):
        g = groups - 1 - k
        if k == 0 or frame[g] != frame[g + 1]:
            later[:] = 0
        if bounds[g, 0] == bounds[g, 2]:
            continue
        predicted[:] = 0
        true[:] = 0
        draw_pieces(predicted, points, offsets, filled, bounds[g, 0], bounds[g, 1], thickness, memory)
        draw_pieces(true, points, offsets, filled, bounds[g, 1], bounds[g, 2], thickness, memory)
        if reach:
            spread(predicted, other, reach)
            spread(true, other, reach)
        both = of_predictions = of_truth = 0
        for y in range(rows):
            for x in range(columns):
                p = predicted[y, x]
                t = true[y, x]
                if covers:
                    p &= 1 - later[y, x]
                    later[y, x] |= p
                both += p & t
                of_predictions += p
                of_truth += t
        counts[g, 0] = both
        counts[g, 1] = of_predictions
        counts[g, 2] = of_truth


@jit_allocating
def _pixels_of(i, points, offsets, filled, thickness, reach, image, wide, memory, pixels, count):
    """Append the pixels of piece ``i`` to a list, and return the list and its length. Both images stay empty."""
    rows, columns = image.shape
    draw_pieces(image, points, offsets, filled, i, i + 1, thickness, memory)
    low_x = columns
    low_y = rows
    high_x = -1
    high_y = -1
    for k in range(offsets[i], offsets[i + 1]):
        low_x = min(low_x, points[k, 0])
        high_x = max(high_x, points[k, 0])
        low_y = min(low_y, points[k, 1])
        high_y = max(high_y, points[k, 1])
    low_x = max(low_x - thickness, 0)
    high_x = min(high_x + thickness, columns - 1)
    low_y = max(low_y - thickness, 0)
    high_y = min(high_y + thickness, rows - 1)
    for y in range(low_y, high_y + 1):
        for x in range(low_x, high_x + 1):
            if image[y, x]:
                image[y, x] = 0
                for row in range(max(y - reach, 0), min(y + reach + 1, rows)):
                    for column in range(max(x - reach, 0), min(x + reach + 1, columns)):
                        wide[row, column] = 1
    low_x = max(low_x - reach, 0)
    high_x = min(high_x + reach, columns - 1)
    low_y = max(low_y - reach, 0)
    high_y = min(high_y + reach, rows - 1)
    for y in range(low_y, high_y + 1):
        for x in range(low_x, high_x + 1):
            if wide[y, x]:
                wide[y, x] = 0
                if count == len(pixels):
                    longer = np.empty(2 * count, np.int64)
                    longer[:count] = pixels
                    pixels = longer
                pixels[count] = y * columns + x
                count += 1
    return pixels, count


@jit_allocating
def instance_ious(points, offsets, filled, bounds, rows, columns, thickness, reach, ious):
    """Compute the IoU of all pairs of each group, prediction by prediction. An instance has one piece."""
    memory = memory_of(offsets)
    image = np.zeros((rows, columns), np.uint8)
    wide = np.zeros((rows, columns), np.uint8)
    marked = np.zeros(rows * columns, np.uint8)
    pixels = np.empty(1 << 14, np.int64)
    at = 0
    for g in range(len(bounds)):
        first, middle, end = bounds[g]
        predicted = middle - first
        true = end - middle
        if predicted == 0 or true == 0:
            continue
        ends = np.zeros(end - first + 1, np.int64)
        count = 0
        for i in range(first, end):
            pixels, count = _pixels_of(i, points, offsets, filled, thickness, reach, image, wide, memory, pixels, count)
            ends[i - first + 1] = count
        for t in range(true):
            own = pixels[ends[predicted + t] : ends[predicted + t + 1]]
            for k in range(len(own)):
                marked[own[k]] = 1
            for p in range(predicted):
                shared = 0
                for k in range(ends[p], ends[p + 1]):
                    shared += marked[pixels[k]]
                union = len(own) + ends[p + 1] - ends[p] - shared
                if union:
                    ious[at + p * true + t] = shared / union
                else:
                    ious[at + p * true + t] = 0.0
            for k in range(len(own)):
                marked[own[k]] = 0
        at += predicted * true


@jit_allocating
def match_greedily(
    ious: NDArray[np.float64],
    bounds: NDArray[np.int64],
    by_confidence: NDArray[np.int64],
    considered: NDArray[np.bool_],
    thresholds: NDArray[np.float64],
    hits: NDArray[np.uint16],
) -> None:
    """Find the true positives at each threshold, as COCO's evaluator does.

    Predictions come by falling confidence. Each takes the free true instance with the largest IoU that is at least the
    threshold; of several with the same IoU, the last. ``thresholds`` are ``(groups, thresholds)``.
    """
    at = 0
    for g in range(len(bounds)):
        first, middle, end = bounds[g]
        true = end - middle
        for s in range(thresholds.shape[1]):
            taken = np.zeros(true, np.bool_)
            for k in range(first, middle):
                i = by_confidence[k]
                best = min(thresholds[g, s], 1 - 1e-10)
                chosen = -1
                for t in range(true):
                    iou = ious[at + (i - first) * true + t]
                    if considered[i] and not taken[t] and iou >= best:
                        best = iou
                        chosen = t
                if chosen >= 0:
                    taken[chosen] = True
                    hits[i] |= 1 << s
        at += (middle - first) * true


@jit
def _crossing(coords, i, j):
    """Return the place on segment ``i``, from 0 to 1, where segment ``j`` meets it inside; -1 if it does not."""
    ax = coords[i + 1, 0] - coords[i, 0]
    ay = coords[i + 1, 1] - coords[i, 1]
    bx = coords[j + 1, 0] - coords[j, 0]
    by = coords[j + 1, 1] - coords[j, 1]
    cx = coords[j, 0] - coords[i, 0]
    cy = coords[j, 1] - coords[i, 1]
    cross = ax * by - ay * bx
    if cross == 0:
        return -1.0
    own = (cx * by - cy * bx) / cross
    other = (cx * ay - cy * ax) / cross
    if 0 < own < 1 and 0 <= other <= 1:
        return own
    return -1.0


@jit_allocating
def with_crossings(
    coords: NDArray[np.float64], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the points of polylines with a further point wherever a polyline crosses itself, and their offsets."""
    made = np.empty((len(coords), 2))
    ends = np.zeros(len(offsets), np.int64)
    count = 0
    for line in range(len(offsets) - 1):
        first = offsets[line]
        last = offsets[line + 1] - 1
        for i in range(first, last + 1):
            places = np.empty(max(last - first, 1))
            met = 0
            for j in range(first, last):
                if i < last and abs(i - j) > 1:
                    place = _crossing(coords, i, j)
                else:
                    place = -1.0
                if place > 0:
                    places[met] = place
                    met += 1
            if count + met + 1 > len(made):
                longer = np.empty((2 * (count + met + 1), 2))
                longer[:count] = made[:count]
                made = longer
            made[count] = coords[i, :2]
            for k, place in enumerate(np.sort(places[:met])):
                made[count + 1 + k] = coords[i, :2] + place * (coords[i + 1, :2] - coords[i, :2])
            count += met + 1
        ends[line + 1] = count
    return made[:count], ends
