"""The program that calls GDAL. ``_gdal`` starts it, for one file, in a folder that holds copies of its parts alone.

It is a process of its own because a file from strangers could end it, and because drivers of GDAL belong to a whole
process: here GDAL has three of them, and in the process of the caller all that the caller needs. The program prints one
message of msgpack, with rows or with an error in words. It imports one module of mapgauge, which is quick to load.
"""

import contextlib
import re
import sqlite3
import sys
from collections.abc import Iterator
from typing import Any

DRIVERS = ("ESRI Shapefile", "FlatGeobuf", "GPKG", "MEM")  # all that GDAL may have
GEOPACKAGE = "map.gpkg"

# pyogrio imports these if they are installed, and needs none of them to read. It takes half of the time.
_NOT_NEEDED = ("geopandas", "pandas", "pyarrow", "pyproj", "shapely")
# The SQL of an index of GeoPackage. A name that holds quotes itself is not one.
_INDEX = re.compile(r'\s*CREATE\s+VIRTUAL\s+TABLE\s+(?:"rtree_[^"]*"|rtree_\w+)\s+USING\s+rtree\s*\(', re.IGNORECASE)
_SQLITE = (
    3,
    37,
)  # the first version that says what a table is (PRAGMA table_list), whatever its row in the schema says
_ORDINARY = 0  # PRAGMA table_xinfo: the column is neither generated nor hidden


