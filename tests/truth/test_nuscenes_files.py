"""Reading of the tables and maps of nuScenes, and errors about missing and damaged files."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.truth.nuscenes_city import MINI, PLACE, City, rectangle, town

import mapgauge as mg
from mapgauge import truth
from mapgauge.truth.datasets import Cutter
from mapgauge.truth.from_nuscenes.maps import read_map
from mapgauge.truth.rules import TruthRules
from mapgauge.truth.selection import MISLOCATED, splits

MAP = Path("maps", "expansion", f"{PLACE}.json")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a copy of the town that a test may change."""
    return town().write(tmp_path / "nuscenes")


def cut(root: Path, **how: Any) -> mg.MapFrames:
    return truth.nuscenes(root, **({"version": MINI, "split": "mini-val"} | how))


def edit(path: Path, change: Callable[[Any], object]) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def assert_equal(one: mg.MapFrames, other: mg.MapFrames) -> None:
    assert one.tokens == other.tokens
    np.testing.assert_array_equal(one.polylines.coords, other.polylines.coords)
    np.testing.assert_array_equal(one.poses, other.poses)
    assert one.track is not None
    assert other.track is not None
    assert one.track.tolist() == other.track.tolist()


def test_frames_are_the_keyframes_of_the_lidar_in_order_of_time(root: Path) -> None:
    frames = cut(root, scenes=["scene-0103"])
    assert frames.tokens == tuple(f"scene-0103-{k}" for k in range(21))
    assert frames.poses is not None
    assert frames.poses[:, 0, 3].tolist() == [10.0 * k for k in range(1, 22)]


def test_samples_in_another_order_are_sorted_by_time(root: Path) -> None:
    before = cut(root)
    edit(root / MINI / "sample.json", list.reverse)
    assert_equal(before, cut(root))


@pytest.mark.parametrize("how", [{}, {"indent": 4}, {"separators": (",", ":")}, {"sort_keys": True}])
def test_tables_may_be_written_in_any_way(town_root: Path, root: Path, how: dict[str, Any]) -> None:
    for table in ("sample_data", "ego_pose"):
        path = root / MINI / f"{table}.json"
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")), **how), encoding="utf-8")
    assert_equal(cut(town_root), cut(root))


def test_large_tables_are_decoded_as_a_whole_where_a_search_cannot_tell_keyframes(town_root: Path, root: Path) -> None:
    def rename(records: list[dict[str, Any]]) -> None:
        for record in records:
            record["filename"] = "somewhere/else"

    edit(root / MINI / "sample_data.json", rename)
    path = root / MINI / "ego_pose.json"
    path.write_text(path.read_text(encoding="utf-8").replace("scene-0103", "scene-\\u0030103"), encoding="utf-8")
    assert_equal(cut(town_root), cut(root))


def test_braces_in_a_name_are_no_records(town_root: Path, root: Path) -> None:
    edit(root / MINI / "sample_data.json", lambda records: [record.update(fileformat="{}") for record in records])
    assert_equal(cut(town_root), cut(root))


def test_every_second_frame(town_root: Path) -> None:
    frames = cut(town_root, every=2)
    assert frames.tokens[:3] == ("scene-0103-0", "scene-0103-2", "scene-0103-4")
    assert len(frames) == 11 + 6


def test_tokens_in_place_of_a_split(town_root: Path, tmp_path: Path) -> None:
    tokens = ["scene-0916-3", "scene-0103-7", "scene-0103-2"]
    expected = ("scene-0103-2", "scene-0103-7", "scene-0916-3")
    assert cut(town_root, tokens=tokens).tokens == expected
    (tmp_path / "tokens.txt").write_text("\n".join(tokens) + "\n\n", encoding="utf-8")
    assert cut(town_root, tokens=tmp_path / "tokens.txt").tokens == expected


