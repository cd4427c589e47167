"""Damaged maps: a file that was cut off, or whose parts contradict each other, is refused, never read in part."""

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from tests.io.hostile_maps import nested_collections

import mapgauge as mg
from mapgauge.io._flatgeobuf import count_features
from mapgauge.io._wkb import DEEPEST, check_wkb

pyogrio = pytest.importorskip("pyogrio")
COUNT = 40  # of lines; the index of FlatGeobuf has three levels
PARTS = (".shp", ".shx", ".dbf", ".prj", ".cpg")


def saved(path: Path, **how: Any) -> Path:
    lines = shapely.to_wkb(np.array([shapely.LineString([(0, k), (9, k), (20, k + 0.5)]) for k in range(COUNT)]))
    names = [np.array(["divider", "boundary"] * (COUNT // 2), object)]
    pyogrio.raw.write(path, lines, names, ["class"], geometry_type="LineString", crs="EPSG:32632", **how)
    return path


def zipped(path: Path, change: dict[str, bytes] | None = None, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    shp = saved(path.with_suffix(".shp"))
    with zipfile.ZipFile(path, "w", compression) as archive:
        for suffix in PARTS:
            archive.writestr(f"map{suffix}", (change or {}).get(suffix, shp.with_suffix(suffix).read_bytes()))
    return path


def geoparquet(path: Path, wkb: list[bytes | None]) -> Path:
    geo = {"version": "1.1.0", "primary_column": "geom", "columns": {"geom": {"encoding": "WKB", "crs": None}}}
    table = pa.table({"class": ["divider"] * len(wkb), "geom": pa.array(wkb, pa.binary())})
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), path)
    return path


@pytest.mark.parametrize("index", ["YES", "NO"])
def test_no_cut_of_flatgeobuf_is_read(index: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "map.fgb", SPATIAL_INDEX=index)
    data = path.read_bytes()
    assert count_features(data) == COUNT
    assert len(mg.read(path).polylines) == COUNT
    cut = tmp_path / "cut.fgb"
    for end in [*range(9, len(data), 97), len(data) - 1]:
        cut.write_bytes(data[:end])
        with pytest.raises(mg.UnreadableFile, match="not a complete FlatGeobuf file"):
            mg.read(cut)


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17, 256, 257])
@pytest.mark.parametrize("index", ["YES", "NO"])
def test_features_of_flatgeobuf_are_counted(count: int, index: str, tmp_path: Path) -> None:
    path = tmp_path / "map.fgb"
    lines = shapely.to_wkb(np.array([shapely.LineString([(0, k), (9, k)]) for k in range(count)]))
    how = {"geometry_type": "LineString", "crs": "EPSG:32632", "SPATIAL_INDEX": index}
    pyogrio.raw.write(path, lines, [np.array(["divider"] * count, object)], ["class"], **how)
    assert count_features(path.read_bytes()) == count


def test_flatgeobuf_whose_header_states_other_features_is_refused(tmp_path: Path) -> None:
    data = saved(tmp_path / "map.fgb").read_bytes()
    at = data.index(struct.pack("<Q", COUNT))  # the first number of 8 bytes with this value is the count
    for stated, message in (
        (COUNT + 1, "it ends within|states 41 features|ends within its index"),
        (1 << 60, "no room"),
    ):
        (tmp_path / "map.fgb").write_bytes(data[:at] + struct.pack("<Q", stated) + data[at + 8 :])
        with pytest.raises(mg.UnreadableFile, match=message):
            mg.read(tmp_path / "map.fgb")


def test_a_wrong_sum_in_an_archive_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "map.zip", compression=zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    data[data.index(b"boundary") + 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(mg.UnreadableFile, match=r"Bad CRC-32 for file 'map\.dbf'"):
        mg.read(path)


def test_unusual_compression_in_an_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mg.UnreadableFile, match=r"zip: 'map\.shp' is compressed in an unusual way"):
        mg.read(zipped(tmp_path / "map.zip", compression=zipfile.ZIP_BZIP2))


