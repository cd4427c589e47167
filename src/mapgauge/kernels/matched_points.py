"""Points of assigned lines: their matching, the lengths they stand for, and their offsets."""

import math

import numpy as np

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit, jit_allocating
from mapgauge.kernels.gains import make_band
from mapgauge.kernels.interpreting import interpreted_while_small
from mapgauge.kernels.lines import (
    BLOCK,
    FIRST_BLOCK,
    FIRST_GROUP,
    GROUP,
    START,
    STOP,
    blocks_in,
    gap_between,
    groups_in,
    length_of,
    square_between,
)
from mapgauge.kernels.sospa import align_lines

# Square metres. The squared distance to a segment is rounded by far less, unless segments are kilometres long.
ROUNDED = 1e-9


@interpreted_while_small()
@jit_allocating
def match_points(lines, closed, truth_of, directed, cutoff, order, long, partner, matched, cost):
    """Match the points of each prediction with the points of its true line.

    ``partner`` gets the index of the matched point of each point. ``matched`` and ``cost`` get the number of matched
    points of each prediction and the sum of their costs, as PLD computes them.
    """
    count = 0
    for x in range(len(truth_of)):
        if truth_of[x] >= 0:
            count += 1
    pairs = np.empty((count, 2), np.int64)
    at = 0
    for x in range(len(truth_of)):
        if truth_of[x] >= 0:
            pairs[at, 0] = x
            pairs[at, 1] = truth_of[x]
            at += 1
    band = make_band(lines, closed, pairs, cutoff, long)
    for k in range(count):
        x = U(pairs[k, 0])
        y = U(pairs[k, 1])
        count_of_pairs, total, _ = align_lines(lines, x, y, closed[x] or closed[y], directed, cutoff, order, band, long)
        matched[x] = count_of_pairs
        cost[x] = total
        first = lines.span[x, START]
        second = lines.span[y, START]
        for a in range(count_of_pairs):
            i = first + U(band.pairs[a, 0])
            j = second + U(band.pairs[a, 1])
            partner[i] = j
            partner[j] = i


@jit
def _square_to_segment(points, at, i, j):
    """Squared horizontal distance of a point to the segment between two points."""
    x = points[ZERO, at] - points[ZERO, i]
    y = points[ONE, at] - points[ONE, i]
    u = points[ZERO, j] - points[ZERO, i]
    v = points[ONE, j] - points[ONE, i]
    square = u * u + v * v
    share = 0.0  # of the segment, up to the place that is nearest
    if square > 0.0:
        share = min(max((x * u + y * v) / square, 0.0), 1.0)
    x = x - share * u
    y = y - share * v
    return x * x + y * y


@jit
def _square_to_line(points, at, start, end):
    """Squared horizontal distance of a point to the line through the points ``start .. end``, both included."""
    least = _square_to_segment(points, at, start, start)
    for i in range(start, end):
        least = min(least, _square_to_segment(points, at, i, i + ONE))
    return least


