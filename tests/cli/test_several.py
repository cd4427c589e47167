"""``compare`` and ``sweep``."""

import csv
import io
import json
import re
from pathlib import Path

from tests.cli.conftest import Run

import mapgauge as mg


def test_compare_prints_values_and_differences_with_intervals(call: Run) -> None:
    done = call("compare", "good.mg", "poor.mg")
    assert done.returncode == 0
    assert "mean (paper-60x30), with intervals of 95% from 1000 draws of 2 scenes" in done.stdout
    assert re.search(r"^good +0\.\d{3} \[0\.\d{3}, [01]\.\d{3}\]", done.stdout, re.M)
    assert re.search(r"^PLD +\+0\.\d{3} \[[+-]\d\.\d{3}, \+\d\.\d{3}\]  +too few scenes to decide$", done.stdout, re.M)
    told = " ".join(done.stdout.split())
    assert "2 scenes are too few to decide which method is better. Evaluate at least 5 scenes" in told


def test_sentences_of_compare_fit_80_columns_in_a_pipe(call: Run) -> None:
    other = "poor.mg,name=a_method_with_a_long_name"
    text = call("compare", "good.mg", other, "--correction", "holm").stdout
    rows = re.compile(r"\S {2,}\S")  # of tables, which have their full width in a pipe
    assert all(rows.search(line) for line in text.splitlines() if len(line) > 80)
    assert "Whether a_method_with_a_long_name or good is better cannot be told: 2 scenes are\n  too few;" in text
    assert "  least 5 scenes\n" in text


def test_compare_of_a_method_with_itself_cannot_be_told_apart(call: Run, world: Path, tmp_path: Path) -> None:
    (tmp_path / "again.mg").write_bytes((world / "good.mg").read_bytes())
    done = call("compare", "good.mg", tmp_path / "again.mg", "--classes", "divider", "--samples", "10")
    assert "again minus good, divider" in done.stdout
    assert done.stdout.count("too few scenes to decide") == 5


def test_five_scenes_have_verdicts_and_their_number(call: Run, tmp_path: Path) -> None:
    truth = mg.MapFrames.of({token: {"divider": [[[0, 0], [9, 0]]]} for token in "abcdef"})
    for name, confidence in (("one", 0.5), ("two", 0.5), ("three", 0.9)):
        results = mg.evaluate(truth.with_confidence(confidence), truth, scenes={token: token for token in "abcdef"})
        results.save(tmp_path / f"{name}.mg")
    done = call("compare", "one.mg", "two.mg", "--samples", "10", cwd=tmp_path)
    assert done.stdout.count("cannot be decided") == 5
    done = call("compare", "one.mg", "three.mg", "--samples", "10", "--correction", "holm", cwd=tmp_path)
    assert re.search(r"^PLD +-0\.400 \[-0\.400, -0\.400\]  +three is better$", done.stdout, re.M)
    text = " ".join(done.stdout.split())
    assert "22 differences tested, over all classes and values. The verdicts have Holm's" in text
    done = call("compare", "one.mg", "--correction", "all", cwd=tmp_path)
    assert (done.returncode, "must be none or holm, got 'all'" in done.stderr) == (2, True)


def test_one_scene_has_null_for_its_interval(call: Run, tmp_path: Path) -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    for name, confidence in (("one", 0.5), ("two", 0.9)):
        mg.evaluate(truth.with_confidence(confidence), truth, scenes={"a": "x"}).save(tmp_path / f"{name}.mg")
    found = json.loads(call("compare", "one.mg", "two.mg", "--json", cwd=tmp_path).stdout)
    assert found["estimates"]["one"]["mean"]["pld"] == {"value": 0.5, "low": None, "high": None}
    difference = found["differences"][0]["classes"]["mean"]["pld"]
    assert {key: difference[key] for key in ("low", "high", "decided", "p")} == dict.fromkeys(
        ("low", "high", "decided", "p")
    )
    assert (found["tested"], found["correction"]) == (0, "none")
    assert any("only one scene" in note for note in found["notes"])
    text = call("compare", "one.mg", "two.mg", cwd=tmp_path).stdout
    assert "0.500" in text
    assert "[" not in text  # a value without an interval stands alone


