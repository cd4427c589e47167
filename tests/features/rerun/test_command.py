"""``export``: recordings from the shell."""

import sys
from pathlib import Path

import pytest
from tests.cameras.rigs import CAMERAS, nuscenes_rig
from tests.cli.conftest import FRAMES, Run

import mapgauge as mg
from mapgauge.demo import demo_world

pytest.importorskip("rerun", reason="rerun-sdk is not installed")


def tokens_in(path: Path) -> list[str]:
    from rerun.chunk import RrdReader

    chunks = [chunk for chunk in RrdReader(path).stream() if chunk.entity_path == "/frame"]
    texts = [text for chunk in chunks for text in chunk.to_record_batch().column("TextDocument:text").to_pylist()]
    return [text.split("\n")[1] for (text,) in texts]


def test_all_frames_are_exported(call: Run, world: Path, tmp_path: Path) -> None:
    done = call("export", "good.mg", "-o", tmp_path / "drive.rrd")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"mapgauge: recording of {FRAMES} frames in ")
    assert sorted(tokens_in(tmp_path / "drive.rrd")) == sorted(mg.load_results(world / "good.mg").tokens)


def test_a_scene_and_a_condition_choose_frames(call: Run, world: Path, tmp_path: Path) -> None:
    results = mg.load_results(world / "poor.mg")
    path = tmp_path / "drive.rrd"
    assert call("export", "poor.mg", "--scene", "scene-0001", "-o", path, "-q").stderr == ""
    assert set(tokens_in(path)) == {token for token in results.tokens if token.startswith("scene-0001")}
    call("export", "poor.mg", "--where", "pld > 0.8", "-o", path)
    assert set(tokens_in(path)) == set(results.where("pld > 0.8").tokens)
    call("export", "poor.mg", "--where", "pld > 0.8", "--scene", "scene-0001", "-o", path)
    assert set(tokens_in(path)) == {token for token in results.where("pld > 0.8").tokens if "-0001-" in token}


def test_images_are_exported_and_missing_ones_reported(call: Run, tmp_path: Path) -> None:
    root = nuscenes_rig(tmp_path / "data", demo_world(FRAMES)[1])
    command = ["export", "good.mg", "-o", tmp_path / "drive.rrd", "--images", root]
    assert f"recording of {FRAMES} frames and {FRAMES * len(CAMERAS)} images in " in call(*command).stderr
    next((root / "samples" / "CAM_BACK").iterdir()).unlink()
    done = call(*command)
    assert done.returncode == 0
    assert f"1 of {FRAMES * len(CAMERAS)} images are not there and were left out" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["good.mg", "-o", "drive.mp4"], 2, "expected a name that ends in .rrd, got drive.mp4"),
        (["good.mg", "-o", "none/drive.rrd"], 1, "the folder none does not exist"),
        (["good.mg", "-o", "drive.rrd", "--scene", "scene-9"], 1, "no scene 'scene-9'"),
        (["good.mg", "-o", "drive.rrd", "--where", "pld > 5"], 1, "no frame of 20 meets the condition"),
        (["good.mg", "-o", "drive.rrd", "--where", "plt > 0.5"], 2, "no column 'plt'"),
        (["good.mg", "-o", "drive.rrd", "--images", "none"], 1, "none: no such folder"),
        (["good.mg", "-o", "drive.rrd", "--images", "."], 1, "found neither"),
        (["good.mg", "-o", "drive.rrd", "--images", "x" * 5000], 1, "no such folder"),
        (["good.json", "-o", "drive.rrd"], 1, "expected results"),
        ([".", "-o", "drive.rrd"], 2, "takes one file of results, and . has 2"),
    ],
)
def test_what_cannot_be_exported_is_refused(call: Run, world: Path, words: list[str], code: int, message: str) -> None:
    done = call("export", *words)
    assert done.returncode == code, done.stderr
    assert message in " ".join(done.stderr.split())
    assert not (world / "drive.rrd").exists()


def test_a_missing_kit_is_reported_before_files_are_read(
    call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rerun", None)
    done = call("export", "good.mg", "-o", tmp_path / "drive.rrd")
    assert done.returncode == 1
    assert "a recording needs rerun. Install it with: pip install 'mapgauge[rerun]'" in done.stderr
