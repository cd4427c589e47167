"""Where the frames lie on the map of all frames: as in the world, or as tiles if scenes are far apart."""

from typing import NamedTuple

import numpy as np

from mapgauge.typing import Floats, Indices
from mapgauge.views.tiles import areas_of, packed

REACH = 200.0  # metres between frames of one area, about
MARGIN = 40.0  # metres around an area: two squares of the map
EMPTY = 4.0  # tiles are drawn if the whole map of the world is so many times as large


class Sheet(NamedTuple):
    """The areas that frames are in, and where they are drawn."""

    area: Indices  # (frames,): the area of each frame; -1 without a pose
    shift: Floats  # (frames, 2): metres that are added to x and y of each frame
    tiles: int  # number of areas if they are tiles; 0 if the map is that of the world


def sheet_of(tracks: Floats) -> Sheet:
    """Return where frames are drawn. ``tracks`` begin with their x and y in the world.

    >>> tracks = np.array([[0.0, 0.0, 0.0], [9000.0, 0.0, 0.0]])
    >>> sheet_of(tracks).area.tolist(), sheet_of(tracks).tiles
    ([0, 1], 2)
    """
    area = np.full(len(tracks), -1)
    shift = np.zeros((len(tracks), 2))
    there = np.flatnonzero(np.isfinite(tracks[:, :2]).all(axis=1))
    if not len(there):
        return Sheet(area, shift, tiles=0)
    x, y = tracks[there, :2].T
    found = areas_of(x, y, np.ones(len(there)), reach=REACH)
    area[there] = found.area
    tiles = packed(found.bounds, margin=MARGIN)
    world = (np.ptp(x) + 2 * MARGIN) * (np.ptp(y) + 2 * MARGIN)
    if world < EMPTY * tiles.width * tiles.height:
        return Sheet(area, shift, tiles=0)
    shift[there, 0] = tiles.left[found.area]
    shift[there, 1] = tiles.bottom[found.area]
    return Sheet(area, shift, len(found.bounds))
