"""Files that look like maps and ask GDAL to read, fetch or write something else."""

import io
import sqlite3
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import shapely

pyogrio = pytest.importorskip("pyogrio")

SECRET = "divider-of-the-secret-file"
MAGIC = {
    "three letters": b"fgb",
    "FlatGeobuf": b"fgb\x03fgb\x00",
    "FlatGeobuf, a later patch": b"fgb\x03fgb\x01",
    "SQLite": b"SQLite format 3",
    "SQLite, with its end": b"SQLite format 3\n",
    "nothing": b"",
}


class Places(NamedTuple):
    """What a hostile file refers to."""

    secret: Path  # a map as GeoJSON; beside it is a GeoPackage
    target: Path  # does not exist
    port: int  # of a listener on this machine


def secret_map(path: Path) -> Path:
    feature = f'{{"type":"Feature","properties":{{"class":"{SECRET}"}},"geometry":{{"type":"LineString",'
    feature += '"coordinates":[[0,0],[9,0]]}}'
    path.write_text(f'{{"type":"FeatureCollection","features":[{feature}]}}', encoding="utf-8")
    return path


def _vrt(source: str, sql: str = "", options: str = "") -> bytes:
    inner = f"<SrcDataSource>{source}</SrcDataSource>{options}"
    if sql:
        inner += f"<SrcSQL>{sql}</SrcSQL>"
    else:
        inner += "<SrcLayer>secret</SrcLayer>"
    layer = f'<OGRVRTLayer name="secret">{inner}</OGRVRTLayer>'
    return f"<OGRVRTDataSource>{layer}</OGRVRTDataSource>".encode()


def documents(places: Places) -> dict[str, bytes]:
    """Documents of other drivers, which are harmless to mapgauge only if GDAL never sees them."""
    url = f"http://127.0.0.1:{places.port}/map.geojson"
    secret = places.secret.as_posix()
    database = places.secret.with_suffix(".gpkg").as_posix()
    target = places.target.as_posix()
    prelude = f"<OpenOptions><OOI key='PRELUDE_STATEMENTS'>ATTACH DATABASE '{target}' AS t</OOI></OpenOptions>"
    return {
        "VRT of a file": _vrt(secret),
        "VRT of a URL": _vrt(f"/vsicurl/{url}"),
        "VRT of a URL in an archive": _vrt(f"/vsizip//vsicurl/{url}.zip/a.shp"),
        "VRT of a service": _vrt(f"WFS:{url}"),
        "VRT that writes": _vrt(database, f"VACUUM INTO '{target}'"),
        "VRT that attaches": _vrt(database, f"ATTACH DATABASE '{target}' AS t"),
        "VRT that opens a table of a file": _vrt(secret, f"SELECT * FROM '{secret}'.secret"),
        "VRT that prepares a database": _vrt(database, options=prelude),
        "VRT of a command": _vrt(f"GDALG:gdal vector convert {secret} {target}"),
        "GML with an entity": f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY s SYSTEM "{secret}">]>'
        f'<gml:FeatureCollection xmlns:gml="http://www.opengis.net/gml">&s;</gml:FeatureCollection>'.encode(),
        "description of a service": f"<OGRWFSDataSource><URL>{url}</URL></OGRWFSDataSource>".encode(),
        "streamed command": b'{"type":"gdal_streamed_alg","command_line":"gdal vector convert '
        + f'{secret} {target}"}}'.encode(),
        "KML with a link": b'<kml xmlns="http://www.opengis.net/kml/2.2"><NetworkLink><Link><href>'
        + f"{url}</href></Link></NetworkLink></kml>".encode(),
        "description of a table": f'{{"type":"FeatureCollection","features":[],"crs":"{url}"}}'.encode(),
    }


def _zipped(files: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return file.getvalue()


def disguises(document: bytes, target: Path) -> dict[str, bytes]:
    """The document behind the first bytes of other formats, and in archives."""
    padded = document + b" " * 4096  # drivers look at some thousand bytes
    named = {f"behind {name}": magic + padded for name, magic in MAGIC.items()}
    archives = {
        "as .shp in an archive": {"a.shp": padded},
        "as all parts in an archive": {f"a{suffix}": padded for suffix in (".shp", ".shx", ".dbf", ".prj", ".cpg")},
        "beside .shp in an archive": {"a.vrt": padded, "a.shp": b""},
        "outside the archive": {f"../../{target.name}.shp": padded, f"{target.as_posix()}.shp": padded},
    }
    return named | {name: _zipped(files) for name, files in archives.items()}


def sound_geopackage(path: Path) -> Path:
    lines = shapely.to_wkb(np.array([shapely.LineString([(0, 0), (9, 0)]), shapely.LineString([(0, 5), (9, 5)])]))
    names = [np.array(["divider", "boundary"], object)]
    pyogrio.raw.write(path, lines, names, ["class"], layer="own", geometry_type="LineString", crs="EPSG:32632")
    return path


def _register(connection: sqlite3.Connection, table: str) -> None:
    """Make a table or a view a layer."""
    connection.execute(
        "INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES (?, 'features', ?, 32632)",
        (table, table),
    )
    connection.execute(
        "INSERT INTO gpkg_geometry_columns VALUES (?, 'geom', 'LINESTRING', 32632, 0, 0)",
        (table,),
    )


def _with_module(connection: sqlite3.Connection, places: Places, module: str, argument: str) -> None:
    _with_row(connection, "stolen", f"CREATE VIRTUAL TABLE stolen USING {module}({argument})")


def _with_row(
    connection: sqlite3.Connection, name: str, sql: str, stated: str = "table", layer: str = "stolen"
) -> None:
    """Put a row into the schema, which need not be what the SQL makes."""
    connection.execute("PRAGMA writable_schema=ON")
    connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, 0, ?)", (stated, name, name, sql))
    _register(connection, layer)


