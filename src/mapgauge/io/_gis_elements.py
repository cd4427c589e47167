"""The elements of files that GDAL reads, and of GeoParquet: properties, shapes and the declared reference system."""

import io
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from mapgauge.dependencies import pyarrow_modules
from mapgauge.errors import UnreadableFile
from mapgauge.geometry.reference_names import names_a_file
from mapgauge.io import _flatgeobuf, _shapefile
from mapgauge.io._format import geometry_column, system_of_schema
from mapgauge.io._gdal import VectorLayer, read_layers
from mapgauge.io._parquet_file import broken_errors, check_size, footer_bytes, opened, row_groups
from mapgauge.io._shapefile import check_shapefile, shapefile_beside, zipped_shapefiles
from mapgauge.io._wkb import check_wkb
from mapgauge.io.files.source import ZIP, Content, is_plain_file
from mapgauge.io.gdal_process import GEOPACKAGE

_SQLITE = b"SQLite format 3\0"
_UNNAMED = "layer-without-a-name"  # a header without a name: GDAL takes that of the file
_COMPLETE = "Check that it was copied or downloaded completely"
_BROKEN: tuple[type[Exception], ...] = (KeyError, TypeError, ArithmeticError)  # of what pyarrow makes of damaged values
Elements: TypeAlias = tuple[list[dict[str, Any]], list[Any], Any]  # properties, shapes, the declared reference system


def elements_of_gdal(content: Content, shapely: Any) -> Elements:
    """Return the elements of a GeoPackage, a FlatGeobuf file, a Shapefile, or a ZIP archive of Shapefiles."""
    if content.data.startswith(_SQLITE):
        _refuse_unwritten_changes(content)
        layers = read_layers(content, {GEOPACKAGE: _without_log(content.data)}, [GEOPACKAGE])
    elif content.data.startswith(_flatgeobuf.MAGIC):
        layers = _from_flatgeobuf(content)
    elif content.data.startswith(ZIP):
        layers = _from_shapefiles(content, zipped_shapefiles(content))
    elif content.data.startswith(_shapefile.MAGIC):
        layers = _from_shapefiles(content, {content.path.stem: shapefile_beside(content)})
    else:
        raise content.error("expected GeoPackage, FlatGeobuf, GeoParquet, or Shapefile, also in a ZIP archive")
    systems = {layer.crs for layer in layers}
    if len(systems) > 1:
        raise content.error(f"layers have {len(systems)} different reference systems, expected one")
    rows: list[dict[str, Any]] = []
    shapes: list[Any] = []
    for layer in layers:
        names = ["layer", "id", *layer.fields]
        for identity, wkb, *values in zip(layer.ids, layer.geometries, *layer.columns, strict=True):
            rows.append(dict(zip(names, (layer.name, identity, *values), strict=True)))
            shapes.append(_shape(content, shapely, wkb, place=f"element {identity}"))
    return rows, shapes, next(iter(systems), None)


def _without_log(data: bytes) -> bytes:
    """Return a database whose header does not ask for a log beside it: bytes 18 and 19 are 2 if it does, else 1."""
    return data[:18] + b"\x01\x01" + data[20:]


def _refuse_unwritten_changes(content: Content) -> None:
    """Refuse a database if a file beside it holds changes that are not in it yet. That file is not read."""
    for suffix in ("-wal", "-journal"):
        beside = content.path.with_name(content.path.name + suffix)
        if is_plain_file(beside) and beside.stat().st_size:
            raise content.error(
                f"{beside.name} beside it holds changes that are not written to the file yet",
                remedy="Close the program that has it open, then try again",
            )


def _from_flatgeobuf(content: Content) -> list[VectorLayer]:
    try:
        count = _flatgeobuf.count_features(content.data)
    except ValueError as error:
        raise content.error(f"not a complete FlatGeobuf file: {error}", remedy=_COMPLETE) from error
    if names_a_file(_flatgeobuf.header(content.data)):
        raise _names_a_file(content, content.path.name)
    layers = read_layers(content, {f"{_UNNAMED}.fgb": content.data}, [f"{_UNNAMED}.fgb"])
    _check_count(content, sum(len(layer.ids) for layer in layers), count)
    for layer in layers:
        if layer.name in ("", _UNNAMED):
            layer.name = content.path.stem
    return layers


