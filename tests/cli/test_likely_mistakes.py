"""What the command line says to somebody who uses it for the first time and mistypes something."""

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg


def test_results_in_a_file_with_another_suffix_are_results(call: Run, world: Path, tmp_path: Path) -> None:
    shutil.copy(world / "good.mg", tmp_path / "out.txt")
    done = call("compare", tmp_path / "out.txt", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["names"] == ["out"]
    refused = call("evaluate", tmp_path / "out.txt", "truth.geojson")
    assert "these are results, expected predictions or truth" in refused.stderr


def test_a_misspelt_key_at_the_top_is_named_with_the_right_one(call: Run, world: Path, tmp_path: Path) -> None:
    document = json.loads((world / "good.json").read_text(encoding="utf-8"))
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps({"meta": document["meta"], "result": document["results"]}), encoding="utf-8")
    done = call("inspect", wrong)
    assert "unknown format: JSON with the keys meta, result at its top. Did you mean results?" in done.stderr


def test_of_many_keys_at_the_top_the_first_are_named(call: Run, tmp_path: Path) -> None:
    file = tmp_path / "many.json"
    file.write_text(json.dumps({f"key{k}": {"inner": 1} for k in range(20)}), encoding="utf-8")
    said = call("inspect", file).stderr
    assert "JSON with the keys key0, key1, key2, key3, key4, key5, key6, key7, ... at its top. Known: " in said


@pytest.mark.parametrize("text", ['{"a":' * 50_000, '[{"token": 1}]', '{"a": 1'])
def test_a_damaged_document_has_no_top_and_is_refused_in_one_line(call: Run, tmp_path: Path, text: str) -> None:
    file = tmp_path / "damaged.json"
    file.write_text(text, encoding="utf-8")
    done = call("inspect", file)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"{file}: " in done.stderr


def test_a_misspelt_option_of_the_command_comes_before_those_of_others(call: Run) -> None:
    said = call("evaluate", "good.json", "truth.geojson", "--metric", "pld").stderr
    assert "No such option: --metric" in said
    assert "--metrics" in said
    assert "option of plot" not in said
    assert "It is an option of frames" in call("compare", "good.mg", "--like", "a").stderr


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("papper", "paper-60x30"),
        ("paper-60x31", "paper-60x30"),
        pytest.param("openlane", "openlanev2", marks=pytest.mark.needs_feature("openlane")),
    ],
)
def test_the_nearest_protocol_comes_before_the_list(call: Run, given: str, meant: str) -> None:
    said = call("evaluate", "good.json", "truth.geojson", "-p", given).stderr
    assert f"unknown protocol '{given}'. Did you mean {meant}? Known: paper-60x30, " in said


def test_a_protocol_that_is_near_to_none_gets_the_list(call: Run) -> None:
    said = call("evaluate", "good.json", "truth.geojson", "-p", "bla").stderr
    assert "unknown protocol 'bla'. Known: paper-60x30, " in said


