"""``frames``, and conditions in ``show``, ``report`` and ``evaluate --tokens``."""

import csv
import io
import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge.demo import demo_world


def test_frames_are_listed_from_the_worst(call: Run, world: Path) -> None:
    done = call("frames", "poor.mg", "--worst", 4)
    assert done.returncode == 0, done.stderr
    rows = mg.load_results(world / "poor.mg").frames(count=4)
    lines = done.stdout.splitlines()
    assert lines[0] == "4 of 20 frames with predictions and truth"
    assert [line.split()[-1] for line in lines[2:]] == [row["token"] for row in rows]
    assert len(call("frames", "poor.mg").stdout.splitlines()) == 12


def test_all_frames_are_in_documents(call: Run, world: Path) -> None:
    rows = mg.load_results(world / "poor.mg").frames()
    tokens = call("frames", "poor.mg", "--tokens").stdout.split()
    assert tokens == [row["token"] for row in rows]
    document = json.loads(call("frames", "poor.mg", "--json", "--worst", 2).stdout)
    assert [row["pld"] for row in document["frames"]] == [row["pld"] for row in rows[:2]]
    assert document["without_predictions"] == document["without_truth"] == []
    written = list(csv.DictReader(io.StringIO(call("frames", "poor.mg", "--csv", "--sort", "missed.divider").stdout)))
    assert [float(row["pld"]) for row in written if row["token"] == tokens[0]] == [rows[0]["pld"]]
    counts = [int(row["missed.divider"]) for row in written]
    assert counts == sorted(counts, reverse=True)
    empty = call("frames", "poor.mg", "--csv", "--where", "pld > 2").stdout
    assert empty.startswith("token,scene,predictions,truth,missed,false,pld,")
    assert empty.count("\n") == 1
    assert call("frames", "poor.mg", "--where", "pld > 2").stdout == "no frames\n"


def test_frames_without_predictions_or_truth_are_listed_apart(call: Run, tmp_path: Path) -> None:
    line = {"divider": [[[0, 0], [9, 0]]]}
    truth = mg.MapFrames.of({"a": line, "b": line, "c": {}})
    predictions = mg.MapFrames.of({"a": line, "c": line}, confidence={"a": {"divider": [1]}, "c": {"divider": [1]}})
    mg.evaluate(predictions, truth).save(tmp_path / "x.mg")
    lines = call("frames", tmp_path / "x.mg").stdout.splitlines()
    assert lines[0] == "1 of 1 frames with predictions and truth"
    assert lines[-2:] == ["1 frame without predictions: b", "1 frame without truth, but with predictions: c"]
    assert call("frames", tmp_path / "x.mg", "--tokens").stdout == "a\nb\nc\n"
    assert json.loads(call("frames", tmp_path / "x.mg", "--json").stdout)["without_truth"] == ["c"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["frames", "poor.mg", "--where", "pld > 0.8 and mised > 2"], "no column 'mised'; did you mean missed"),
        (["frames", "nowhere.mg", "--where", "pld >> 2"], "expected a value, got '>'"),  # before a file is opened
        (["show", "poor.mg", "-o", "x.png", "--frame", "worst:2 where pld >"], "expected a value, got the end"),
        (["show", "poor.mg", "-o", "x.png", "--frame", "worst:2000"], "must be from 1 to 60, got 2000"),
        (["report", "poor.mg", "-o", "x.html", "--frames", "pld > x"], "no column 'x'"),
        (["report", "poor.mg", "-o", "x.html", "--frames", "-3"], "must be at least 0, got -3"),
        (["frames", "poor.mg", "--json", "--tokens"], "only one of --tokens and --json can be given"),
    ],
)
def test_a_wrong_condition_is_a_usage_error(call: Run, words: list[str], message: str) -> None:
    done = call(*words)
    assert done.returncode == 2
    assert message in done.stderr
    if "where" in words[-2] and "mised" in words[-1]:
        assert done.stderr.endswith("\n  pld > 0.8 and mised > 2\n                ^\n")


def test_show_draws_a_sheet(call: Run, world: Path, tmp_path: Path) -> None:
    ranked = [row["token"] for row in mg.load_results(world / "poor.mg").frames()]
    for frame, tokens in (
        ("worst:2", ranked[:2]),
        ("best:2", ranked[:-3:-1]),
        ("median:3", ranked[9:12]),
        ("median", ranked[10:11]),
        ("worst:1 where pld > 0", ranked[:1]),
        ("pld > 0", ranked[:6]),
    ):
        done = call("show", "poor.mg", "--frame", frame, "-o", tmp_path / "x.svg")
        assert done.returncode == 0, done.stderr
        assert [line.split(",")[0] for line in done.stdout.splitlines()] == tokens
        assert all(token in (tmp_path / "x.svg").read_text(encoding="utf-8") for token in tokens)
    done = call("show", "good.mg", "poor.mg", "--frame", "worst:2", "-o", tmp_path / "x.svg")
    assert len(done.stdout.splitlines()) == 4  # two frames of two methods
    assert call("show", "poor.mg", "--frame", "pld > 2", "-o", tmp_path / "x.svg").returncode == 1


def test_a_report_draws_the_frames_that_meet_a_condition(call: Run, world: Path, tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    count = sum(row["pld"] > 0.85 for row in mg.load_results(world / "poor.mg").frames())
    done = call("report", "poor.mg", "--frames", "pld > 0.85", "-o", page)
    assert done.returncode == 0, done.stderr
    assert f"{count} of 20 frames can be drawn, for which pld &gt; 0.85." in page.read_text(encoding="utf-8")


def test_a_list_of_tokens_goes_back_into_evaluate(call: Run, world: Path, tmp_path: Path) -> None:
    listed = tmp_path / "worst.txt"
    listed.write_text(call("frames", "poor.mg", "--worst", 3, "--tokens").stdout, encoding="utf-8")
    done = call("evaluate", "poor.json", "truth.geojson", "--tokens", listed, "-o", tmp_path / "some.mg")
    assert done.returncode == 0, done.stderr
    some, whole = mg.load_results(tmp_path / "some.mg"), mg.load_results(world / "poor.mg")
    assert set(some.tokens) == set(listed.read_text(encoding="utf-8").split())
    assert some.mean == whole.of_frames([whole.tokens.index(token) for token in some.tokens]).mean
    assert call("show", tmp_path / "some.mg", "-o", tmp_path / "x.png").returncode == 0  # the files are read again
    listed.write_text("unknown\n", encoding="utf-8")
    done = call("evaluate", "poor.json", "truth.geojson", "--tokens", listed)
    assert done.returncode == 1
    assert "no frames have 1 of 1 tokens (first: unknown)" in done.stderr


def test_tokens_choose_frames_of_parquet(call: Run, tmp_path: Path) -> None:
    predictions, truth = demo_world(6)
    mg.write(predictions, tmp_path / "x.parquet")
    mg.write(truth, tmp_path / "y.parquet")
    (tmp_path / "tokens.txt").write_text(f"{truth.tokens[2]}\n\n{truth.tokens[4]}\n", encoding="utf-8")
    done = call("evaluate", "x.parquet", "y.parquet", "--tokens", "tokens.txt", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["frames"]["evaluated"] == 2
