"""Computes the extent of the instances of one side, robust against a few outliers."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.checks.neighbours import Motion
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.geometry.survey import survey
from mapgauge.typing import Points

FAR = 200.0  # metres from the origin; no frame around the ego reaches this far
_TRIM = 0.02  # share of instances that is ignored at each edge
_EDGE = 0.2  # metres; instances that end within this distance end at the same edge
_AT_EDGE = 4  # number of instances that must end at the same edge


class Extent(NamedTuple):
    """The extent of the instances of one side."""

    low: Points  # (2,)
    high: Points  # (2,)
    cut: NDArray[np.bool_]  # (2,): whether many instances end at the same edges along this axis, as after cropping
    of_frame: float  # the median diagonal of a frame
    instances: int

    @property
    def size(self) -> Points:
        """Size along x and y."""
        return self.high - self.low

    @property
    def centre(self) -> Points:
        """Centre of the extent."""
        return self.low / 2 + self.high / 2

    @property
    def is_world(self) -> bool:
        """Whether all instances are far from the origin, or frames are small compared with the whole extent."""
        across, away = np.hypot(*self.size), np.hypot(*self.centre)
        return bool(away > max(FAR, 2 * across) or (across > FAR and self.of_frame < 0.2 * across))

    def moved(self, motion: Motion) -> "Extent":
        """Return the extent after a quarter turn or a mirroring."""
        corners = motion(np.stack([self.low, self.high]))
        cut = motion(self.cut.astype(np.float64)) != 0
        return self._replace(low=corners.min(axis=0), high=corners.max(axis=0), cut=cut)

    def __str__(self) -> str:
        """Size for messages, such as ``60 x 30``."""
        return " x ".join(f"{size:.3g}" if not 1e3 <= size < 1e7 else f"{size:.0f}" for size in self.size.tolist())


def _bounds(polylines: Polylines) -> tuple[NDArray[np.int64], Points, Points]:
    """Return the indices of polylines with points, and their lowest and highest x and y."""
    rows = np.flatnonzero(np.diff(polylines.offsets))
    found = survey(polylines)
    return rows, found.low[rows, :2], found.high[rows, :2]


def extent_of(side: MapFrames) -> Extent | None:
    """Return the extent of one side; None if it has no points."""
    rows, low, high = _bounds(side.polylines)
    if not len(rows):
        return None
    frame = side.frame[rows]
    starts = np.flatnonzero(np.diff(frame, prepend=-1))
    span = np.maximum.reduceat(high, starts, axis=0) - np.minimum.reduceat(low, starts, axis=0)
    trimmed = max(int(_TRIM * len(rows)), int(len(rows) >= 10))
    low, high = np.sort(low, axis=0), np.sort(high, axis=0)[::-1]
    least = max(trimmed + 1, _AT_EDGE)
    cut = ((low - low[0] < _EDGE).sum(axis=0) >= least) & ((high[0] - high < _EDGE).sum(axis=0) >= least)
    return Extent(low[trimmed], high[trimmed], cut, float(np.median(np.hypot(*span.T))), len(rows))
