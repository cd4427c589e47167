"""Names the boundaries of a frame after the closed lines of the whole map, so that they keep their names."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mapgauge.truth.cutting.fragments import Fragment
from mapgauge.truth.cutting.layers import Layer
from mapgauge.truth.cutting.shapes import Geometries, shapely_module
from mapgauge.typing import Points


@dataclass(frozen=True, eq=False)
class RingPlaces:
    """The edges of the union of a whole map.

    A union for one frame may differ from it: rounding can open slits between polygons that touch. So a boundary of a
    frame is named after the closed line nearest to its middle. Only names and tracks depend on this.
    """

    rings: Layer

    def fragments(self, points: Sequence[Points], lines: Geometries) -> list[Fragment]:
        """Return boundaries as fragments.

        Args:
            points: The points of each boundary, in the coordinates of its frame.
            lines: The same boundaries in map coordinates.
        """
        if not len(lines):
            return []
        shapely = shapely_module()
        middle = shapely.line_interpolate_point(lines, 0.5, normalized=True)
        which, nearest = self.rings.tree.query_nearest(middle, all_matches=False)
        order = np.argsort(which)
        ring = nearest[order]
        geometries = self.rings.geometries[ring]
        at, half = shapely.line_locate_point(geometries, middle), shapely.length(lines) / 2
        period = shapely.length(geometries)
        return [
            Fragment(one, (self.rings.ids[k],), (float(at[i] - half[i]), float(at[i] + half[i])), float(period[i]))
            for i, (one, k) in enumerate(zip(points, ring.tolist(), strict=True))
        ]
