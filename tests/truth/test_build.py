"""Building truth of many scenes: on several threads, interrupted and continued, written and read back."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.truth.nuscenes_city import MINI, town

import mapgauge as mg
from mapgauge import truth
from mapgauge.frames.findings import summed
from mapgauge.truth import build
from mapgauge.truth.datasets import Scene

ALL = ("streammapnet", "maptr", "maptracker")


def cut(root: Path, **how: Any) -> mg.MapFrames:
    return truth.nuscenes(root, **({"version": MINI, "split": "mini-val"} | how))


def assert_same_bits(one: mg.MapFrames, other: mg.MapFrames) -> None:
    assert (one.tokens, one.classes, one.scenes) == (other.tokens, other.classes, other.scenes)
    assert one.findings == other.findings
    for name in ("frame", "label", "track", "timestamps", "poses"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.polylines.coords, other.polylines.coords)
    np.testing.assert_array_equal(one.polylines.offsets, other.polylines.offsets)


@pytest.mark.parametrize("rules", ALL)
def test_the_number_of_workers_does_not_change_a_bit(town_root: Path, rules: str) -> None:
    assert_same_bits(cut(town_root, rules=rules, workers=1), cut(town_root, rules=rules, workers=4))


def test_a_scene_is_the_same_alone_and_among_others(town_root: Path) -> None:
    together = cut(town_root)
    alone = cut(town_root, scenes=["scene-0916"])
    start = together.tokens.index("scene-0916-0")
    assert_same_bits(alone, together.between(slice(start, None)))


def test_without_shapely_it_says_what_to_install(town_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shapely", None)
    with pytest.raises(mg.MissingDependency, match=r"needs shapely.*pip install 'mapgauge\[truth\]'"):
        cut(town_root)


def test_progress_counts_frames(town_root: Path) -> None:
    seen: list[tuple[int, int]] = []
    cut(town_root, progress=lambda done, of: seen.append((done, of)), workers=1)
    assert seen == [(0, 32), (21, 32), (32, 32)]


class Interrupted:
    """Replaces ``cut_scene``, and simulates Ctrl-C while a scene is cut."""

    def __init__(self, at: str) -> None:
        self.at, self.cut, self.original = at, list[str](), build.cut_scene

    def __call__(self, scene: Scene, *arguments: Any, **named: Any) -> mg.MapFrames:
        if scene.name == self.at:
            raise KeyboardInterrupt
        self.cut.append(scene.name)
        return self.original(scene, *arguments, **named)


def interrupt(root: Path, parts: Path, monkeypatch: pytest.MonkeyPatch, **how: Any) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(build, "cut_scene", Interrupted("scene-0916"))
        with pytest.raises(KeyboardInterrupt):
            cut(root, parts=parts, workers=1, **how)


def test_an_interrupted_run_goes_on_where_it_stopped(
    town_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = tmp_path / "parts"
    interrupt(town_root, parts, monkeypatch)
    assert sorted(path.name for path in parts.iterdir()) == ["scene-0103.parquet", "settings.json"]
    again = Interrupted("nowhere")
    monkeypatch.setattr(build, "cut_scene", again)
    seen: list[int] = []
    resumed = cut(town_root, parts=parts, progress=lambda done, _: seen.append(done))
    assert again.cut == ["scene-0916"]
    assert seen[0] == 21
    monkeypatch.undo()
    assert_same_bits(resumed, cut(town_root))


@pytest.mark.parametrize("rules", ALL)
def test_finished_scenes_are_taken_as_they_are(town_root: Path, tmp_path: Path, rules: str) -> None:
    first = cut(town_root, parts=tmp_path / "parts", rules=rules)
    assert_same_bits(first, cut(town_root, parts=tmp_path / "parts", rules=rules))
    assert_same_bits(first, cut(town_root, rules=rules))


def test_findings_about_maps_survive_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    city = town()
    city.map["version"] = "1.2"
    root = city.write(tmp_path / "nuscenes")
    interrupt(root, tmp_path / "parts", monkeypatch)
    resumed = cut(root, parts=tmp_path / "parts", scenes=["scene-0103"])
    assert [finding.code for finding in resumed.findings] == ["map-version"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"region": (100, 50)}, "region was 60x30, is 100x50"),
        ({"rules": "maptr"}, "name was streammapnet, is maptr"),
    ],
)
def test_finished_scenes_of_other_settings_are_refused_or_thrown_away(
    town_root: Path, tmp_path: Path, how: dict[str, Any], message: str
) -> None:
    cut(town_root, parts=tmp_path / "parts")
    with pytest.raises(
        mg.InvalidInput, match=rf"parts: the finished scenes were cut with other settings \(.*{message}"
    ) as caught:
        cut(town_root, parts=tmp_path / "parts", **how)
    assert "pass restart=True" in str(caught.value)
    assert "pass --restart" in caught.value.for_shell()
    assert_same_bits(cut(town_root, parts=tmp_path / "parts", restart=True, **how), cut(town_root, **how))


def test_finished_scenes_of_another_data_set_are_refused(town_root: Path, tmp_path: Path) -> None:
    cut(town_root, parts=tmp_path / "parts")
    with pytest.raises(mg.InvalidInput, match="other settings .root was"):
        cut(town().write(tmp_path / "other"), parts=tmp_path / "parts")


def test_a_finished_scene_with_other_frames_is_cut_again(town_root: Path, tmp_path: Path) -> None:
    cut(town_root, parts=tmp_path / "parts")
    assert_same_bits(cut(town_root, parts=tmp_path / "parts", every=3), cut(town_root, every=3))


def test_a_damaged_scene_is_cut_again(town_root: Path, tmp_path: Path) -> None:
    cut(town_root, parts=tmp_path / "parts")
    (tmp_path / "parts" / "scene-0103.parquet").write_bytes(b"PAR1")
    assert_same_bits(cut(town_root, parts=tmp_path / "parts"), cut(town_root))


def test_a_folder_with_something_else_in_it_is_left_alone(town_root: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    for restart in (False, True):
        with pytest.raises(mg.MapgaugeError, match=r"empty folder .*found other files"):
            cut(town_root, parts=tmp_path, restart=restart)
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == "mine"


def test_broken_settings_are_named(town_root: Path, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{", encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match="settings.json: not the settings of finished scenes"):
        cut(town_root, parts=tmp_path)


def test_nothing_is_left_on_disk_if_nothing_was_cut(town_root: Path, tmp_path: Path) -> None:
    with pytest.raises(mg.InvalidInput):
        cut(town_root, parts=tmp_path / "parts", scenes=["nowhere"])
    assert not (tmp_path / "parts").exists()


def test_findings_of_several_maps_become_one() -> None:
    onenorth = mg.Finding("note", "polygons-repaired", "onenorth: 2 polygons", 2, ("a",))
    seaport = mg.Finding("note", "polygons-repaired", "seaport: 3 polygons", 3, ("b",))
    (finding,) = summed([onenorth, onenorth, seaport], "maps")
    assert finding.count == 5
    assert finding.message == "onenorth: 2 polygons; 5 in all 2 maps"
    assert summed([onenorth, onenorth], "maps") == [onenorth]


@pytest.mark.parametrize(("name", "format"), [("truth.pkl", "streammapnet-truth"), ("truth.json", "maptr-truth")])
@pytest.mark.parametrize("rules", ALL)
def test_truth_is_read_back_equal_and_perfect_against_itself(
    town_root: Path, tmp_path: Path, rules: str, name: str, format: str
) -> None:
    frames = cut(town_root, rules=rules)
    mg.write(frames, tmp_path / name, format)
    back = mg.read(tmp_path / name)
    assert back.format == format
    assert back.tokens == frames.tokens
    for token in frames.tokens:
        for class_name in frames.classes:
            ours, theirs = ([i.points for i in side[token] if i.class_name == class_name] for side in (frames, back))
            assert len(ours) == len(theirs)
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(a, b)
    results = mg.evaluate(back.with_confidence(1), frames, "paper-60x30")
    assert results.mean["pld"] == 0
    assert results.mean["ap_chamfer"] == 1


def test_parquet_keeps_poses_scenes_times_and_tracks(town_root: Path, tmp_path: Path) -> None:
    frames = cut(town_root)
    mg.write(frames, tmp_path / "truth.parquet")
    assert_same_bits(frames, mg.read(tmp_path / "truth.parquet"))


def test_the_same_line_from_two_poses_is_the_same_in_the_map(town_root: Path) -> None:
    frames = cut(town_root, rules="maptr")
    assert frames.poses is not None
    in_map = frames.transform(frames.poses)
    for token in frames.tokens:
        for instance in in_map[token]:
            if instance.track == "left-lane":
                np.testing.assert_allclose(instance.points[:, 1], 3.5, atol=1e-9)
            elif (instance.track or "").startswith("stop-west") and instance.class_name == "ped_crossing":
                assert instance.points[:, 0].min() >= 138 - 1e-9


def test_tracks_do_not_change_while_something_is_in_view(town_root: Path) -> None:
    frames = cut(town_root, scenes=["scene-0103"])
    for class_name, most in (("divider", 5), ("boundary", 7), ("ped_crossing", 4)):
        tracks = {i.track for token in frames.tokens for i in frames[token] if i.class_name == class_name}
        assert len(tracks) <= most, tracks
    for token in frames.tokens:
        names = [(i.class_name, i.track) for i in frames[token]]
        assert len(set(names)) == len(names)