def _limit_resources(memory: int) -> None:
    """No file can be written, and memory has a limit."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # GDAL cannot write a file; the answer goes through a pipe
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError, OSError):  # the system has a lower limit, or none of this kind
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _kinds_of_tables(connection: sqlite3.Connection) -> dict[str, str]:
    """Return what the tables of a database are, by name in small letters: ``table``, ``view``, ``virtual``, ``shadow``.

    Tables of the standard must be plain, and virtual tables must be indexes.
    """
    if sqlite3.sqlite_version_info < _SQLITE:
        raise ValueError(
            f"SQLite {sqlite3.sqlite_version} of this Python cannot check a GeoPackage, expected 3.37 or later"
        )
    kinds: dict[str, str] = {}
    for schema, name, kind, *_ in connection.execute("PRAGMA table_list").fetchall():
        if schema != "main":
            continue
        kinds[name.lower()] = kind
        if name.lower().startswith("gpkg_") and kind != "table":
            raise ValueError(f"{name!r:.80} is a {kind}, expected a table")
        if kind == "virtual" and not name.lower().startswith("rtree_"):
            raise ValueError(f"{name!r:.80} is a virtual table, expected none but indexes (rtree)")
    for name, sql in connection.execute("SELECT name, sql FROM sqlite_master WHERE sql LIKE '%virtual%table%'"):
        if kinds.get(str(name).lower(), "virtual") == "virtual" and not _INDEX.match(str(sql)):
            raise ValueError(f"{name!r:.80} is a virtual table, expected none but indexes (rtree)")
    return kinds


def _check_reference_systems(connection: sqlite3.Connection) -> None:
    """Refuse a reference system that names a file, which PROJ would open."""
    from mapgauge.geometry.reference_names import names_a_file

    for row in connection.execute("SELECT * FROM gpkg_spatial_ref_sys"):
        for value in row:
            if names_a_file(value if isinstance(value, bytes) else str(value)):
                raise ValueError("a reference system names another file, which is not opened")


def _geopackage_layers() -> dict[str, int]:
    """Return the number of rows of the layers of a GeoPackage, which must be plain tables.

    Views, generated columns and virtual tables are programs: they may compute without end, and modules and functions of
    GDAL may read other files.
    """
    connection = sqlite3.connect(f"file:{GEOPACKAGE}?mode=ro&immutable=1", uri=True)
    with contextlib.closing(connection):
        # CHECK constraints would be computed for each row.
        for statement in (
            "trusted_schema=OFF",
            "cell_size_check=ON",
            "temp_store=MEMORY",
            "ignore_check_constraints=ON",
        ):
            connection.execute(f"PRAGMA {statement}")
        kinds = _kinds_of_tables(connection)
        if not {"gpkg_contents", "gpkg_geometry_columns", "gpkg_spatial_ref_sys"} <= kinds.keys():
            raise ValueError("a database of SQLite, but not a GeoPackage")
        problems = connection.execute("PRAGMA quick_check(1)").fetchone()
        if problems != ("ok",):
            raise ValueError(f"the database is damaged: {problems[0]!r:.200}")
        _check_reference_systems(connection)
        names = connection.execute(
            "SELECT c.table_name FROM gpkg_contents AS c JOIN gpkg_geometry_columns AS g ON c.table_name = g.table_name"
        ).fetchall()
        layers: dict[str, int] = {}
        for (name,) in names:
            if not isinstance(name, str) or name.lower() not in kinds:
                raise ValueError(f"the layer {name!r:.80} has no table")
            if kinds[name.lower()] != "table":
                kind = kinds[name.lower()]
                raise ValueError(f"the layer {name!r:.80} is a {kind}, expected a table; save it as a layer of its own")
            quoted = name.replace('"', '""')
            columns = connection.execute(f'PRAGMA table_xinfo("{quoted}")').fetchall()
            if any(column[-1] != _ORDINARY for column in columns):
                raise ValueError(f"the layer {name!r:.80} has computed columns, expected plain ones")
            (layers[name],) = connection.execute(f'SELECT count(*) FROM "{quoted}"').fetchone()
        return layers


def _plain(value: Any) -> Any:
    """Return a value of a column that msgpack has no form for: arrays become lists, all others text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def _layers(file: str, list_layers: Any, raw: Any) -> Iterator[dict[str, Any]]:
    """Yield the layers of a file: name, reference system, names of fields, ids, geometries and columns of each."""
    options: dict[str, str] = {}
    if file == GEOPACKAGE:
        counts: dict[str, int] | None = _geopackage_layers()
        names = list(counts or ())
        options["LIST_ALL_TABLES"] = "NO"
    else:
        counts = None
        names = [str(row[0]) for row in list_layers(file) if row[1] is not None]
    for name in names:
        meta, ids, geometries, columns = raw.read(file, layer=name, return_fids=True, **options)
        if counts is not None and len(ids) != counts[name]:
            raise ValueError(f"the layer {name!r:.80} has {counts[name]} rows, and {len(ids)} can be read")
        yield {
            "file": file,
            "name": name,
            "crs": meta["crs"],
            "fields": list(meta["fields"]),
            "ids": ids.tolist(),
            "geometries": geometries.tolist(),
            "columns": [column.astype(object).tolist() for column in columns],
        }


def _read(files: list[str]) -> dict[str, Any]:
    """Return the layers of files, or an error in words, or drivers that must not be there."""
    for module in _NOT_NEEDED:
        sys.modules[module] = None  # type: ignore[assignment]  # importing it is then an ImportError
    from pyogrio import errors, list_drivers, list_layers, raw

    more = sorted(set(list_drivers()).difference(DRIVERS))
    if more:
        return {"drivers": more}
    try:
        layers = [layer for file in files for layer in _layers(file, list_layers, raw)]
    except (errors.DataSourceError, errors.DataLayerError, errors.FeatureError, errors.GeometryError) as error:
        return {"error": str(error)}
    except (sqlite3.Error, ValueError, OverflowError, MemoryError) as error:
        return {"error": str(error) or type(error).__name__}
    return {"layers": layers}


def _main() -> None:
    memory, *folders = sys.argv[1:]
    files = sys.stdin.read().split()  # too many for arguments
    sys.path += folders  # where the caller finds packages, if they are not in the usual place
    import msgspec

    _limit_resources(int(memory))
    sys.stdout.buffer.write(msgspec.msgpack.encode(_read(files), enc_hook=_plain))


if __name__ == "__main__":
    _main()