def _with_view(connection: sqlite3.Connection, places: Places, select: str) -> None:
    connection.execute(f"CREATE VIEW seen AS {select}")
    _register(connection, "seen")


def _endless_contents(connection: sqlite3.Connection, places: Places) -> None:
    connection.execute("ALTER TABLE gpkg_contents RENAME TO contents")
    endless = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n) SELECT contents.* FROM contents, n"
    connection.execute(f"CREATE VIEW gpkg_contents AS {endless}")


def _with_generated_column(connection: sqlite3.Connection, places: Places) -> None:
    sql = 'ALTER TABLE own ADD COLUMN more BLOB GENERATED ALWAYS AS (zeroblob(900000000 + "fid")) VIRTUAL'
    connection.execute(sql)


def _with_constraint(connection: sqlite3.Connection, places: Places) -> None:
    check = "CHECK (length(hex(randomblob(400000000))) > fid)"
    connection.execute(f"CREATE TABLE costly (fid INTEGER PRIMARY KEY, geom BLOB, {check})")
    connection.execute("PRAGMA ignore_check_constraints=ON")
    connection.executemany("INSERT INTO costly VALUES (?, NULL)", [(k,) for k in range(200)])


def _with_system(connection: sqlite3.Connection, definition: str) -> None:
    columns = "srs_name = 'x', organization = 'x', organization_coordsys_id = 99, definition = ?"
    connection.execute(f"UPDATE gpkg_spatial_ref_sys SET {columns} WHERE srs_id = 32632", (definition,))


def _statement(sql: str) -> Callable[[sqlite3.Connection, Places], None]:
    def run(connection: sqlite3.Connection, places: Places) -> None:
        connection.execute(sql)

    return run


ENDLESS = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n) SELECT own.* FROM own, n"
# What is done to a sound GeoPackage, by name. All but those of HARMLESS must be refused.
CHANGES: dict[str, Callable[[sqlite3.Connection, Places], None]] = {
    "a table of a module of GDAL": lambda c, p: _with_module(c, p, "VirtualOGR", f"'{p.secret}'"),
    "a table of a module of SpatiaLite": lambda c, p: _with_module(c, p, "VirtualShape", f"'{p.secret}', UTF8, 1"),
    "a table of a module for CSV": lambda c, p: _with_module(c, p, "csv", f"filename='{p.secret}'"),
    "a module behind the name of an index": lambda c, p: _with_row(
        c,
        "rtree_x USING rtree(",
        f"CREATE VIRTUAL TABLE \"rtree_x USING rtree(\" USING VirtualOGR('{p.secret}')",
        layer="rtree_x USING rtree(",
    ),
    "a module behind a comment": lambda c, p: _with_row(
        c, "stolen", f"CREATE/* */VIRTUAL/* */TABLE stolen USING VirtualOGR('{p.secret}')"
    ),
    "a view that is called an index": lambda c, p: _with_row(
        c, "harmless", f"CREATE VIEW stolen AS {ENDLESS}", stated="index"
    ),
    "a view without an end": lambda c, p: _with_view(c, p, ENDLESS),
    "a view that loads an extension": lambda c, p: _with_view(
        c, p, f"SELECT fid, geom, load_extension('{p.target}') FROM own"
    ),
    "contents without an end": _endless_contents,
    "a computed column": _with_generated_column,
    "a costly constraint": _with_constraint,
    "a layer without a table": lambda c, p: _register(c, "sqlite_master"),
    "a system at a URL": lambda c, p: _with_system(c, f"http://127.0.0.1:{p.port}/crs"),
    "a system in a file": lambda c, p: _with_system(c, str(p.secret)),
    "a trigger": _statement("CREATE TRIGGER t AFTER INSERT ON own BEGIN DELETE FROM own; END"),
    "a view that is no layer": _statement(f"CREATE VIEW other AS {ENDLESS}"),
    "a log": _statement("PRAGMA journal_mode=WAL"),
}
HARMLESS = (
    "a costly constraint",
    "a trigger",
    "a view that is no layer",
    "a log",
    "a system at a URL",
    "a system in a file",
)


def hostile_geopackage(path: Path, change: Callable[[sqlite3.Connection, Places], None], places: Places) -> Path:
    connection = sqlite3.connect(sound_geopackage(path))
    change(connection, places)
    connection.commit()
    connection.close()
    return path


def nested_collections(depth: int) -> bytes:
    """WKB of collections in collections, around a line."""
    line = struct.pack("<BII4d", 1, 2, 2, 0, 0, 9, 0)
    return struct.pack("<BII", 1, 7, 1) * depth + line