def test_a_map_is_read_once_for_many_scenes(town_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(root: Path, location: str, rules: TruthRules) -> Cutter:
        read.append(location)
        return read_map(root, location, rules)

    monkeypatch.setattr("mapgauge.truth.from_nuscenes.scenes.read_map", counted)
    cut(town_root, workers=2)
    assert read == [PLACE]


def test_scenes_with_wrong_localisation_are_left_out_and_counted(tmp_path: Path) -> None:
    city = City()
    city.polygon("road_segment", rectangle(-50, -7, 50, 7), "road")
    for name in splits("nuscenes")["new-train"]:
        city.scene(name, [(0, 0, 0)])
    frames = truth.nuscenes(city.write(tmp_path, "v1.0-trainval"), split="new-train")
    assert len(frames) == 694
    (finding,) = (finding for finding in frames.findings if finding.code == "scenes-left-out")
    assert (finding.count, finding.examples) == (4, MISLOCATED)
    asked_for = truth.nuscenes(tmp_path, scenes=["scene-0499"])
    assert asked_for.scenes == ("scene-0499",)


def test_frames_without_map_are_kept_and_counted(root: Path) -> None:
    edit(root / MINI / "ego_pose.json", lambda poses: [p.update(translation=[9e4, 0, 0]) for p in poses[-6:]])
    frames = cut(root)
    assert len(frames) == 32
    (finding,) = frames.findings
    assert (finding.code, finding.level, finding.count) == ("empty-frames", "note", 2)
    assert finding.examples == ("scene-0916-9", "scene-0916-10")
    assert frames["scene-0916-10"] == []


def test_a_scene_away_from_the_map_and_a_scene_without_samples_are_found(tmp_path: Path) -> None:
    city = town()
    city.scene("scene-0001", [(5000, 0, 0), (5010, 0, 0)])
    city.scene("scene-0002", [])
    root = city.write(tmp_path)
    frames = cut(root, scenes=["scene-0001", "scene-0002"], parts=tmp_path / "parts")
    assert (len(frames), len(frames.polylines)) == (2, 0)
    assert [finding.code for finding in frames.findings] == ["scenes-empty", "empty-frames"]
    assert "sample.json: 1 of 2 selected scenes have no samples (scene-0002)" in str(frames.findings[0])
    assert_equal(frames, cut(root, scenes=["scene-0001", "scene-0002"], parts=tmp_path / "parts"))


def test_copies_of_records_count_once_and_are_found(town_root: Path, root: Path) -> None:
    for table in ("scene", "sample", "log", "sample_data", "ego_pose"):
        edit(root / MINI / f"{table}.json", lambda records: records.extend(records[:3]))
    edit(root / MAP, lambda content: [content[layer].append(content[layer][0]) for layer in ("road_divider", "node")])
    frames = cut(root)
    assert_equal(cut(town_root), frames)
    tables, of_map = frames.findings
    assert {tables.code, of_map.code} == {"records-repeated"}
    assert tables.examples == ("scene token-scene-0103", "scene token-scene-0916", "log log")
    assert of_map.message == f"{PLACE}: 2 records left out as copies of other records"
    assert of_map.examples == ("node node-0", "road_divider middle-west")


@pytest.mark.parametrize(
    ("table", "change", "message"),
    [
        ("sample", {"timestamp": 7}, "sample.json: sample scene-0103-0 occurs twice, with different content"),
        ("ego_pose", {"translation": [1, 2, 3]}, "ego_pose scene-0103-0-lidar-samples occurs twice"),
        ("scene", {"token": "other"}, "scene-0103 is the name of two scenes, token-scene-0103 and other"),
        ("sample_data", {"ego_pose_token": "other"}, "sample scene-0103-0 has two keyframes of LIDAR_TOP, with the"),
    ],
)
def test_different_records_of_the_same_thing_are_refused(
    root: Path, table: str, change: dict[str, Any], message: str
) -> None:
    edit(root / MINI / f"{table}.json", lambda records: records.append(records[0] | change))
    with pytest.raises(mg.UnreadableFile, match=re.escape(message)):
        cut(root)


def test_different_lines_with_the_same_token_are_refused(root: Path) -> None:
    edit(root / MAP, lambda content: content["line"].append(content["line"][0] | {"node_tokens": ["node-1", "node-0"]}))
    with pytest.raises(mg.UnreadableFile, match="line line-middle-west occurs twice, with different content"):
        cut(root)


def test_a_polygon_without_holes_is_refused(root: Path) -> None:
    edit(root / MAP, lambda content: content["polygon"][0].pop("holes"))
    with pytest.raises(mg.UnreadableFile, match="polygon-west has no field holes"):
        cut(root)


def test_polygons_that_cross_themselves_are_repaired_and_counted_once_for_all_scenes(root: Path) -> None:
    def twist(content: dict[str, Any]) -> None:
        for polygon in content["polygon"]:
            if polygon["token"] in ("polygon-zebra-a", "polygon-street"):
                nodes = polygon["exterior_node_tokens"]
                nodes[0], nodes[1] = nodes[1], nodes[0]

    edit(root / MAP, twist)
    (finding,) = cut(root, rules="mapgauge").findings
    assert (finding.code, finding.level, finding.count) == ("polygons-repaired", "note", 2)
    assert set(finding.examples) == {"zebra-a", "street"}
    assert PLACE in finding.message


def test_elements_without_extent_are_left_out_and_counted(root: Path) -> None:
    def shrink(content: dict[str, Any]) -> None:
        content["line"][0]["node_tokens"] = content["line"][0]["node_tokens"][:1]
        content["line"][1]["node_tokens"] = []
        nodes = content["polygon"][-1]["exterior_node_tokens"]
        content["polygon"][-1]["exterior_node_tokens"] = [nodes[0], nodes[1], nodes[0]]

    edit(root / MAP, shrink)
    (finding,) = cut(root).findings
    assert (finding.code, finding.count) == ("elements-left-out", 3)


@pytest.mark.parametrize("table", ["scene", "log", "sample", "sample_data", "ego_pose", "sensor", "calibrated_sensor"])
def test_a_missing_table_is_named(root: Path, table: str) -> None:
    (root / MINI / f"{table}.json").unlink()
    with pytest.raises(mg.UnreadableFile, match=rf"v1.0-mini/{table}.json: no such file. It is part of the metadata"):
        cut(root)


@pytest.mark.parametrize("table", ["scene", "log", "sample", "sample_data", "ego_pose", "sensor", "calibrated_sensor"])
@pytest.mark.parametrize("text", ["", "[", "{}", '[{"token": 1}]', "[1]", "\xff"])
def test_a_broken_table_is_named(root: Path, table: str, text: str) -> None:
    (root / MINI / f"{table}.json").write_text(text, "latin-1")
    with pytest.raises(mg.UnreadableFile, match=rf"{table}.json: (not valid JSON|not a table|the file is empty)"):
        cut(root)


@pytest.mark.parametrize("table", ["scene", "log", "sample", "sample_data", "ego_pose", "sensor", "calibrated_sensor"])
@pytest.mark.parametrize("spelling", ["token", "\\u0074oken"])
def test_a_key_that_occurs_twice_in_a_table_is_refused(root: Path, table: str, spelling: str) -> None:
    path = root / MINI / f"{table}.json"
    path.write_text(
        path.read_text(encoding="utf-8").replace('"token":', f'"{spelling}": "x", "token":'), encoding="utf-8"
    )
    with pytest.raises(mg.UnreadableFile, match=rf'{table}.json: \$\[0\]: the key "token" occurs twice'):
        cut(root)


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("lane_divider", "[]", r"\$"),
        ("x", "1.5", r"\$\.node\[0\]"),
        ("node_tokens", '["\\u003a", ":"]', r"\$\.line\[0\]"),
    ],
)
def test_a_key_that_occurs_twice_in_a_map_is_refused(root: Path, key: str, value: str, place: str) -> None:
    text = (root / MAP).read_text(encoding="utf-8")
    (root / MAP).write_text(text.replace(f'"{key}":', f'"{key}": {value}, "{key}":', 1), encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=rf'{PLACE}.json: {place}: the key "{key}" occurs twice'):
        cut(root)


