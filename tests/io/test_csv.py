"""CSV with WKT: the rules of GeoJSON, and errors that name the line."""

import csv
from pathlib import Path

import pytest

import mapgauge as mg

TEXT = """frame,class,confidence,track,wkt
t0,divider,0.5,7,"LINESTRING (0 1, 9 1.5)"
t0,ped_crossing,0.25,,"POLYGON ((0 0, 4 0, 4 3, 0 0))"
t1,divider,1,,"LINESTRING(0 1, 9 1)"
"""


def read(text: str, folder: Path, **options: object) -> mg.MapFrames:
    (folder / "lines.csv").write_text(text, encoding="utf-8")
    return mg.read(folder / "lines.csv", **options)  # type: ignore[arg-type]


def test_rows_become_instances(tmp_path: Path) -> None:
    frames = read(TEXT, tmp_path)
    assert (frames.format, frames.tokens) == ("csv", ("t0", "t1"))
    first, second = frames["t0"]
    assert (first.class_name, first.confidence, first.track) == ("divider", 0.5, "7")
    assert first.points.tolist() == [[0, 1], [9, 1.5]]
    assert second.points.tolist() == [[0, 0], [4, 0], [4, 3], [0, 0]]


def test_a_table_without_frames_and_confidences_is_a_map(tmp_path: Path) -> None:
    frames = read("class;geom\nkerb;LINESTRING Z (0 1 2, 9 1 2)\n", tmp_path)
    assert (frames.tokens, frames.counts, frames.dimension) == (("map",), {"kerb": 1}, 3)
    assert frames.confidence is None


def test_columns_can_have_other_names(tmp_path: Path) -> None:
    text = TEXT.replace("frame,class", "sample,kind").replace(",wkt", ",the_geom")
    assert read(text, tmp_path, properties={"frame": "sample", "class": "kind"}).tokens == ("t0", "t1")


def test_an_srid_is_a_reference_system(tmp_path: Path) -> None:
    text = 'class,wkt\nkerb,"SRID=4326;LINESTRING (8.4 49, 8.401 49)"\n'
    with pytest.raises(mg.UnreadableFile, match="longitude and latitude, expected metres"):
        read(text, tmp_path)
    assert read(text, tmp_path, project="auto")["map"][0].points[1, 0] == pytest.approx(73.2, abs=0.1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("LINESTRING (0 1, 9 1.5)", "LINESTRING (0 1, 9 x)", "line 2: expected WKT such as LINESTRING"),
        ("LINESTRING(0 1, 9 1)", "hello", "line 4: expected WKT such as LINESTRING"),
        ("LINESTRING(0 1, 9 1)", "POINT (0 1)", "line 4: .*'Point', expected a LineString or a Polygon"),
        ("t1,divider", "t1,", "line 4: class is missing"),
        ("0.25", "high", "line 3: confidence"),
        ('"LINESTRING(0 1, 9 1)"', "a,b,c", "line 4: expected 5 columns"),
        ("class,confidence", "class,class", "two columns have the same name"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(mg.UnreadableFile, match=message):
        read(TEXT.replace(old, new), tmp_path)


def test_a_geometry_may_be_long(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    points = ", ".join(f"{k} {k % 7}" for k in range(30_000))
    (tmp_path / "map.csv").write_text(f'class,wkt\nkerb,"LINESTRING ({points})"\n', encoding="utf-8")
    assert len(points) > 131_072  # the limit of the module csv
    assert len(mg.read(tmp_path / "map.csv").polylines.coords) == 30_000
    assert csv.field_size_limit() == before


@pytest.mark.parametrize("depth", [12, 5_000, 100_000])
def test_deeply_nested_geometries_are_refused(depth: int, tmp_path: Path) -> None:
    wkt = "GEOMETRYCOLLECTION (" * depth + "LINESTRING (0 0, 9 0)" + ")" * depth
    (tmp_path / "map.csv").write_text(f'class,wkt\nkerb,"{wkt}"\n', encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=r"line 2: .*nested more than 8 deep"):
        mg.read(tmp_path / "map.csv")


@pytest.mark.parametrize("wkt", ["CIRCULARSTRING (0 0, 1 1, 2 0)", "CURVEPOLYGON ((0 0, 1 1, 2 0, 0 0))"])
def test_curves_are_refused(wkt: str, tmp_path: Path) -> None:
    (tmp_path / "map.csv").write_text(f'class,wkt\nkerb,"{wkt}"\n', encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=r"line 2: (its geometry has curves|expected WKT)"):
        mg.read(tmp_path / "map.csv")
