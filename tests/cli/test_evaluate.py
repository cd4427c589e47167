import csv
import io
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import FRAMES, Run
from tests.shared_data import PARITY
from tests.widths import columns_of

import mapgauge as mg
from mapgauge.demo import demo_world

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "json-output.md"

TOP = {
    "name",
    "mapgauge",
    "date",
    "metadata",
    "digest",
    "protocol",
    "inputs",
    "frames",
    "classes",
    "mean",
    "without_value",
    "findings",
}
PLD = {
    *("pld", "localisation", "detection", "matched_points", "unmatched_points", "confidence", "missed", "false"),
    *("localisation_by_instances", "detection_by_instances", "pld_frame_mean"),
}


def test_tables_have_a_row_per_class(call: Run, world: Path) -> None:
    done = call("evaluate", "good.json", "truth.geojson", "--tables")
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith(f"good.json against truth.geojson: {FRAMES} frames, 2 scenes, paper-60x30\n")
    results = mg.load_results(world / "good.mg")
    for metric in ("PLD", "Chamfer-AP", "Fréchet-AP"):
        assert len(re.findall(rf"^{metric}, (?:lower|higher) is better \(paper-60x30; ", done.stdout, re.M)) == 1
    for name in ("ped_crossing", "divider", "boundary", "mean"):
        assert len(re.findall(rf"^{name} ", done.stdout, re.M)) == 4  # also in the compact table
    assert re.search(rf"^mean +{results.mean['pld']:.3f} +{results.mean['localisation']:.3f} ", done.stdout, re.M)
    assert f"{FRAMES} frames evaluated; 0 missing" in done.stdout