def test_a_missing_version_says_which_there_is(town_root: Path) -> None:
    with pytest.raises(
        mg.UnreadableFile, match="v1.0-trainval: no such folder.*, found v1.0-mini. Pass version=.v1.0-mini"
    ):
        cut(town_root, version="v1.0-trainval")
    with pytest.raises(mg.UnreadableFile, match="found no tables"):
        cut(town_root / "maps")


def test_a_missing_map_is_named_with_where_it_comes_from(root: Path) -> None:
    (root / MAP).rename(root / "maps" / f"{PLACE}.json")
    with pytest.raises(
        mg.UnreadableFile,
        match=r"singapore-onenorth.json: no such file",
    ):
        cut(root)


@pytest.mark.parametrize("text", ["", "[]", '{"node": []}', '{"node": [{"token": "a", "x": "b"}]}', "{"])
def test_a_broken_map_is_named(root: Path, text: str) -> None:
    (root / MAP).write_text(text, encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=rf"{PLACE}.json: (not valid JSON|not a map|the file is empty)"):
        cut(root)


def test_a_map_without_a_layer_says_which_and_its_version(root: Path) -> None:
    edit(root / MAP, lambda content: [content.pop("lane_divider"), content.update(version="1.0")])
    with pytest.raises(mg.UnreadableFile, match="layer lane_divider not found"):
        cut(root)