def test_an_archive_that_grows_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(tmp_path / "map.zip", {".dbf": bytes(5_000_000)})
    monkeypatch.setenv("MAPGAUGE_MAX_BYTES", "1000000")
    with pytest.raises(
        mg.UnreadableFile,
        match=r"zip: .*its maps 500.*MAPGAUGE_MAX_BYTES",
    ):
        mg.read(path)


def test_a_part_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "map.zip")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("map.DBF", b"")
    with pytest.raises(mg.UnreadableFile, match=r"zip: the ZIP archive has 'map\.DBF' twice"):
        mg.read(path)


def part(tmp_path: Path, suffix: str) -> bytes:
    return saved(tmp_path / "sound.shp").with_suffix(suffix).read_bytes()


@pytest.mark.parametrize(
    ("suffix", "message"),
    [
        (".shp", r"map\.shp: \d+ bytes, and its header states"),
        (".shx", r"map\.shx: \d+ bytes, and its header states"),
        (".dbf", r"map\.dbf: \d+ bytes, and its header states"),
    ],
)
def test_a_shapefile_that_was_cut_is_refused(suffix: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(mg.UnreadableFile, match=message):
        mg.read(zipped(tmp_path / "map.zip", {suffix: part(tmp_path, suffix)[:-30]}))


def test_a_shapefile_of_other_parts_is_refused(tmp_path: Path) -> None:
    table = bytearray(part(tmp_path, ".dbf"))
    table[4] -= 1
    with pytest.raises(mg.UnreadableFile, match=r"map\.dbf: .*39 records.* 40"):
        mg.read(zipped(tmp_path / "map.zip", {".dbf": bytes(table)}))
    index = bytearray(part(tmp_path, ".shx"))
    index[103] += 4
    with pytest.raises(mg.UnreadableFile, match=r"map\.shx: it does not fit to map\.shp"):
        mg.read(zipped(tmp_path / "map.zip", {".shx": bytes(index)}))
    shapes = bytearray(part(tmp_path, ".shp"))
    shapes[108] = 5
    with pytest.raises(mg.UnreadableFile, match=r"map\.shp: its records have other types"):
        mg.read(zipped(tmp_path / "map.zip", {".shp": bytes(shapes)}))


def test_a_shapefile_needs_its_index(tmp_path: Path) -> None:
    path = saved(tmp_path / "map.shp")
    path.with_suffix(".shx").unlink()
    with pytest.raises(mg.UnreadableFile, match=r"without its part \.shx. Keep .shp, .shx"):
        mg.read(path)


def test_records_marked_as_deleted_are_left_out(tmp_path: Path) -> None:
    table = bytearray(part(tmp_path, ".dbf"))
    start = struct.unpack_from("<H", table, 8)[0]
    table[start] = ord("*")
    assert len(mg.read(zipped(tmp_path / "map.zip", {".dbf": bytes(table)})).polylines) == COUNT - 1
    table[start] = ord("x")
    with pytest.raises(mg.UnreadableFile, match="a record has no mark"):
        mg.read(zipped(tmp_path / "map.zip", {".dbf": bytes(table)}))


def test_a_damaged_geopackage_is_refused(tmp_path: Path) -> None:
    data = bytearray(saved(tmp_path / "map.gpkg").read_bytes())
    root = data.index(b"divider")
    page = root - root % 4096
    data[page : page + 60] = bytes(60)
    (tmp_path / "map.gpkg").write_bytes(data)
    with pytest.raises(mg.UnreadableFile, match="the database is damaged|malformed"):
        mg.read(tmp_path / "map.gpkg")


@pytest.mark.parametrize("depth", [DEEPEST, 1_000, 100_000])
def test_nested_wkb_is_refused_before_geos_sees_it(depth: int, tmp_path: Path) -> None:
    with pytest.raises(mg.UnreadableFile, match=f"element 1: its geometry is nested more than {DEEPEST} deep"):
        mg.read(geoparquet(tmp_path / "map.parquet", [nested_collections(depth)]))
    assert len(mg.read(geoparquet(tmp_path / "map.parquet", [nested_collections(DEEPEST - 1)])).polylines) == 1


def test_wkb_of_all_forms_is_accepted() -> None:
    line = shapely.LineString([(0, 0, 1), (9, 0, 2)])
    polygon = shapely.box(0, 0, 9, 9) - shapely.box(3, 3, 4, 4)
    many = shapely.MultiPolygon([polygon, shapely.box(20, 0, 30, 9)])
    shapes = [line, polygon, many, shapely.Point(1, 2), shapely.GeometryCollection([line, many]), shapely.LineString()]
    for shape in shapes:
        for flavour in ("iso", "extended"):
            for order in (0, 1):
                check_wkb(shapely.to_wkb(shape, flavor=flavour, byte_order=order))
    check_wkb(shapely.to_wkb(shapely.set_srid(line, 32632), include_srid=True))
    check_wkb(struct.pack("<BII8d", 1, 3002, 2, *range(8)))  # ISO with Z and M
    check_wkb(struct.pack("<BII6d", 1, 0x40000002, 2, *range(6)))  # EWKB with M


@pytest.mark.parametrize(
    ("wkb", "message"),
    [
        (b"", "ends early"),
        (b"\x02\x01\x00\x00\x00", "byte order 2"),
        (struct.pack("<BI", 1, 2), "ends early"),
        (struct.pack("<BII", 1, 2, 1 << 31), "2147483648 points and room for 0"),
        (struct.pack("<BIII", 1, 3, 1, 9), "9 points and room for 0"),
        (struct.pack("<BII", 1, 6, 99), "99 parts and room for 0"),
        (struct.pack("<BI2d", 1, 1, 0, 0) + b"x", "has 22 bytes, and ends after 21"),
        (struct.pack("<BI", 1, 99), "unknown type 99"),
        (struct.pack("<BI", 1, 7002), "unknown type 7002"),
        (struct.pack("<BII", 1, 8, 0), "curves"),
        (struct.pack("<BI", 1, 1), "ends early"),
    ],
)
def test_wkb_that_is_not_sound_is_refused(wkb: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_wkb(wkb)


def test_every_single_byte_of_geoparquet_is_read_or_refused(tmp_path: Path) -> None:
    lines = [shapely.LineString([(0, k), (9, k)]).wkb for k in range(5)]
    path = geoparquet(tmp_path / "map.parquet", [*lines, None])
    data = path.read_bytes()
    refused = 0
    for at in range(0, len(data), 3):
        changed = bytearray(data)
        changed[at] ^= 1 << at % 8
        path.write_bytes(changed)
        try:
            mg.read(path)
        except mg.UnreadableFile:
            refused += 1
    assert refused > len(data) // 12


def test_geometries_that_are_no_wkb_are_named(tmp_path: Path) -> None:
    geo = {"version": "1.1.0", "primary_column": "geom", "columns": {"geom": {"encoding": "WKB", "crs": None}}}
    for column, message in (
        (pa.array(["LINESTRING (0 0, 9 0)"]), "element 1: expected a geometry as WKB, got 'LINESTRING"),
        (pa.array([[[0.0, 0.0]]]), "element 1: expected WKB, or a line as a list of at least 2 points"),
    ):
        table = pa.table({"class": ["divider"], "geom": column})
        pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), tmp_path / "map.parquet")
        with pytest.raises(mg.UnreadableFile, match=message):
            mg.read(tmp_path / "map.parquet")


def test_a_message_about_an_archive_is_short(tmp_path: Path) -> None:
    path = zipped(tmp_path / "map.zip")
    data = bytearray(path.read_bytes())
    data[26:28] = (700).to_bytes(2, "little")  # the length of the first name, of which the message has all bytes
    path.write_bytes(data)
    with pytest.raises(mg.UnreadableFile, match="a damaged ZIP archive: File name in directory") as caught:
        mg.read(path)
    assert len(str(caught.value)) < 500 + len(str(path))
