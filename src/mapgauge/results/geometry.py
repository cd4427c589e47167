"""The geometry in a file of results: the aligned predictions and truth, each as the bytes of a Parquet file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.io._options import ReadOptions
from mapgauge.io._parquet_columns import ParquetColumns
from mapgauge.io._writing import refuse_few_points
from mapgauge.io.dataset import RowGroups
from mapgauge.io.parquet import frames_from_columns, write
from mapgauge.scoring.prepare import check_sides

Sides: TypeAlias = tuple[MapFrames, MapFrames]  # aligned predictions and truth
Geometry: TypeAlias = Literal["original", "rounded"]

KINDS: tuple[Geometry, ...] = ("original", "rounded")
_MOST_LINKS = 1 << 22  # of a side, about 20 MB; more are left out, and figures then show no links
NAMES = ("geometry/predictions", "geometry/truth")  # of the arrays


def geometry_arrays(sides: Sides, tokens: Sequence[str], kind: Geometry) -> dict[str, Any]:
    """Return the geometry of some frames as arrays of bytes.

    Args:
        sides: Aligned predictions and truth.
        tokens: The frames.
        kind: ``"original"`` keeps all bits. ``"rounded"`` rounds coordinates to float32.
    """
    places = [sides[1].index[token] for token in tokens]
    return {
        name: np.frombuffer(write(_bare(side.at(places), kind)), np.uint8)
        for name, side in zip(NAMES, sides, strict=True)
    }


def _bare(frames: MapFrames, kind: Geometry) -> MapFrames:
    """Return only what assignments and figures need."""
    polylines = frames.polylines
    refuse_few_points(frames, frames.name or "frames")
    if kind == "rounded":
        # Written as float64: the bytes that are zero after rounding compress to almost nothing.
        polylines = Polylines(polylines.coords.astype(np.float32).astype(np.float64), polylines.offsets)
    nothing = dict.fromkeys(("scenes", "poses"))
    if frames.links is not None and len(frames.links) > _MOST_LINKS:
        nothing["links"] = None
    return replace(frames, polylines=polylines, name="", findings=(), **nothing)  # type: ignore[arg-type]


def geometry_of(
    arrays: dict[str, Any], tokens: tuple[str, ...], classes: tuple[str, ...], path: Path
) -> Callable[[], Sides] | None:
    """Return a function that reads the geometry, or None if there is none. The arrays are removed from ``arrays``.

    Args:
        arrays: All arrays of the file, by name.
        tokens: Frames of the results.
        classes: Classes of the results.
        path: The file, for errors.
    """
    found = {name: arrays.pop(name) for name in NAMES if name in arrays}
    if not found:
        return None
    if len(found) < len(NAMES) or any(array.dtype != np.uint8 or array.ndim != 1 for array in found.values()):
        raise ValueError("its geometry is not complete")
    return partial(_read_sides, found, tokens, classes, path)


def _read_sides(arrays: Mapping[str, Any], tokens: tuple[str, ...], classes: tuple[str, ...], path: Path) -> Sides:
    error = RowGroups(f"{path}: its geometry", ()).error
    columns = [ParquetColumns.of_bytes(arrays[name].tobytes(), error) for name in NAMES]
    x, y = (replace(frames_from_columns(one, ReadOptions(), str(path)), name="") for one in columns)
    if any(side.tokens != tokens or side.classes != classes or side.dimension != y.dimension for side in (x, y)):
        raise error("other frames or classes than its results")
    check_sides(x, y)
    return x, y
