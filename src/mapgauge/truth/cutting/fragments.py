"""Fragments: the parts of map elements that a patch shows."""

from typing import NamedTuple

import numpy as np

from mapgauge.truth.cutting.shapes import shapely_module, simplify
from mapgauge.typing import Points


class Fragment(NamedTuple):
    """The part of a map element that a patch shows, or of several elements that were merged."""

    points: Points  # (n, 2) or (n, 3), metres, x forward, y to the left; a polygon repeats its first point as its last
    elements: tuple[str, ...]  # ids of the elements, sorted
    along: tuple[float, float] = (0.0, 1.0)  # start and stop along the element, metres; (0, 1) for a polygon
    period: float = 0.0  # length of a closed element, where ``along`` may continue past its start; 0 if it is open


def simplify_fragments(fragments: list[list[Fragment]], tolerance: float) -> list[list[Fragment]]:
    """Simplify the fragments of every patch to a tolerance in metres."""
    flat = [fragment for group in fragments for fragment in group]
    if not flat or tolerance <= 0:
        return fragments
    shapely = shapely_module()
    coords = np.concatenate([fragment.points for fragment in flat])
    owner = np.repeat(np.arange(len(flat)), [len(fragment.points) for fragment in flat])
    lines = simplify(shapely.linestrings(coords, indices=owner), tolerance)
    left, owner = shapely.get_coordinates(lines, include_z=coords.shape[1] > 2, return_index=True)
    ends = np.searchsorted(owner, np.arange(len(flat) + 1)).tolist()
    shorter = (fragment._replace(points=left[ends[k] : ends[k + 1]]) for k, fragment in enumerate(flat))
    return [[next(shorter) for _ in group] for group in fragments]
