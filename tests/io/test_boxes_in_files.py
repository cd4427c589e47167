"""Boxes and intersections in files that are not OpenLane-V2's, in data sets and in results."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.lane_frames import CONTROLLED_BY

import mapgauge as mg

LANE = [[0.0, 0.0], [10.0, 0.0]]
BOX = [[900.0, 100.0], [950.0, 180.0]]


def frames(tokens: str = "ab") -> mg.MapFrames:
    """Frames with a lane in an intersection and a box that controls it."""
    made = mg.MapFrames.of({token: {"centerline": [LANE], "red": [BOX]} for token in tokens})
    first = 2 * np.arange(len(tokens))
    links = mg.Links.of(first, first + 1, weight=0.5, kind=CONTROLLED_BY)
    inside = np.tile([True, False], len(tokens))
    return replace(made, boxes=("red", "green"), links=links, intersection=inside, forward="x")


def test_a_data_set_is_streamed_without_boxes_unless_they_are_named(tmp_path: Path) -> None:
    for name, side in (("truth", frames()), ("predictions", frames("ba").with_confidence(0.5))):
        (tmp_path / name).mkdir()
        mg.write(side, tmp_path / name / "part.parquet")
    assert mg.read(tmp_path / "truth").boxes == ("red", "green")
    sides = tmp_path / "predictions", tmp_path / "truth"
    streamed = mg.evaluate(*sides, mg.protocol("paper-60x30", classes=None))
    assert streamed.class_names == ("centerline",)
    whole = mg.evaluate(mg.read(sides[0]), mg.read(sides[1]), mg.protocol("paper-60x30", classes=None))
    assert (streamed.classes, streamed.mean) == (whole.classes, whole.mean)
    assert [side.hash for side in streamed.inputs] == [side.hash for side in whole.inputs]
    both = mg.protocol("paper-60x30", classes=["centerline", "red"], boxes=["red"])
    assert mg.evaluate(*sides, both).classes["red"]["truth"] == 2
    with pytest.raises(mg.InvalidInput, match="instances of red are boxes in an image"):
        mg.evaluate(*sides, both.replace(boxes=()))


def test_results_keep_boxes_links_and_intersections_with_the_geometry(tmp_path: Path) -> None:
    settings = mg.protocol("paper-60x30", classes=["centerline", "red"], boxes=["red"])
    mg.evaluate(frames().with_confidence(0.5), frames(), settings).save(tmp_path / "a.mg", geometry="original")
    data = mg.load_results(tmp_path / "a.mg").data
    assert data is not None
    for side in data:
        assert side.boxes == ("red", "green")
        assert side.intersection is not None
        assert side.intersection.tolist() == [True, False] * 2
        assert list(side.links or ()) == [(0, 1, 0.5, CONTROLLED_BY), (2, 3, 0.5, CONTROLLED_BY)]


def hash_of(frames: mg.MapFrames) -> str:
    """Return the hash of a truth that is recorded with results."""
    lanes = mg.protocol("paper-60x30", classes=["centerline"])
    return mg.evaluate(frames.with_confidence(1), frames, lanes, metrics=["pld"]).inputs[1].hash


def test_the_hash_includes_intersections() -> None:
    given = frames()
    none = replace(given, intersection=None)
    other = replace(given, intersection=np.ones(4, np.bool_))
    assert len({hash_of(given), hash_of(none), hash_of(other)}) == 3
    assert hash_of(given) == hash_of(replace(given, boxes=()))
    assert hash_of(given) == hash_of(given.at([1, 0]))


@pytest.mark.parametrize("name", ["streammapnet-truth", "maptr-truth"])
def test_other_formats_refuse_boxes(name: str, tmp_path: Path) -> None:
    with pytest.raises(mg.InvalidInput, match=f"{name} cannot hold boxes in an image \\(red\\)"):
        mg.write(frames().rename({"centerline": "divider"}), tmp_path / "file", name, classes={"divider": 0, "red": 1})
    mg.write(frames().select(["centerline"]).rename({"centerline": "divider"}), tmp_path / "file", name)


def test_an_intersection_in_parquet_is_true_or_false(tmp_path: Path) -> None:
    columns: dict[str, Any] = {"token": ["a", "a"], "class": ["x", "x"], "geometry": [LANE, LANE]}
    pq.write_table(pa.table(columns | {"intersection": [True, None]}), tmp_path / "f.parquet")
    read = mg.read(tmp_path / "f.parquet")
    assert read.intersection is not None
    assert read.intersection.tolist() == [True, False]
    pq.write_table(pa.table(columns | {"intersection": [1, 0]}), tmp_path / "f.parquet")
    with pytest.raises(mg.UnreadableFile, match="the column intersection is int64"):
        mg.read(tmp_path / "f.parquet")


def test_bad_boxes_are_refused_with_the_place(tmp_path: Path) -> None:
    mg.write(replace(frames(), boxes=()).resample(count=3), tmp_path / "f.geojson")
    document = json.loads((tmp_path / "f.geojson").read_text(encoding="utf-8"))
    (tmp_path / "f.geojson").write_text(json.dumps(document | {"boxes": ["red"]}), encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=r"f.geojson: \$.features\[1\] is a box"):
        mg.read(tmp_path / "f.geojson")
    mg.write(frames(), tmp_path / "f.parquet")
    table = pq.read_table(tmp_path / "f.parquet")
    turned = [line[::-1] for line in table["geometry"].to_pylist()]
    geometry = pa.array(turned, table.schema.field("geometry").type)
    pq.write_table(
        table.set_column(table.schema.get_field_index("geometry"), "geometry", geometry), tmp_path / "f.parquet"
    )
    with pytest.raises(mg.UnreadableFile, match=r"f.parquet: row 1 .*is a box"):
        mg.read(tmp_path / "f.parquet")
    (tmp_path / "f.geojson").write_text(json.dumps(document | {"boxes": [1]}), encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=r"\$.boxes is not a list of names"):
        mg.read(tmp_path / "f.geojson")
    document["features"][0]["properties"]["intersection"] = "yes"
    (tmp_path / "f.geojson").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=r"features\[0\].properties.intersection is .*, expected true or false"):
        mg.read(tmp_path / "f.geojson")
