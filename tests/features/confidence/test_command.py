"""``confidence`` prints what confidences are worth, and writes thresholds and a figure."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge.features.confidence.advice import advice


def sentences(lines: list[str]) -> list[str]:
    """What is printed, without the breaks in sentences, whose further lines are indented."""
    found: list[str] = []
    for line in lines:
        if line.startswith("  "):
            found[-1] += f" {line.strip()}"
        else:
            found.append(line)
    return found


def test_results_and_files_give_the_same_tables(call: Run, tmp_path: Path) -> None:
    targets = ["--thresholds", tmp_path / "thresholds.json", "--figure", tmp_path / "figure.svg"]
    done = call("confidence", "good.mg", *targets)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-2:] == [
        f"mapgauge: thresholds in {tmp_path / 'thresholds.json'}",
        f"mapgauge: figure in {tmp_path / 'figure.svg'}",
    ]
    assert call("confidence", "good.json", "truth.geojson").stdout == done.stdout
    lines = done.stdout.splitlines()
    assert lines[0] == "Thresholds: PLD, cutoff 1.5 m, and calibration, lower is better"
    assert lines[1].endswith("ECE  ECE if calibrated")
    assert "PLD at threshold of other scenes" in lines[1]
    about, advice, apply, recalibrated = sentences(lines[5:])[:4]
    # A command has words that cannot be broken.
    assert max(len(line) for line in lines[5:] if "PREDICTIONS" not in line) <= 80
    assert about == (
        "PLD at threshold: predictions below it are dropped, the others get confidence 1. PLD at threshold of other "
        "scenes: the same, but the scenes are split in two halves, and each half has the threshold that is best for "
        "the other half"
    )
    assert " if each half of the scenes has the thresholds of the other half)" in advice
    assert "Over-confident on average (the mean confidence of all predictions is above the share of hits): " in advice
    assert "They can raise it" in recalibrated
    chosen = json.loads((tmp_path / "thresholds.json").read_text(encoding="utf-8"))["classes"]
    assert f"{chosen['divider']['best_pld']:.3f}" in advice
    assert apply.startswith("To apply it: mapgauge evaluate \\ PREDICTIONS,confidence=ped_crossing:0.")
    assert "ECE" in (tmp_path / "figure.svg").read_text(encoding="utf-8")


def test_the_advice_can_be_applied(call: Run, world: Path) -> None:
    found = mg.confidence(mg.evaluate(world / "good.json", world / "truth.geojson", metrics=["pld"]), samples=10)
    best = [of_class.best.value for of_class in found.classes.values() if of_class.best is not None]
    printed = call("confidence", "good.mg").stdout
    options = printed.partition("PREDICTIONS,")[2].split()[0]
    done = call("evaluate", f"good.json,{options}", "truth.geojson", "--metrics", "pld", "--json")
    assert json.loads(done.stdout)["mean"]["pld"] == pytest.approx(sum(best) / len(best), abs=1e-3)
    some = call("evaluate", "good.json,confidence=divider:0.3", "truth.geojson", "--metrics", "pld", "--json")
    kept = json.loads(some.stdout)["classes"]
    assert kept["divider"]["predictions"] == found.rows("divider", [0.3])[0]["kept"]
    assert kept["boundary"]["predictions"] == found.classes["boundary"].predictions
    for option, message in (("divider:2", "expected a number from 0 to 1"), ("road:0.3", "no class 'road'")):
        done = call("evaluate", f"good.json,confidence={option}", "truth.geojson")
        assert done.returncode != 0
        assert message in done.stderr


def test_thresholds_that_gain_nothing_are_not_advised(call: Run, world: Path, tmp_path: Path) -> None:
    mg.write(mg.read(world / "truth.geojson").with_confidence(1), tmp_path / "perfect.parquet")
    lines = call("confidence", tmp_path / "perfect.parquet", "truth.geojson").stdout.splitlines()
    text = "\n".join(sentences(lines))
    assert "No threshold lowers the mean PLD of 0.000. Over-confident on average (" in text
    assert "share of hits): no class" in text
    assert "To apply it" not in text
    words = call("evaluate", tmp_path / "perfect.parquet", "truth.geojson", "--metrics", "pld").stdout
    assert "Finds 100 % of the map" in words
    assert "rop confidences" not in words


def test_the_sentence_of_evaluate_says_what_rounding_is(call: Run) -> None:
    words = " ".join(call("evaluate", "good.json", "truth.geojson", "--metrics", "pld").stdout.split())
    assert re.search(
        r"Drop confidences below 0\.\d\d and set others to 1 to lower PLD to 0\.\d{3} \(-0",
        words,
    )


def test_json_and_csv(call: Run) -> None:
    one = json.loads(call("confidence", "good.mg", "--json", "--hit", "0.3", "--bins", "5").stdout)
    assert (one["name"], one["hit"]) == ("good", 0.3)
    assert len(one["calibration"]["all"]["hit"]["bins"]) == 5
    assert len(one["classes"]["divider"]["curve"]) == 101
    two = call("confidence", "good.mg,name=a", "poor.mg,name=b", "--json")
    assert [document["name"] for document in json.loads(two.stdout)] == ["a", "b"]
    rows = call("confidence", "good.mg", "--csv").stdout.splitlines()
    assert rows[0].startswith("name,class,threshold,kept,dropped,rounded,precision,recall,f1,ap_chamfer@0.5,")
    assert len(rows) == 1 + 3 * 101


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["good.json"], 2, "give predictions and truth, or results"),
        (["good.mg", "poor.mg", "--thresholds", "x.json"], 2, "is the file of one method, got 2 methods"),
        (["good.mg", "--hit", "1"], 2, "must be at least 0 and less than 1"),
        (["good.mg", "--bins", "0"], 2, "must be at least 1"),
        (["good.mg", "--hit", "2"], 2, "must be at least 0 and less than 1"),
        (["good.mg", "-p", "maptr"], 2, "--protocol: has no effect on results"),
        (["truth.geojson", "truth.geojson"], 1, "no confidences"),
        (["good.mg", "--thresholds", "good.mg"], 1, "would overwrite an input"),
    ],
)
def test_what_cannot_be_measured_is_refused(call: Run, arguments: list[str], code: int, message: str) -> None:
    done = call("confidence", *arguments)
    assert done.returncode == code, done.stderr
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_the_advice_about_rounding(world: Path) -> None:
    results = mg.evaluate(world / "good.json", world / "truth.geojson", metrics=["pld"])
    common = mg.confidence(results, samples=1).common
    assert common is not None
    said = advice(results, None)
    assert said is not None
    assert said.text == common.in_words()
    assert said.values == {"threshold": common.threshold, "pld": common.rounded, "change": common.rounded - common.pld}
    assert advice(mg.evaluate(world / "good.json", world / "truth.geojson", metrics=["ap_chamfer"]), None) is None
    assert advice(results.without_data(), None) is None


def test_calibration_by_pld(call: Run, tmp_path: Path) -> None:
    target = tmp_path / "figure.svg"
    done = call("plot", "calibration", "good.mg", "poor.mg", "--metric", "pld", "-o", target)
    assert done.returncode == 0, done.stderr
    assert "mean of 1 - SOSPA" in target.read_text(encoding="utf-8")
    done = call("plot", "calibration", "good.mg", "--metric", "pld", "--threshold", "1", "-o", target)
    assert (done.returncode, "pld has none" in done.stderr) == (1, True)
    assert call("plot", "confidence", "good.mg,name=a", "poor.mg,name=b", "-o", target).returncode == 0
