"""How far every piece of a prediction is from true lines, as whole parts of the cutoff, for drawings."""

import math

import numpy as np

from mapgauge.kernels._jit import jit, jit_allocating


@jit
def square_to_segment(x, y, points, begin, end):
    """The squared distance of a place from the segment between two points."""
    step_x = points[end, 0] - points[begin, 0]
    step_y = points[end, 1] - points[begin, 1]
    away_x = x - points[begin, 0]
    away_y = y - points[begin, 1]
    square = step_x * step_x + step_y * step_y
    share = 0.0
    if square > 0:  # a segment without length is its point
        share = (away_x * step_x + away_y * step_y) / square
        share = min(max(share, 0.0), 1.0)
    gap_x = away_x - share * step_x
    gap_y = away_y - share * step_y
    return gap_x * gap_x + gap_y * gap_y


@jit
def segments_of(count, closed):
    """The number of segments of a line. A single point is a segment without length."""
    if closed or count == 1:
        return count
    return max(count - 1, 0)


@jit
def square_to_box(x, y, boxes, j):
    """The squared distance of a place from the box of line j; 0 inside."""
    gap_x = max(boxes[j, 0] - x, x - boxes[j, 1], 0.0)
    gap_y = max(boxes[j, 2] - y, y - boxes[j, 3], 0.0)
    return gap_x * gap_x + gap_y * gap_y


@jit_allocating
def boxes_of(points, offsets):
    """The box of each line: least and largest x, least and largest y."""
    boxes = np.empty((len(offsets) - 1, 4))
    for j in range(len(boxes)):
        boxes[j] = math.inf
        boxes[j, 1] = -math.inf
        boxes[j, 3] = -math.inf
        for k in range(offsets[j], offsets[j + 1]):
            boxes[j, 0] = min(boxes[j, 0], points[k, 0])
            boxes[j, 1] = max(boxes[j, 1], points[k, 0])
            boxes[j, 2] = min(boxes[j, 2], points[k, 1])
            boxes[j, 3] = max(boxes[j, 3], points[k, 1])
    return boxes


@jit_allocating
def piece_levels(points, offsets, closed, truth, truth_offsets, truth_closed, first, stop, cutoff, steps):
    """The level of each point of each line: of the piece that begins there.

    Line i is compared with the true lines ``first[i]`` to ``stop[i] - 1``. The level is the number of whole parts of
    the cutoff, of which there are ``steps``, and ``steps`` from the cutoff on. The last point of an open line repeats
    the level before it.
    """
    levels = np.zeros(len(points), np.uint8)
    boxes = boxes_of(truth, truth_offsets)
    # Distances from the cutoff on are one level, so farther boxes are skipped. The factor covers rounding.
    reach = cutoff * cutoff * (1 + 1e-9)
    for i in range(len(offsets) - 1):
        start = offsets[i]
        count = offsets[i + 1] - start
        pieces = segments_of(count, closed[i])
        for k in range(pieces):
            begin = start + k
            end = start + (k + 1) % count
            x = (points[begin, 0] + points[end, 0]) / 2
            y = (points[begin, 1] + points[end, 1]) / 2
            nearest = math.inf
            for j in range(first[i], stop[i]):
                if square_to_box(x, y, boxes, j) > min(nearest, reach):
                    continue
                true_start = truth_offsets[j]
                true_count = truth_offsets[j + 1] - true_start
                for m in range(segments_of(true_count, truth_closed[j])):
                    true_end = true_start + (m + 1) % true_count
                    nearest = min(nearest, square_to_segment(x, y, truth, true_start + m, true_end))
            level = math.sqrt(nearest) * (steps / cutoff)
            levels[begin] = np.uint8(min(level, steps))
        if 0 < pieces < count:
            levels[start + count - 1] = levels[start + pieces - 1]
    return levels