def test_a_folder_names_the_files_in_it_and_recommends_none(call: Run, world: Path, tmp_path: Path) -> None:
    for name in ("frames.json", "notes.txt"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    for words in (("evaluate", tmp_path, "truth.geojson"), ("inspect", tmp_path)):
        said = call(*words).stderr
        assert "this is a directory, expected a file. Give one file. The files in it: frames.json, notes.txt" in said
        assert "such as" not in said


def test_poses_as_last_file_are_named(call: Run, world: Path, tmp_path: Path) -> None:
    truth = mg.read(world / "truth.geojson")
    poses = {token: [1.0, 2.0, 0.0] for token in truth.tokens}
    file = tmp_path / "frames.json"
    entries = [{"token": token, "translation": [1, 2, 0], "rotation": [1, 0, 0, 0]} for token in poses]
    file.write_text(json.dumps({"poses": entries}), encoding="utf-8")
    for words in (("evaluate",), ("show", "-o", tmp_path / "a.svg")):
        done = call(words[0], "good.json", "truth.geojson", file, *words[1:])
        assert done.returncode == 1
        assert f"{file}: this is a file of poses, expected the truth, which is the last file" in done.stderr
        assert f"Poses are an option of the truth: truth.geojson,poses={file}" in done.stderr
    alone = call("evaluate", "good.json", file)
    assert f"TRUTH,poses={file}" in alone.stderr


def test_one_file_as_predictions_and_as_truth_is_named(call: Run) -> None:
    said = " ".join(call("evaluate", "good.json", "good.json").stdout.split())
    assert "warning: predictions and truth are identical, also in their confidences: the same file" in said
    other = " ".join(call("evaluate", "poor.json", "good.json").stdout.split())
    assert "are identical" not in other


def test_text_that_begins_with_a_digit_needs_quotes(call: Run) -> None:
    said = call("frames", "good.mg", "--where", "scene = 7fab").stderr
    assert "7fab is not a number. Put text in quotes: '7fab'" in said


def test_the_repr_of_results_counts_errors_and_warnings(world: Path) -> None:
    plain = mg.evaluate(world / "good.json", world / "truth.geojson", metrics=["pld"])
    assert repr(plain) == f"<Results paper-60x30: 20 frames, mean pld {plain.mean['pld']:.3f}>"
    turned = mg.evaluate(mg.read(world / "good.json").rotate(90), world / "truth.geojson", metrics=["pld"])
    levels = [finding.level for finding in turned.findings]
    assert levels.count("error") == 1
    assert "; findings: 1 error" in repr(turned)


def test_a_name_that_mapgauge_lacks_is_answered_with_the_nearest() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'load'. Did you mean load_results\?"):
        _ = mg.load  # type: ignore[attr-defined]


def test_latex_tables_say_how_many_frames_and_scenes_they_are_of(call: Run) -> None:
    evaluated = call("evaluate", "good.json", "poor.json", "truth.geojson", "--metrics", "pld", "--latex").stdout
    assert "\n% Evaluated: 20 frames, 2 scenes\n" in evaluated
    protocols = "paper-60x30,hard-60x30"
    several = call("evaluate", "good.json", "truth.geojson", "-p", protocols, "--latex").stdout
    assert "\n% Evaluated: 20 frames, 2 scenes\n" in several


def test_latex_tables_with_intervals_say_that_there_are_too_few_scenes(call: Run, tmp_path: Path) -> None:
    note = "% warning: 2 scenes are too few to decide which method is better"
    assert note in call("compare", "good.mg", "poor.mg", "--latex").stdout
    call("paper", "good.mg", "poor.mg", "-o", tmp_path / "paper", "--samples", "9")
    assert note in (tmp_path / "paper" / "intervals.tex").read_text(encoding="utf-8")


def test_why_says_that_its_lengths_are_means_over_classes(call: Run) -> None:
    said = " ".join(call("why", "good.mg", "poor.mg").stdout.split())  # sentences are wrapped
    assert said.count(" of the true length found (means over classes)") == 2


@pytest.mark.needs_feature("provenance")
def test_diff_shortens_tokens_as_tables_do(call: Run, tmp_path: Path) -> None:
    tokens = [f"7fab2350-7eaf-3b7e-a39d-6937a4c1bede_{315969258772412943 + k}" for k in range(8)]
    lines = {token: {"divider": [[[0, 0], [9, 0]]]} for token in tokens}
    settings = mg.protocol("paper-60x30", classes=["divider"])
    for name, kept in (("all", tokens), ("some", tokens[:4])):
        truth = mg.MapFrames.of(lines).of_tokens(kept)
        mg.evaluate(truth.with_confidence(1), truth, settings).save(tmp_path / f"{name}.mg")
    said = call("diff", tmp_path / "all.mg", tmp_path / "some.mg").stdout
    assert "4 (7fab2350…258772412947, 7fab2350…258772412948, 7fab2350…258772412949, ...)" in said
    assert tokens[4] not in said


def test_convert_says_which_axis_points_forward_in_files_of_the_format(call: Run, tmp_path: Path) -> None:
    x_forward = call("convert", "good.json", tmp_path / "x.json", "--to", "maptr")
    assert "note: x points forward, as in files of maptr on Argoverse 2. On nuScenes, y points" in x_forward.stderr
    y_forward = call("convert", "good.json,rotate=90", tmp_path / "y.json", "--to", "maptr")
    assert "points forward" not in y_forward.stderr
    turned = call("convert", tmp_path / "y.json", tmp_path / "wrong.json", "--to", "streammapnet")
    assert "warning: y points forward in these frames, and x in files of streammapnet" in turned.stderr
    assert "Write IN,rotate=-90" in turned.stderr
    right = call("convert", f"{tmp_path / 'y.json'},rotate=-90", tmp_path / "right.json", "--to", "streammapnet")
    assert "points forward" not in right.stderr
    original, back = mg.read(tmp_path / "x.json"), mg.read(tmp_path / "right.json")
    assert original.polylines.coords == pytest.approx(back.polylines.coords, abs=1e-6)