@pytest.mark.parametrize("version", ["1.2", None])
def test_a_map_of_another_version_is_read_and_said(tmp_path: Path, version: str | None) -> None:
    city = town()
    city.map.pop("version")
    if version:
        city.map["version"] = version
    (finding,) = cut(city.write(tmp_path)).findings
    assert (finding.code, finding.level) == ("map-version", "warning")
    assert f"version of the map is {version or 'unknown'}." in finding.message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["node"].pop(0), "polygon polygon-west refers to a missing node, node-0"),
        (lambda c: c["line"].pop(0), "road_divider middle-west refers to a missing line, line-middle-west"),
        (lambda c: c["polygon"].pop(0), "road_segment west refers to a missing polygon, polygon-west"),
        (lambda c: c["lane"][0].pop("polygon_token"), "lane east-north refers to a missing polygon, None"),
    ],
)
def test_a_reference_to_nothing_is_named(root: Path, change: Callable[[Any], object], message: str) -> None:
    edit(root / MAP, change)
    with pytest.raises(mg.UnreadableFile, match=message):
        cut(root)


@pytest.mark.parametrize(
    ("table", "change", "message"),
    [
        ("sensor", lambda t: t.pop(0), "calibrated_sensor.json: sensor LIDAR_TOP not found"),
        ("sample_data", lambda t: t.pop(0), "sample_data.json: no keyframe of LIDAR_TOP for 1 sample .scene-0103-0"),
        ("ego_pose", lambda t: t.pop(0), "ego_pose.json: 1 pose of frames not found .scene-0103-0-lidar-samples"),
        ("log", lambda t: t[0].update(token="x"), "log.json: log log of scene-0103 not found"),
        ("ego_pose", lambda t: t[0].update(rotation=[0, 0, 0, 0]), "ego_pose.json: pose 0 is not a rotation"),
        ("ego_pose", lambda t: t[0].update(rotation=[1, 0, 0]), "ego_pose.json: not a table of nuScenes: .*length 4"),
    ],
)
def test_tables_that_do_not_fit_together_are_refused(
    root: Path, table: str, change: Callable[[Any], object], message: str
) -> None:
    edit(root / MINI / f"{table}.json", change)
    with pytest.raises(mg.UnreadableFile, match=message):
        cut(root)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"split": "val"},
            r"148 of 150 scenes of the split val not found \(scene-0003, .*Pass split=.mini-val",
        ),
        ({"split": "bogus"}, "unknown split 'bogus' of nuscenes, expected one of train, val, mini-train"),
        ({"scenes": ["scene-0103", "nowhere"]}, r"1 of 2 scenes of the selection not found \(nowhere\)"),
        ({"scenes": []}, "scenes must be one or more names, got none"),
        ({"tokens": ["scene-0103-1", "lost"]}, r"1 of 2 tokens not found \(lost\)"),
        ({"tokens": [1]}, "tokens must be one or more names, got 1"),
        ({"tokens": "nofile.txt"}, "nofile.txt: no such file"),
        (
            {"rules": "maptrv2"},
            r"unknown rules 'maptrv2' for nuscenes \(maptrv2 is for argoverse2\), expected one of streammapnet",
        ),
        ({"region": (60, 0)}, "width of the region must be a positive length in metres, got 0"),
        ({"region": 60}, r"region must be \(length, width\) in metres, got 60"),
        ({"every": 0}, "every must be a whole number of at least 1, got 0"),
        ({"every": 1.5}, "every must be a whole number of at least 1, got 1.5"),
        ({"workers": 0}, "workers must be a whole number of at least 1, got 0"),
    ],
)
def test_an_argument_that_cannot_be_right_is_refused(town_root: Path, how: dict[str, Any], message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        cut(town_root, **how)


def test_an_empty_file_of_tokens_is_refused(town_root: Path, tmp_path: Path) -> None:
    (tmp_path / "none.txt").write_text("\n", encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=r"none.txt: .*found no tokens"):
        cut(town_root, tokens=tmp_path / "none.txt")
