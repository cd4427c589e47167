"""Maps as GIS programs write them: GeoPackage, Shapefile and FlatGeobuf, which GDAL reads, and GeoParquet.

The elements become features of GeoJSON, with the same rules: without a property ``frame``, the file is one map. Parquet
with a column ``token`` is the format ``parquet``.
"""

import warnings
from typing import Any, TypeAlias

import numpy as np

from mapgauge.dependencies import pyarrow_modules, require
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._format import Format, ReadOptions, geometry_column, system_of_schema
from mapgauge.io._geojson_objects import read_rows
from mapgauge.io.files.places import is_geoparquet_map
from mapgauge.io.files.source import ZIP, Content

_GDAL = (b"SQLite format 3", b"\x00\x00\x27\x0a", b"fgb")  # the first bytes of files
Features: TypeAlias = tuple[list[dict[str, Any]], Any]  # features of GeoJSON, and the declared reference system


def is_vector_file(content: Content) -> bool:
    """Whether GDAL may read a file, or it is GeoParquet."""
    return content.data.startswith((*_GDAL, ZIP, b"PAR1"))


def read_elements(content: Content) -> Features:
    """Return the elements of a file as features, which have a ``place`` in words, and the declared reference system."""
    shapely = require("shapely", "reading maps", "geo")
    with np.errstate(invalid="ignore"), warnings.catch_warnings():  # coordinates that are NaN are refused later
        warnings.simplefilter("ignore")  # of GDAL
        read = _from_parquet if content.data.startswith(b"PAR1") else _from_gdal
        rows, shapes, crs = read(content, shapely)
    features = []
    for k, (row, shape) in enumerate(zip(rows, shapes, strict=True), 1):
        properties = {name: value for name, value in row.items() if value is not None and value == value}
        features.append(feature_of(properties, shape, f"element {row.get('id', k)}"))
    return features, crs


def feature_of(properties: dict[str, Any], shape: Any, place: str) -> dict[str, Any]:
    """Return a feature of GeoJSON."""
    geometry = None if shape is None else _listed(shape.__geo_interface__)
    return {"type": "Feature", "properties": properties, "geometry": geometry, "place": place}


def _listed(value: Any) -> Any:
    """Return a geometry with lists instead of tuples."""
    if isinstance(value, dict):
        return {key: _listed(inner) for key, inner in value.items()}
    return [_listed(inner) for inner in value] if isinstance(value, tuple | list) else value


def _from_gdal(content: Content, shapely: Any) -> tuple[list[dict[str, Any]], list[Any], Any]:
    pyogrio = require("pyogrio", "reading GeoPackage and Shapefile", "geo")
    rows: list[dict[str, Any]] = []
    shapes: list[Any] = []
    systems = set()
    try:
        for layer in [str(row[0]) for row in pyogrio.list_layers(content.path) if row[1] is not None]:
            meta, ids, geometries, columns = pyogrio.raw.read(content.path, layer=layer, return_fids=True)
            systems.add(meta["crs"])
            shapes += shapely.from_wkb(geometries).tolist()
            names = ["layer", "id", *meta["fields"]]
            plain = [ids.tolist(), *(column.astype(object).tolist() for column in columns)]
            rows += [dict(zip(names, (layer, *row), strict=True)) for row in zip(*plain, strict=True)]
    except (pyogrio.errors.DataSourceError, shapely.errors.ShapelyError, ValueError) as error:
        raise content.error(f"cannot be read by GDAL: {error}") from error
    if len(systems) > 1:
        raise content.error(f"layers have {len(systems)} different reference systems, expected one")
    return rows, shapes, next(iter(systems), None)


def _from_parquet(content: Content, shapely: Any) -> tuple[list[dict[str, Any]], list[Any], Any]:
    """Return the elements of GeoParquet, with geometries as WKB, or lines as GeoArrow's lists of points."""
    pa, pq = pyarrow_modules()
    try:
        table = pq.read_table(pa.BufferReader(content.data))
        name = geometry_column(table.schema, content.error)
        crs = system_of_schema(table.schema, content.error, name)
        rows, geometries = table.drop_columns([name]).to_pylist(), table[name].to_pylist()
        shapes = [
            shapely.LineString([[*(point.values() if isinstance(point, dict) else point)][:2] for point in geometry])
            if isinstance(geometry, list)
            else shapely.from_wkb(geometry)
            for geometry in geometries
        ]
    except (pa.ArrowException, shapely.errors.ShapelyError, KeyError, TypeError, ValueError) as error:
        raise content.error(f"not GeoParquet with geometries as WKB or lines: {error}") from error
    return rows, shapes, crs


def _is_map(content: Content) -> bool:
    if content.data.startswith(_GDAL) or content.is_zipped_map:
        return True
    return content.kind == "parquet" and is_geoparquet_map(content.data)


def _read(content: Content, options: ReadOptions) -> MapFrames:
    return read_rows(content, GIS.name, options, *read_elements(content))


GIS = Format(
    "gis",
    "a map as GeoPackage, Shapefile (also in a ZIP), FlatGeobuf or GeoParquet",
    _is_map,
    _read,
    options=("properties", "project"),
)