def test_compare_leaves_out_classes_that_not_all_methods_have(call: Run, tmp_path: Path) -> None:
    line = [[[0, 0], [9, 0]]]
    truth = mg.MapFrames.of({"a": {"divider": line}, "b": {}})
    more = mg.MapFrames.of({"a": {"divider": line, "boundary": line}}).with_confidence(0.9)
    for name, predictions in (("one", truth.with_confidence(0.5)), ("two", more)):
        mg.evaluate(predictions, truth).save(tmp_path / f"{name}.mg")
    done = call("compare", "one.mg", "two.mg", "--classes", "all", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^(\w+) \(paper-60x30\), with no intervals", done.stdout, re.M) == ["divider", "mean"]


def test_comparisons_in_json_have_the_numbers_of_python(call: Run, world: Path) -> None:
    found = json.loads(call("compare", "good.mg,name=A", "poor.mg,name=B", "--samples", "50", "--json").stdout)
    assert set(found) == {
        *("names", "protocol", "drawn", "units", "samples", "level", "correction", "tested", "notes"),
        *("estimates", "differences", "answer", "results"),
    }
    results = [mg.load_results(world / f"{name}.mg") for name in ("good", "poor")]
    comparison = mg.compare(results, names=["A", "B"], samples=50)
    assert found["answer"] == json.loads(json.dumps(mg.answer(results, names=["A", "B"]).to_dict()))
    assert found["estimates"]["A"]["divider"]["pld"] == comparison.estimates[0]["divider"]["pld"]._asdict()
    (difference,) = found["differences"]
    assert (difference["first"], difference["second"]) == ("A", "B")
    assert difference["classes"]["mean"]["pld"] == comparison.differences["A", "B"]["mean"]["pld"]._asdict()
    assert difference["classes"]["mean"]["pld"]["decided"] is None  # two scenes


def test_comparisons_have_csv_and_latex(call: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(call("compare", "good.mg", "poor.mg", "--csv", "--samples", "9").stdout)))
    numbers = ["value", "low", "high", "decided", "p", "error", "freedom"]
    assert list(rows[0]) == ["name", "protocol", "minus", "class", "key", *numbers]
    assert {(row["name"], row["minus"]) for row in rows} == {("good", ""), ("poor", ""), ("poor", "good")}
    latex = call("compare", "good.mg", "poor.mg", "--latex", "--samples", "9").stdout
    lines = [line for line in latex.splitlines() if line.endswith(r"\\")]
    assert [line.count("&") for line in lines] == [5, 5, 5, 5]
    assert r"\mathbf{" in lines[2]
    assert re.search(r"\$\d\d\.\d\$ \{\\scriptsize \[\d+\.\d, \d+\.\d\]\}", lines[3])  # in percent, with its interval
    both = call("compare", "good.mg", "poor.mg", "--latex", "--samples", "9", "--classes", "divider,mean").stdout
    assert both.count(r"\begin{tabular}{@{}lcccccccccc@{}}") == 1


def test_sweep_has_a_row_per_setting(call: Run) -> None:
    settings = ("--cutoff", "0.5,1.5", "--vary", "spacing=0.5", "--vary", "count=20", "--vary", "region=60x30,30x30")
    done = call("sweep", "good.json", "truth.geojson", "--metrics", "pld", *settings)
    assert done.returncode == 0, done.stderr
    rows = [line.split("  ") for line in done.stdout.splitlines() if line[:5] in ("60x30", "30x30")]
    found = [tuple(cell.strip() for cell in row if cell.strip())[:3] for row in rows]
    assert found == [
        (region, sampling, cutoff)
        for region in ("60x30, cropped", "30x30, cropped")
        for sampling in ("0.5 m", "N = 20")
        for cutoff in ("0.5 m", "1.5 m")
    ]


def test_sweeps_of_several_predictions_in_json_are_one_list(call: Run, world: Path) -> None:
    done = call("sweep", "good.json", "poor.json", "truth.geojson", "--cutoff", "0.5", "--cutoff", "1.5", "--json")
    rows = json.loads(done.stdout)
    assert [(row["name"], row["cutoff"]) for row in rows] == [
        (name, cutoff) for name in ("good", "poor") for cutoff in (0.5, 1.5)
    ]
    assert set(rows[0]) >= {"region", "spacing", "count", "pld", "localisation", "detection", "ap_chamfer"}
    assert rows[3]["pld"] == mg.load_results(world / "poor.mg").mean["pld"]


def test_sweeps_have_csv_latex_and_a_figure(call: Run, tmp_path: Path) -> None:
    arguments = ("sweep", "good.json", "truth.geojson", "--cutoff", "0.5,1.5", "--metrics", "pld")
    done = call(*arguments, "--csv", "--figure", tmp_path / "cutoffs.svg")
    assert [row["region"] for row in csv.DictReader(io.StringIO(done.stdout))] == ["60x30", "60x30"]
    assert "<svg" in (tmp_path / "cutoffs.svg").read_text(encoding="utf-8")
    assert r"60x30 & 0.5 m & 0.5 m & $0." in call(*arguments, "--latex").stdout


def test_sentences_after_the_tables_have_the_name_of_their_method(call: Run, world: Path, tmp_path: Path) -> None:
    for name in ("good.json", "poor.json", "truth.geojson"):
        (tmp_path / name).write_bytes((world / name).read_bytes())
    turned = mg.read(world / "good.json").rotate(90)
    mg.write(turned, tmp_path / "turned.json", "streammapnet")
    done = call("evaluate", "turned.json", "good.json", "poor.json", "truth.geojson", cwd=tmp_path)
    assert "error" in done.stdout + done.stderr
    text = " ".join(done.stdout.split())
    assert "turned: do not trust these numbers: the predictions are turned" in text
    assert re.search(r"good finds \d\d % of the map, 0\.\d\d m beside it; poor \d\d %, 0\.\d\d m \(medians\)", text)
    assert "turned finds" not in text
    assert "turned: Finds" not in text
