"""CSV with a geometry as WKT, as PostGIS, QGIS and spreadsheets write it.

::

    frame,class,confidence,wkt
    t0,divider,0.9,"LINESTRING (0 1, 9 1)"

Columns are separated by commas, semicolons or tabs. The column of the geometry is called ``wkt``, ``geometry``,
``geom`` or ``the_geom``. The others are the properties of a GeoJSON file, with the same rules: without ``frame``, the
file is a map. shapely reads WKT.
"""

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

from mapgauge.dependencies import require
from mapgauge.frames.columns import TEXTS, stored_columns
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._format import Format, ReadOptions
from mapgauge.io._geojson_objects import property_names, read_rows
from mapgauge.io._wkb import DEEPEST
from mapgauge.io.files.source import Content
from mapgauge.io.vector_files import feature_of

_GEOMETRY = ("wkt", "geometry", "geom", "the_geom")
_HEAD = 1 << 14
_LARGEST = (1 << 31) - 1  # characters of a field; the largest value that the module csv takes on all systems
_SRID = re.compile(r"\s*SRID=(\d+);", re.IGNORECASE)
_BRACKETS = re.compile(r"[()]")
_DEEPEST = DEEPEST + 3  # brackets: several polygons have 3 for one geometry
_FIELD_SIZES = Lock()
_TRUTH = {"true": True, "t": True, "false": False, "f": False}


def _header(content: Content) -> tuple[list[str], str]:
    """Return the names of the columns and the separator; no names if the file is no table."""
    first = content.text[:_HEAD].splitlines()[:1]
    line = b"".join(first).decode("utf-8", "replace").strip()
    separator = max(",;\t", key=line.count)
    if line:
        names = next(csv.reader([line], delimiter=separator), [])
    else:
        names = []
    return [name.strip() for name in names], separator


def _is_table(content: Content) -> bool:
    if content.kind not in ("other", "json") or content.text[:1] in (b"{", b"["):
        return False
    names, _ = _header(content)
    return len(names) > 1 and any(name.lower() in _GEOMETRY for name in names)


@contextmanager
def _any_field_size() -> Iterator[None]:
    """Admit fields of any size. The module csv has one limit for the whole process, so it is put back."""
    with _FIELD_SIZES:
        before = csv.field_size_limit(_LARGEST)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _is_deep(wkt: str) -> bool:
    """Whether brackets are nested more deeply than in a map. GEOS recurses without a limit."""
    if wkt.count("(") <= _DEEPEST:
        return False
    depth = 0
    for bracket in _BRACKETS.finditer(wkt):
        if bracket[0] == "(":
            depth += 1
        else:
            depth += -1
        if depth > _DEEPEST:
            return True
    return False


def read_features(content: Content) -> tuple[list[dict[str, Any]], str | None]:
    """Return the rows of a table as features of GeoJSON, and the declared reference system.

    A feature also has its ``place`` in the file. All properties are text, and empty ones are left out.
    """
    shapely = require("shapely", "reading WKT", "geo")
    names, separator = _header(content)
    geometry = next((name for name in names if name.lower() in _GEOMETRY), None)
    if geometry is None:
        raise content.error(f"no column {' or '.join(_GEOMETRY)} with WKT; found {', '.join(names)[:200]}")
    if len(set(names)) < len(names):
        raise content.error("two columns have the same name")
    features: list[dict[str, Any]] = []
    systems = set()
    try:
        text = content.text.decode("utf-8")
        table = csv.DictReader(io.StringIO(text, newline=""), names, delimiter=separator, strict=True)
        with _any_field_size():
            rows = [(table.line_num, row) for row in table]
        for line, row in rows[1:]:  # the first is the header
            if None in row or None in row.values():
                raise content.error(f"line {line}: expected {len(names)} columns")
            wkt = row.pop(geometry)
            srid = _SRID.match(wkt)
            systems.add(f"EPSG:{srid[1]}" if srid else None)
            if _is_deep(wkt):
                raise content.error(f"line {line}: its geometry is nested more than {DEEPEST} deep")
            properties = {name: value for name, value in row.items() if value}
            try:
                if wkt:
                    shape = shapely.from_wkt(wkt[srid.end() if srid else 0 :])
                else:
                    shape = None
                features.append(feature_of(properties, shape, f"line {line}"))
            except NotImplementedError as cause:
                raise content.error(f"line {line}: its geometry has curves, expected straight lines") from cause
            except shapely.errors.ShapelyError as cause:
                expected = "expected WKT such as LINESTRING (0 1, 9 1)"
                raise content.error(f"line {line}: {expected}, got {wkt[:60]!r}") from cause
    except (csv.Error, UnicodeDecodeError) as cause:
        raise content.error(f"broken CSV: {cause}") from cause
    if len(systems) > 1:
        raise content.error("geometries have different SRIDs, expected one")
    return features, next(iter(systems), None)


def _read(content: Content, options: ReadOptions) -> MapFrames:
    called = property_names(options.extra.get("properties"))
    features, crs = read_features(content)
    read_as_text = ("frame", "class", "scene", *(column.name for column in stored_columns() if column.kind in TEXTS))
    named = [called[name] for name in called if name not in read_as_text]
    for feature in features:
        properties = feature["properties"]
        for name in named:
            with suppress(KeyError, ValueError):  # a text that is neither is refused later
                value = properties[name]
                if value.lower() in _TRUTH:
                    properties[name] = _TRUTH[value.lower()]
                else:
                    properties[name] = float(value)
    return read_rows(content, CSV.name, options, features=features, crs=crs)


CSV = Format(
    name="csv",
    about="a table with a column of WKT: predictions, truth or a map",
    recognise=_is_table,
    read=_read,
    options=("properties", "project"),
)
