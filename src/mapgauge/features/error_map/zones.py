"""How much of the truth was not found near the vehicle and far from it, and ahead, beside and behind it.

A zone is a ring around the vehicle, or a third of the region along its length. Zones are the sums of what the panel
*where* draws: the pieces of the road in every frame, or the cells around the vehicle. A piece or a cell belongs to the
zone of its middle.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mapgauge.features.error_map.around import CELL, LEVELS, AroundEgo
from mapgauge.features.error_map.error_map import ErrorMap
from mapgauge.metrics.completeness import ring_edges
from mapgauge.typing import Floats, Indices

SIDES = ("ahead", "beside", "behind")
_MILLIMETRES = 1000


class Zones(NamedTuple):
    """Lengths of true lines in the zones, over all frames, in millimetres: rings from near to far, then the sides."""

    edges: tuple[float, ...]  # metres: where each ring begins; the last one has no end
    seen: Indices  # (classes, zones)
    found: Indices  # (levels, classes, zones): matched, by the least confidence of the prediction

    @property
    def names(self) -> list[str]:
        """The zones in words."""
        rings = [f"{first:g} to {end:g} m" for first, end in pairwise(self.edges)]
        return [*rings, f"over {self.edges[-1]:g} m", *SIDES]


def zones_of_map(made: ErrorMap, method: int, region: tuple[float, ...], forward: str) -> Zones:
    """Return the zones of a map of the world: every piece counts in every frame that saw it, where it was then."""
    x, y = _around_vehicle(made, forward)
    piece = made.seen_piece
    weight = np.rint(made.pieces.length[piece] * _MILLIMETRES)
    label = made.pieces.label[piece].astype(np.int64)
    # 0 for a piece that was not found, and otherwise the number of the levels that its prediction reaches.
    reached = np.searchsorted(np.array(LEVELS), made.methods[method].confidence, side="right")
    edges = ring_edges(region)
    zones = len(edges) + len(SIDES)
    shape = (len(LEVELS) + 1, len(made.classes), zones)
    sums = np.zeros(int(np.prod(shape)), np.int64)
    for zone in _zones(x, y, region, edges=edges):
        key = (reached * shape[1] + label) * zones + zone
        sums += np.bincount(key, weight, len(sums)).astype(np.int64)  # whole numbers, so the order does not matter
    by_reached = sums.reshape(shape)
    found = np.cumsum(by_reached[::-1], axis=0)[::-1]
    return Zones(edges, seen=found[0], found=found[1:])


def zones_around(made: AroundEgo, region: tuple[float, ...]) -> Zones:
    """Return the zones of the cells around the vehicle."""
    classes, columns, rows = made.seen.shape
    ahead = np.repeat(made.left + CELL * (np.arange(columns) + 0.5), rows)
    aside = np.tile(made.bottom + CELL * (np.arange(rows) + 0.5), columns)
    edges = ring_edges(region)
    seen = np.zeros((classes, len(edges) + len(SIDES)), np.int64)
    found = np.zeros((len(LEVELS), *seen.shape), np.int64)
    for zone in _zones(ahead, aside, region, edges=edges):
        for number in np.unique(zone).tolist():
            cells = zone == number
            seen[:, number] = made.seen.reshape(classes, -1)[:, cells].sum(axis=1)
            found[:, :, number] = made.found.reshape(len(LEVELS), classes, -1)[:, :, cells].sum(axis=2)
    return Zones(edges, seen=seen, found=found)


def _zones(
    ahead: Floats, aside: Floats, region: tuple[float, ...], edges: tuple[float, ...]
) -> tuple[Indices, Indices]:
    """Return the ring and the side of places around the vehicle, as numbers of zones."""
    distance = np.sqrt(ahead * ahead + aside * aside)
    ring = np.searchsorted(np.array(edges), distance, side="right") - 1
    third = region[0] / 6  # a third of the region lies beside the vehicle, half of this ahead of its middle
    side = np.where(ahead > third, 0, np.where(ahead >= -third, 1, 2))
    return ring, len(edges) + side


def _around_vehicle(made: ErrorMap, forward: str) -> tuple[Floats, Floats]:
    """Return how far ahead of the vehicle, and to its left, each piece was in each frame that saw it."""
    frame = made.seen_frame
    x = made.pieces.x[made.seen_piece] - made.poses[:, 0, 3][frame]
    y = made.pieces.y[made.seen_piece] - made.poses[:, 1, 3][frame]
    # The heading of each frame: where its first axis points in the world.
    ahead = made.poses[:, 0, 0]
    aside = made.poses[:, 1, 0]
    size = np.hypot(ahead, aside)
    cosine = np.divide(ahead, size, out=np.ones_like(size), where=size > 0)[frame]
    sine = np.divide(aside, size, out=np.zeros_like(size), where=size > 0)[frame]
    first = cosine * x + sine * y
    second = cosine * y - sine * x
    if forward == "y":
        return second, -first
    return first, second
