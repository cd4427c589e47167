"""``mapgauge global``."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.conftest import Run, caller
from tests.features.global_map.test_global_map import city
from tests.features.global_map.test_rules import drive

import mapgauge as mg


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return caller(tmp_path, monkeypatch, capsys)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    mg.write(drive(), tmp_path / "tracked.parquet")
    mg.write(city(), tmp_path / "truth.geojson")
    return str(tmp_path / "tracked.parquet"), str(tmp_path / "truth.geojson")


def test_the_command_prints_values_and_gap(call: Run, files: tuple[str, str]) -> None:
    text = call("global", *files, "--over-time").stdout
    assert "1 scene, frames accumulated by median; cutoff 1.5 m" in text
    assert "note: there is only one scene, so there are no intervals and no verdicts" in text
    assert "mGAP" in text
    assert "After a share of the frames" in text


def test_the_help_says_in_plain_words_what_the_region_is(call: Run) -> None:
    text = " ".join(call("global", "--help-all").stdout.split())
    assert "the union of the boxes of its poses, with the notches between boxes filled" in text
    assert "teeth" not in text


def test_json_has_everything(call: Run, files: tuple[str, str]) -> None:
    document = json.loads(call("global", *files, "--json", "--pose-noise", "0.1,0.1,0.5").stdout)
    assert document["rule"] == "median"
    assert document["pose_noise"] == [0.1, 0.1, 0.5]
    assert document["values"]["divider"]["network_completeness"]["value"] > 0.9
    assert document["gap"]["value"] == pytest.approx(1 / 3)


def test_tracks_are_made_if_the_file_has_none(call: Run, files: tuple[str, str], tmp_path: Path) -> None:
    mg.write(replace(drive(), track=None), tmp_path / "bare.parquet")
    done = call("global", str(tmp_path / "bare.parquet"), files[1], "--json")
    assert "has no tracks: they are made as `mapgauge track` does" in done.stderr
    tracked = json.loads(call("global", *files, "--json").stdout)
    assert json.loads(done.stdout)["values"] == tracked["values"]


def test_results_are_written_with_their_geometry(call: Run, files: tuple[str, str], tmp_path: Path) -> None:
    call("global", *files, "-o", str(tmp_path / "global.mg"), "--figure", str(tmp_path / "map.png"))
    assert mg.load_results(tmp_path / "global.mg").data is not None
    assert (tmp_path / "map.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rule", "best"], "must be stack or last or longest or median or maptracker or globalmapnet"),
        (["--pose-noise", "1,2"], "three numbers"),
        (["--pose-noise", "unknown"], "must be numbers separated by commas"),
        (["--region", "60"], "must be LENGTHxWIDTH"),
    ],
)
def test_wrong_options_are_usage_errors(call: Run, files: tuple[str, str], options: list[str], message: str) -> None:
    done = call("global", *files, *options)
    assert done.returncode == 2
    assert message in done.stderr