@jit
def _square_to_box(points, at, box, k, following):
    """Squared horizontal distance of a point to a box that is extended to a following point."""
    total = 0.0
    for axis in range(TWO):
        low = min(box[axis, k], points[axis, following])
        high = max(box[U(box.shape[0]) // TWO + axis, k], points[axis, following])
        gap = gap_between(low, high, points[axis, at], points[axis, at])
        total += gap * gap
    return total


@jit
def _square_between_boxes(box, a, other, k, points, following):
    """Squared horizontal distance of box ``a`` to another box that is extended to a following point.

    It is never larger than the distance of a point in box ``a``, also after rounding.
    """
    total = 0.0
    for axis in range(TWO):
        low = min(other[axis, k], points[axis, following])
        high = max(other[U(other.shape[0]) // TWO + axis, k], points[axis, following])
        gap = gap_between(low, high, box[axis, a], box[U(box.shape[0]) // TWO + axis, a])
        total += gap * gap
    return total


@jit
def _end_of(lines, repeats, k):
    """The last point of line ``k``: the closing point of a ring, which lies behind its points."""
    if repeats[k]:
        return lines.span[k, STOP]
    return lines.span[k, STOP] - ONE


@jit
def _last_of(lines, repeats, k, block):
    """The last point of a block of line ``k`` with the point that follows it, seen as a piece of the line."""
    end = _end_of(lines, repeats, k)
    return min(lines.span[k, START] + (block + ONE) * BLOCK, end)


@jit
def _square_across(lines, repeats, at, k, least):
    """Squared horizontal distance of a point to line ``k``, at most ``least``.

    Blocks that are clearly farther away than a part that was seen before are left out.
    """
    points = lines.points
    for block in range(blocks_in(length_of(lines, k))):
        last = _last_of(lines, repeats, k, block)
        if _square_to_box(points, at, lines.block_box, lines.span[k, FIRST_BLOCK] + block, last) > least + ROUNDED:
            continue
        least = min(least, _square_to_line(points, at, lines.span[k, START] + block * BLOCK, last))
    return least


@jit
def _add_near_lines(lines, own, first, last, limit, chosen, count):
    """Add the lines ``first .. last`` that may be as close to line ``own`` as a limit, from row ``count`` on.

    Returns the number of rows.
    """
    for k in range(first, last):
        start = lines.span[k, START]
        if start == lines.span[k, STOP]:
            continue
        if _square_between_boxes(lines.line_box, own, lines.line_box, k, lines.points, start) <= limit:
            chosen[count] = k
            count += ONE
    return count


@jit
def _add_near_lines_of_other_classes(lines, own, bounds, g, classes, limit, chosen):
    """List the true lines of other classes in the frame of group ``g``, as ``_add_near_lines`` does."""
    count = ZERO
    first = g - g % classes
    for other in range(first, first + classes):
        if other != g:
            first_truth = U(bounds[other, 1])
            last_truth = U(bounds[other, 2])
            count = _add_near_lines(lines, own, first_truth, last_truth, limit, chosen, count)
    return count


@jit
def _list_near_blocks(lines, repeats, own, chosen, size, limit, near):
    """List the blocks of chosen lines that may be as close to block ``own`` as a limit.

    ``near`` gets the line and the place of each block. Returns their number.
    """
    points = lines.points
    count = ZERO
    for c in range(size):
        k = chosen[c]
        if _square_between_boxes(lines.block_box, own, lines.line_box, k, points, lines.span[k, START]) > limit:
            continue
        blocks = blocks_in(length_of(lines, k))
        for group in range(groups_in(blocks)):
            stop = min((group + ONE) * GROUP, blocks)
            box = lines.span[k, FIRST_GROUP] + group
            following = _last_of(lines, repeats, k, stop - ONE)
            if _square_between_boxes(lines.block_box, own, lines.group_box, box, points, following) > limit:
                continue
            for block in range(group * GROUP, stop):
                box = lines.span[k, FIRST_BLOCK] + block
                following = _last_of(lines, repeats, k, block)
                if _square_between_boxes(lines.block_box, own, lines.block_box, box, points, following) <= limit:
                    near[count, 0] = k
                    near[count, 1] = block
                    count += ONE
    return count


@jit
def _is_near(lines, repeats, at, near, count, limit):
    """Whether a point is closer to the listed blocks of lines than a limit, seen from above."""
    points = lines.points
    for row in range(count):
        k = near[row, 0]
        block = near[row, 1]
        last = _last_of(lines, repeats, k, block)
        if _square_to_box(points, at, lines.block_box, lines.span[k, FIRST_BLOCK] + block, last) >= limit:
            continue
        if _square_to_line(points, at, lines.span[k, START] + block * BLOCK, last) < limit:
            return True
    return False


@jit
def _nearest_end(points, at, i, j):
    """Whether a point is nearer to point ``i`` than to point ``j``, and the other way round. Seen from above."""
    to_i = _square_to_segment(points, at, i, i)
    to_j = _square_to_segment(points, at, j, j)
    return to_i <= to_j, to_j <= to_i


@jit
def _nearest_truth(lines, repeats, partner, at, near, count, limit):
    """Whether the listed blocks of true lines are closer to a point than a limit, and whether truth is matched there.

    Truth is matched at a place if the nearest point of the line there is. Of places at the same distance, one that is
    matched counts. So the order of lines and of points has no effect.
    """
    points = lines.points
    least = limit
    is_matched = False
    for row in range(count):
        k = near[row, 0]
        block = near[row, 1]
        last = _last_of(lines, repeats, k, block)
        if _square_to_box(points, at, lines.block_box, lines.span[k, FIRST_BLOCK] + block, last) > least:
            continue
        start = lines.span[k, START]
        stop = lines.span[k, STOP]
        end = _end_of(lines, repeats, k)
        first = start + block * BLOCK
        for i in range(first, max(last, first + ONE)):  # a line of one point has no segment
            j = min(i + ONE, end)
            square = _square_to_segment(points, at, i, j)
            if square > least:
                continue
            is_i, is_j = _nearest_end(points, at, i, j)
            following = j
            if j == stop:
                following = start  # the closing point of a ring is its first point
            matched = (is_i and partner[i] >= 0) or (is_j and partner[following] >= 0)
            if square < least:
                is_matched = matched
            else:
                is_matched = is_matched or matched
            least = square
    return least < limit, is_matched


LEFT_OUT = -2  # the partner of points that do not count: they are outside a part of the region
TRUE, FOUND, SURE_FOUND, PREDICTED, RIGHT, SURE, SURE_RIGHT, FAR = range(8)
OTHER_CLASS, REPEATED, PIECES = range(8, 11)
WEIGHT, CUTOFF, OFFSET, ACROSS, ALONG, UP, POINTS_ACROSS, POINTS_ALONG, POINTS_UP, FIRST_BIN = range(11, 21)


@interpreted_while_small()
@jit_allocating
def measure_groups(
    lines, repeats, confidence, bounds, classes, truth_of, prediction_of, partner, factor, cutoff, sure, bins, out
):
    """Write the sums of each group.

    A point stands for half of the two pieces of its line beside it. The closing point of a closed line is no point of
    its own, so the piece before it belongs to the last point and the first point. The offset of a matched point is
    divided at a right angle: across is the horizontal distance to the true line, up the difference of heights, and
    along what remains. ``factor`` is the share of a metre of a prediction's offsets in PLD. ``partner`` is the matched
    point of a point, -1 if there is none, or ``LEFT_OUT``.

    An unmatched point of a prediction lies beside truth of its class that is matched there (repeated) or is not
    (pieces), or no truth of its class is closer than the cutoff (far). Group ``g`` is class ``g % classes`` of its
    frame.
    """
    points = lines.points
    limit = cutoff * cutoff
    # The blocks of truth near four points of a prediction: of its class, and of other classes.
    near = np.empty((lines.block_box.shape[1], 2), np.uint64)
    near_others = np.empty((lines.block_box.shape[1], 2), np.uint64)
    of_class = of_others = own = ZERO
    # True lines near a prediction: of its class, and of other classes.
    chosen = np.empty(len(lines.span), np.uint64)
    others = np.empty(len(lines.span), np.uint64)
    beside = others_beside = ZERO
    is_listed = are_chosen = False
    for g in range(len(bounds)):
        first_truth = U(bounds[g, 1])
        last_truth = U(bounds[g, 2])
        for k in range(U(bounds[g, 0]), last_truth):
            truth = k >= first_truth
            if truth:
                other = prediction_of[k]
            else:
                other = truth_of[k]
            r = confidence[k]
            s = 0.0
            if other >= 0:
                s = confidence[other]
            start = lines.span[k, START]
            stop = lines.span[k, STOP]
            closing = 0.0  # half of the piece from the last point of a ring to its first
            if repeats[k] and stop > start:
                closing = 0.5 * math.sqrt(square_between(points, stop - ONE, stop))
            before = closing
            listed = start  # near blocks are listed for the points before
            beside = ZERO
            are_chosen = False
            if not truth:
                beside = _add_near_lines(lines, k, first_truth, last_truth, limit, chosen, ZERO)
            for point in range(start, stop):
                after = closing
                if point + ONE < stop:
                    after = 0.5 * math.sqrt(square_between(points, point, point + ONE))
                length = before + after
                before = after
                if partner[point] == LEFT_OUT:
                    continue
                matched = partner[point] >= 0
                if truth:
                    out[g, TRUE] += length
                    if matched:
                        out[g, FOUND] += length
                        if s >= sure:
                            out[g, SURE_FOUND] += length
                    continue
                out[g, PREDICTED] += r * length
                if r >= sure:
                    out[g, SURE] += length
                if not matched:
                    if point >= listed:  # the first unmatched point of a block
                        block = (point - start) // BLOCK
                        listed = start + (block + ONE) * BLOCK
                        own = lines.span[k, FIRST_BLOCK] + block
                        of_class = _list_near_blocks(lines, repeats, own, chosen, beside, limit, near)
                        is_listed = False
                    found, is_matched = _nearest_truth(lines, repeats, partner, point, near, of_class, limit)
                    if found and is_matched:
                        out[g, REPEATED] += r * length
                        continue
                    if found:
                        out[g, PIECES] += r * length
                        continue
                    out[g, FAR] += r * length
                    if not are_chosen:
                        others_beside = _add_near_lines_of_other_classes(lines, k, bounds, g, classes, limit, others)
                        are_chosen = True
                    if not is_listed:
                        of_others = _list_near_blocks(lines, repeats, own, others, others_beside, limit, near_others)
                        is_listed = True
                    if _is_near(lines, repeats, point, near_others, of_others, limit):
                        out[g, OTHER_CLASS] += r * length
                    continue
                out[g, RIGHT] += r * length
                if r >= sure:
                    out[g, SURE_RIGHT] += length
                square = square_between(points, point, U(partner[point]))
                weight = min(r, s)
                true = U(other)
                up = 0.0
                if points.shape[0] > 2:
                    up = (points[TWO, point] - points[TWO, U(partner[point])]) ** 2
                level = max(square - up, 0.0)
                across = _square_across(lines, repeats, point, true, level)
                along = level - across
                offset = math.sqrt(square)
                bin_across = int(math.sqrt(across) * (bins / cutoff))
                out[g, WEIGHT] += weight
                out[g, OFFSET] += weight * offset
                out[g, ACROSS] += weight * math.sqrt(across)
                out[g, ALONG] += weight * math.sqrt(along)
                out[g, UP] += weight * math.sqrt(up)
                out[g, CUTOFF] += weight * cutoff
                if offset > 0.0:
                    out[g, POINTS_ACROSS] += factor[k] * across / offset
                    out[g, POINTS_ALONG] += factor[k] * along / offset
                    out[g, POINTS_UP] += factor[k] * up / offset
                out[g, FIRST_BIN + min(int(offset * (bins / cutoff)), bins - 1)] += weight
                out[g, FIRST_BIN + bins + min(bin_across, bins - 1)] += weight
