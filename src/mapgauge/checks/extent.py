"""Computes the extent of one side, robust against a few outliers, and recognises longitude and latitude."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.checks.neighbours import Motion
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import survey
from mapgauge.typing import Floats, Indices, Points

FAR = 200.0  # metres from the origin; no frame around the ego reaches this far
_TRIM = 0.02  # share of instances that is ignored at each edge
_EDGE = 0.2  # metres; instances that end within this distance end at the same edge
_AT_EDGE = 4  # number of instances that must end at the same edge
_ENOUGH = 5  # lines that one side needs if the other does not have longitude and latitude
_LINE = 0.1  # most lines are shorter than this: 10 km in degrees, or 10 cm in metres
_NEXT = 0.5  # most lines of a frame are nearer than this to the next one: 50 km, or half a metre
_FROM_ORIGIN = 2.0  # no land is nearer to longitude 0, latitude 0
_POLAR = 84.0  # degrees of latitude; UTM ends here


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


def extent_of(side: MapFrames) -> Extent | None:
    """Return the extent of one side; None if it has no points."""
    rows = np.flatnonzero(np.diff(side.polylines.offsets))
    if not len(rows):
        return None
    measured = survey(side.polylines)
    low, high = measured.low[rows, :2], measured.high[rows, :2]
    frame = side.frame[rows]
    starts = np.flatnonzero(np.diff(frame, prepend=-1))
    span = np.maximum.reduceat(high, starts, axis=0) - np.minimum.reduceat(low, starts, axis=0)
    trimmed = max(int(_TRIM * len(rows)), int(len(rows) >= 10))
    low, high = np.sort(low, axis=0), np.sort(high, axis=0)[::-1]
    least = max(trimmed + 1, _AT_EDGE)
    cut = ((low - low[0] < _EDGE).sum(axis=0) >= least) & ((high[0] - high < _EDGE).sum(axis=0) >= least)
    return Extent(low[trimmed], high[trimmed], cut, float(np.median(np.hypot(*span.T))), len(rows))


def is_geographic(side: MapFrames, least: int = _ENOUGH) -> bool:
    """Whether at least ``least`` lines, and most lines of a side, look like longitude and latitude."""
    centre, length, frame = _lines(side)
    if len(centre) < max(least, 1):
        return False
    nearer, farther = np.sort(np.abs(centre), axis=1).T
    on_earth = (nearer <= 90) & (farther <= 180) & (np.hypot(nearer, farther) > _FROM_ORIGIN)
    next_one = np.hypot(*np.diff(centre, axis=0).T)[np.diff(frame) == 0]
    apart = float(np.median(next_one)) if len(next_one) else 0.0
    return float(np.median(length)) < _LINE and apart < _NEXT and bool(np.median(on_earth) == 1)


def degrees_of_side(name: str, side: MapFrames) -> Iterator[Finding]:
    """Find longitude and latitude on one side."""
    if is_geographic(side):
        yield degrees_found(name, side, len(side.polylines))


def degrees_found(name: str, side: MapFrames, count: int) -> Finding:
    """Return the finding.

    Args:
        name: The side, or both sides, for the message.
        side: A side with longitude and latitude.
        count: Number of instances.
    """
    centre, length, _ = _lines(side)
    x, y = centre[0].tolist()
    text = (
        f"{name}: the coordinates look like longitude and latitude, such as ({x:.6f}, {y:.6f}), and half of the lines "
        f"are shorter than {np.median(length):.2g}. Thresholds and cutoffs are metres, so no value has a meaning"
    )
    utm = f"-t_srs EPSG:{326 if y >= 0 else 327}{int((x + 180) // 6) % 60 + 1:02}" if abs(y) < _POLAR else "-t_srs CRS"
    remedy = Remedy(
        "Project them to metres first, for example with geopandas: data.to_crs(data.estimate_utm_crs())",
        f"Project them to metres first, for example with ogr2ogr {utm} OUT IN",
    )
    return Finding("error", "coordinates-world", text, count, remedy=remedy)


def _lines(side: MapFrames) -> tuple[Points, Floats, Indices]:
    """Return centre, length of the diagonal and frame of the lines that are longer than 0."""
    measured = survey(side.polylines)
    low, high = measured.low[:, :2], measured.high[:, :2]
    length = np.hypot(*(high - low).T)
    rows = np.flatnonzero((length > 0) & np.isfinite(length))  # without points it is minus infinity
    return low[rows] / 2 + high[rows] / 2, length[rows], side.frame[rows]
