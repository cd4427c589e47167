"""``show --scene`` and ``plot strip`` draw a scene over time."""

from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.tracked import tracked_results, tracked_world

import mapgauge as mg

pytestmark = pytest.mark.needs_feature("tracks")


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with predictions and truth that have tracks, results, and results of half the frames."""
    folder = tmp_path_factory.mktemp("tracked")
    predictions, truth = tracked_world()
    mg.write(predictions, folder / "predictions.parquet")
    mg.write(truth, folder / "truth.geojson")
    sides = [mg.read(folder / name) for name in ("predictions.parquet", "truth.geojson")]
    tracked_results(*sides).save(folder / "results.mg")
    tracked_results(*sides).save(folder / "complete.mg", geometry="original")
    return folder


def test_a_scene_is_drawn_from_files_and_from_results(call: Run, tracked: Path, tmp_path: Path) -> None:
    figure = tmp_path / "scene.svg"
    options = ["--scene", "s1"]
    done = call("show", "predictions.parquet", "truth.geojson", *options, "-o", figure, cwd=tracked)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("s1, predictions: pld 0.")
    assert done.stderr.endswith(f"mapgauge: figure in {figure}\n")
    words = figure.read_text(encoding="utf-8")
    assert all(f"{10 * k}.0 s" in words for k in range(6))
    assert "colour: track" in words
    again = call("show", "results.mg", "complete.mg", "--scene", "s1", "--panels", "2", "-o", figure, cwd=tracked)
    assert again.returncode == 0, again.stderr
    values = mg.load_results(tracked / "results.mg").by("scene")["s1"].mean
    assert f"s1, results: pld {values['pld']:.3f}, track_pld {values['track_pld']:.3f}\n" in again.stdout
    words = figure.read_text(encoding="utf-8")
    assert "50.0 s" in words
    assert "10.0 s" not in words


def test_predictions_that_lack_frames_of_the_scene_are_drawn(call: Run, tracked: Path, tmp_path: Path) -> None:
    predictions = mg.read(tracked / "predictions.parquet")
    mg.write(predictions.between(slice(0, 8)), tmp_path / "few.parquet")
    options = ["--scene", "s1", "-o", tmp_path / "scene.svg"]
    done = call("show", tmp_path / "few.parquet", "truth.geojson", *options, cwd=tracked)
    assert done.returncode == 0, done.stderr
    assert "missed truth" in (tmp_path / "scene.svg").read_text(encoding="utf-8")


def test_a_strip_is_drawn_from_results(call: Run, tracked: Path, tmp_path: Path) -> None:
    figure = tmp_path / "strip.svg"
    chosen = ["--scene", "s0", "--classes", "divider"]
    done = call("plot", "strip", "results.mg,name=first", "complete.mg,name=second", "-o", figure, *chosen, cwd=tracked)
    assert (done.returncode, done.stdout, done.stderr.splitlines()[-1]) == (0, "", f"mapgauge: figure in {figure}")
    words = figure.read_text(encoding="utf-8")
    assert all(word in words for word in ("first", "second", "s0", "lane-2", "taken over", "missed"))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["show", "results.mg", "--scene", "x"], 1, "results.mg: no scene 'x'; there are s0, s1. Give the name of a"),
        (["show", "predictions.parquet", "truth.geojson", "--scene", "s0-"], 1, "no scene 's0-'; did you mean s0?"),
        (["show", "results.mg", "--scene", "s0", "--frame", "best"], 2, "--frame: has no effect with --scene"),
        (["show", "results.mg", "--scene", "s0", "--side-by-side"], 2, "--side-by-side: has no effect with --scene"),
        (["show", "results.mg", "--scene", "s0", "--panels", "0"], 2, "must be at least 1, got 0"),
        (["show", "results.mg", "--panels", "3"], 2, "--panels: has no effect without --scene NAME"),
        (["plot", "strip", "results.mg", "--scene", "x"], 1, "no scene 'x'; there are s0, s1"),
        (["plot", "strip", "results.mg", "--classes", "lane"], 1, "no class 'lane'. Available: divider"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    call: Run, tracked: Path, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    figure = tmp_path / "x.svg"
    done = call(*arguments, "-o", figure, cwd=tracked)
    assert done.returncode == code, done.stderr
    assert message in " ".join(done.stderr.split())
    assert not figure.exists()


def test_files_without_scenes_are_refused(call: Run, tmp_path: Path) -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    mg.write(truth, tmp_path / "truth.geojson")
    mg.write(truth.with_confidence(1), tmp_path / "predictions.geojson")
    options = ["--scene", "a", "-o", "x.svg"]
    done = call("show", "predictions.geojson", "truth.geojson", *options, cwd=tmp_path)
    assert done.returncode == 1
    assert "truth.geojson: the frames have no scenes" in done.stderr
