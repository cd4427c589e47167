"""A frame has one value called ``pld``: its classes pooled. Every place that shows a frame shows this value."""

import re
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run
from tests.report.test_file import contents

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.report import write_report

FRAMES = 6


@pytest.fixture(scope="module")
def results() -> mg.Results:
    return mg.evaluate(*demo_world(FRAMES, predictions=30))


def test_rows_of_one_frame_are_those_of_all_frames(results: mg.Results) -> None:
    rows = {row["token"]: row for row in results.frames()}
    for i, token in enumerate(results.tokens):
        assert results.of_frames([i]).frames() == [rows[token]]


def test_the_value_of_a_frame_is_not_the_mean_over_classes(results: mg.Results) -> None:
    """Otherwise the tests here could not tell the two definitions apart."""
    assert len(results.class_names) > 1
    each = [results.of_frames([i]) for i in range(FRAMES)]
    assert max(abs(alone.frames()[0]["pld"] - (alone.mean["pld"] or 0)) for alone in each) > 0.005


def test_the_value_of_a_frame_pools_its_classes(results: mg.Results) -> None:
    for i, token in enumerate(results.tokens):
        rows_of_classes = results.scores.sums["pld"][0][i].tolist()
        each = [mg.PldResult(parts=mg.Parts(*row[:5]), mass=row[5], cutoff=1.5) for row in rows_of_classes]
        pooled = reduce(add, each)
        row = next(row for row in results.frames() if row["token"] == token)
        assert row["pld"] == pytest.approx(pooled.normalised, abs=1e-15)


def test_the_report_has_the_value_of_the_rows(results: mg.Results, tmp_path: Path) -> None:
    write_report(results, tmp_path / "report.html")
    _, arrays = contents(tmp_path / "report.html")
    column = arrays["0.value.pld"].reshape(-1, FRAMES)[0]
    rows = {row["token"]: row for row in results.frames()}
    assert np.array_equal(column, np.array([rows[token]["pld"] for token in results.tokens], np.float32))


def test_show_prints_and_writes_the_value_of_the_rows(results: mg.Results, call: Run, tmp_path: Path) -> None:
    predictions, truth = demo_world(FRAMES, predictions=30)
    mg.write(predictions, tmp_path / "x.parquet")
    mg.write(truth, tmp_path / "y.parquet")
    rows = results.frames()
    for row in (rows[0], rows[-1]):
        done = call("show", "x.parquet", "y.parquet", "--frame", row["token"], "-o", "figure.svg", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert re.findall(r"pld [^,]*", done.stdout) == [f"pld {row['pld']:.3f}"]
        assert f"PLD {row['pld']:.3f} " in (tmp_path / "figure.svg").read_text(encoding="utf-8")
    worst = call("show", "x.parquet", "y.parquet", "--frame", "worst", "-o", "figure.svg", cwd=tmp_path)
    assert worst.stdout.startswith(f"{rows[0]['token']}, x: pld ")


def test_show_prints_no_value_of_a_frame_without_lines(call: Run, tmp_path: Path) -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}, "b": {}})
    mg.write(truth.with_confidence(0.5), tmp_path / "x.parquet")
    mg.write(truth, tmp_path / "y.parquet")
    done = call("show", "x.parquet", "y.parquet", "--frame", "b", "-o", "figure.svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("b, x: no predictions and no truth")
