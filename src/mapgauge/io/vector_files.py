"""Maps as GIS programs write them: GeoPackage, Shapefile and FlatGeobuf, which GDAL reads, and GeoParquet.

The elements become features of GeoJSON, with the same rules: without a property ``frame``, the file is one map. Parquet
with a column ``token`` is the format ``parquet``.
"""

import warnings
from typing import Any, TypeAlias

import numpy as np

from mapgauge.dependencies import require
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._flatgeobuf import MAGIC as FLATGEOBUF
from mapgauge.io._format import Format, ReadOptions
from mapgauge.io._geojson_objects import read_rows
from mapgauge.io.files.places import is_geoparquet_map
from mapgauge.io.files.source import ZIP, Content

_SQLITE = b"SQLite format 3\0"
_SHAPEFILE = b"\x00\x00\x27\x0a"
_GDAL = (_SQLITE, _SHAPEFILE, FLATGEOBUF)  # the first bytes of files
Features: TypeAlias = tuple[list[dict[str, Any]], Any]  # features of GeoJSON, and the declared reference system


def is_vector_file(content: Content) -> bool:
    """Whether a file is one that GDAL reads, or GeoParquet."""
    return content.data.startswith((*_GDAL, ZIP, b"PAR1"))


def read_elements(content: Content) -> Features:
    """Return the elements of a file as features, which have a ``place`` in words, and the declared reference system."""
    # It starts processes and unpacks archives, for which few commands import the modules.
    from mapgauge.io._gis_elements import elements_of_gdal, elements_of_parquet

    shapely = require("shapely", "reading maps", "geo")
    with np.errstate(invalid="ignore"), warnings.catch_warnings():  # coordinates that are NaN are refused later
        warnings.simplefilter("ignore")  # of GDAL
        if content.data.startswith(b"PAR1"):
            read = elements_of_parquet
        else:
            read = elements_of_gdal
        rows, shapes, crs = read(content, shapely)
    features = []
    for k, (row, shape) in enumerate(zip(rows, shapes, strict=True), 1):
        properties = {name: value for name, value in row.items() if value is not None and value == value}
        features.append(feature_of(properties, shape, f"element {row.get('id', k)}"))
    return features, crs


def feature_of(properties: dict[str, Any], shape: Any, place: str) -> dict[str, Any]:
    """Return a feature of GeoJSON."""
    if shape is None:
        geometry = None
    else:
        geometry = _listed(shape.__geo_interface__)
    return {"type": "Feature", "properties": properties, "geometry": geometry, "place": place}


def _listed(value: Any) -> Any:
    """Return a geometry with lists instead of tuples."""
    if isinstance(value, dict):
        return {key: _listed(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_listed(inner) for inner in value]
    return value


def _is_map(content: Content) -> bool:
    if content.data.startswith(_GDAL) or content.is_zipped_map:
        return True
    return content.kind == "parquet" and is_geoparquet_map(content.data)


def _read(content: Content, options: ReadOptions) -> MapFrames:
    return read_rows(content, GIS.name, options, *read_elements(content))


GIS = Format(
    name="gis",
    about="a map as GeoPackage, Shapefile (also in a ZIP), FlatGeobuf or GeoParquet",
    recognise=_is_map,
    read=_read,
    options=("properties", "project"),
)
