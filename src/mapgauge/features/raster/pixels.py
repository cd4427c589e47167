"""How raster scores draw: the settings of a drawing, and the pixels of the points of polylines.

The image covers the region of the protocol. Public evaluators differ in its size, in the direction of the vehicle in
it, in rounding, in the thickness of lines, and in the classes that are filled.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np

from mapgauge.arguments import check_whole
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.geometry.cropping import check_region, crop_polylines
from mapgauge.geometry.polylines import Polylines, survey
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.settings import Settings, setting
from mapgauge.protocols import Protocol
from mapgauge.typing import Flags, Indices

MOST_PIXELS = 4096  # along one side of an image
FARTHEST = 1 << 20  # pixels; points beyond are moved here, so that drawing ends soon


def _check_size(name: str, value: Any) -> int:
    size = check_whole(name, value, least=1)
    if size > MOST_PIXELS:
        raise InvalidInput(f"{name} must be at most {MOST_PIXELS}, got {size}")
    return size


@dataclass(frozen=True, kw_only=True)
class DrawingSettings(Settings):
    """How polylines are drawn."""

    pixels: tuple[int, int] = setting(
        (200, 100), unit="px", check=_check_size, help="Pixels along the length and the width of the region."
    )
    forward: Literal["columns", "rows"] = setting(
        "columns", help="Whether the vehicle looks along the columns of the image, or along its rows (MapTR)."
    )
    rounding: Literal["down", "nearest"] = setting(
        "down", help="Whether points are moved to a pixel towards 0, or to the nearest one (MapVR)."
    )
    thickness: int = setting(
        3, check=_check_size, help="Thickness of lines. As OpenCV does, 1 draws one pixel, 3 five and 5 seven pixels."
    )
    spread: int = setting(
        1, unit="px", check=_check_size, help="Size of the square that each pixel becomes after drawing (MapVR: 5)."
    )
    filled: tuple[str, ...] = setting((), help="Classes that are drawn as filled polygons.")
    cut: bool = setting(default=False, help="Whether lines are cut at the region before they are drawn (HDMapNet).")

    def __post_init__(self) -> None:
        """Refuse a grid that has not two sides, and a square without a middle."""
        super().__post_init__()
        if len(self.pixels) != 2:
            raise InvalidInput(f"pixels must be two whole numbers, of the length and the width, got {self.pixels!r}")
        if self.spread % 2 == 0:
            raise InvalidInput(f"spread must be odd, got {self.spread}")

    def check(self, protocol: Protocol) -> None:
        """Refuse a protocol without a region."""
        if protocol.region is None:
            raise InvalidInput(
                "raster scores need a region, which is drawn",
                remedy=Remedy("Set region=(60, 30)", "Pass --set region=60x30"),
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the image."""
        length, width = self.pixels
        if self.forward == "columns":
            return (width, length)
        return (length, width)


class PixelDrawing(NamedTuple):
    """Polylines in pixels, sorted by group, predictions before truth. A polyline can have several pieces."""

    points: Indices  # (points, 2): column and row
    offsets: Indices  # piece i has the points offsets[i]:offsets[i + 1]
    instance: Indices  # (pieces,): the instance of each piece
    filled: Flags  # (pieces,)


def in_pixels(groups: Groups, protocol: Protocol, own: DrawingSettings) -> PixelDrawing:
    """Return the polylines of groups in pixels. Heights are left out. Several metrics may share the result."""
    key = f"pixels {tuple(getattr(own, field.name) for field in fields(DrawingSettings))} {protocol.region}"
    if key not in groups.shared:
        groups.shared[key] = _in_pixels(groups, protocol, own)
    drawing: PixelDrawing = groups.shared[key]
    return drawing


def _in_pixels(groups: Groups, protocol: Protocol, own: DrawingSettings) -> PixelDrawing:
    lines = groups.polylines
    instance = np.arange(len(groups.confidence))
    filled = np.array([name in own.filled for name in groups.names] + [False])[groups.label[groups.side // 2]]
    if own.cut:
        from mapgauge.features.raster.kernels import with_crossings  # imports numba, which results do not need

        # HDMapNet cuts with shapely, which splits lines where they cross themselves, so that these points are rounded
        # too, and which drops lines without length.
        split = Polylines(*with_crossings(lines.coords, lines.offsets))
        lines, instance = crop_polylines(split, check_region(protocol.region, groups.forward), filled)
        has_length = np.flatnonzero((survey(lines).high > survey(lines).low).any(axis=1))
        lines = lines.pick(has_length)
        instance = instance[has_length]
    x = lines.coords[:, 0]
    y = lines.coords[:, 1]
    if groups.forward == "y":
        ahead = y
        left = -x
    else:
        ahead = x
        left = y
    length, width = protocol.region or (0.0, 0.0)
    rows, columns = own.shape
    if own.forward == "columns":
        column = _pixel(ahead, length, columns, own=own)
        row = _pixel(left, width, rows, own=own)
    else:
        column = _pixel(-left, width, columns, own=own)
        row = _pixel(ahead, length, rows, own=own)
    points = np.stack([column, row], axis=1)
    return PixelDrawing(points, lines.offsets, instance, filled=filled[instance])


def _pixel(values: Any, extent: float, size: int, own: DrawingSettings) -> Indices:
    """Return the pixels of coordinates from minus to plus half of the extent."""
    if own.rounding == "nearest":
        place = np.around((values + extent / 2) / extent * size)
    elif own.cut:
        place = np.trunc((values + extent / 2) * (size / extent))
    else:
        place = np.trunc(values * (size / extent) + size / 2)
    pixels: Indices = np.clip(place, -FARTHEST, FARTHEST).astype(np.int64)
    return pixels