def test_text_takes_no_hashes_of_the_inputs(call: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("hashes take as long as reading, and the text has none")

    monkeypatch.setattr("mapgauge.results.values.content_hash", refused)
    done = call("evaluate", "good.json", "truth.geojson")
    assert done.returncode == 0
    assert "Finds " in done.stdout


def test_json_has_the_documented_keys_and_the_numbers_of_python(call: Run, world: Path) -> None:
    done = call("evaluate", "good.json", "truth.geojson", "--json")
    found = json.loads(done.stdout)
    results = mg.load_results(world / "good.mg")
    said = mg.answer(mg.evaluate(world / "good.json", world / "truth.geojson"), names=["good"])
    assert found.pop("answer") == json.loads(json.dumps(said.to_dict()))
    assert found == {"name": "good"} | json.loads(json.dumps(results.to_dict() | {"inputs": found["inputs"]}))
    assert set(found) == TOP
    assert set(found["inputs"]) == {"predictions", "truth"}
    assert set(found["inputs"]["truth"]) == {"name", "format", "frames", "counts", "hash", "history"}
    assert found["inputs"]["truth"]["history"][0]["arguments"]["path"] == "truth.geojson"
    assert found["inputs"]["truth"]["hash"] == results.inputs[1].hash
    assert set(found["frames"]) == {"evaluated", "missing", "ignored", "without_truth"}
    precisions = {key for key in results.mean if key.startswith("ap_")}
    assert {key.partition("@")[0] for key in precisions} == {"ap_chamfer", "ap_frechet"}
    assert len(precisions) == 8
    assert set(found["mean"]) == PLD | precisions
    assert set(found["classes"]) == {"ped_crossing", "divider", "boundary"}
    for values in found["classes"].values():
        assert set(values) == PLD | precisions | {"predictions", "truth"}


def test_every_key_of_the_json_is_on_its_page() -> None:
    documented = set(re.findall(r"`([a-z_]+)`", PAGE.read_text(encoding="utf-8")))
    assert documented >= TOP | PLD | {
        "predictions",
        "truth",
        "hash",
        "history",
        "without_truth",
        "decided",
        "empty_frames",
    }


def test_json_of_several_predictions_is_a_list(call: Run) -> None:
    done = call("evaluate", "good.json", "poor.json", "truth.geojson", "--json", "--metrics", "pld")
    good, poor = json.loads(done.stdout)
    assert (good["name"], poor["name"]) == ("good", "poor")
    assert good["mean"]["pld"] < poor["mean"]["pld"]
    assert set(good["mean"]) == PLD


def test_several_predictions_get_their_rows_and_names(call: Run) -> None:
    done = call("evaluate", "good.json,name=A", "poor.json,name=B", "truth.geojson", "--metrics", "pld", "--tables")
    assert re.findall(r"^([AB]) +0\.", done.stdout, re.M) == ["A", "B"]
    assert re.findall(r"^([AB])  +([a-z]\w+) ", done.stdout, re.M) == [
        (name, row) for name in "AB" for row in ("ped_crossing", "divider", "boundary", "mean")
    ]


def test_csv_has_all_values_in_full(call: Run, world: Path) -> None:
    done = call("evaluate", "good.json", "poor.json", "truth.geojson", "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["name"], row["class"]) for row in rows][3:5] == [("good", "mean"), ("poor", "ped_crossing")]
    results = mg.load_results(world / "poor.mg")
    assert float(rows[-1]["pld"]) == results.mean["pld"]
    assert rows[-1]["predictions"] == ""
    assert set(rows[0]) == {"name", "protocol", "class", *results.classes["divider"]}


def test_latex_has_the_layout_of_the_paper(call: Run, world: Path) -> None:
    done = call("evaluate", "good.json", "poor.json", "truth.geojson", "--latex", "--metrics", "pld,ap_chamfer")
    assert done.stdout.count(r"\begin{tabular}{@{}lcccc@{}}") == 1
    first, second, good, poor = (line for line in done.stdout.splitlines() if line.endswith(r"\\"))
    assert first == r" & PLD $\downarrow$ & Loc & Det & Chamfer- \\"
    assert second == r" &  &  &  & AP [\%] $\uparrow$ \\"
    mean = mg.load_results(world / "good.mg").mean
    assert good.startswith(rf"good & $\mathbf{{{mean['pld']:.3f}}}$ & ${mean['localisation']:.3f}$ & ")
    assert good.endswith(rf" & $\mathbf{{{100 * (mean['ap_chamfer'] or 0):.1f}}}$ \\")  # average precision in percent
    assert r"\mathbf" not in poor


def test_latex_can_have_a_column_per_class(call: Run) -> None:
    command = ("evaluate", "good.json", "poor.json", "truth.geojson", "--latex", "--by", "class")
    done = call(*command, "--metrics", "pld,ap_chamfer")
    groups, classes, rest, good, poor = (line for line in done.stdout.splitlines() if line.endswith(r"\\"))
    assert groups == (r" & \multicolumn{4}{c}{PLD $\downarrow$} & \multicolumn{4}{c}{Chamfer-AP [\%] $\uparrow$} \\")
    assert r"\cmidrule(lr){2-5} \cmidrule(lr){6-9}" in done.stdout
    assert classes.startswith(r" & ped & divider & boundary & mean & ped ")  # spelled as in figures
    assert rest.startswith(r" & crossing &  &  &  & crossing ")
    assert (good.count(r"\mathbf"), poor.count(r"\mathbf")) == (8, 0)  # the good detector is better everywhere


def test_settings_reach_the_protocol(call: Run) -> None:
    command = "evaluate good.json truth.geojson --json --cutoff 0.5,1.5 --set spacing=1 --classes divider"
    options = "--ranges 0,15,30 --metrics pld --workers 1"
    found = json.loads(call(*f"{command} {options}".split()).stdout)
    assert found["protocol"]["cutoffs"] == [1.5, 0.5]
    assert found["protocol"]["spacing"] == 1
    assert found["protocol"]["full_name"] == "paper-60x30, classes divider, spacing 1 m, cutoff 1.5 m, also 0.5 m"
    assert list(found["classes"]) == ["divider"]
    assert len({key for key in found["mean"] if key.startswith("pld@")}) == 2
    assert {key for key in found["mean"] if key.startswith("pld:")} == {"pld:0-15m", "pld:15-30m"}


def test_a_count_takes_the_place_of_the_spacing_and_a_cutoff_brings_pld(call: Run) -> None:
    done = call(
        "evaluate",
        "good.json",
        "truth.geojson",
        "-p",
        "streammapnet-60x30",
        "-c",
        "1.5",
        "--set",
        "count=50",
        "--tables",
    )
    name = "streammapnet-60x30, count 50, cutoff 1.5 m"
    assert f"PLD, lower is better ({name}; cutoff 1.5 m, order 1, 50 points per polyline)" in done.stdout


def test_results_are_kept_and_the_report_is_written(call: Run, tmp_path: Path) -> None:
    output, page = tmp_path / "results.mg", tmp_path / "page.html"
    done = call("evaluate", "good.json", "truth.geojson", "-o", output, "--report", page, "--json")
    assert done.returncode == 0, done.stderr
    assert mg.load_results(output).mean == json.loads(done.stdout)["mean"]
    assert page.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")
    assert done.stderr.splitlines() == [f"mapgauge: results in {output}", f"mapgauge: report in {page}"]


def test_results_of_several_predictions_go_to_a_folder(call: Run, tmp_path: Path) -> None:
    done = call("evaluate", "good.json", "poor.json", "truth.geojson", "-o", tmp_path / "new" / "folder", "--csv")
    assert done.returncode == 0
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == ["good.mg", "poor.mg"]


def test_scenes_may_come_from_a_file(call: Run, world: Path, tmp_path: Path) -> None:
    truth = mg.read(world / "truth.geojson")
    scenes = {token: f"half {k % 2}" for k, token in enumerate(truth.tokens)}
    (tmp_path / "scenes.json").write_text(json.dumps(scenes), encoding="utf-8")
    output = tmp_path / "results.mg"
    call("evaluate", "good.json", f"truth.geojson,scenes={tmp_path / 'scenes.json'}", "-o", output)
    assert mg.load_results(output).scenes == tuple(scenes.values())


def test_frames_missing_and_ignored_are_counted(call: Run, world: Path, tmp_path: Path) -> None:
    truth = mg.read(world / "truth.geojson")
    mg.write(mg.read(world / "good.json").at(range(1, FRAMES)), tmp_path / "fewer.json", "streammapnet")
    mg.write(truth.at(range(FRAMES - 2)), tmp_path / "fewer.geojson")
    arguments = ("evaluate", tmp_path / "fewer.json", tmp_path / "fewer.geojson")
    refused = call(*arguments, "--json")
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert "2 of 19 predicted frames are not in the truth" in refused.stderr
    assert "pass --ignore-unknown to leave them out" in refused.stderr
    assert json.loads(call(*arguments, "--json", "--ignore-unknown").stdout)["frames"] == {
        "evaluated": FRAMES - 2,
        "missing": 1,
        "ignored": 2,
        "without_truth": 0,
    }


def test_turned_axes_are_told_with_the_option_that_helps(call: Run) -> None:
    predictions, truth = PARITY / "nuscmap_results_good.json.gz", PARITY / "tmp_gts_demo_60x30.pkl"
    arguments = ("evaluate", predictions, truth, "--metrics", "pld")
    done = call(*arguments)
    text = " ".join(done.stdout.split())
    assert "error: do not trust these numbers: the predictions are turned by 90 degrees" in text
    assert f"Use {predictions},rotate=-90" in text
    assert text.count("turned by 90 degrees") == 1  # the answer does not repeat it
    assert done.stderr == "mapgauge: 1 of the findings above is an error: do not trust the numbers\n"
    quiet = call(*arguments, "--csv")
    assert quiet.stderr.startswith("error: the predictions are turned by 90 degrees")
    turned = json.loads(call("evaluate", f"{predictions},rotate=-90", *arguments[2:], "--json").stdout)
    assert turned["mean"]["pld"] == pytest.approx(0.8245, abs=5e-5)
    assert not [finding for finding in turned["findings"] if finding["level"] != "note"]


@pytest.mark.parametrize("workers", [1, 2])
def test_both_files_are_read_and_the_truth_has_the_first_word(call: Run, tmp_path: Path, workers: int) -> None:
    broken = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in broken:
        path.write_text(
            '{"results": {"token": {"vectors": [[[0, 1], [2]]], "scores": [1], "labels": [1]}}}', encoding="utf-8"
        )
    done = call("evaluate", *broken, "--workers", workers)
    assert (done.returncode, done.stdout) == (1, "")
    assert str(broken[1]) in done.stderr
    done = call("evaluate", broken[0], "truth.geojson", "--workers", workers)
    assert (done.returncode, done.stdout) == (1, "")
    assert str(broken[0]) in done.stderr


def test_truth_without_instances_fails(call: Run, world: Path, tmp_path: Path) -> None:
    truth = mg.read(world / "truth.geojson")
    mg.write(truth.keep(np.zeros(len(truth.polylines), np.bool_)), tmp_path / "nothing.geojson")
    done = call("evaluate", "good.json", tmp_path / "nothing.geojson", "--metrics", "pld")
    assert done.returncode == 1
    assert "mapgauge: failed: the truth has no instances to compare with" in done.stderr


def test_a_confidence_outside_its_range_is_named_with_its_frame(call: Run, world: Path, tmp_path: Path) -> None:
    frames = mg.read(world / "good.json")
    assert frames.confidence is not None
    values = frames.confidence.copy()
    values[frames.offsets[3]] = 1.5
    mg.write(replace(frames, confidence=values), tmp_path / "odd.geojson")
    done = call("evaluate", tmp_path / "odd.geojson", "truth.geojson")
    assert done.returncode == 1
    assert f"frame {frames.tokens[3]}, instance 0 (" in done.stderr
    assert "confidence 1.5, expected a number in [0, 1]" in done.stderr


def test_text_fits_80_columns_and_is_the_same_for_any_number_of_frames(call: Run) -> None:
    name = "a_method_with_a_name_of_about_sixty_columns_that_is_very_long"
    files = ("good.json", f"poor.json,name={name}", "good.json,certain,name=車線の検出器", "truth.geojson")
    for count in (1, 2, 3):
        done = call("evaluate", *files[:count], files[-1], "--ranges", "0,10,20,30")
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert max(map(columns_of, lines)) <= 80
        assert len(lines) <= 32
        assert done.stdout.count("--notes prints") == 1


def test_long_names_of_classes_stay_apart(call: Run, world: Path, tmp_path: Path) -> None:
    for name in ("good.json", "truth.geojson"):
        frames = mg.read(world / name)
        classes = tuple(f"class_{k}_of_things_that_are_painted_on_the_road" for k in range(len(frames.classes)))
        mg.write(replace(frames, classes=classes), (tmp_path / name).with_suffix(".geojson"), "geojson")
    classes_given = ",".join(f"class_{k}_of_things_that_are_painted_on_the_road" for k in range(3))
    done = call("evaluate", tmp_path / "good.geojson", tmp_path / "truth.geojson", "--classes", classes_given)
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^(class_\S*…\S*) +0\.\d{3}", done.stdout, re.M)
    assert len(set(rows)) == 3
    table = done.stdout[done.stdout.index("class   ") :].split("\n")
    assert max(map(columns_of, table[:5])) <= 80


def test_a_metric_without_values_of_frames_names_no_worst_frame(call: Run) -> None:
    done = call("evaluate", "good.json", "truth.geojson", "--metrics", "ap_chamfer")
    assert done.returncode == 0, done.stderr
    assert "Chamfer-AP is 0.737 (mean over classes)." in done.stdout
    assert "Worst frame" not in done.stdout


def test_notes_are_counted_unless_they_are_asked_for(call: Run, world: Path) -> None:
    plain = call("evaluate", "good.json", "truth.geojson", "--metrics", "pld").stdout
    count = int(re.search(r"^(\d+) notes? about the input: --notes prints", plain, re.M)[1])  # type: ignore[index]
    noted = call("evaluate", "good.json", "truth.geojson", "--metrics", "pld", "--notes").stdout
    assert len(re.findall("^note: ", noted, re.M)) == count
    assert "note: " not in plain
    digest = mg.evaluate(mg.read(world / "good.json"), mg.read(world / "truth.geojson")).inputs[1].hash
    assert f"Digest of the truth: {digest}. Print it with your values" in " ".join(noted.split())
    assert digest not in plain


@pytest.mark.parametrize("form", ["--json", "--csv", "--latex"])
def test_tables_and_notes_are_accepted_beside_forms_that_have_none(call: Run, form: str) -> None:
    command = ["evaluate", "good.json", "truth.geojson", "--metrics", "pld", "--metadata", "date=2026-11-03", form]
    plain = call(*command)
    asked = call(*command, "--tables", "--notes")
    assert asked.returncode == 0
    assert asked.stdout == plain.stdout


def test_a_prior_is_refused_at_once_where_no_feature_compares_with_it(
    call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mapgauge.cli.evaluate.prior_tables", lambda: None)
    done = call("evaluate", "nowhere.json", "truth.geojson", "--prior", "truth.geojson")
    assert done.returncode == 2
    assert "no feature that compares with a prior map" in " ".join(done.stderr.split())


def test_a_cutoff_is_accepted_for_a_metric_that_takes_the_first_one(call: Run) -> None:
    command = ["evaluate", "good.json", "truth.geojson", "--set", "ap_sospa.thresholds=0.5", "--metrics", "ap_sospa"]
    near, far = (json.loads(call(*command, "-c", cutoff, "--json").stdout)["mean"]["ap_sospa"] for cutoff in (0.5, 5))
    assert near < far


def test_the_command_for_the_worst_frame_draws_it(call: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = call("evaluate", "good.json", "truth.geojson", "--metrics", "pld")
    words = command_in(done.stdout)
    drawn = call(*words[:-1], tmp_path / words[-1])
    assert drawn.returncode == 0, drawn.stderr
    assert (tmp_path / words[-1]).exists()


def command_in(text: str) -> list[str]:
    """The words after ``mapgauge`` of the command that draws the worst frame, as a shell takes them."""
    (command,) = re.findall(r"^  mapgauge (show (?:.*\\\n)*.*)$", text, re.M)
    return shlex.split(command.replace("\\\n", ""))


@pytest.fixture
def long_names(world: Path, tmp_path: Path) -> Path:
    """A folder with a space in its name, and files with long names, whose frames have the tokens of Argoverse 2."""
    folder = tmp_path / "results of the night"
    folder.mkdir()
    log = "7fab2350-7eaf-3b7e-a39d-6937a4c1bede"
    for name in ("good.json", "truth.geojson"):
        frames = mg.read(world / name)
        tokens = tuple(f"{log}_{315966258772412943 + 10**8 * k}" for k in range(len(frames)))
        path = folder / f"model_with_a_long_name_epoch_24_{name}"
        suffix_format = {".json": "streammapnet", ".geojson": "geojson"}[path.suffix]
        mg.write(replace(frames, tokens=tokens, scenes=None), path, suffix_format)
    return folder


@pytest.mark.parametrize("saved", [True, False])
@pytest.mark.parametrize("options", [[], ["-p", "maptr", "--metrics", "pld,ap_chamfer", "--cutoff", "1"]])
def test_the_command_for_the_worst_frame_fits_80_columns_and_is_true_for_long_names(
    call: Run, long_names: Path, *, saved: bool, options: list[str]
) -> None:
    pytest.importorskip("matplotlib")
    output = ["-o", long_names / "a name with spaces.mg"] if saved else []
    files = sorted(long_names.iterdir())
    done = call("evaluate", *files, *options, *output)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if long_names.name not in line]  # a folder of the tests is long
    assert max(map(columns_of, lines)) <= 80
    predictions, truth = files
    results = mg.evaluate(predictions, truth) if not options else None
    words = command_in(done.stdout)
    if options and not saved:
        # `show` of the files would use other settings.
        assert words[:2] == ["show", "results.mg"]
        assert re.search(r"To draw it,\s+evaluate with -o results\.mg,\s+then:", done.stdout)
        return
    drawn = call(*words[:-1], long_names / words[-1])
    assert drawn.returncode == 0, drawn.stderr
    value = re.search(r"Worst frame \(PLD ([\d.]+)\)", done.stdout)[1]  # type: ignore[index]
    assert results is None or value == f"{results.frames()[0]['pld']:.3f}"
    assert re.search(rf"\bpld\b.* {value}\b", drawn.stdout)


def test_the_worst_frame_is_the_first_of_the_list_of_frames(call: Run, world: Path, tmp_path: Path) -> None:
    predictions = mg.read(world / "good.json")
    empty = predictions.tokens[3]  # a frame without predictions has the worst value, and is listed apart
    kept = [k for k, token in enumerate(predictions.tokens) if token != empty]
    mg.write(predictions.at(kept), tmp_path / "some.json", "streammapnet")
    done = call("evaluate", tmp_path / "some.json", "truth.geojson", "--metrics", "pld", "-o", tmp_path / "r.mg")
    first = call("frames", tmp_path / "r.mg", "--tokens", "--worst", "1").stdout.strip()
    assert first != empty
    words = command_in(done.stdout)
    assert call(*words[:-1], tmp_path / words[-1]).stdout.startswith(f"{first}, ")


def test_the_worst_of_chosen_frames_is_named(call: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    best = call("frames", "good.mg", "--tokens").stdout.split()[-1]
    (tmp_path / "few.txt").write_text(best, encoding="utf-8")
    done = call("evaluate", "good.json", "truth.geojson", "--metrics", "pld", "--tokens", tmp_path / "few.txt")
    words = command_in(done.stdout)
    assert call(*words[:-1], tmp_path / words[-1]).stdout.startswith(f"{best}, ")


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that ``mapgauge demo`` writes for 50 frames of 5 scenes, which are enough for intervals."""
    folder = tmp_path_factory.mktemp("scenes")
    for quality in ("good", "poor"):
        predictions, truth = demo_world(50, quality=quality)
        mg.write(predictions, folder / f"{quality}.json", "streammapnet")
    mg.write(truth, folder / "truth.geojson")
    return folder


@pytest.mark.needs_feature("confidence")  # which says how to lower PLD
@pytest.mark.parametrize(("methods", "most"), [(["good.json"], 16), (["good.json", "poor.json"], 18)])
@pytest.mark.parametrize("ranges", [[], ["--ranges", "0,10,20,30"]])
def test_a_usual_run_takes_about_15_lines(
    call: Run, scenes: Path, methods: list[str], most: int, ranges: list[str]
) -> None:
    done = call("evaluate", *methods, "truth.geojson", *ranges, cwd=scenes)
    lines = done.stdout.splitlines()
    assert len(lines) <= most + bool(ranges)
    assert max(map(columns_of, lines)) <= 80
    for part in (
        "against truth.geojson: 50 frames, 5 scenes",
        " PLD  parts ",
        "to lower PLD to",
        "Worst frame",
        "notes",
    ):
        assert part in done.stdout
    assert ("PLD by distance: 0 to 10 m" in done.stdout) == (bool(ranges) and len(methods) == 1)
