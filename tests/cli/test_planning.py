"""``mapgauge compare``: power, margins, ranks with ties, and runs of one method."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two detectors, and of two further seeds."""
    folder = tmp_path_factory.mktemp("planning")
    for seed in (0, 1):
        for quality in ("good", "poor"):
            predictions, truth = mg.demo.demo_world(60, quality=quality, predictions=75 - seed)
            mg.evaluate(predictions, truth, metrics=["pld"]).save(folder / f"{quality}{seed}.mg")
    return folder


@pytest.fixture
def compare(results: Path, call: Run) -> Run:
    """Call ``mapgauge compare`` with files of the folder of results."""

    def compare_them(*words: str) -> subprocess.CompletedProcess[str]:
        return call("compare", *(str(results / word) if ".mg" in word else word for word in words))

    return compare_them


def test_power_and_margins_are_printed_for_values_with_a_direction(compare: Run) -> None:
    done = compare("good0.mg", "poor0.mg", "--power", "0.01", "--margin", "0.005")
    assert done.returncode == 0
    assert "a loss of 0.005 does not matter" in done.stdout
    assert "scenes for 0.01" in done.stdout
    document = json.loads(compare("good0.mg", "poor0.mg", "--power", "0.01", "--margin", "0.005", "--json").stdout)
    assert document["margin"]["verdicts"][0]["classes"]["mean"] == {"pld": "worse"}
    plan = document["power"]["plans"][0]["classes"]["mean"]["pld"]
    assert plan["smallest"] > 0.01
    assert plan["scenes"] > 6


def test_three_methods_have_ranks(compare: Run) -> None:
    files = ("good0.mg", "poor0.mg", "good0.mg,name=copy")
    done = compare(*files)
    assert "cannot be told from" in done.stdout
    document = json.loads(compare(*files, "--json").stdout)
    assert [(row["name"], row["rank"]) for row in document["ranks"]["mean"]] == [
        ("good0", 1),
        ("copy", 1),
        ("poor0", 3),
    ]
    assert "ranks" not in json.loads(compare(*files[:2], "--json").stdout)


def test_results_of_one_name_are_runs(compare: Run, results: Path) -> None:
    files = ("good0.mg,name=A", "good1.mg,name=A", "poor0.mg,name=B", "poor1.mg,name=B")
    done = compare(*files)
    assert done.returncode == 0
    assert "another seed moves PLD" in done.stdout
    document = json.loads(compare(*files, "--json").stdout)
    assert document["runs"] == {"A": 2, "B": 2}
    expected = sum(float(mg.load_results(results / f"good{seed}.mg").mean["pld"] or 0) for seed in (0, 1)) / 2
    assert document["estimates"]["A"]["mean"]["pld"]["value"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("good0.mg,name=A", "good1.mg,name=A", "poor0.mg"), "name of its method"),
        (("good0.mg,name=A", "good1.mg,name=A", "poor0.mg,name=B"), "two or more"),
        (("good0.mg,name=A", "good1.mg,name=A", "poor0.mg,name=A", "--fail-if", "pld > 0.5"), "--fail-if"),
        (("good0.mg", "poor0.mg", "--margin", "0"), "above 0"),
        (("good0.mg", "poor0.mg", "--power", "nan"), "above 0"),
        (("good0.mg", "--power", "0.01"), "one file"),
        (("good0.mg", "poor0.mg", "--margin", "0.1", "--csv"), "--csv"),
        (("good0.mg,name=A", "good1.mg,name=A", "--margin", "0.1"), "runs of one method"),
        (("good0.mg,name=A", "good0.mg,name=A", "poor0.mg,name=B", "poor1.mg,name=B"), "run 1 and run 2 are the same"),
    ],
)
def test_what_cannot_be_planned_is_refused(compare: Run, words: tuple[str, ...], said: str) -> None:
    done = compare(*words)
    assert done.returncode in (1, 2)
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_identical_methods_are_not_worse_and_plan_nothing(compare: Run) -> None:
    done = compare("good0.mg", "good0.mg,name=copy", "--margin", "0.005", "--power", "0.01", "--json")
    document = json.loads(done.stdout)
    assert document["margin"]["verdicts"][0]["classes"]["mean"] == {"pld": "not worse"}
    assert document["power"]["plans"][0]["classes"]["mean"]["pld"] == {"smallest": None, "scenes": None}


def test_plans_beside_a_correction_say_that_they_are_without_it(compare: Run) -> None:
    words = ("good0.mg", "good1.mg", "--margin", "0.005")
    assert "without the correction" in compare(*words, "--correction", "holm").stdout
    assert "without the correction" not in compare(*words).stdout


def test_a_gate_that_passes_on_the_measured_difference_says_how_to_be_strict(compare: Run) -> None:
    done = compare("good0.mg", "good1.mg", "--fail-if", "pld > +0.005")
    assert done.returncode == 0
    assert "write 'pld/mean not within 0.005'" in done.stderr
    assert compare("good0.mg", "good1.mg", "--fail-if", "pld > +0.005", "--quiet").stderr == ""


def test_a_gate_says_if_it_passes_because_nothing_is_decided(compare: Run) -> None:
    done = compare("good0.mg", "good1.mg", "--fail-if", "pld > -0.5 and decided")
    difference = json.loads(compare("good0.mg", "good1.mg", "--json").stdout)["differences"][0]
    assert difference["classes"]["mean"]["pld"]["decided"] is False
    assert done.returncode == 0
    assert "passes because it cannot be decided" in done.stderr
