"""Connected areas of the map, packed as tiles, so that cities far apart do not make an empty sheet."""

from typing import NamedTuple

import numpy as np

from mapgauge.geometry.connected import connected
from mapgauge.typing import Floats, Indices

REACH = 20.0  # metres between points of one area, about: the middles of cells of half this size are compared
MARGIN = 12.0  # metres around each area


class Areas(NamedTuple):
    """Areas, the one with the largest sum of weights first."""

    area: Indices  # (points,): the area of each point
    bounds: Floats  # (areas, 4): the smallest x and y of its points, and the largest, in metres in the world


class Tiles(NamedTuple):
    """Where areas lie on a sheet, in metres."""

    left: Floats  # (areas,): what is added to x of the points of an area
    bottom: Floats
    width: float
    height: float


def areas_of(x: Floats, y: Floats, weight: Floats, reach: float = REACH) -> Areas:
    """Return the connected areas of points."""
    if not len(x):
        return Areas(np.zeros(0, np.int64), np.zeros((0, 4)))
    size = reach / 2
    column = np.floor(x / size).astype(np.int64)
    row = np.floor(y / size).astype(np.int64)
    lowest = int(column.min())
    wide = int(column.max()) - lowest + 1
    found, cell = np.unique(row * wide + (column - lowest), return_inverse=True)
    rows, columns = np.divmod(found, wide)
    part = connected((columns + lowest) * size, rows * size, np.zeros(len(found), np.int64), reach=reach)
    area = part[cell.reshape(-1)]
    total = np.bincount(area, weight)
    order = np.argsort(-total, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    area = rank[area]
    bounds = np.empty((len(order), 4))
    for k, (values, start, smaller) in enumerate(
        ((x, np.inf, True), (y, np.inf, True), (x, -np.inf, False), (y, -np.inf, False))
    ):
        column = np.full(len(order), start)
        if smaller:
            np.minimum.at(column, area, values)
        else:
            np.maximum.at(column, area, values)
        bounds[:, k] = column
    return Areas(area, bounds)


def packed(bounds: Floats, aspect: float = 1.6, margin: float = MARGIN) -> Tiles:
    """Return where areas lie on a sheet of about this aspect, width over height: in rows, the highest areas first.

    >>> tiles = packed(np.array([[0.0, 0.0, 76.0, 76.0], [9000.0, 0.0, 9076.0, 26.0]]), 2.0)
    >>> tiles.width, tiles.height, tiles.left.tolist()
    (200.0, 100.0, [12.0, -8888.0])
    """
    sizes = bounds[:, 2:] - bounds[:, :2] + 2 * margin
    if not len(sizes):
        return Tiles(np.zeros(0), np.zeros(0), width=1.0, height=1.0)
    best = None
    widest = float(sizes[:, 0].max())
    whole = float(sizes[:, 0].sum())
    # Few widths are tried, and the sheet whose aspect comes closest is taken.
    for width in np.geomspace(widest, max(whole, widest), num=40).tolist():
        tiles = _in_rows(bounds, sizes, width, margin=margin)
        off = abs(np.log(tiles.width / tiles.height / aspect))
        # Of sheets with about the same aspect, the smaller one leaves less space empty.
        cost = off + np.log(tiles.width * tiles.height / float(np.prod(sizes, axis=1).sum()))
        if best is None or cost < best[0]:
            best = (cost, tiles)
    assert best is not None
    return best[1]


def _in_rows(bounds: Floats, sizes: Floats, width: float, margin: float) -> Tiles:
    """Return the areas in rows that are at most so wide."""
    left = np.zeros(len(sizes))
    bottom = np.zeros(len(sizes))
    x = 0.0  # of the next column of the row
    y = 0.0  # of the row
    row = 0.0  # its height
    right = 0.0
    column = (0.0, 0.0, 0.0)  # x, the width and the filled height of the last column: low areas are put below others
    for k in np.argsort(-sizes[:, 1], kind="stable").tolist():
        wide, high = sizes[k].tolist()
        if wide <= column[1] and column[2] + high <= row:
            left[k] = column[0]
            bottom[k] = y + column[2]
            column = (column[0], column[1], column[2] + high)
            continue
        if x > 0 and x + wide > width * (1 + 1e-9):
            y += row
            x = 0.0
            row = 0.0
        left[k] = x
        bottom[k] = y
        column = (x, wide, high)
        x += wide
        row = max(row, high)
        right = max(right, x)
    height = y + row
    # The first row is at the top.
    bottom = height - bottom - sizes[:, 1]
    return Tiles(left=left + margin - bounds[:, 0], bottom=bottom + margin - bounds[:, 1], width=right, height=height)
