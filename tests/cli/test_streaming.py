"""``evaluate`` of Parquet in chunks, and ``convert`` to a Parquet data set."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import FRAMES, Run
from tests.streaming.test_faults import damage
from tests.streaming.worlds import CHUNK, write_folder

import mapgauge as mg


@pytest.fixture
def sets(call: Run, tmp_path: Path) -> Path:
    """A folder with two data sets of several row groups, from what the command converts."""
    assert call("convert", "good.json,scenes=truth.geojson", f"{tmp_path}/one-x/").returncode == 0
    assert call("convert", "truth.geojson", f"{tmp_path}/one-y/").returncode == 0
    for name in "xy":
        write_folder(mg.read(tmp_path / f"one-{name}"), tmp_path / name, group_rows=400)
    return tmp_path


def means(done: str) -> dict[str, float]:
    found: dict[str, float] = json.loads(done)["mean"]
    return found


def test_data_sets_give_the_numbers_of_the_files(call: Run, sets: Path) -> None:
    whole = call("evaluate", "good.json", "truth.geojson", "--json")
    pieces = call("evaluate", sets / "x", sets / "y", "--json")
    assert means(pieces.stdout) == means(whole.stdout)
    assert json.loads(pieces.stdout)["frames"] == json.loads(whole.stdout)["frames"]


def test_a_corridor_is_not_evaluated_in_chunks(call: Run, sets: Path) -> None:
    command = ["evaluate", sets / "x", sets / "y", "--json", "--metrics", "pld"]
    refused = call(*command, "--engine", "threads", "--set", "window=corridor:5")
    assert refused.returncode == 2
    assert "A corridor leads through frames of other chunks" in " ".join(refused.stderr.split())
    # A note that has the word changes nothing.
    noted = call(*command, "--engine", "threads", "--set", "window=ahead", "--metadata", "about=corridor")
    assert noted.returncode == 0, noted.stderr


def test_evaluate_says_what_was_compared_in_chunks(call: Run, sets: Path) -> None:
    done = call("evaluate", sets / "x", sets / "y", "--engine", "threads", "--work", sets / "work")
    assert done.returncode == 0
    assert f": {FRAMES} frames, 2 scenes, paper-60x30" in " ".join(done.stdout.split())
    assert re.search(r"^mean +0\.\d{3} ", done.stdout, re.M)
    again = call("inspect", sets / "work")
    assert "PLD, lower is better" in again.stdout


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A folder with two data sets that are read in two chunks: many frames with short lines that are far apart."""
    frames, lines = CHUNK // 160, 100
    corners = np.mgrid[-24:25:12, -14:15:7].reshape(2, -1).T
    starts = np.tile(np.repeat(corners, lines // len(corners), axis=0), (frames, 1))
    coords = np.stack([starts, starts + 2.0], axis=1).reshape(-1, 2)
    truth = mg.MapFrames(
        tokens=tuple(f"{k:04}" for k in range(frames)),
        classes=("divider", "boundary", "ped_crossing"),
        frame=np.repeat(np.arange(frames), lines),
        label=np.tile(np.arange(lines) % 2, frames),
        polylines=mg.Polylines(coords, np.arange(0, len(coords) + 1, 2)),
    )
    for side, name in ((truth.with_confidence(0.5), "x"), (truth, "y")):
        write_folder(side, tmp_path / name, group_rows=CHUNK // 8)
    return tmp_path


def test_a_broken_part_stops_skips_and_resumes(call: Run, large: Path) -> None:
    good = next((large / "x").glob("*.parquet")).read_bytes()
    file = damage(large / "x", 4)
    arguments = ("evaluate", large / "x", large / "y", "--json", "--workers", 1, "--metrics", "pld")
    stopped = call(*arguments, "--work", large / "work")
    assert stopped.returncode == 1
    assert stopped.stderr.count("\n") == 1
    assert f"{file} (row group" in stopped.stderr
    assert "of 2 chunks are finished" in stopped.stderr
    assert "Continue with the same command and --resume" in stopped.stderr
    skipped = call(*arguments, "--on-error", "skip")
    assert skipped.returncode == 0
    assert "could not be evaluated. The results do not include them" in skipped.stderr
    assert json.loads(skipped.stdout)["findings"][0]["code"] == "chunks-skipped"
    file.write_bytes(good)
    resumed = call(*arguments, "--work", large / "work", "--resume")
    assert means(resumed.stdout)["pld"] == 0.5
    assert "chunks-skipped" not in {finding["code"] for finding in json.loads(resumed.stdout)["findings"]}


def test_urls_are_taken_as_they_are_given(call: Run, sets: Path) -> None:
    pytest.importorskip("fsspec")
    done = call("evaluate", f"file://{sets}/x", f"file://{sets}/y", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["inputs"]["truth"]["name"] == f"file://{sets}/y"
    assert call("inspect", f"file://{sets}/x").returncode == 0


def test_several_predictions_have_a_folder_each(call: Run, sets: Path) -> None:
    call("convert", "poor.json,scenes=truth.geojson", f"{sets}/z/")
    done = call("evaluate", sets / "x", sets / "z", sets / "y", "--work", sets / "work", "--json")
    assert [one["name"] for one in json.loads(done.stdout)] == ["x", "z"]
    assert {folder.name for folder in (sets / "work").iterdir()} == {"x", "z"}
    compared = call("compare", sets / "work" / "x", sets / "work" / "z", "--json")
    assert compared.returncode == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--engine", "ray"],
            "threads, processes, dask or an address such as tcp://HOST:8786, got 'ray'",
        ),
        (["--engine", "threads", "--tokens", "tokens.txt"], "Invalid value for --engine: needs Parquet on both sides"),
        (["--work", "w", "--report", "page.html"], "A report needs all data in memory"),
        (["--resume"], "needs the folder of the interrupted run"),
        (["--on-error", "ignore"], "must be stop or skip"),
    ],
)
def test_options_that_do_not_fit_are_errors_of_usage(call: Run, sets: Path, options: list[str], message: str) -> None:
    done = call("evaluate", sets / "x", sets / "y", *options)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_an_engine_is_not_for_json(call: Run) -> None:
    done = call("evaluate", "good.json", "truth.geojson", "--engine", "dask")
    assert done.returncode == 2
    assert "mapgauge convert IN,rotate=-90,scenes=FILE OUT/" in " ".join(done.stderr.split())


def test_a_class_that_nobody_has_is_refused_before_the_work(call: Run, sets: Path) -> None:
    done = call("evaluate", sets / "x", sets / "y", "--classes", "lane", "--work", sets / "work")
    assert done.returncode == 1
    assert "the class lane is neither in this file nor in the truth" in done.stderr
    assert not (sets / "work").exists()


def test_data_sets_are_turned_in_memory(call: Run, sets: Path) -> None:
    done = call("evaluate", f"{sets / 'x'},rotate=180", sets / "y", "--json")
    assert done.returncode == 0
    assert means(done.stdout)["pld"] > 0.9


def test_several_files_become_one_data_set(call: Run, world: Path, tmp_path: Path) -> None:
    for k, part in enumerate((slice(0, 8), slice(8, None))):
        frames = mg.read(world / "good.json")
        mg.write(frames.between(part), tmp_path / f"{k}.json", "streammapnet")
    parts = [f"{tmp_path / name},scenes=./truth.geojson" for name in ("0.json", "1.json")]
    done = call("convert", *parts, f"{tmp_path}/out/", "--workers", 1)
    assert done.returncode == 0
    assert f"{tmp_path / '1.json'} (streammapnet): {FRAMES - 8} frames" in done.stdout
    assert len(mg.read(tmp_path / "out")) == FRAMES
    assert mg.read(tmp_path / "out").scenes is not None


def test_a_file_that_cannot_be_read_leaves_no_data_set(call: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"meta": {}, "results": {"a": {"vectors": 3}}}', encoding="utf-8")
    done = call("convert", "good.json", tmp_path / "bad.json", f"{tmp_path}/out/", "--workers", 1)
    assert done.returncode == 1
    assert "bad.json" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good.json", "poor.json", "{t}/out.parquet"], "several files become a data set"),
        (["good.json", "{t}/out/", "--to", "geojson"], "a folder is a Parquet data set, got geojson"),
    ],
)
def test_targets_that_do_not_fit_are_errors_of_usage(
    call: Run, tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = call("convert", *(argument.format(t=tmp_path) for argument in arguments))
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_scenes_come_from_a_table_too(call: Run, world: Path, tmp_path: Path) -> None:
    frames = mg.read(world / "good.json")
    (tmp_path / "scenes.json").write_text(json.dumps(dict.fromkeys(frames.tokens, "here")), encoding="utf-8")
    done = call("convert", f"good.json,scenes={tmp_path / 'scenes.json'}", tmp_path / "out.parquet")
    assert done.returncode == 0
    assert set(mg.read(tmp_path / "out.parquet").scenes or ()) == {"here"}


def test_a_file_without_scenes_is_no_table_of_them(call: Run, tmp_path: Path) -> None:
    done = call("convert", "good.json,scenes=poor.json", f"{tmp_path}/out/")
    assert done.returncode == 1
    assert "expected a JSON object from token to scene, or frames with scenes" in done.stderr


@pytest.mark.parametrize("kind", ["data sets", "URLs of single files"])
def test_a_report_of_streamed_results_draws_frames(call: Run, sets: Path, kind: str) -> None:
    """From the file of results, and from the work folder."""
    one, other = (next((sets / side).glob("*.parquet")) for side in "xy")
    given: list[object] = [sets / "x", sets / "y"]
    if kind == "URLs of single files":
        pytest.importorskip("fsspec")
        given = [f"file://{one}", f"file://{other}"]
    done = call("evaluate", *given, "-o", sets / "r.mg", "--work", sets / "work")
    assert done.returncode == 0
    pages = {"file": "r.mg", "folder": "work", "named": f"r.mg,predictions={one},truth={other}"}
    call("report", "good.mg", "-o", sets / "whole.html")
    for name, results in pages.items():
        page = sets / f"{name}.html"
        done = call("report", sets / results, "-o", page)
        assert (done.returncode, done.stderr) == (0, f"mapgauge: report in {page}\n")
        assert page.stat().st_size > 0.8 * (sets / "whole.html").stat().st_size
