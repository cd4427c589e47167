"""Reads maps from GeoJSON, CSV with WKT, GeoParquet, and files that GDAL reads, such as GeoPackage and Shapefile."""

from typing import Any, NamedTuple

import numpy as np
import shapely

from mapgauge.errors import Remedy
from mapgauge.io import csv_wkt
from mapgauge.io._geojson_objects import class_property
from mapgauge.io._values import ValueChecker, short
from mapgauge.io._wkb import DEEPEST
from mapgauge.io.files.source import Content
from mapgauge.io.vector_files import is_vector_file, read_elements
from mapgauge.truth.cutting.shapes import Geometries, as_geometries

NAME_CLASSES = Remedy(
    'Name the classes: rename={"lane_marking": "divider"}, and the property: properties={"class": "kind"}',
    "Name the classes: FILE,rename=lane_marking:divider, and the property: FILE,properties=class:kind",
)
_EXPECTED = "GeoJSON (a FeatureCollection), CSV with WKT, GeoParquet, GeoPackage, Shapefile or Lanelet2"


_RING = "ring"
# Kinds of geometries, and how many points their lines have at least. shapely closes a ring of 3 points.
_LEAST_POINTS = {
    "Point": 1,
    "MultiPoint": 1,
    "LineString": 2,
    "MultiLineString": 2,
    "Polygon": 3,
    "MultiPolygon": 3,
    _RING: 3,
}
_KINDS = tuple(name for name in _LEAST_POINTS if name != _RING)
_PARTS_OF = {"MultiLineString": "LineString", "Polygon": _RING, "MultiPolygon": "Polygon"}


class RawMap(NamedTuple):
    """The elements of a map in the order of the file."""

    names: list[str]
    kinds: list[str]  # what the map calls the class of each element
    shapes: Geometries  # None for an element without a geometry
    crs: Any  # the declared reference system; None if there is none


def read_vectors(content: Content, called: str | None) -> RawMap:
    """Read a map. ``called`` is the property that names the class of an element."""
    features, crs = _features(content)
    rows: list[dict[str, Any]] = []
    shapes: list[Any] = []
    check = ValueChecker(content.error)
    for k, feature in enumerate(features):
        where = f"$.features[{k}]"
        if isinstance(feature, dict):
            properties = feature.get("properties")
        else:
            properties = None
        if not isinstance(feature, dict) or not isinstance(properties, dict | None):
            raise content.error(f"{where} is not a feature, expected an object with properties and a geometry")
        rows.append({"id": feature.get("id", k)} | (properties or {}))
        given = feature.get("geometry")
        if given is None:
            shapes.append(None)
            continue
        if "place" in feature:
            place = f"{feature.get('place', where)}: geometry"
        else:
            place = f"{where}.geometry"
        flat = _flat_geometry(check, given, place, depth=1)
        with np.errstate(invalid="ignore"):  # NaN is refused later
            shapes.append(shapely.geometry.shape(flat))
    known = sorted({name for row in rows for name in row})
    if called is None:
        called = class_property(known)
    if rows and called not in known:
        text = f"no element has the property {called!r}; available: {', '.join(known)}"
        raise content.error(text, remedy=NAME_CLASSES)
    kinds = [row.get(called) for row in rows]
    kinds = [int(kind) if isinstance(kind, float) and kind.is_integer() else kind for kind in kinds]
    texts = [str(kind) if isinstance(kind, str | int) else "element without a class" for kind in kinds]
    return RawMap([str(row["id"]) for row in rows], texts, as_geometries(shapes), crs=crs)


def _flat_geometry(check: ValueChecker, given: Any, where: str, depth: int) -> dict[str, Any]:
    """Return a geometry of GeoJSON without heights, or say which of its values is wrong."""
    kind = check.member(given, "type", where)
    if depth > DEEPEST:
        raise check.error(f"{where} is nested more than {DEEPEST} deep")
    if kind == "GeometryCollection":
        parts = check.sequence(check.member(given, "geometries", where), f"{where}.geometries")
        inner = [
            _flat_geometry(check, part, f"{where}.geometries[{k}]", depth=depth + 1) for k, part in enumerate(parts)
        ]
        return {"type": kind, "geometries": inner}
    if kind not in _KINDS:
        raise check.error(f"{where} is {short(kind)}, expected {', '.join(_KINDS)} or GeometryCollection")
    coordinates = check.member(given, "coordinates", where)
    return {"type": kind, "coordinates": _flat_points(check, coordinates, f"{where}.coordinates", kind=kind)}


def _flat_points(check: ValueChecker, given: Any, where: str, kind: str) -> Any:
    """Return the coordinates of a geometry, x and y of each point."""
    if kind == "Point":
        point = list(check.sequence(given, where))
        if not point:
            return []
        return check.points([point], where)[0, :2].tolist()
    parts_of = _PARTS_OF.get(kind)
    if parts_of is not None:
        parts = check.sequence(given, where)
        return [_flat_points(check, part, f"{where}[{k}]", kind=parts_of) for k, part in enumerate(parts)]
    points = check.points(given, where)
    least = _LEAST_POINTS[kind]
    if 0 < len(points) < least:
        raise check.error(f"{where} has {len(points)} points, expected at least {least}")
    return points[:, :2].tolist()


def _features(content: Content) -> tuple[list[Any], Any]:
    """Return features of GeoJSON, and the declared reference system."""
    if is_vector_file(content):
        return read_elements(content)
    if csv_wkt.CSV.recognise(content):
        return csv_wkt.read_features(content)
    if content.kind == "json":
        document = content.document
    else:
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("features"), list):
        raise content.error(f"expected {_EXPECTED}")
    return document["features"], document.get("crs")