def _from_shapefiles(content: Content, maps: Mapping[str, Mapping[str, bytes]]) -> list[VectorLayer]:
    """Return the layers of Shapefiles, which have the names of their files."""
    names = {f"map{k}": PurePosixPath(path).name for k, path in enumerate(maps)}  # by the names that GDAL sees
    parts_of = dict(zip(names, maps.values(), strict=True))
    has_points = {key: check_shapefile(content, parts, names[key]) for key, parts in parts_of.items()}
    for key, parts in parts_of.items():
        if names_a_file(parts.get(".prj", b"")):
            raise _names_a_file(content, f"{names[key]}.prj")
    files = {f"{key}{suffix}": data for key, parts in parts_of.items() for suffix, data in parts.items()}
    layers = read_layers(content, files, [f"{key}.shp" for key in names])
    for layer in layers:
        key = layer.file.removesuffix(".shp")
        points = has_points[key]
        layer.name = names[key]
        _check_count(content, len(layer.ids), len(points))
        for k, wkb in enumerate(layer.geometries):
            if wkb is None and points[k]:
                raise content.error(f"{layer.name}.shp: the geometry of element {layer.ids[k]} is damaged")
    return layers


def _names_a_file(content: Content, name: str) -> UnreadableFile:
    return content.error(
        f"{name}: the reference system names another file, which is not opened",
        remedy="Save it with a reference system that has a number, such as EPSG:32632",
    )


def _check_count(content: Content, found: int, stated: int) -> None:
    if found != stated:
        raise content.error(f"it has {stated} elements, and GDAL reads {found}", remedy=_COMPLETE)


def elements_of_parquet(content: Content, shapely: Any) -> Elements:
    """Return the elements of GeoParquet, with geometries as WKB, or lines as GeoArrow's lists of points."""
    pa, _ = pyarrow_modules()
    try:
        check_size(row_groups(footer_bytes(io.BytesIO(content.data))), len(content.data), content.error)
        table = opened(pa.BufferReader(content.data)).read()
        name = geometry_column(table.schema, content.error)
        crs = system_of_schema(table.schema, content.error, name)
        rows = table.drop_columns([name]).to_pylist()
        geometries = table[name].to_pylist()
    except UnreadableFile:
        raise
    except _BROKEN + broken_errors() as error:
        text = f"broken GeoParquet: {str(error).strip()[:300] or type(error).__name__}"
        raise content.error(text, remedy="Check that it was written or copied completely") from error
    shapes = []
    for k, geometry in enumerate(geometries, 1):
        if isinstance(geometry, list):
            shapes.append(_line(content, shapely, geometry, place=f"element {k}"))
        else:
            shapes.append(_shape(content, shapely, geometry, place=f"element {k}"))
    return rows, shapes, crs


def _line(content: Content, shapely: Any, points: list[Any], place: str) -> Any:
    """Return a line of GeoArrow, whose points are lists or structures of numbers."""
    try:
        plain = [list(point.values() if isinstance(point, dict) else point)[:2] for point in points]
        return shapely.LineString(plain)
    except (shapely.errors.ShapelyError, TypeError, ValueError) as error:
        raise content.error(f"{place}: expected WKB, or a line as a list of at least 2 points") from error


def _shape(content: Content, shapely: Any, wkb: Any, place: str) -> Any:
    """Return a geometry from WKB, or None."""
    if wkb is None:
        return None
    if not isinstance(wkb, bytes):
        raise content.error(f"{place}: expected a geometry as WKB, got {wkb!r:.60}")
    try:
        check_wkb(wkb)
        return shapely.from_wkb(wkb)
    except (shapely.errors.ShapelyError, ValueError) as error:
        raise content.error(f"{place}: {str(error).strip()}") from error
