"""The unit of length that a declared coordinate reference system has."""

import re
from typing import Any

import msgspec

from mapgauge.decoding import decode_json
from mapgauge.errors import Remedy
from mapgauge.io.files.json_documents import MakeError

_GEOGRAPHIC = re.compile(r"CRS84|CRS83|CRS27|\b(?:4326|4979|4258|4269)\b")
_WKT = re.compile(r"\s*(?:BOUNDCRS\[\s*SOURCECRS\[|COMPOUNDCRS\[[^\[]*)?\s*([A-Z]+)\[", re.IGNORECASE)
_TO_METRES = Remedy(
    "Project the coordinates with geopandas: data.to_crs(data.estimate_utm_crs()). If they are metres already, remove "
    "the reference system: data.set_crs(None, allow_override=True)",
    "Project the coordinates with ogr2ogr -t_srs EPSG:CODE OUT IN. If they are metres already, remove the reference "
    "system with ogr2ogr -a_srs none OUT IN",
)


def refuse_unless_metres(crs: Any, error: MakeError, where: str) -> None:
    """Refuse a declared reference system whose unit is known and is not the metre.

    Args:
        crs: A name, WKT, PROJJSON or an object of GeoJSON; None if the coordinates have no reference system.
        error: Creates the exception to raise.
        where: The place of the declaration.
    """
    unit = _unit_of(crs)
    if unit == "degree":
        raise error(f"{where} is longitude and latitude, expected metres", remedy=_TO_METRES)
    if unit not in ("", "metre", "meter", "m"):
        raise error(f"{where} has the unit {unit}, expected metres", remedy=_TO_METRES)


def refuse_geoparquet(schema: Any, error: MakeError) -> None:
    """Refuse the column ``geometry`` of a schema of Arrow if it declares a reference system without metres.

    A file without a declaration is judged by its values. GeoParquet would take it as longitude and latitude.
    """
    geo = _document((schema.metadata or {}).get(b"geo"), error, "geo")
    columns = geo.get("columns")
    column = columns.get("geometry") if isinstance(columns, dict) else None
    if isinstance(column, dict) and "crs" in column:
        refuse_unless_metres(column["crs"], error, "the reference system of the column geometry")
        return
    data = (schema.field("geometry").metadata or {}).get(b"ARROW:extension:metadata")
    about = _document(data, error, "ARROW:extension:metadata")
    refuse_unless_metres(about.get("crs"), error, "the reference system of the column geometry")


def _document(data: bytes | None, error: MakeError, name: str) -> dict[str, Any]:
    if not data:
        return {}
    try:
        return decode_json(data, dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError) as cause:
        raise error(f"broken Parquet: the metadata {name!r} are invalid: {cause}") from cause


def _unit_of(crs: Any) -> str:
    """Return the unit of the horizontal axes; an empty text if it is not known.

    >>> _unit_of("EPSG:4326"), _unit_of("EPSG:32632"), _unit_of('PROJCRS["a", BASEGEOGCRS["b", ID["EPSG", 4326]]]')
    ('degree', '', '')
    """
    if isinstance(crs, dict) and str(crs.get("type")).endswith("CRS"):  # PROJJSON
        inner = crs.get("source_crs") or next(iter(crs.get("components") or ()), None)
        if inner is not None:
            return _unit_of(inner)
        system = crs.get("coordinate_system")
        axes = system.get("axis") if isinstance(system, dict) else None
        unit = axes[0].get("unit") if isinstance(axes, list) and axes and isinstance(axes[0], dict) else None
        if unit is None and str(crs["type"]).startswith(("Geographic", "Geodetic")):
            return "degree"
        return str(unit.get("name", "")) if isinstance(unit, dict) else str(unit or "")
    kind = _WKT.match(crs) if isinstance(crs, str) else None
    if kind:
        return "degree" if kind[1].upper() in ("GEOGCRS", "GEOGCS", "GEODCRS", "GEODETICCRS", "GEOGRAPHICCRS") else ""
    return "degree" if _GEOGRAPHIC.search(str(crs)) else ""
