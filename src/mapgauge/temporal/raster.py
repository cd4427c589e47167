"""MapTracker's rule for methods without tracks: instances that overlap as drawings are the same object.

What is known of the rule: instances with a score above 0.4 are drawn into 200 x 100 pixels, three pixels wide; pairs of
instances are assigned by the overlap of their drawings, if it is above 0.001, with each of the five previous frames;
the most recent frame with a match decides. What is not known was chosen here: polylines are drawn with a brush of 3 x 3
pixels, polygons are drawn as lines, and an id that a more recent match took is not given twice in a frame.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.geometry.cropping import crop_polylines
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Bounds, Floats, Forward, Indices, Points

DRAWN = 0.4  # instances with a confidence above this are drawn
LONG, SHORT = 200, 100  # pixels along and across the road
LEAST = 0.001  # overlap of two drawings of the same object
_BRUSH = (-1, 0, 1)  # pixels
_STEP = 0.5  # pixels between two marks of the brush


class Raster(NamedTuple):
    """A grid of pixels over a region."""

    low: Points  # (2,), metres
    pixel: Points  # (2,), metres
    shape: tuple[int, int]  # pixels along x and y

    @classmethod
    def of(cls, region: Bounds, forward: Forward | None) -> "Raster":
        """Return the grid of a region. Its longer side lies along the axis that points forward."""
        shape = (SHORT, LONG) if forward == "y" else (LONG, SHORT)
        low, high = np.array(region[:2]), np.array(region[2:])
        return cls(low, (high - low) / shape, shape)

    def masks(self, polylines: Polylines) -> NDArray[np.float32]:
        """Return the drawing of each polyline, ``(polylines, pixels)``: 1 where it is drawn, otherwise 0."""
        drawn = np.zeros((len(polylines), self.shape[0] * self.shape[1]), np.float32)
        owner, marks = self._marks(polylines)
        for across in _BRUSH:
            for up in _BRUSH:
                x, y = marks[:, 0] + across, marks[:, 1] + up
                inside = (x >= 0) & (y >= 0) & (x < self.shape[0]) & (y < self.shape[1])
                drawn[owner[inside], (x * self.shape[1] + y)[inside]] = 1
        return drawn

    def _marks(self, polylines: Polylines) -> tuple[Indices, Indices]:
        """Return pixels along all polylines: the polyline of each, and its place."""
        (x_min, y_min), (x_max, y_max) = self.low - self.pixel, self.low + self.pixel * (np.array(self.shape) + 1)
        pieces, source = crop_polylines(polylines, (x_min, y_min, x_max, y_max))  # lines may reach far beyond
        at = (pieces.coords[:, :2] - self.low) / self.pixel
        owner = np.repeat(np.arange(len(pieces)), np.diff(pieces.offsets))
        first = np.flatnonzero(owner[1:] == owner[:-1])
        step = at[first + 1] - at[first]
        counts = np.ceil(np.abs(step).max(axis=1, initial=0.0) / _STEP).astype(np.int64) + 1
        line = np.repeat(np.arange(len(first)), counts)
        number = np.arange(len(line)) - np.repeat(counts.cumsum() - counts, counts)
        share = number / np.maximum(counts - 1, 1)[line]
        places = at[first][line] + share[:, None] * step[line]
        return source[owner[first][line]], np.floor(places).astype(np.int64)

    def assign(self, now: NDArray[np.float32], before: NDArray[np.float32]) -> Indices:
        """Return for each drawing of a frame its partner in an earlier frame, or -1.

        The assignment has the largest sum of overlaps. An overlap is the number of common pixels over the number of
        pixels of either drawing.
        """
        common = (now @ before.T).astype(np.float64)
        either = now.sum(axis=1, dtype=np.float64)[:, None] + before.sum(axis=1, dtype=np.float64) - common
        overlap: Floats = np.divide(common, either, out=np.zeros_like(common), where=either > 0)
        partner: Indices = kernels.assignment.assign(np.where(overlap > LEAST, overlap, 0.0))[0]
        return partner
