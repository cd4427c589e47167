"""Links in Parquet and GeoJSON: what is kept, what files of others may leave out, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mapgauge as mg
from mapgauge.io import FORMATS
from mapgauge.io.dataset import DatasetWriter

LINES = [[[0.0, 0.0], [4.0, 0.0]], [[4.0, 0.0], [8.0, 0.0]], [[0.0, 3.0], [8.0, 3.0]]]


def lanes() -> mg.MapFrames:
    frames = mg.MapFrames.of({"a": {"centerline": LINES[:2]}, "b": {}, "c": {"centerline": LINES}})
    kinds = ["successor", "successor", "left", "successor"]
    return replace(frames, links=mg.Links.of([0, 2, 2, 3], [1, 3, 4, 2], weight=[1, 0.1, 1, 0.5], kind=kinds))


def listed(frames: mg.MapFrames) -> list[tuple[int, int, float, str]]:
    assert frames.links is not None
    return list(frames.links)


def refused(path: Path, message: str) -> None:
    with pytest.raises(mg.UnreadableFile, match=message) as error:
        mg.read(path)
    assert str(error.value).startswith(f"{path}: ")


@pytest.mark.parametrize("suffix", ["parquet", "geojson"])
def test_links_are_kept(tmp_path: Path, suffix: str) -> None:
    mg.write(lanes(), tmp_path / f"lanes.{suffix}")
    assert listed(mg.read(tmp_path / f"lanes.{suffix}")) == listed(lanes())


@pytest.mark.parametrize("suffix", ["parquet", "geojson"])
@pytest.mark.parametrize("frames", [lanes(), mg.MapFrames.of({"a": {}}), mg.MapFrames.of({})])
def test_no_links_and_an_empty_list_of_links_differ(tmp_path: Path, suffix: str, frames: mg.MapFrames) -> None:
    path = tmp_path / f"lanes.{suffix}"
    mg.write(replace(frames, links=None), path)
    assert mg.read(path).links is None
    mg.write(replace(frames, links=mg.Links.of([], [])), path)
    assert listed(mg.read(path)) == []


def test_files_without_links_have_no_trace_of_them(tmp_path: Path) -> None:
    mg.write(replace(lanes(), links=None), tmp_path / "lanes.parquet")
    mg.write(replace(lanes(), links=None), tmp_path / "lanes.geojson")
    assert pq.read_schema(tmp_path / "lanes.parquet").names == ["frame", "token", "class", "geometry"]
    assert "links" not in (tmp_path / "lanes.geojson").read_text(encoding="utf-8")
    assert '"id"' not in (tmp_path / "lanes.geojson").read_text(encoding="utf-8")


@pytest.mark.parametrize("suffix", ["parquet", "geojson"])
def test_links_of_dropped_instances_are_dropped(tmp_path: Path, suffix: str) -> None:
    frames = lanes()
    short = replace(frames, polylines=mg.Polylines.of([*LINES[:2], LINES[0][:1], *LINES[1:]]))
    write = FORMATS[suffix].write  # mg.write refuses it
    assert write is not None
    (tmp_path / f"lanes.{suffix}").write_bytes(write(short, None))
    read = mg.read(tmp_path / f"lanes.{suffix}", degenerate="drop")
    assert read.counts == {"centerline": 4}
    assert listed(read) == [(0, 1, 1, "successor")]


def test_a_data_set_keeps_links(tmp_path: Path) -> None:
    writer = DatasetWriter(tmp_path / "set")
    writer.add(lanes().at([2, 1, 0]), "one")
    writer.add(lanes().at([2]), "two")
    writer.finish()
    links = listed(mg.read(tmp_path / "set"))
    assert [link[:2] for link in links] == [(0, 1), (2, 3), (2, 4), (3, 2), (5, 6), (5, 7), (6, 5)]


def test_a_target_is_the_number_of_an_instance_in_its_frame(tmp_path: Path) -> None:
    mg.write(lanes(), tmp_path / "lanes.parquet")
    rows = pq.read_table(tmp_path / "lanes.parquet")["links"].to_pylist()
    assert rows[0] == [{"target": 1, "weight": 1.0, "kind": "successor"}]
    assert rows[2] is None
    assert [link["target"] for link in rows[3]] == [1, 2]


def save(path: Path, links: Any, kind: Any = None) -> Path:
    columns = {"token": ["a", "a", "b"], "class": ["x", "x", None], "geometry": [LINES[0], LINES[1], None]}
    pq.write_table(pa.table(columns | {"links": pa.array(links, kind)}), path)
    return path


def test_parquet_of_others_may_leave_out_weight_and_kind(tmp_path: Path) -> None:
    path = save(tmp_path / "f.parquet", [[{"target": 1}], None, None])
    assert listed(mg.read(path)) == [(0, 1, 1, "successor")]
    path = save(tmp_path / "f.parquet", [[{"target": 1, "weight": 0}], [], None])
    assert listed(mg.read(path)) == [(0, 1, 0, "successor")]


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([[], [{"target": 2}], None], r"row 1: links\[0\] has the target 2, expected .* Number the instances"),
        ([[{"target": 0}, {"target": -1}], [], None], r"row 0: links\[1\] has the target -1"),
        ([[{"target": None}, {"target": 1}], [], None], r"row 0: links\[0\] has the target -1"),
        ([[None, {"target": 1}], [], None], r"row 0: links\[0\] has the target -1"),
        ([[], [], [{"target": 0}]], r"row 2: links\[0\] begins at a row without class"),
        ([[{"target": 1, "weight": float("nan")}], [], None], r"row 0: links\[0\] has the weight nan"),
        ([[{"target": 1, "weight": -0.5}], [], None], r"row 0: links\[0\] has the weight -0.5"),
        ([[{"target": 1, "kind": "left"}, {"target": 0, "kind": None}], [], None], r"row 0: links\[1\] has no kind"),
        ([[{"target": 1}, {"target": 1}], [], None], "from instance 0 to instance 1 of kind successor occurs twice"),
        ([[{"weight": 1.0}], [], None], "the column links is .* expected lists of structs with target"),
        ([[1], [], None], "the column links is .* expected lists of structs with target"),
        (["1", "", None], "the column links is string, expected lists of structs"),
        ([[{"target": 0.5}], [], None], "expected lists of structs with target, a whole number"),
        ([[{"target": 0, "kind": 3}], [], None], "expected lists of structs with target, a whole number"),
    ],
)
def test_damaged_links_in_parquet_are_refused(tmp_path: Path, links: Any, message: str) -> None:
    refused(save(tmp_path / "f.parquet", links), message)


def collection(**changes: Any) -> dict[str, Any]:
    features: list[dict[str, Any]] = [
        {
            "type": "Feature",
            "id": name,
            "properties": {"frame": frame, "class": "centerline"},
            "geometry": {"type": "LineString", "coordinates": LINES[0]},
        }
        for name, frame in (("one", "a"), (2, "b"), ("two", "a"), ("one", "b"))
    ]
    features[0]["links"] = [{"target": "two"}, {"target": "two", "kind": "left", "weight": 0.5}]
    features[1]["links"] = [{"target": "one", "weight": 0.25}]
    features[3]["links"] = [{"target": 2}]
    features[2] |= changes
    return {"type": "FeatureCollection", "features": features}


def as_polygons(document: dict[str, Any]) -> dict[str, Any]:
    """The last line as a polygon, which only the slow reader takes."""
    ring = [*LINES[1], [6.0, 3.0], LINES[1][0]]
    document["features"][3]["geometry"] = {"type": "Polygon", "coordinates": [ring]}
    return document


@pytest.mark.parametrize("change", [dict, as_polygons])
def test_ids_name_the_targets_within_a_frame(tmp_path: Path, change: Any) -> None:
    path = tmp_path / "f.geojson"
    path.write_text(json.dumps(change(collection())), encoding="utf-8")
    frames = mg.read(path)
    assert frames.tokens == ("a", "b")
    assert np.diff(frames.offsets).tolist() == [2, 2]
    assert listed(frames) == [
        (0, 1, 0.5, "left"),
        (0, 1, 1.0, "successor"),
        (2, 3, 0.25, "successor"),
        (3, 2, 1.0, "successor"),
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"links": [{"target": "one"}, {"target": 2}]},
            r"\$.features\[2\].links\[1\].target is 2, .* same frame. Give",
        ),
        ({"links": [{"target": True}]}, r"\$.features\[2\].links\[0\].target is True"),
        ({"links": [{}]}, r"\$.features\[2\].links\[0\] has no target"),
        ({"links": ["one"]}, r"\$.features\[2\].links\[0\] has no target"),
        ({"links": "one"}, r"\$.features\[2\].links is not a list"),
        (
            {"links": [{"target": "one", "weight": -1}]},
            r"\$.features\[2\].links\[0\].weight is -1.0, expected a finite",
        ),
        ({"links": [{"target": "one", "weight": "x"}]}, r"\$.features\[2\].links\[0\].weight"),
        ({"links": [{"target": "one", "kind": 4}]}, r"\$.features\[2\].links\[0\].kind"),
        ({"links": [{"target": "one"}] * 2}, r"\$.features\[2\].links\[1\]: the feature has another link of kind"),
        ({"id": "one"}, r"\$.features\[2\].id is 'one', as in another feature of the frame"),
        ({"id": 1.5}, r"\$.features\[2\].id is 1.5, expected a text or a whole number"),
    ],
)
def test_damaged_links_in_geojson_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = tmp_path / "f.geojson"
    path.write_text(json.dumps(collection(**changes)), encoding="utf-8")
    refused(path, message)
    path.write_text(json.dumps(collection() | {"links": 4}), encoding="utf-8")
    refused(path, r"\$.links is neither true nor false")


def test_ids_do_not_matter_without_links(tmp_path: Path) -> None:
    document = collection(id=1.5)
    for feature in document["features"]:
        feature.pop("links", None)
    path = tmp_path / "f.geojson"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert mg.read(path).links is None
