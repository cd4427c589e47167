"""Finds longitude and latitude where metres are expected, by the values of one side.

A street is a few thousandths of a degree long, and all land is far from longitude 0, latitude 0. In metres, such lines
would be shorter than a hand, and all in one place away from the ego.
"""

from collections.abc import Iterator

import numpy as np

from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.survey import survey
from mapgauge.typing import Floats, Indices, Points

ENOUGH = 5  # lines that one side needs if the other does not have longitude and latitude
_LINE = 0.1  # most lines are shorter than this: 10 km in degrees, or 10 cm in metres
_NEXT = 0.5  # most lines of a frame are nearer than this to the next one: 50 km, or half a metre
_FROM_ORIGIN = 2.0  # no land is nearer to longitude 0, latitude 0
_POLAR = 84.0  # degrees of latitude; UTM ends here


def is_geographic(side: MapFrames, least: int = ENOUGH) -> bool:
    """Whether at least ``least`` lines, and most lines of a side, look like longitude and latitude."""
    centre, length, frame = _lines(side)
    if len(centre) < max(least, 1):
        return False
    nearer, farther = np.sort(np.abs(centre), axis=1).T
    on_earth = (nearer <= 90) & (farther <= 180) & (np.hypot(nearer, farther) > _FROM_ORIGIN)
    next_one = np.hypot(*np.diff(centre, axis=0).T)[np.diff(frame) == 0]
    apart = float(np.median(next_one)) if len(next_one) else 0.0
    return float(np.median(length)) < _LINE and apart < _NEXT and bool(np.median(on_earth) == 1)


def of_side(name: str, side: MapFrames) -> Iterator[Finding]:
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
    found = survey(side.polylines)
    low, high = found.low[:, :2], found.high[:, :2]
    length = np.hypot(*(high - low).T)
    rows = np.flatnonzero((length > 0) & np.isfinite(length))  # without points it is minus infinity
    return low[rows] / 2 + high[rows] / 2, length[rows], side.frame[rows]
