"""Draws polylines and polygons as OpenCV 4.8 does, pixel by pixel.

Public evaluators draw with ``cv2.polylines`` and ``cv2.fillPoly``. Their scores depend on single pixels, so the rules
of rounding are the same here. An image is ``(rows, columns)`` of ``uint8``; a pixel that is drawn becomes 1. Corners
are whole numbers, ``(column, row)``, and may lie outside of the image.

- A line of thickness 1 is Bresenham's, from left to right, after it is cut at the border of the image.
- A wider line is, for each of its pieces, a rectangle and a disc at both ends. The corners of the rectangle, its
  outline and the columns at which rows begin and end are fixed-point numbers with ``SHIFT`` binary places. A level line
  of the odd thickness t > 1 has t + 2 rows.
- A polygon is its outline, and in each row the pixels between its edges, counted as even and odd. It is closed if its
  last corner is not its first.
"""

import math

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._jit import jit, jit_allocating

SHIFT = 16  # binary places of fixed-point numbers
UNIT = 1 << SHIFT
HALF = UNIT >> 1


@jit
def _quotient(a, b):
    """Return ``a / b``, rounded towards 0."""
    if (a >= 0) == (b > 0):
        return a // b
    return -((-a) // b)


@jit
def _put(image, x, y):
    if 0 <= x < image.shape[1] and 0 <= y < image.shape[0]:
        image[y, x] = 1


@jit
def _put_row(image, y, first, last):
    """Draw the pixels of a row from the first to the last column."""
    if 0 <= y < image.shape[0]:
        for x in range(max(first, 0), min(last, image.shape[1] - 1) + 1):
            image[y, x] = 1


@jit
def _sides(x, y, right, bottom):
    """Return the sides on which a point lies outside: 1 left, 2 right, 4 above, 8 below."""
    return (1 if x < 0 else 0) + (2 if x > right else 0) + (4 if y < 0 else 0) + (8 if y > bottom else 0)


@jit
def _shift(distance, along, across):
    """Return how far a line moves along one axis over a distance on the other, rounded towards 0."""
    return int(float(distance) * float(along) / float(across))


@jit
def _cut(x1, y1, x2, y2, right, bottom):
    """Return whether a line meets the rectangle from 0 to ``right`` and ``bottom``, and its ends, cut there."""
    c1 = _sides(x1, y1, right, bottom)
    c2 = _sides(x2, y2, right, bottom)
    if c1 & c2 == 0 and c1 | c2 != 0:
        if c1 & 12:
            if c1 < 8:
                edge = 0
            else:
                edge = bottom
            x1 += _shift(edge - y1, x2 - x1, y2 - y1)
            y1 = edge
            c1 = _sides(x1, 0, right, bottom)
        if c2 & 12:
            if c2 < 8:
                edge = 0
            else:
                edge = bottom
            x2 += _shift(edge - y2, x2 - x1, y2 - y1)
            y2 = edge
            c2 = _sides(x2, 0, right, bottom)
        if c1 & c2 == 0 and c1 | c2 != 0:
            if c1:
                if c1 == 1:
                    edge = 0
                else:
                    edge = right
                y1 += _shift(edge - x1, y2 - y1, x2 - x1)
                x1 = edge
                c1 = 0
            if c2:
                if c2 == 1:
                    edge = 0
                else:
                    edge = right
                y2 += _shift(edge - x2, y2 - y1, x2 - x1)
                x2 = edge
                c2 = 0
    return c1 | c2 == 0, x1, y1, x2, y2


@jit
def _thin_line(image, x1, y1, x2, y2):
    """Draw a line of thickness 1 between two pixels."""
    meets, x1, y1, x2, y2 = _cut(x1, y1, x2, y2, image.shape[1] - 1, image.shape[0] - 1)
    if not meets:
        return
    if x2 < x1:
        x1, y1, x2, y2 = x2, y2, x1, y1
    dx = x2 - x1
    dy = abs(y2 - y1)
    if y2 >= y1:
        down = 1
    else:
        down = -1
    steep = dy > dx
    longer = max(dx, dy)
    shorter = min(dx, dy)
    error = longer - 2 * shorter
    for _ in range(longer + 1):
        image[y1, x1] = 1
        aside = error < 0
        error += (2 * longer if aside else 0) - 2 * shorter
        if not steep or aside:
            x1 += 1
        if steep or aside:
            y1 += down


@jit
def _outline(image, x1, y1, x2, y2):
    """Draw a line of thickness 1 between two points in fixed-point numbers."""
    right = (image.shape[1] << SHIFT) - 1
    bottom = (image.shape[0] << SHIFT) - 1
    meets, x1, y1, x2, y2 = _cut(x1, y1, x2, y2, right, bottom)
    if not meets:
        return
    flat = abs(x2 - x1) > abs(y2 - y1)
    if (x2 < x1) if flat else (y2 < y1):
        x1, y1, x2, y2 = x2, y2, x1, y1
    _put(image, (x2 + HALF) >> SHIFT, (y2 + HALF) >> SHIFT)
    if flat:
        step = _quotient((y2 - y1) * UNIT, (x2 - x1) | 1)
        for k in range(((x2 - x1) >> SHIFT) + 1):
            _put(image, ((x1 + HALF) >> SHIFT) + k, (y1 + HALF + k * step) >> SHIFT)
    else:
        step = _quotient((x2 - x1) * UNIT, (y2 - y1) | 1)
        for k in range(((y2 - y1) >> SHIFT) + 1):
            _put(image, (x1 + HALF + k * step) >> SHIFT, ((y1 + HALF) >> SHIFT) + k)


@jit
def _rectangle(image, corners):
    """Fill a convex polygon with four corners in fixed-point numbers, and draw its outline."""
    count = 4
    top = 0
    for k in range(count):
        before = (k + count - 1) % count
        _outline(image, corners[before, 0], corners[before, 1], corners[k, 0], corners[k, 1])
        if corners[k, 1] < corners[top, 1]:
            top = k
    low = corners[top, 1]
    high = corners[top, 1]
    for k in range(count):
        high = max(high, corners[k, 1])
    first = (low + HALF) >> SHIFT
    last = min((high + HALF) >> SHIFT, image.shape[0] - 1)
    # Two chains of edges go down from the highest corner. Each has its corner, the row where it ends, x and its step.
    at0 = top
    at1 = top
    end0 = first
    end1 = first
    left = count
    x0 = -UNIT
    x1 = -UNIT
    step0 = 0
    step1 = 0
    for y in range(first, last + 1):
        if y >= end0:
            at0, end0, x0, step0, left = _next_edge(corners, at0, 1, y, end0, x0, step0, left)
        if y >= end1:
            at1, end1, x1, step1, left = _next_edge(corners, at1, count - 1, y, end1, x1, step1, left)
        if left < 0:  # the last row has the outline only
            break
        _put_row(image, y, (min(x0, x1) + HALF) >> SHIFT, (max(x0, x1) + HALF) >> SHIFT)
        x0 += step0
        x1 += step1


@jit
def _next_edge(corners, at, way, y, end, x, step, left):
    """Return the next edge of a chain that ends below row ``y``: corner, last row, x, step; and the edges left."""
    start = at
    count = len(corners)
    target = (at + way) % count
    while left > 0:
        left -= 1
        row = (corners[target, 1] + HALF) >> SHIFT
        if row > y:
            rows = row - y
            x = corners[start, 0]
            return target, row, x, _quotient((corners[target, 0] - x) * 2 + rows, 2 * rows), left
        start = target
        target = (target + way) % count
    return at, end, x, step, left - 1


@jit
def _disc(image, x, y, radius):
    """Fill a circle by the midpoint rule."""
    error = 0
    dx = radius
    dy = 0
    plus = 1
    minus = 2 * radius - 1
    while dx >= dy:
        _put_row(image, y - dy, x - dx, x + dx)
        _put_row(image, y + dy, x - dx, x + dx)
        _put_row(image, y - dx, x - dy, x + dy)
        _put_row(image, y + dx, x - dy, x + dy)
        dy += 1
        error += plus
        plus += 2
        if error > 0:
            error -= minus
            dx -= 1
            minus -= 2


@jit
def _thick_line(image, x1, y1, x2, y2, thickness, corners):
    """Draw the rectangle of a wide line between two pixels."""
    dx = float(x1 - x2)
    dy = float(y2 - y1)
    length = math.sqrt(dx * dx + dy * dy)
    if length == 0:
        return
    scale = (thickness * HALF + (HALF if thickness % 2 else 0)) / length
    across = int(np.rint(dy * scale))
    down = int(np.rint(dx * scale))
    x1 = x1 << SHIFT
    y1 = y1 << SHIFT
    x2 = x2 << SHIFT
    y2 = y2 << SHIFT
    corners[0, 0] = x1 + across
    corners[0, 1] = y1 + down
    corners[1, 0] = x1 - across
    corners[1, 1] = y1 - down
    corners[2, 0] = x2 - across
    corners[2, 1] = y2 - down
    corners[3, 0] = x2 + across
    corners[3, 1] = y2 + down
    _rectangle(image, corners)


@jit
def draw_line(image, pixels, thickness, corners):
    """Draw an open polyline. ``corners`` is memory for ``(4, 2)`` whole numbers."""
    for k in range(len(pixels)):
        before = max(k - 1, 0)
        x1 = pixels[before, 0]
        y1 = pixels[before, 1]
        x2 = pixels[k, 0]
        y2 = pixels[k, 1]
        if thickness > 1:
            if k > 0:
                _thick_line(image, x1, y1, x2, y2, thickness, corners)
            _disc(image, x2, y2, (thickness * HALF + HALF) >> SHIFT)
        elif k > 0:
            _thin_line(image, x1, y1, x2, y2)


@jit
def fill_polygon(image, pixels, edges, crossings):
    """Fill a polygon. ``edges`` is memory for four, ``crossings`` for one whole number for each corner."""
    rows = image.shape[0]
    columns = image.shape[1]
    count = 0
    low = rows
    high = 0
    for k in range(len(pixels)):
        if k:
            before = k - 1
        else:
            before = len(pixels) - 1
        x1 = pixels[before, 0]
        y1 = pixels[before, 1]
        x2 = pixels[k, 0]
        y2 = pixels[k, 1]
        _thin_line(image, x1, y1, x2, y2)
        if y1 == y2:
            continue
        # An edge across the border of the image takes its slope from the part inside.
        a1 = x1
        b1 = y1
        a2 = x2
        b2 = y2
        half = HALF
        if _sides(x1, y1, columns - 1, rows - 1) | _sides(x2, y2, columns - 1, rows - 1):
            _, c1, d1, c2, d2 = _cut(x1, y1, x2, y2, columns - 1, rows - 1)
            half = 0
            if d1 != d2:
                a1 = c1
                b1 = d1
                a2 = c2
                b2 = d2
        step = _quotient((a2 - a1) << SHIFT, b2 - b1)
        down = y1 < y2
        start = half + ((a1 << SHIFT) + (y1 - b1) * step if down else (a2 << SHIFT) + (y2 - b2) * step)
        edges[count, 0] = min(y1, y2)
        edges[count, 1] = max(y1, y2)
        edges[count, 2] = start
        edges[count, 3] = step
        low = min(low, edges[count, 0])
        high = max(high, edges[count, 1])
        count += 1
    for y in range(max(low, 0), min(high, rows)):
        met = 0
        for e in range(count):
            if edges[e, 0] <= y < edges[e, 1]:
                x = edges[e, 2] + (y - edges[e, 0]) * edges[e, 3]
                place = met
                while place > 0 and crossings[place - 1] > x:
                    crossings[place] = crossings[place - 1]
                    place -= 1
                crossings[place] = x
                met += 1
        for k in range(0, met - 1, 2):
            _put_row(image, y, crossings[k] >> SHIFT, crossings[k + 1] >> SHIFT)


@jit_allocating
def memory_of(offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the memory for drawing pieces with these offsets: edges and crossings of polygons, and a rectangle."""
    most = 4
    for i in range(len(offsets) - 1):
        most = max(most, offsets[i + 1] - offsets[i])
    return np.empty((most, 4), np.int64), np.empty(most, np.int64), np.empty((4, 2), np.int64)


@jit
def draw_pieces(image, points, offsets, filled, first, end, thickness, memory):
    """Draw some polylines, or polygons where ``filled``. Piece i has ``points[offsets[i]:offsets[i + 1]]``."""
    edges, crossings, corners = memory
    for i in range(first, end):
        line = points[offsets[i] : offsets[i + 1]]
        if filled[i]:
            fill_polygon(image, line, edges, crossings)
        else:
            draw_line(image, line, thickness, corners)


@jit
def spread(image: NDArray[np.uint8], other: NDArray[np.uint8], reach: int) -> None:
    """Replace each pixel by a square that reaches this far in both directions. ``other`` is memory for an image."""
    rows, columns = image.shape
    other[:] = 0
    for y in range(rows):
        for x in range(columns):
            if image[y, x]:
                for k in range(max(x - reach, 0), min(x + reach + 1, columns)):
                    other[y, k] = 1
    image[:] = 0
    for y in range(rows):
        for row in range(max(y - reach, 0), min(y + reach + 1, rows)):
            for x in range(columns):
                image[row, x] |= other[y, x]


@jit_allocating
def draw(image, points, offsets, filled, thickness, reach):
    """Draw all pieces, and replace each pixel by a square that reaches this far in both directions."""
    draw_pieces(image, points, offsets, filled, 0, len(filled), thickness, memory_of(offsets))
    if reach:
        spread(image, np.empty_like(image), reach)
