"""Maps of a GIS: GeoPackage and others are read as GeoJSON is, and in a map every part of a geometry is a line."""

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import mapgauge as mg

pyogrio = pytest.importorskip("pyogrio")
KERB = shapely.MultiLineString([[(0, 0), (80, 0)], [(0, 9), (80, 9)]])
ISLAND = shapely.MultiPolygon([shapely.box(5, 5, 6, 7)])
SHAPES = [KERB, ISLAND, shapely.Point(3, 3), None]
KINDS = ["kerb", "island", "tree", "kerb"]
LEFT_OUT = "2 elements are left out: 1 tree without a line, 1 kerb without a geometry"


def saved(path: Path, shapes: list[Any], columns: dict[str, list[Any]], crs: str = "EPSG:32632") -> Path:
    values = [np.array(column, object if isinstance(column[0], str) else float) for column in columns.values()]
    wkb = np.array([None if shape is None else shape.wkb for shape in shapes], object)
    pyogrio.raw.write(path, wkb, values, list(columns), geometry_type="Unknown", crs=crs)
    return path


def as_geojson(path: Path, shapes: list[Any], names: list[str]) -> Path:
    features = [
        {"type": "Feature", "properties": {"class": name}, "geometry": shape and json.loads(shapely.to_geojson(shape))}
        for name, shape in zip(names, shapes, strict=True)
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    return path


def as_geoparquet(path: Path, shapes: list[Any], names: list[str]) -> Path:
    wkb = pa.array([None if shape is None else shape.wkb for shape in shapes], pa.binary())
    geo = {"version": "1.1.0", "primary_column": "geom", "columns": {"geom": {"encoding": "WKB", "crs": None}}}
    table = pa.table({"class": names, "geom": wkb}).replace_schema_metadata({"geo": json.dumps(geo)})
    pq.write_table(table, path)
    return path


def as_zip(path: Path, shapes: list[Any], names: list[str]) -> Path:
    """Write a Shapefile of each kind of geometry. Shapefiles have no lines without a geometry."""
    for kind in ("Line", "Polygon", "Point"):
        chosen = [k for k, shape in enumerate(shapes) if shape is not None and kind in shape.geom_type]
        file, of_kind = path.with_name(f"{kind}.shp"), [shapes[k] for k in chosen]
        wkb = np.array([shape.wkb for shape in of_kind], object)
        values = [np.array([names[k] for k in chosen], object)]
        pyogrio.raw.write(file, wkb, values, ["CLASS"], geometry_type=of_kind[0].geom_type, crs="EPSG:32632")
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(path.parent.glob("*.[sdp]*")):
            archive.write(file, file.name)
    return path


@pytest.mark.parametrize("name", ["map.gpkg", "map.geojson", "map.csv", "map.parquet", "map.zip"])
def test_the_same_map_in_all_forms(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "map.geojson":
        as_geojson(path, SHAPES, KINDS)
    elif name == "map.csv":
        rows = (f'{kind},"{shape.wkt if shape else ""}"\n' for kind, shape in zip(KINDS, SHAPES, strict=True))
        path.write_text("class,wkt\n" + "".join(rows), encoding="utf-8")
    elif name == "map.parquet":
        as_geoparquet(path, SHAPES, KINDS)
    elif name == "map.zip":
        as_zip(path, SHAPES, KINDS)
    else:
        saved(path, SHAPES, {"class": KINDS})
    frames = mg.read(path)
    assert (frames.tokens, frames.counts) == (("map",), {"kerb": 2, "island": 1})
    assert sorted(each.points.tolist() for each in frames["map"])[:2] == [[[0, 0], [80, 0]], [[0, 9], [80, 9]]]
    left_out = "1 element is left out: 1 tree without a line" if name == "map.zip" else LEFT_OUT
    assert [finding.message.partition(": ")[2] for finding in frames.findings] == [left_out]
    protocol = mg.protocol("paper-60x30", classes=["kerb", "island"], region=None)
    assert mg.evaluate(frames.with_confidence(1.0), path, protocol, metrics=["pld"]).mean["pld"] == 0


@pytest.mark.needs_feature("network")
def test_a_file_of_a_whole_map_is_evaluated_as_it_is(tmp_path: Path) -> None:
    path = saved(tmp_path / "map.gpkg", SHAPES, {"class": KINDS})
    assert mg.evaluate(path, path, "map").mean["pld"] == 0


def test_rings_and_members_of_collections_are_lines_of_a_map(tmp_path: Path) -> None:
    with_hole = shapely.box(0, 0, 9, 9) - shapely.box(3, 3, 4, 4)
    shapes = [shapely.GeometryCollection([with_hole, shapely.LineString([(20, 0), (30, 0)]), shapely.Point(1, 1)])]
    frames = mg.read(as_geojson(tmp_path / "map.geojson", shapes, ["kerb"]))
    assert sorted(len(each.points) for each in frames["map"]) == [2, 5, 5]


def test_the_class_may_have_another_usual_name(tmp_path: Path) -> None:
    text = as_geojson(tmp_path / "map.geojson", SHAPES, KINDS).read_text(encoding="utf-8")
    (tmp_path / "map.geojson").write_text(text.replace('"class"', '"Kind"'), encoding="utf-8")
    assert mg.read(tmp_path / "map.geojson").counts == {"kerb": 2, "island": 1}


def test_in_a_frame_an_instance_is_one_line(tmp_path: Path) -> None:
    path = saved(tmp_path / "map.gpkg", [KERB], {"frame": ["a"], "class": ["kerb"]})
    with pytest.raises(mg.UnreadableFile, match="element 1: geometry is 'MultiLineString'"):
        mg.read(path)
    one = shapely.MultiLineString([[(0, 0), (80, 0)]])
    frames = mg.read(saved(tmp_path / "one.gpkg", [one], {"frame": ["a"], "class": ["kerb"], "confidence": [0.5]}))
    assert [(each.class_name, each.confidence) for each in frames["a"]] == [("kerb", 0.5)]


def test_degrees_and_broken_files_are_refused(tmp_path: Path) -> None:
    street = shapely.LineString([(8.4, 49.0), (8.401, 49.0)])
    path = saved(tmp_path / "map.gpkg", [street], {"class": ["kerb"]}, "EPSG:4326")
    with pytest.raises(mg.UnreadableFile, match=r"the reference system is longitude and latitude.*project=\"auto\""):
        mg.read(path)
    assert mg.read(path, project="auto")["map"][0].points[1, 0] == pytest.approx(73.2, abs=0.1)
    (tmp_path / "cut.gpkg").write_bytes(path.read_bytes()[:3000])
    with pytest.raises(mg.UnreadableFile, match="cannot be read by GDAL"):
        mg.read(tmp_path / "cut.gpkg")


def test_without_a_property_the_layer_is_the_class(tmp_path: Path) -> None:
    for name in ("kerb.fgb", "kerb.shp", "kerb.gpkg"):
        path = saved(tmp_path / name, [shapely.LineString([(0, 0), (80, 0)])], {"width": [0.1]})
        assert mg.read(path).counts == {"kerb": 1}
    data = (tmp_path / "kerb.fgb").read_bytes()
    at = data.index(b"\x04\x00\x00\x00kerb")
    (tmp_path / "rail.fgb").write_bytes(data[:at] + bytes(8) + data[at + 8 :])  # an empty name
    assert mg.read(tmp_path / "rail.fgb").counts == {"rail": 1}


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "map.gpkg", [KERB], {"class": ["kerb"]})
    monkeypatch.setitem(sys.modules, "pyogrio", None)
    with pytest.raises(mg.MissingDependency, match=r"needs pyogrio. Install it with: pip install 'mapgauge\[geo\]'"):
        mg.read(path)


def test_a_temporary_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "map.gpkg", [KERB], {"class": ["kerb"]})
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(mg.MapgaugeError, match=r"map\.gpkg: a copy for GDAL cannot be written.*TMPDIR"):
        mg.read(path)
