"""``inspect``, ``convert``, ``formats`` and ``protocols``."""

import json
import os
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import FRAMES, Run

import mapgauge as mg


def test_inspect_says_what_is_in_a_file(call: Run) -> None:
    done = call("inspect", "truth.geojson")
    assert done.returncode == 0
    assert done.stdout.startswith("truth.geojson (geojson: ")
    assert f"  {FRAMES} frames, 250 instances: 49 ped_crossing, 124 divider, 77 boundary\n" in done.stdout
    assert "2 scenes, 38 tracks, time stamps, poses" in done.stdout


def test_inspect_finds_longitude_and_latitude(call: Run, world: Path, tmp_path: Path) -> None:
    truth = mg.read(world / "truth.geojson")
    coords = 9e-6 * truth.polylines.coords + (-80.19, 25.79)
    path = tmp_path / "degrees.geojson"
    mg.write(replace(truth, polylines=mg.Polylines(coords, truth.polylines.offsets)), path)
    done = call("inspect", path, "--fail-on", "error")
    assert done.returncode == 1
    assert "error: truth: the coordinates look like longitude and latitude" in done.stdout + done.stderr
    assert " degrees, y 25.7" in done.stdout
    assert " m, " not in done.stdout.splitlines()[2]
    assert "do not trust the numbers" not in done.stderr  # inspect prints none that depend on it


def test_inspect_in_json_has_the_documented_keys(call: Run, world: Path) -> None:
    found = json.loads(call("inspect", "good.json", "--json").stdout)
    assert set(found) == {
        *("name", "format", "frames", "empty_frames", "instances", "classes", "dimension", "points_per_instance"),
        *("confidence", "extent", "tracks", "scenes", "timestamps", "poses", "forward", "findings"),
        *("boxes", "links", "intersection", "ignored"),
    }
    frames = mg.read(world / "good.json")
    assert frames.confidence is not None
    assert found["confidence"]["median"] == np.median(frames.confidence)
    assert found["points_per_instance"] == {"least": 20, "median": 20, "most": 20}
    assert (found["tracks"], found["scenes"], found["poses"]) == (None, None, False)


def lane_graph(path: Path) -> Path:
    """A file with three lanes, two of them in a row, and a traffic light."""
    lanes = [[[0, 0], [9, 0]], [[9, 0], [20, 0]], [[0, 5], [9, 5]]]
    frames = mg.MapFrames.of({"val/s/1": {"centerline": lanes, "red": [[[900, 100], [950, 180]]]}})
    links = mg.Links.of([0, 1, 2], [1, 2, 3], weight=[0.75, 0.25, 1], kind=["successor", "successor", "controlled_by"])
    inside = np.array([True, False, False, False])
    mg.write(replace(frames, links=links, boxes=("red",), intersection=inside).with_confidence(0.5), path)
    return path


def test_inspect_tells_links_and_boxes(call: Run, tmp_path: Path) -> None:
    path = lane_graph(tmp_path / "lanes.parquet")
    printed = call("inspect", path).stdout
    assert "1 frame, 3 instances: 3 centerline\n  1 box in an image: 1 red\n  3 links: 1 controlled_by, " in printed
    assert "33.3 % of 3 lanes have a successor with a weight above 0.5" in printed
    assert "1 lane in intersections" in printed
    assert "x 0.0 to 20.0 m" in printed
    found = json.loads(call("inspect", path, "--json").stdout)
    assert found["boxes"] == {"red": 1}
    assert found["links"] == {"kinds": {"controlled_by": 1, "successor": 2}, "lanes": 3, "lanes_with_successor": 1}
    assert found["intersection"] == 1


def test_convert_sets_options_of_the_format(call: Run, tmp_path: Path) -> None:
    path = lane_graph(tmp_path / "lanes.parquet")
    target = tmp_path / "result.pkl"
    done = call("convert", path, f'{target},points=float16,authors="A, B"', "--to", "openlanev2")
    assert done.returncode == 0
    document = pickle.loads(target.read_bytes())
    assert document["authors"] == ["A", "B"]
    frame = document["results"]["val", "s", "1"]["predictions"]
    assert frame["lane_centerline"][0]["points"].dtype == np.float16
    assert list(mg.read(target).links or ()) == list(mg.read(path).links or ())
    done = call("convert", path, f"{tmp_path / 'b.pkl'},colour=red", "--to", "openlanev2")
    assert done.returncode == 2
    assert "must be followed by options of openlanev2 (points, method" in " ".join(done.stderr.split())
    assert "a Parquet data set has no options" in call("convert", path, f"{tmp_path}/set/,points=x").stderr


