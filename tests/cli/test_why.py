"""``mapgauge why``, the lines after the tables of ``evaluate``, and causes in ``compare`` and ``report``."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge.metrics.causes import CAUSES
from mapgauge.scoring.data import Data
from mapgauge.scoring.score import score_frames
from mapgauge.scoring.scores import Scores


def test_why_splits_pld_of_predictions_and_of_results(call: Run, tmp_path: Path) -> None:
    evaluated = call("evaluate", "good.json", "truth.geojson", "-o", tmp_path / "a.mg", "--metrics", "pld", "--json")
    pld = json.loads(evaluated.stdout)["mean"]["pld"]
    found = json.loads(call("why", "good.json", "truth.geojson", "--json").stdout)
    assert sum(found["mean"].values()) == pytest.approx(pld, rel=1e-12)
    assert set(found["mean"]) == set(CAUSES)
    assert json.loads(call("why", tmp_path / "a.mg", "--json").stdout)["mean"] == found["mean"]
    rows = list(csv.DictReader(io.StringIO(call("why", "good.json", "truth.geojson", "--csv").stdout)))
    assert float(rows[-1]["missed"]) == found["mean"]["missed"]


def test_why_compares_two_methods_in_words_and_in_numbers(call: Run) -> None:
    text = call("why", "good.json", "poor.json", "truth.geojson", "--cause", "missed", "--worst", "2").stdout
    assert "PLD of good by cause" in text
    assert "Frames of poor with most of the cause missed" in text
    assert "poor minus good, mean: causes of the difference in PLD" in text
    assert "good per km" in text
    assert "So a part can fall although its cost is the same" in " ".join(text.split())
    assert all(len(line) <= 80 for line in text.splitlines() if ". " in line)
    assert "Localisation is not Loc of `mapgauge evaluate`" in text
    assert "of the true length found" in " ".join(text.split())
    both = json.loads(
        call("why", "good.json", "poor.json", "truth.geojson", "--cause", "missed", "--worst", "2", "--json").stdout
    )
    assert "difference" not in both[0]
    assert both[1]["difference"]["to"] == "good"
    apart = both[1]["difference"]["classes"]["mean"]
    assert apart["missed"]["value"] == pytest.approx(both[1]["mean"]["missed"] - both[0]["mean"]["missed"], abs=1e-12)
    assert apart["pld"]["low"] < apart["pld"]["value"] < apart["pld"]["high"]
    assert [row["token"] in text for row in both[1]["frames"]["missed"]] == [True, True]


def test_why_says_what_a_fix_would_change(call: Run) -> None:
    fixed = " ".join(call("why", "good.json", "truth.geojson", "--fixes").stdout.split())
    assert "ideal confidences" in fixed
    assert "Other errors stay as they are, but ideal confidences also remove false predictions of every cause" in fixed
    assert "Chamfer-AP" in fixed


def test_a_method_without_matches_has_no_offset(call: Run, world: Path, tmp_path: Path) -> None:
    good = mg.read(world / "good.json")
    mg.write(good.keep(np.zeros(len(good.polylines), bool)), tmp_path / "none.parquet")
    text = call("why", "good.json", tmp_path / "none.parquet", "truth.geojson").stdout
    assert "\nnone: 0 % of the true length found (means over classes)\n" in text


@pytest.mark.parametrize(("printed", "key"), [("under-confident", "under_confident"), ("found only faintly", "faint")])
def test_a_cause_is_accepted_as_the_table_prints_it(call: Run, printed: str, key: str) -> None:
    done = call("why", "good.mg", "--cause", printed, "--worst", "2")
    assert done.returncode == 0, done.stderr
    assert "cost (a missed line = 0.5)" in done.stdout
    assert done.stdout == call("why", "good.mg", "--cause", key, "--worst", "2").stdout


def test_evaluate_says_what_the_values_mean(call: Run) -> None:
    text = call("evaluate", "good.json", "truth.geojson", "--metrics", "pld").stdout
    assert "\nFinds 90 % of the map (5.51 of 6.12 km), 0.23 m beside it (median).\n" in text
    assert "Main families of causes: place " in text
    assert "of causes" not in call("evaluate", "good.json", "truth.geojson", "--metrics", "ap_chamfer").stdout


def test_a_resumed_evaluation_says_what_the_values_mean(call: Run, world: Path, tmp_path: Path) -> None:
    for name in ("good.json", "truth.geojson"):
        mg.write(mg.read(world / name), tmp_path / f"{Path(name).stem}.parquet")
    command = ("evaluate", "good.parquet", "truth.parquet", "--metrics", "pld", "--work", "work")
    assert call(*command, "--csv", cwd=tmp_path).returncode == 0
    resumed = call(*command, "--resume", cwd=tmp_path).stdout
    assert ("Finds 90 % of the map" in resumed) != ("`mapgauge why` says it" in resumed)


def test_a_streamed_evaluation_says_what_one_in_memory_says(call: Run, world: Path, tmp_path: Path) -> None:
    for name in ("good.json", "truth.geojson"):
        mg.write(mg.read(world / name), tmp_path / f"{Path(name).stem}.parquet")
    text = call("evaluate", "good.json", "truth.geojson", "--metrics", "pld").stdout
    said = [line for line in text.splitlines() if line.startswith(("Finds", "Weighted", "Main"))]
    assert len(said) == 4
    for options in ((), ("--engine", "processes"), ("--work", "work")):
        streamed = call("evaluate", "good.parquet", "truth.parquet", "--metrics", "pld", *options, cwd=tmp_path).stdout
        assert set(said) <= set(streamed.splitlines())


def test_compare_and_report_show_causes(call: Run, tmp_path: Path) -> None:
    call("evaluate", "good.json", "poor.json", "truth.geojson", "-o", tmp_path / "runs", "--metrics", "pld,causes")
    text = call("compare", tmp_path / "runs").stdout
    assert "poor minus good, mean: causes of the difference in PLD" in text
    assert "divider" not in text
    options = ("--samples", "50", "--level", "0.5")
    of_class = call("compare", tmp_path / "runs", "--classes", "divider", *options).stdout
    document = json.loads(call("compare", tmp_path / "runs", *options, "--json").stdout)
    (apart,), (split,) = document["differences"], document["causes"]
    assert (split["first"], split["second"]) == ("good", "poor")
    divider = split["classes"]["divider"]
    assert divider["pld"]["low"] == pytest.approx(apart["classes"]["divider"]["pld"]["low"], rel=1e-9)
    assert "poor minus good, divider: causes of the difference in PLD" in of_class
    missed = divider["missed"]
    rows_of = [line for line in of_class.splitlines() if f"{missed['value']:+.3f}" in line]
    assert rows_of
    assert not any("[" in line for line in rows_of)  # there are fewer than five scenes, so no interval
    assert missed["low"] is None
    assert "Evaluate with the metric completeness" in of_class
    rows = csv.DictReader(io.StringIO(call("compare", tmp_path / "runs", *options, "--csv").stdout))
    value = {row["key"]: row["value"] for row in rows if (row["minus"], row["class"]) == ("good", "divider")}
    assert float(value["due_to_missed"]) == missed["value"]
    for option, there in ("--causes", True), ("--no-causes", False):
        done = call("report", tmp_path / "runs" / "good.mg", option, "--frames", "1", "-o", tmp_path / "page.html")
        assert done.returncode == 0, done.stderr
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert "the causes add up to PLD" in page  # the metric was evaluated
        assert "due to wrong class" in page
        assert ("median_across" in page) == there


def test_evaluate_computes_causes_once_for_the_lines_and_the_report(
    call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[str] = []

    def counted(data: Data, metrics: tuple[str, ...], *rings: Any, **settings: Any) -> Scores:
        computed.extend(metrics)
        return score_frames(data, metrics, *rings, **settings)

    monkeypatch.setattr("mapgauge.evaluation.evaluate.score_frames", counted)
    page = tmp_path / "page.html"
    files = ("good.json", "poor.json", "truth.geojson")
    done = call("evaluate", *files, "--metrics", "pld", "--report", page)
    assert (done.returncode, "PLD by cause" in done.stdout) == (0, False), done.stderr
    assert "the causes add up to PLD" in page.read_text(encoding="utf-8")
    # Each metric once for each method.
    assert sorted(computed) == ["causes", "causes", "completeness", "completeness", "pld", "pld"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good.json", "truth.geojson", "--cause", "bad"], "must be one of localisation"),
        (["good.json", "truth.geojson", "--cause", "missed", "--worst", "0"], "must be at least 1"),
        (["good.json", "truth.geojson", "--worst", "3"], "--worst: has no effect without --cause NAME"),
        (["good.mg", "--csv", "--cause", "missed"], "--cause: has no effect with --csv"),
        (["good.mg", "--csv", "--fixes"], "--fixes: has no effect with --csv"),
        (["good.json"], "give predictions and truth, or results"),
        (["good.mg", "-p", "maptr"], "--protocol: has no effect on results"),
        (
            ["good.json", "truth.geojson", "--cause", "missed", "--set", "crop=true"],
            "Evaluate first: mapgauge evaluate PREDICTIONS TRUTH --set NAME=VALUE -o results.mg && mapgauge why "
            "results.mg",
        ),
    ],
)
def test_wrong_usage_is_refused(call: Run, arguments: list[str], message: str) -> None:
    done = call("why", *arguments)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
