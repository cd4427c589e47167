"""No command writes onto its inputs, loses one of two outputs, or finds out late that it cannot write."""

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.shared_data import PARITY

import mapgauge as mg
from mapgauge.io.files.source import OUTPUTS
from mapgauge.io.files.writing import save

COPIED = ("good.json", "poor.json", "truth.geojson", "good.mg", "poor.mg")


@pytest.fixture(scope="module")
def files(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the world, and Parquet."""
    folder = tmp_path_factory.mktemp("files")
    for name in COPIED:
        shutil.copy(world / name, folder)
    for name in ("pos_predictions_good.pkl", "tmp_gts_demo_60x30.pkl", "demo_gt_tracks.pkl"):
        shutil.copy(PARITY / name, folder)
    (folder / "scenes.json").write_text('{"scene-0000-0": "a"}', encoding="utf-8")
    (folder / "tokens.txt").write_text("scene-0000-0\n", encoding="utf-8")
    mg.write(mg.read(world / "good.json"), folder / "x.parquet")
    for name, source in (("xs", "good.json"), ("ys", "truth.geojson")):
        (folder / name).mkdir()
        mg.write(mg.read(world / source), folder / name / "part.parquet")
    return folder


@pytest.fixture
def place(files: Path, tmp_path: Path) -> Path:
    """A copy of these files, and links to them."""
    folder = tmp_path / "place"
    shutil.copytree(files, folder)
    (folder / "sub").mkdir()
    (folder / "link.geojson").symlink_to("truth.geojson")
    (folder / "sub" / "up").symlink_to(folder, target_is_directory=True)
    os.link(folder / "good.json", folder / "hard.json")
    (folder / "aside.parquet").symlink_to("xs/part.parquet")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


ONTO_INPUT = [
    "evaluate good.json truth.geojson -o truth.geojson",
    "evaluate good.json truth.geojson -o good.json",
    "evaluate good.json truth.geojson -o sub/../good.json",
    "evaluate good.json truth.geojson -o sub/up/truth.geojson",
    "evaluate good.json truth.geojson -o link.geojson",
    "evaluate good.json link.geojson -o truth.geojson",
    "evaluate good.json truth.geojson -o hard.json",
    "evaluate good.json truth.geojson -o {here}/good.json",
    "evaluate good.json truth.geojson --report truth.geojson",
    "evaluate good.json truth.geojson,scenes=scenes.json -o scenes.json",
    "evaluate pos_predictions_good.pkl tmp_gts_demo_60x30.pkl,tracks=demo_gt_tracks.pkl -o demo_gt_tracks.pkl",
    "convert tmp_gts_demo_60x30.pkl,tracks=demo_gt_tracks.pkl demo_gt_tracks.pkl --to streammapnet-truth",
    "track xs/part.parquet,scenes=./truth.geojson -o aside.parquet",
    "evaluate xs ys -o xs/part.parquet",
    "evaluate xs ys -o xs/more.parquet",
    "evaluate xs ys -o aside.parquet",
    "evaluate file://{here}/xs ys -o xs/part.parquet",
    "evaluate xs ys --work xs",
    "evaluate x.parquet ys -o x.parquet",
    "sweep good.json truth.geojson --figure truth.geojson",
    "sweep good.json truth.geojson --figure good.json",
    "show good.json truth.geojson -o truth.geojson",
    "show good.json poor.json truth.geojson -o poor.json",
    "report good.mg -o good.mg",
    "report good.mg poor.mg -o sub/../poor.mg",
    "report good.mg,predictions=good.json,truth=truth.geojson -o truth.geojson",
    "convert good.json good.json --to streammapnet",
    "convert good.json hard.json --to streammapnet",
    "convert xs xs/part.parquet",
    "convert xs aside.parquet",
    "convert xs xs/",
    "convert good.json,scenes=scenes.json scenes.json --to streammapnet",
    "truth nuscenes sub --tokens tokens.txt -o tokens.txt --to maptr-truth",
    "truth nuscenes sub/up -o xs/part.parquet",
    "truth av2 sub --tokens tokens.txt -o tokens.txt --to maptr-truth",
]


@pytest.mark.whole
@pytest.mark.parametrize("command", ONTO_INPUT)
def test_an_output_onto_an_input_is_refused_before_the_work(call: Run, place: Path, command: str) -> None:
    before = contents(place)
    done = call(*command.format(here=place).split(), cwd=place)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert re.search("would overwrite|would become a part|contains Parquet files already", done.stderr)
    assert done.stderr.count("\n") == 1
    assert contents(place) == before


@pytest.mark.parametrize(
    "command",
    [
        "report r.mg -o page.html",
        pytest.param(
            "confidence r.mg --thresholds tmp_gts_demo_60x30.pkl", marks=pytest.mark.needs_feature("confidence")
        ),
        "plot parts r.mg -o figure.svg",
        "show r.mg -o figure.svg",
        "paper r.mg -o runs",
    ],
)
def test_no_command_overwrites_the_files_that_results_name(call: Run, place: Path, command: str) -> None:
    sides = ("pos_predictions_good.pkl", "tmp_gts_demo_60x30.pkl,tracks=demo_gt_tracks.pkl")
    assert call("evaluate", *sides, "-o", "r.mg", cwd=place).returncode == 0
    (place / "page.html").symlink_to("tmp_gts_demo_60x30.pkl")
    os.link(place / "demo_gt_tracks.pkl", place / "figure.svg")
    (place / "runs").mkdir()
    (place / "runs" / "table.csv").symlink_to("../pos_predictions_good.pkl")
    before = contents(place)
    done = call(*command.split(), cwd=place)
    assert (done.returncode, done.stdout) == (1, "")
    assert "would overwrite an input" in done.stderr
    assert contents(place) == before


def test_a_file_that_is_read_is_an_input_without_being_listed(place: Path) -> None:
    file, output = place / "truth.geojson", place / "link.geojson"
    OUTPUTS.declare([output])
    try:
        with pytest.raises(mg.MapgaugeError, match=r"link\.geojson: would overwrite an input"):
            mg.read(file)
        with pytest.raises(mg.MapgaugeError, match="would overwrite an input"):  # also if the error was handled
            save(output, b"{}")
    finally:
        OUTPUTS.declare()
    mg.write(mg.read(file), file)  # in Python this is allowed


@pytest.mark.parametrize(
    "command",
    [
        "evaluate good.json truth.geojson -o x --report x",
        "evaluate good.json truth.geojson -o x.mg --report sub/up/x.mg",
        "evaluate good.json poor.json truth.geojson -o out --report out/good.mg",
        "evaluate xs ys -o new --work new",
    ],
)
def test_two_outputs_to_one_file_are_refused(call: Run, place: Path, command: str) -> None:
    before = contents(place)
    done = call(*command.split(), cwd=place)
    assert done.returncode == 1
    assert "two outputs would be written to this file" in done.stderr
    assert contents(place) == before
    assert not (place / "out").exists()


def test_the_files_of_a_work_folder_are_not_overwritten(call: Run, place: Path) -> None:
    assert call("evaluate", "xs", "ys", "--work", "w", cwd=place).returncode == 0
    before = contents(place)
    chunk = next((place / "w").glob("chunks-*/*.npz")).relative_to(place)
    for command in (
        "report w -o w/evaluation.json",
        f"report w -o {chunk}",
        "evaluate xs ys --work w --resume -o w/evaluation.json",
    ):
        done = call(*command.split(), cwd=place)
        assert done.returncode == 1
        assert "would overwrite a part of w" in done.stderr
    assert contents(place) == before
    assert call("report", "w", "-o", "w/page.html", cwd=place).returncode == 0  # beside them is allowed, also again
    assert call("report", "w", "-o", "w/page.html", cwd=place).returncode == 0


def test_an_output_beside_the_inputs_can_be_written_again(call: Run, place: Path) -> None:
    for _ in range(2):
        assert call("evaluate", "xs", "ys", "-o", "xs/results.mg", cwd=place).returncode == 0
        assert call("evaluate", "good.json", "truth.geojson", "-o", "r.mg", cwd=place).returncode == 0


def test_the_leftovers_of_a_conversion_are_not_deleted_if_they_are_read(call: Run, place: Path) -> None:
    (place / "out" / ".unfinished").mkdir(parents=True)
    shutil.copy(place / "good.json", place / "out" / ".unfinished")
    done = call("convert", "out/.unfinished/good.json", "out/", cwd=place)
    assert done.returncode == 1
    assert "contains the input" in done.stderr
    assert (place / "out" / ".unfinished" / "good.json").exists()


@pytest.mark.parametrize("where", ["-o", "--work"])
def test_names_that_become_one_file_are_refused(call: Run, place: Path, where: str) -> None:
    done = call("evaluate", "xs,name=a/b", "xs/part.parquet,name=a-b", "ys", where, "out", cwd=place)
    assert (done.returncode, done.stdout) == (2, "")
    assert "a/b and a-b would be written to the same file a-b" in " ".join(done.stderr.split())
    assert not (place / "out").exists()
    done = call("evaluate", "xs,name=a", "xs/part.parquet,name=..", "ys", where, "out", cwd=place)
    assert done.returncode == 2
    assert "cannot be the name of a file" in done.stderr


LONG = "n" * 256
TOO_LONG = [
    "evaluate good.json truth.geojson -o {n}",
    "evaluate good.json truth.geojson --report {n}",
    "evaluate good.json poor.json,name={n} truth.geojson -o out",
    "evaluate good.json poor.json truth.geojson -o {n}",
    "evaluate xs ys --work {n}",
    "evaluate xs xs/part.parquet,name={n} ys --work out",
    "sweep good.json truth.geojson --figure {n}.svg",
    "show good.json truth.geojson -o {n}.svg",
    "report good.mg -o {n}",
    "convert good.json {n} --to streammapnet",
    "convert good.json {n}/",
    "truth nuscenes sub -o {n} --to maptr-truth",
    "truth nuscenes sub -o " + "n" * 250 + " --to maptr-truth",  # its folder of finished scenes has a longer name
    "demo -o {n}",
]


@pytest.mark.parametrize("command", TOO_LONG)
def test_a_name_that_is_too_long_is_refused_before_the_work(call: Run, place: Path, command: str) -> None:
    before = contents(place)
    done = call(*command.format(n=LONG).split(), cwd=place)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "too long" in done.stderr
    assert done.stderr.count("\n") == 1
    assert contents(place) == before
    assert not (place / "out").exists()


@pytest.mark.parametrize(
    "command", ["inspect {n}", "evaluate {n} truth.geojson", "evaluate good.json {n}", "compare {n} good.mg"]
)
def test_an_input_with_a_name_that_is_too_long_is_an_error_in_one_line(call: Run, place: Path, command: str) -> None:
    done = call(*command.format(n=LONG).split(), cwd=place)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("mapgauge: nnn")
    assert done.stderr.count("\n") == 1


def test_devices_and_write_protected_files_are_refused_before_the_work(call: Run, place: Path) -> None:
    os.mkfifo(place / "pipe")
    done = call("evaluate", "good.json", "truth.geojson", "-o", "pipe", cwd=place)
    assert (done.returncode, done.stdout) == (1, "")
    assert "found a device or a pipe" in done.stderr
    assert (place / "pipe").is_fifo()


def test_a_demo_overwrites_only_its_own_files(call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "truth.geojson").write_text("mine", encoding="utf-8")
    done = call("demo", "--size", "1", "-o", "mine", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "files that the demo did not write (truth.geojson). Pass another folder" in done.stderr
    assert (tmp_path / "mine" / "truth.geojson").read_text(encoding="utf-8") == "mine"
    assert call("demo", "--size", "1", "-o", "own", cwd=tmp_path).returncode == 0

    def begun(*_: object, **__: object) -> None:
        raise mg.MapgaugeError("the work begins")

    monkeypatch.setattr("mapgauge.demo.demo_world", begun)
    assert call("demo", "--size", "1", "-o", "own", cwd=tmp_path).stderr == "mapgauge: the work begins\n"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("show broken.json truth.geojson -o x.bmp", "expected a name that ends in"),
        ("sweep broken.json truth.geojson --figure x.bmp", "expected a name that ends in"),
        ("convert broken.json x.json", "which format?"),
    ],
)
def test_a_format_that_cannot_be_written_is_refused_before_a_file_is_read(
    call: Run, place: Path, command: str, message: str
) -> None:
    (place / "broken.json").write_text("{", encoding="utf-8")
    done = call(*command.split(), cwd=place)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr


def test_results_that_name_a_file_with_a_null_character_have_a_report(call: Run, place: Path) -> None:
    lines = replace(mg.read(place / "truth.geojson"), name="a\0b.geojson", history=None)
    mg.evaluate(lines.with_confidence(1), lines).save(place / "odd.mg")
    done = call("report", "odd.mg", "-o", "page.html", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "frames are not drawn: a?b.geojson: no such file" in done.stderr