def test_inspect_of_results_prints_their_tables(call: Run) -> None:
    done = call("inspect", "good.mg")
    assert done.returncode == 0
    assert "good.mg (results of mapgauge" in done.stdout
    assert "PLD, lower is better" in done.stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no fifos here")
def test_inspect_goes_on_after_a_file_that_it_cannot_read(call: Run, world: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("no map", encoding="utf-8")
    done = call("inspect", tmp_path / "a.txt", "good.json", tmp_path / "none.json", "good.mg")
    assert done.returncode == 1
    assert [line.split(": ")[1] for line in done.stderr.splitlines()[:2]] == [
        str(tmp_path / "a.txt"),
        str(tmp_path / "none.json"),
    ]
    assert done.stderr.splitlines()[2:] == ["mapgauge: 2 of 4 files could not be read"]
    assert "good.json (streammapnet" in done.stdout
    assert "good.mg (results of mapgauge" in done.stdout
    assert len(json.loads(call("inspect", tmp_path / "a.txt", "good.json", "--json").stdout)) == 1


def test_inspect_does_not_wait_for_the_writer_of_a_pipe(call: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    done = call("inspect", "pipe.json", cwd=tmp_path)
    assert (done.returncode, done.stderr[:50]) == (1, "mapgauge: pipe.json: this is a pipe, expected a fi")


def test_inspect_counts_what_a_reader_drops(call: Run, tmp_path: Path) -> None:
    frame = {"vectors": [[[0, 0], [9, 0]], [[0, 0]]], "scores": [0.8, 0.3], "labels": [1, 1]}
    (tmp_path / "short.json").write_text(json.dumps({"meta": {}, "results": {"a": frame}}), encoding="utf-8")
    refused = call("inspect", tmp_path / "short.json")
    assert refused.returncode == 1
    assert "FILE,degenerate=drop" in refused.stderr
    done = call("inspect", f"{tmp_path / 'short.json'},degenerate=drop")
    assert done.returncode == 0
    assert "1 frame, 1 instance" in done.stdout
    assert "1 of 2 instances" in done.stdout


def test_names_in_a_file_cannot_steer_the_terminal(call: Run, tmp_path: Path) -> None:
    name = "kerb\n\x1b[2J"
    mg.write(mg.MapFrames.of({"a": {name: [[[0, 0], [9, 0]]]}}), tmp_path / "odd.geojson")
    done = call("inspect", tmp_path / "odd.geojson")
    assert "1 kerb ?[2J\n" in done.stdout
    assert "\x1b" not in done.stdout


def test_convert_keeps_points_and_turns_them_on_request(call: Run, world: Path, tmp_path: Path) -> None:
    done = call("convert", "good.json,rotate=90", tmp_path / "good.json.gz", "--to", "maptr")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"good.json (streammapnet): {FRAMES} frames, 1500 instances\n"
    frames = mg.read(tmp_path / "good.json.gz")
    assert frames.format == "maptr"
    before = mg.read(world / "good.json")
    assert np.array_equal(frames.rotate(-90).polylines.coords, before.polylines.coords)


def test_convert_renames_classes(call: Run, tmp_path: Path) -> None:
    call("convert", "truth.geojson,rename=divider:line,rename=boundary:line", tmp_path / "new.geojson")
    assert mg.read(tmp_path / "new.geojson").counts == {"ped_crossing": 49, "line": 201}


def test_formats_and_protocols_list_the_tables(call: Run) -> None:
    lines = call("list", "formats").stdout.splitlines()
    formats = [row["name"] for row in json.loads(call("list", "formats", "--json").stdout)]
    assert {"streammapnet", "maptr", "geojson", "parquet"} <= set(formats)
    assert [line.split()[0] for line in lines] == formats
    lines = call("list", "protocols").stdout.splitlines()
    protocols = json.loads(call("list", "protocols", "--json").stdout)
    assert "paper-60x30" in [row["name"] for row in protocols]
    assert [line.split()[0] for line in lines[: len(protocols)]] == [row["name"] for row in protocols]
    assert all(row["cutoffs"] == list(mg.protocol(row["name"]).cutoffs) for row in protocols)
