"""Reads maps from GeoJSON, CSV with WKT, GeoParquet, and files that GDAL reads, such as GeoPackage and Shapefile."""

from typing import Any, NamedTuple

import numpy as np
import shapely

from mapgauge.errors import Remedy
from mapgauge.io import csv_wkt
from mapgauge.io._geojson_objects import class_property
from mapgauge.io.files.source import Content
from mapgauge.io.vector_files import is_vector_file, read_elements
from mapgauge.truth.cutting.shapes import Geometries, as_geometries

NAME_CLASSES = Remedy(
    'Name the classes: rename={"lane_marking": "divider"}, and the property: properties={"class": "kind"}',
    "Name the classes: FILE,rename=lane_marking:divider, and the property: FILE,properties=class:kind",
)
_EXPECTED = "GeoJSON (a FeatureCollection), CSV with WKT, GeoParquet, GeoPackage, Shapefile or Lanelet2"


class RawMap(NamedTuple):
    """The elements of a map in the order of the file."""

    names: list[str]
    kinds: list[str]  # what the map calls the class of each element
    shapes: Geometries  # None for an element without a geometry
    crs: Any  # the declared reference system; None if there is none


def read_vectors(content: Content, called: str | None) -> RawMap:
    """Read a map. ``called`` is the property that names the class of an element."""
    features, crs = _features(content)
    rows, shapes = [], []
    for k, feature in enumerate(features):
        try:
            rows.append({"id": feature.get("id", k)} | (feature.get("properties") or {}))
            given = feature.get("geometry")
            with np.errstate(invalid="ignore"):  # NaN is refused later
                shapes.append(None if given is None else shapely.geometry.shape(given))
        except (shapely.errors.ShapelyError, TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
            raise content.error(f"$.features[{k}] is not a feature: {str(error).strip()}") from error
    known = sorted({name for row in rows for name in row})
    called = class_property(known) if called is None else called
    if rows and called not in known:
        text = f"no element has the property {called!r}; available: {', '.join(known)}"
        raise content.error(text, remedy=NAME_CLASSES)
    kinds = [row.get(called) for row in rows]
    kinds = [int(kind) if isinstance(kind, float) and kind.is_integer() else kind for kind in kinds]
    texts = [str(kind) if isinstance(kind, str | int) else "element without a class" for kind in kinds]
    return RawMap([str(row["id"]) for row in rows], texts, as_geometries(shapes), crs)


def _features(content: Content) -> tuple[list[Any], Any]:
    """Return features of GeoJSON, and the declared reference system."""
    if is_vector_file(content):
        return read_elements(content)
    if csv_wkt.CSV.recognise(content):
        return csv_wkt.read_features(content)
    document = content.document if content.kind == "json" else None
    if not isinstance(document, dict) or not isinstance(document.get("features"), list):
        raise content.error(f"expected {_EXPECTED}")
    return document["features"], document.get("crs")
