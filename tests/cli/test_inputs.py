"""Options of files."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.shared_data import PARITY

import mapgauge as mg
from mapgauge.cli.inputs import input_file, options_of

MAPTR, STREAM = PARITY / "nuscmap_results_good.json.gz", PARITY / "submission_vector_good.json.gz"
TRUTH, MAPTR_TRUTH = PARITY / "tmp_gts_demo_60x30.pkl", PARITY / "demo_map_anns.json"


def means(text: str) -> dict[str, float]:
    return {one["name"]: one["mean"]["pld"] for one in json.loads(text)}


def test_only_the_file_with_the_option_is_turned(call: Run) -> None:
    arguments = ("evaluate", STREAM, f"{MAPTR},rotate=-90,name=MapTR", TRUTH, "--metrics", "pld")
    done = call(*arguments, "--json")
    assert "error:" not in done.stderr
    found = means(done.stdout)
    assert list(found) == ["submission_vector_good", "MapTR"]
    assert all(value == pytest.approx(0.82, abs=0.01) for value in found.values())


def test_the_advice_names_the_option_of_the_file(call: Run) -> None:
    done = call("evaluate", STREAM, MAPTR, TRUTH, "--metrics", "pld")
    assert f"Use {MAPTR},rotate=-90 or {MAPTR},rotate=auto" in " ".join(done.stdout.split())  # lines are wrapped


def test_auto_axes_turns_what_is_certain_and_says_so(call: Run, tmp_path: Path) -> None:
    arguments = ("evaluate", f"{STREAM},rotate=auto", f"{MAPTR},rotate=auto", TRUTH, "--metrics", "pld")
    turned = means(call("evaluate", STREAM, f"{MAPTR},rotate=-90", TRUTH, "--metrics", "pld", "--json").stdout)
    done = call(*arguments, "--json")
    assert means(done.stdout) == turned
    codes = [{finding["code"] for finding in one["findings"]} for one in json.loads(done.stdout)]
    assert ["axes-corrected" in found for found in codes] == [False, True]
    assert "note: the predictions were turned by -90 degrees to the axes of the truth" in " ".join(
        call(*arguments, "--notes").stdout.split()
    )
    shown = call("show", f"{MAPTR},rotate=auto", TRUTH, "-o", tmp_path / "frame.png")
    assert "turned by -90 degrees" in shown.stderr
    assert "axes-turned" not in shown.stderr
    mg.write(mg.read(MAPTR).with_forward(None), tmp_path / "own.geojson")
    done = call("evaluate", f"{tmp_path / 'own.geojson'},rotate=auto", TRUTH, "--metrics", "pld")
    assert "They were not turned on request, because it is not certain how" in " ".join(done.stdout.split())
    own = f"{tmp_path / 'own.geojson'},forward=y,rotate=auto"
    stated = call("evaluate", own, TRUTH, "--metrics", "pld", "--csv")
    assert not stated.stderr


def test_a_crop_follows_the_axes_of_the_files(call: Run) -> None:
    arguments = ("--vary", "region=40x20", "--csv", "--metrics", "pld")
    straight = call("sweep", f"{MAPTR},rotate=-90", f"{MAPTR_TRUTH},rotate=-90", *arguments).stdout
    assert call("sweep", MAPTR, MAPTR_TRUTH, *arguments).stdout == straight
    refused = call("sweep", MAPTR, TRUTH, *arguments)
    assert refused.returncode == 1
    assert f"has y forward and {TRUTH} has x forward: they cannot be cropped" in refused.stderr


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("rotate=-90", {"rotate": -90.0}),
        ("rename=a:b,rename=c:d", {"rename": {"a": "b", "c": "d"}}),
        ("certain,planar,unshrink", {"certain": True, "planar": True, "unshrink": True}),
        ("tracks=/data/a,b=c/x=1,y.pkl,degenerate=drop", {"tracks": "/data/a,b=c/x=1,y.pkl", "degenerate": "drop"}),
        ("format=maptr,degenerate=drop", {"format": "maptr", "degenerate": "drop"}),
        ("forward=y,confidence=0.25,name=A b", {"forward": "y", "confidence": 0.25, "name": "A b"}),
    ],
)
@pytest.mark.parametrize(
    "name", ["M.json", "runs/a,b=c/M.json", "C:\\runs\\M.json", "s3://runs/v=1,x=2/M.parquet", "scene=3"]
)
def test_options_follow_the_name(name: str, options: str, expected: dict[str, Any]) -> None:
    file = input_file(f"{name},{options}")
    assert (getattr(file, "url", None) or str(file), options_of(file)) == (name, expected)
    again = pickle.loads(pickle.dumps(file))
    assert (str(again), again.url, again.options) == (str(file), file.url, expected)


def test_a_file_that_exists_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("M.json,rotate=90").touch()
    assert (str(input_file("M.json,rotate=90")), options_of(input_file("M.json,rotate=90"))) == ("M.json,rotate=90", {})
    assert options_of(input_file("M.json,rotate=91")) == {"rotate": 91.0}
    assert options_of(input_file("a,b.json")) == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("rotat=-90", "the file has no option 'rotat'. Options of a file: name=, format=, rotate=, forward=, rename="),
        ("rotate=left", "expected a number, got 'left'"),
        ("rotate=nan", "expected a number"),
        ("rotate", "expected rotate=VALUE"),
        ("certain=1", "expected certain"),
        ("rotate=1,rotate=2", "rotate is given twice"),
        ("rename=a", "expected rename=OLD:NEW, got 'a'"),
        ("forward=z", "expected x or y, got 'z'"),
        ("format=yaml", "unknown format 'yaml'"),
        ("confidence=2", "expected a number from 0 to 1, got '2'"),
        ("name=", "expected a value after ="),
    ],
)
def test_options_that_cannot_be_are_usage_errors(options: str, message: str, call: Run) -> None:
    done = call("evaluate", f"good.json,{options}", "truth.geojson")
    assert done.returncode == 2
    assert message in done.stderr


def test_truth_has_no_options_of_predictions(call: Run) -> None:
    done = call("evaluate", "good.json", "truth.geojson,certain")
    assert done.returncode == 2
    assert "truth has no option 'certain', only predictions have it" in done.stderr


def test_options_of_a_file_change_how_it_is_read(call: Run, world: Path, tmp_path: Path) -> None:
    plain = call("evaluate", "good.json", "truth.geojson", "--csv").stdout
    assert call("evaluate", "good.json,confidence=0", "truth.geojson", "--csv").stdout == plain
    sure = json.loads(call("evaluate", "good.json,confidence=0.5", "truth.geojson", "--json").stdout)
    assert sure["inputs"]["predictions"]["counts"] == mg.read(world / "good.json").filter(0.5).counts
    done = call("inspect", "good.json,rotate=90", "--json")
    assert json.loads(done.stdout)["forward"] == "y"
    call("convert", "good.json,rotate=90", tmp_path / "turned.parquet")
    assert mg.read(tmp_path / "turned.parquet").forward == "y"


def test_quotes_protect_special_characters() -> None:
    given = options_of(
        input_file('M.json,name="A, B=c",rename="a:b":\'c,d\',tracks="/x/a,certain.pkl",scenes=/abs/s.json')
    )
    assert given == {
        "name": "A, B=c",
        "rename": {"a:b": "c,d"},
        "tracks": "/x/a,certain.pkl",
        "scenes": "/abs/s.json",
    }
    assert str(input_file('"runs/a,planar.json",rotate=90')) == "runs/a,planar.json"
    assert str(input_file("O'Brien's,x.json")) == "O'Brien's,x.json"


def test_the_longest_path_that_exists_is_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "a,planar.json", "x=1,y.json"):
        Path(name).touch()
    for name in ("a", "a,planar.json", "x=1,y.json"):
        file = input_file(f"{name},name=A/B,rotate=90")
        assert (str(file), options_of(file)) == (name, {"name": "A/B", "rotate": 90.0})


def test_files_and_angles_that_do_not_fit_are_refused(call: Run) -> None:
    for command, message in (
        (("convert", "good.json,rotate=auto", "x.parquet"), "needs truth, whose axes are taken"),
        (("evaluate", "good.json", "truth.geojson,rotate=auto"), "truth has no option 'rotate'"),
        (("evaluate", "good.json,truth=x.json", "truth.geojson"), "only results have the option 'truth'"),
    ):
        done = call(*command)
        assert done.returncode == 2
        assert message in " ".join(done.stderr.split())
