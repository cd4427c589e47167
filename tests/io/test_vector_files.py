"""Maps of a GIS: GeoPackage and others are read as GeoJSON is, and in a map every part of a geometry is a line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
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
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


@pytest.mark.parametrize("name", ["map.gpkg", "map.geojson", "map.csv"])
def test_the_same_map_in_all_forms(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "map.geojson":
        as_geojson(path, SHAPES, KINDS)
    elif name == "map.csv":
        rows = (f'{kind},"{shape.wkt if shape else ""}"\n' for kind, shape in zip(KINDS, SHAPES, strict=True))
        path.write_text("class,wkt\n" + "".join(rows))
    else:
        saved(path, SHAPES, {"class": KINDS})
    frames = mg.read(path)
    assert (frames.tokens, frames.counts) == (("map",), {"kerb": 2, "island": 1})
    assert sorted(each.points.tolist() for each in frames["map"])[:2] == [[[0, 0], [80, 0]], [[0, 9], [80, 9]]]
    assert [finding.message.partition(": ")[2] for finding in frames.findings] == [LEFT_OUT]
    assert mg.evaluate(frames, frames, "map").mean["pld"] == 0


def test_in_a_frame_an_instance_is_one_line(tmp_path: Path) -> None:
    path = saved(tmp_path / "map.gpkg", [KERB], {"frame": ["a"], "class": ["kerb"]})
    with pytest.raises(
        mg.UnreadableFile, match=r"element 1: geometry is 'MultiLineString', expected a LineString.* Split it"
    ):
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
