"""``mapgauge suspects`` and the file it writes."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run, caller
from tests.features.suspects import road

import mapgauge as mg


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return caller(tmp_path, monkeypatch, capsys)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Files of two methods and of the truth. No test writes beside them."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(1)
    mg.write(road.wrong_truth(), folder / "truth.geojson")
    for name in ("A", "B"):
        mg.write(road.method(rng), folder / f"{name}.geojson")
    return [str(folder / f"{name}.geojson") for name in ("A", "B", "truth")]


def test_the_command_prints_the_sentence_the_places_and_how_to_draw_the_first(
    call: Run, files: list[str], tmp_path: Path
) -> None:
    text = call("suspects", *files).stdout
    assert max(map(len, text.splitlines()[:3])) <= 80
    assert text.startswith("3 places where the truth may be wrong: 1 true line that no method finds, ")
    assert "(32 frames, 2 methods)" in text
    assert "Suspicious places, those first where correcting the truth saves most" in text
    for words in ("not in truth  divider", "shifted       divider", "not found     boundary"):
        assert words in text
    assert "mean PLD with all of them corrected: A 0." in text
    drawing = text.partition("draw the first:\n  mapgauge ")[2].replace("\\\n", "")
    arguments = shlex.split(drawing)
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    call(*arguments[:-1], tmp_path / "frame.svg")
    assert (tmp_path / "frame.svg").exists()


def test_worst_bounds_the_table_and_not_the_sentence(call: Run, files: list[str]) -> None:
    text = call("suspects", *files, "--worst", "0").stdout
    assert text.startswith("3 places")
    assert "Suspicious places" not in text


def test_json_and_csv_have_all_places(call: Run, files: list[str]) -> None:
    document = json.loads(call("suspects", *files, "--json").stdout)
    assert document["names"] == ["A", "B"]
    assert document["has_poses"]
    assert {place["kind"] for place in document["places"]} == {"not_found", "not_in_truth", "shifted"}
    for place in document["places"]:
        assert (place["shift"] is None) == (place["kind"] != "shifted")
        assert len(place["tokens"]) == place["frames"] <= place["seen"]
    header, *rows = call("suspects", *files, "--csv").stdout.splitlines()
    assert header == "rank,kind,class_name,saved,frames,seen,length,x,y,shift,token"
    assert [row.split(",")[0] for row in rows] == ["1", "2", "3"]


def test_the_file_has_the_places(call: Run, files: list[str], tmp_path: Path) -> None:
    call("suspects", *files, "-o", str(tmp_path / "places.geojson"))
    document = json.loads((tmp_path / "places.geojson").read_text(encoding="utf-8"))
    assert len(document["features"]) == 3


def test_results_in_files_give_the_same(call: Run, files: list[str], tmp_path: Path) -> None:
    for name, file in zip("AB", files, strict=False):
        mg.evaluate(file, files[2]).save(tmp_path / f"{name}.mg")
    text = call("suspects", str(tmp_path / "A.mg"), str(tmp_path / "B.mg"), "--json").stdout
    assert json.loads(text)["places"] == json.loads(call("suspects", *files, "--json").stdout)["places"]


def test_one_method_is_refused_in_words(call: Run, files: list[str]) -> None:
    done = call("suspects", files[0], files[2])
    assert done.returncode == 2
    assert "give the results of two or more methods; there is one: A" in done.stderr


def test_another_suffix_is_refused_before_anything_is_read(call: Run, files: list[str]) -> None:
    done = call("suspects", *files, "-o", "places.csv")
    assert done.returncode == 2
    assert "is no format of suspicious places" in done.stderr


@pytest.fixture
def bare(files: list[str], tmp_path: Path) -> list[str]:
    truth = replace(road.wrong_truth(), poses=None)
    mg.write(truth, tmp_path / "bare.geojson")
    return [*files[:2], str(tmp_path / "bare.geojson")]


def test_without_poses_the_answer_says_so_what_it_means_and_how_to_give_them(call: Run, bare: list[str]) -> None:
    lines = call("suspects", *bare).stdout.splitlines()
    header = next(line for line in lines if "saves PLD" in line)
    said = " ".join(" ".join(lines[: lines.index(header)]).split())
    assert "lines of single frames where the truth may be wrong: " in said
    assert "There are no poses, so frames were not placed in the world: a label can count once in each frame" in said
    assert "give poses: --poses FILE, or evaluate with those of the truth, TRUTH,poses=FILE" in said
    assert header.split() == ["kind", "class", "saves", "PLD", "metres", "shift", "(m)", "first", "frame"]
    assert any(line.startswith("Suspicious lines of single frames, ") for line in lines)


def test_poses_of_the_truth_or_of_a_file_make_places_of_lines(call: Run, files: list[str], bare: list[str]) -> None:
    with_poses = json.loads(call("suspects", *files, "--json").stdout)
    for words in ([*bare, "--poses", files[2]], [*bare[:2], f"{bare[2]},poses={files[2]}"]):
        document = json.loads(call("suspects", *words, "--json").stdout)
        assert document["places"] == with_poses["places"]
        assert document["sentence"] == with_poses["sentence"]


def test_poses_of_any_predictions_are_used(call: Run, bare: list[str], tmp_path: Path) -> None:
    first, second, truth = bare
    posed = str(tmp_path / "posed.geojson")
    mg.write(replace(mg.read(first), poses=road.wrong_truth().poses), posed)
    for pair in ((posed, second), (second, posed)):
        call("suspects", *pair, truth, "-o", str(tmp_path / "places.geojson"))
        document = json.loads((tmp_path / "places.geojson").read_text(encoding="utf-8"))
        assert len(document["features"]) == 3


@pytest.mark.parametrize("kind", ["files", "results"])
def test_lines_without_a_place_are_refused_before_anything_is_scored(
    call: Run, bare: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    given = bare
    if kind == "results":
        given = []
        for name, file in zip("AB", bare, strict=False):
            mg.evaluate(file, bare[2]).save(tmp_path / f"{name}.mg")
            given.append(str(tmp_path / f"{name}.mg"))

    def scored(*_: object, **__: object) -> None:
        raise AssertionError("this was scored")

    monkeypatch.setattr(mg, "evaluate", scored)
    monkeypatch.setattr(mg, "suspicious_truth", scored)
    done = call("suspects", *given, "-o", str(tmp_path / "places.geojson"))
    assert done.returncode == 1
    assert done.stdout == ""
    assert "no poses, so suspicious lines have no place in the world and cannot be written" in done.stderr
    assert "TRUTH,poses=FILE" in done.stderr
    assert not (tmp_path / "places.geojson").exists()
