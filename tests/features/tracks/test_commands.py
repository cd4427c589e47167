"""``mapgauge track`` and ``mapgauge consistency`` do what the functions do."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge import plot
from mapgauge.demo import demo_world


@pytest.mark.parametrize("suffix", ["parquet", "geojson"])
def test_track_writes_ids_poses_and_scenes(call: Run, drive: Path, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"tracked.{suffix}"
    done = call("track", "bare.json", "--poses", "truth.geojson", "-o", target)
    assert done.returncode == 0, done.stderr
    found, expected = mg.read(target), mg.track(drive / "bare.json", poses=drive / "truth.geojson")
    assert found.track is not None
    assert expected.track is not None
    assert sorted(found.track.tolist()) == sorted(expected.track.tolist())
    count = len(expected.track)
    assert f"{count} with ids of {len(set(expected.track.tolist()))} tracks" in done.stdout
    assert f"note: {400 - count} of 400 instances have a confidence of at most 0.4 and were left out" in done.stdout
    everything = call("track", "bare.json,confidence=0", "--poses", "truth.geojson", "-o", target)
    assert "400 instances, 400 with ids" in everything.stdout
    assert "left out" not in everything.stdout
    again = call("consistency", target, "--lags", "1", "--json")
    assert again.returncode == 0, again.stderr


def test_consistency_prints_what_the_function_computes(call: Run, drive: Path) -> None:
    expected = mg.consistency(drive / "bare.json", poses=drive / "truth.geojson", lags=[1, 2])
    options = ("consistency", "bare.json", "--poses", "truth.geojson", "--lags", "2,1")
    (document,) = json.loads(call(*options, "--json").stdout)
    assert document["values"] == expected.rows
    assert document["worst"] == [row for lag in (1, 2) for row in expected.worst(lag=lag)]
    rows = list(csv.DictReader(io.StringIO(call(*options, "--csv").stdout)))
    assert [float(row["flicker"]) for row in rows] == [row["flicker"] for row in expected.rows]
    text = call(*options, "--worst", "3").stdout
    assert str(expected.estimates[1]["mean"]["flicker"]) in text
    assert text.count("scene-000") == 6
    assert expected.table().splitlines()[0].split()[:4] == ["lag", "class", "transitions", "flicker"]


def test_scenes_of_a_file(call: Run, tmp_path: Path) -> None:
    predictions, _ = demo_world(10, predictions=10)
    mg.write(replace(predictions, scenes=None), tmp_path / "unsorted.parquet")
    (tmp_path / "scenes.json").write_text(json.dumps(dict.fromkeys(predictions.tokens, "one")), encoding="utf-8")
    assert "no scenes" in call("consistency", "unsorted.parquet", cwd=tmp_path).stderr
    for command in (("consistency", "unsorted.parquet"), ("track", "unsorted.parquet", "-o", "new.parquet")):
        done = call(command[0], f"{command[1]},scenes=scenes.json", *command[2:], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert mg.read(tmp_path / "new.parquet").scenes == ("one",) * 10


def test_several_methods_and_a_figure(call: Run, tmp_path: Path) -> None:
    target = tmp_path / "lags.svg"
    done = call(
        *("consistency", "bare.json,name=one", "maptr.json,forward=x,name=two", "--poses", "truth.geojson"),
        *("--worst", "0", "--figure", target),
    )
    assert done.returncode == 0, done.stderr
    assert "note: no scene has two frames that are 10 frames apart" in done.stdout
    assert target.stat().st_size > 1000


def test_lines_and_bars_have_the_values() -> None:
    found = mg.consistency(demo_world(20, predictions=20)[0], lags=[1, 5])
    lines, bars = plot.lags(found).axes
    mean = next(line for line in lines.lines if line.get_label() == "mean")
    heights = np.asarray(mean.get_ydata()).tolist()
    assert heights == [found.estimates[lag]["mean"]["flicker"].value for lag in (1, 5)]
    tops = [bar.get_y() + bar.get_height() for bar in bars.patches[-2:]]  # type: ignore[attr-defined]
    assert tops == pytest.approx(heights)
    assert isinstance(plot.lags([found, found], names=["a", "_b"], style="slides"), Figure)
    for wrong in ([], [1], "x"):
        with pytest.raises(mg.InvalidInput, match="consistency"):
            plot.lags(wrong)  # type: ignore[arg-type]
    with pytest.raises(mg.InvalidInput, match="names must be 1 strings"):
        plot.lags(found, names=["a", "b"])


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("consistency", "bare.json"), 1, "no poses, which are needed to move one frame into another. Pass the truth"),
        (("consistency", "bare.json", "--poses", "bare.json"), 1, "has none either"),
        (("consistency", "bare.json", "--poses", "truth.geojson", "--lags", "0"), 2, "--lags"),
        (("consistency", "bare.json", "--lags", "a"), 2, "--lags"),
        (("consistency", "bare.json", "--region", "3x3"), 2, "--region"),
        (("consistency", "bare.json", "--region", "60"), 2, "--region"),
        (("consistency", "bare.json", "--cutoff", "0"), 2, "--cutoff"),
        (("consistency", "bare.json", "--worst", "-1"), 2, "--worst"),
        (("consistency", "bare.json", "--json", "--csv"), 2, "only one of"),
        (
            ("consistency", "bare.json", "--poses", "truth.geojson", "--figure", "truth.geojson"),
            1,
            "overwrite an input",
        ),
        (("consistency", "none.json"), 1, "no such file"),
        (("track", "bare.json", "-o", "new.json"), 2, "must end in .parquet or .geojson"),
        (("track", "bare.json", "-o", "new.parquet"), 1, "no poses"),
        (("track", "bare.json", "--poses", "truth.geojson", "-o", "truth.geojson"), 1, "overwrite an input"),
        (("track", "bare.json", "-o", "new.parquet", "--method", "iou"), 2, "--method"),
        (("track", "bare.json", "-o", "new.parquet", "--look-back", "0"), 2, "--look-back"),
    ],
)
def test_errors_are_one_line(call: Run, drive: Path, arguments: tuple[str, ...], status: int, message: str) -> None:
    before = sorted(path.name for path in drive.iterdir())
    done = call(*arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert message in " ".join(done.stderr.split())
    assert sorted(path.name for path in drive.iterdir()) == before
