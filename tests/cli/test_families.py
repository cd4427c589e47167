"""One count of tests and one correction over everything that a command prints."""

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, caller

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.results.families import count_tests

METRICS = ("pld", "ap_chamfer", "completeness", "causes")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two methods in 12 scenes, with causes; files of every third frame; and tags.

    Two groups have 5 scenes, and one has 2.
    """
    made = tmp_path_factory.mktemp("families")
    for quality in ("good", "poor"):
        predictions, truth = demo_world(120, quality=quality)
        mg.evaluate(predictions, truth, metrics=METRICS).save(made / f"{quality}.mg")
        mg.write(predictions.at(range(0, 120, 3)), made / f"{quality}.json", "streammapnet")
        mg.write(truth.at(range(0, 120, 3)), made / "truth.geojson")
    cities = ["boston"] * 5 + ["miami"] * 5 + ["paris"] * 2
    rows = [f"scene-{k:04},{city}" for k, city in enumerate(cities)]
    (made / "tags.csv").write_text("\n".join(["scene,city", *rows]), encoding="utf-8")
    return made


@pytest.fixture
def called(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return caller(folder, monkeypatch, capsys)


def p_values(pairs: list[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """Return the p-values of a document by class and key, of differences with a verdict."""
    return {
        (class_name, key): found["p"]
        for pair in pairs
        for class_name, by_key in pair["classes"].items()
        for key, found in by_key.items()
        if found["decided"] is not None
    }


def test_causes_are_counted_and_corrected_with_the_values(called: Run, folder: Path) -> None:
    plain, holm = (
        json.loads(called("compare", "good.mg", "poor.mg", "--correction", how, "--json").stdout)
        for how in ("none", "holm")
    )
    values, causes = p_values(plain["differences"]), p_values(plain["causes"])
    # PLD stands in both tables, and again as the sum of the causes among the values.
    classes = 4
    tested = len(values) - classes + len(causes) - classes
    assert plain["tested"] == holm["tested"] == tested
    smallest = min([*values.values(), *causes.values()])
    corrected = p_values(holm["differences"]), p_values(holm["causes"])
    assert min(min(table.values()) for table in corrected) == pytest.approx(tested * smallest)
    for class_name in ("divider", "mean"):
        assert corrected[0][class_name, "pld"] == corrected[1][class_name, "pld"] == corrected[0][class_name, "causes"]
    text = called("compare", "good.mg", "poor.mg", "--correction", "holm").stdout
    text = " ".join(text.split())
    assert f"{tested} differences tested, over all classes, values and causes. The verdicts have Holm's" in text
    rows = list(
        csv.DictReader(io.StringIO(called("compare", "good.mg", "poor.mg", "--correction", "holm", "--csv").stdout))
    )
    (missed,) = [row for row in rows if (row["class"], row["key"]) == ("mean", "due_to_localisation")]
    assert float(missed["p"]) == corrected[1]["mean", "localisation"]
    good, poor = (mg.load_results(folder / f"{name}.mg") for name in ("good", "poor"))
    differences = mg.compare([good, poor], names=["good", "poor"]).differences
    by_cause = {("good", "poor"): mg.compare_causes(good, poor)}
    assert count_tests(differences, by_cause) == tested
    for table, expected in zip(mg.correct_together(differences, by_cause), corrected, strict=True):
        found = table["good", "poor"]
        assert {(name, key): found[name][key].p for name, key in expected} == expected


def test_why_states_the_number_of_tests_and_corrects_for_it(called: Run) -> None:
    text = called("why", "good.mg", "poor.mg").stdout
    tested = int(re.search(r"^(\d+) differences tested, over all classes and causes\. If all were", text, re.M)[1])  # type: ignore[index]
    plain, holm = (
        json.loads(called("why", "good.mg", "poor.mg", "--correction", how, "--json").stdout)[1]["difference"]
        for how in ("none", "holm")
    )
    assert plain["tested"] == holm["tested"] == tested
    assert len(p_values([plain])) == tested
    assert min(p_values([holm]).values()) == pytest.approx(tested * min(p_values([plain]).values()))
    refused = called("why", "good.mg", "--correction", "holm")
    assert (refused.returncode, "--correction" in refused.stderr) == (2, True)


def test_slices_of_a_comparison_are_one_family_and_small_ones_have_no_intervals(called: Run) -> None:
    words = ["compare", "good.mg,tags=tags.csv", "poor.mg", "--by", "city"]
    plain, holm = (
        json.loads(called(*words, "--correction", how, "--json").stdout)["slices"] for how in ("none", "holm")
    )
    found = [p_values(plain[name]["differences"]) for name in ("boston", "miami", "paris")]
    assert found[2] == {}
    repeated = 2 * 4  # the PLD that the causes add up to, by class
    tested = len(found[0]) + len(found[1]) - repeated
    assert [plain[name]["tested"] for name in plain] == [tested] * 3
    smallest = min(p for of_slice in found[:2] for p in of_slice.values())
    corrected = [p for name in ("boston", "miami") for p in p_values(holm[name]["differences"]).values()]
    assert min(corrected) == pytest.approx(tested * smallest)
    few = plain["paris"]["differences"][0]["classes"]["mean"]["pld"]
    assert (few["low"], few["high"], few["p"]) == (None, None, None)
    assert plain["paris"]["estimates"]["good"]["mean"]["pld"]["low"] is None
    text = called(*words).stdout
    assert text.count("differences tested") == 1
    assert f"{tested} differences tested, over all slices, classes and values. If all were equal" in text
    assert "with no intervals (2 scenes)" in text
    assert not re.search(r"\] +too few scenes", text)


def test_tables_of_slices_state_the_number_of_tests_of_all_methods(called: Run) -> None:
    words = ["evaluate", "good.json", "poor.json", "truth.geojson,tags=tags.csv", "--by", "city", "--metrics", "pld"]
    text = called(*words).stdout
    tested = int(re.search(r"^(\d+) differences tested, over all slices, classes and values", text, re.M)[1])  # type: ignore[index]
    assert text.count("differences tested") == 1
    plain, holm = (json.loads(called(*words, "--correction", how, "--json").stdout) for how in ("none", "holm"))
    found = [p_values(method["slices"]["differences"]) for method in plain]
    assert [method["slices"]["tested"] for method in plain] == [tested] * 2
    assert sum(map(len, found)) == tested
    smallest = min(p for of_method in found for p in of_method.values())
    corrected = [p for method in holm for p in p_values(method["slices"]["differences"]).values()]
    assert min(corrected) == pytest.approx(min(1, tested * smallest))
    refused = called("evaluate", "good.json", "truth.geojson", "--correction", "holm")
    assert (refused.returncode, "without --by COLUMN" in refused.stderr) == (2, True)


def test_from_four_files_on_all_are_compared_with_the_first_only(called: Run) -> None:
    files = ["good.mg,name=a", "poor.mg,name=b", "good.mg,name=c", "poor.mg,name=d"]
    words = ["compare", *files, "--samples", "20", "--json"]
    first, every = (json.loads(called(*words, *more).stdout) for more in ((), ("--all-pairs",)))
    assert [(pair["first"], pair["second"]) for pair in first["differences"]] == [("a", "b"), ("a", "c"), ("a", "d")]
    assert len(every["differences"]) == 6
    assert every["tested"] == 2 * first["tested"]
    three = json.loads(called("compare", *files[:3], "--samples", "20", "--json").stdout)
    assert len(three["differences"]) == 3
    accepted = called("compare", *files[:3], "--samples", "20", "--json", "--all-pairs")
    assert json.loads(accepted.stdout) == three  # which compares each two anyway


def test_an_offset_of_a_single_scene_has_no_interval(folder: Path) -> None:
    """One method finds something in one of eight scenes only, so nothing is known about the spread of its offset."""
    line, near, far = [[0.0, 0.0], [20.0, 0.0]], [[0.0, 0.3], [20.0, 0.3]], [[0.0, 12.0], [20.0, 12.0]]
    truth = mg.MapFrames.of({f"t{k}": {"divider": [line]} for k in range(8)})
    settings = mg.protocol("paper-60x30", classes=["divider"])
    scenes = {token: token for token in truth.tokens}
    found = []
    for hits in (1, 8):
        lines = {f"t{k}": {"divider": [near if k < hits else far]} for k in range(8)}
        predictions = mg.MapFrames.of(lines).with_confidence(0.9)
        found.append(mg.evaluate(predictions, truth, settings, metrics=["pld", "completeness"], scenes=scenes))
    comparison = mg.compare(found, names=["once", "always"], samples=100)
    offsets = [estimates["divider"]["median_across"] for estimates in comparison.estimates]
    assert [math.isnan(offset.low) for offset in offsets] == [True, False]
    difference = comparison.differences["once", "always"]
    for name in ("divider", "mean"):
        assert difference[name]["median_across"].decided is None
        assert difference[name]["pld"].decided is True
