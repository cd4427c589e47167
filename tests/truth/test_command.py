"""``mapgauge truth`` on the command line."""

import errno
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.commands import run_script
from tests.truth.nuscenes_city import MINI

import mapgauge as mg
from mapgauge.io.files import writing
from mapgauge.truth import build
from mapgauge.truth.datasets import Scene
from mapgauge.truth.rules import RULES

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def call(town_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run ``mapgauge truth nuscenes`` on the town, in an empty folder."""

    def run(*arguments: object, start: tuple[object, ...] = ("nuscenes", town_root, "--release", MINI)) -> Any:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.argv", ["mapgauge", "truth", *map(str, (*start, *arguments))])
        with pytest.raises(SystemExit) as ended:
            run_script()
        captured = capsys.readouterr()
        return subprocess.CompletedProcess([], int(ended.value.code or 0), captured.out, captured.err)

    return run


def test_truth_is_written_and_described(call: Call, tmp_path: Path, town_root: Path) -> None:
    done = call("--split", "mini-val", "-o", "truth.parquet")
    assert (done.returncode, done.stderr) == (0, "mapgauge: written to truth.parquet\n")
    assert done.stdout == (
        "nuscenes (streammapnet): 32 frames, 205 instances: 34 ped_crossing, 88 divider, 83 boundary\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["truth.parquet"]
    frames = mg.read(tmp_path / "truth.parquet")
    assert frames.counts == mg.truth.nuscenes(town_root, version=MINI, split="mini-val").counts


@pytest.mark.needs_feature("global_map")
@pytest.mark.parametrize("rules", ["streammapnet", "maptr", "maptracker", "mapgauge"])
def test_maps_of_whole_scenes_are_what_their_frames_show(
    call: Call, tmp_path: Path, town_root: Path, rules: str
) -> None:
    assert call("--split", "mini-val", "--rules", rules, "--global", "-o", "city.parquet").returncode == 0
    city = mg.read(tmp_path / "city.parquet")
    assert (city.tokens, city.poses) == (("scene-0103", "scene-0916"), None)
    frames = mg.truth.nuscenes(town_root, version=MINI, split="mini-val", rules=rules).with_confidence(1)
    values = {key: value or 0.0 for key, value in mg.global_map(frames, city).results.mean.items()}
    assert values["network_completeness"] > 0.99
    assert values["network_median_across"] < 0.02
    if rules == "maptr":
        done = call("--split", "mini-val", "--global", "--centerlines", "-o", "city.parquet")
        assert "--centerlines: has no effect with --global" in done.stderr


@pytest.mark.parametrize(
    ("name", "to", "rules"), [("truth.pkl", "streammapnet-truth", "streammapnet"), ("t.json", "maptr-truth", "maptr")]
)
def test_the_formats_of_the_field_are_written_directly(
    call: Call, tmp_path: Path, name: str, to: str, rules: str
) -> None:
    assert call("--split", "mini-val", "-o", name, "--to", to, "--rules", rules).returncode == 0
    assert mg.read(tmp_path / name).format == to


def test_options_are_those_of_the_function(call: Call, tmp_path: Path, town_root: Path) -> None:
    (tmp_path / "tokens.txt").write_text("scene-0103-4\nscene-0103-5\nscene-0103-6\n", encoding="utf-8")
    call("--tokens", "tokens.txt", "--every", 2, "--region", "100x50", "--workers", 1, "-o", "a.parquet")
    frames = mg.read(tmp_path / "a.parquet")
    assert frames.tokens == ("scene-0103-4", "scene-0103-6")
    assert frames.polylines.coords[:, 0].max() == 50
    call("--scenes", "scene-0916", "-o", "b.parquet")
    assert set(mg.read(tmp_path / "b.parquet").scenes or ()) == {"scene-0916"}


def test_ctrl_c_keeps_finished_scenes_and_says_so(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = build.cut_scene

    def stopped(scene: Scene, *arguments: Any, **named: Any) -> Any:
        if scene.name == "scene-0916":
            raise KeyboardInterrupt
        return original(scene, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(build, "cut_scene", stopped)
        done = call("--split", "mini-val", "--workers", 1, "-o", "truth.parquet")
    assert done.returncode == 130
    assert "finished scenes are kept in truth.parquet.parts; run the same command again to continue" in done.stderr
    assert (tmp_path / "truth.parquet.parts" / "scene-0103.parquet").is_file()
    refused = call("--split", "mini-val", "--region", "30x30", "-o", "truth.parquet")
    assert refused.returncode == 1
    assert "region was 60x30, is 30x30" in refused.stderr
    assert "--restart" in refused.stderr
    assert call("--split", "mini-val", "-o", "truth.parquet").returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["truth.parquet"]


def test_a_file_that_cannot_be_written_keeps_finished_scenes_and_says_so(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = writing._write

    def fail(part: Path, *arguments: Any) -> None:
        if part.parent == tmp_path:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(part, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(writing, "_write", fail)
        done = call("--split", "mini-val", "-o", "truth.parquet")
    assert done.returncode == 1
    assert "32 frames" in done.stdout
    assert done.stderr.splitlines() == [
        "mapgauge: finished scenes are kept in truth.parquet.parts; run the same command again to continue",
        "mapgauge: truth.parquet: cannot be written: No space left on device",
    ]
    assert call("--split", "mini-val", "-o", "truth.parquet").returncode == 0


def test_restart_begins_anew(call: Call, tmp_path: Path) -> None:
    (tmp_path / "truth.parquet.parts").mkdir()
    (tmp_path / "truth.parquet.parts" / "settings.json").write_text("{}", encoding="utf-8")
    assert call("--split", "mini-val", "-o", "truth.parquet").returncode == 1
    assert call("--split", "mini-val", "-o", "truth.parquet", "--restart").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "t.json"], "Invalid value for --to: t.json: which format? Pass --to"),
        (["-o", "t.json", "--to", "streammapnet"], "Invalid value for --to: streammapnet holds predictions"),
        (["-o", "t.json", "--to", "openlanev2"], "Invalid value for --to: openlanev2 holds predictions"),
        (["-o", "t.json", "--to", "bogus"], "Invalid value for --to: unknown format 'bogus'"),
        (["-o", "t.parquet", "--split", "bogus"], "Invalid value for --split: unknown split 'bogus'"),
        (["-o", "t.parquet", "--rules", "bogus"], "Invalid value for --rules: unknown rules 'bogus' for nuscenes"),
        (["-o", "t.parquet", "--rules", "mapgaug"], "Did you mean mapgauge?"),
        (["-o", "t.parquet", "--rules", "maptrv3"], "Did you mean maptr?"),
        (
            ["-o", "t.parquet", "--rules", "simplifed"],
            "Did you mean simplified? But these rules are for another",
        ),
        (["-o", "t.parquet", "--region", "60"], "Invalid value for --region: must be LENGTHxWIDTH"),
        (["-o", "t.parquet", "--region", "0x30"], "Invalid value for --region: length of the region must be"),
        (["-o", "t.parquet", "--every", 0], "Invalid value for --every: must be at least 1"),
        (["-o", "t.parquet", "--split", "val", "--scenes", "a"], "give --split or --scenes, not both"),
    ],
)
def test_errors_of_usage_come_before_the_work(
    call: Call, tmp_path: Path, arguments: list[object], message: str
) -> None:
    done = call(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "nowhere/t.parquet"], "the folder nowhere does not exist"),
        (["-o", ""], "expected the name of a file, found a folder"),
        (["-o", "t.parquet"], "Pass --split mini-val"),
        (["-o", "t.parquet", "--tokens", "none.txt"], "none.txt: no such file"),
    ],
)
def test_errors_of_the_input_are_one_line(call: Call, tmp_path: Path, arguments: list[object], message: str) -> None:
    done = call(*arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_all_rules_are_listed(call: Call) -> None:
    done = call(start=("rules",))
    assert all(row.about in done.stdout for row in RULES.values())
