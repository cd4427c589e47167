"""``report``, ``show`` and ``compare`` with results only: read again, with the geometry inside, and from a folder."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg

TURNED = "turned.geojson,rotate=-90,rename=lane_divider:divider"
METRICS = ("--metrics", "pld,ap_chamfer")


@pytest.fixture
def folder(world: Path, tmp_path: Path) -> Path:
    """A folder with predictions of other axes and names, and the truth."""
    mg.write(mg.read(world / "good.json").rotate(90).rename({"divider": "lane_divider"}), tmp_path / "turned.geojson")
    shutil.copy(world / "poor.json", tmp_path)
    shutil.copy(world / "truth.geojson", tmp_path)
    return tmp_path


def evaluated(call: Run, folder: Path, *options: str) -> None:
    done = call("evaluate", TURNED, "truth.geojson", *METRICS, "-o", "run.mg", *options, cwd=folder)
    assert done.returncode == 0, done.stderr


def test_options_need_not_be_given_again(call: Run, folder: Path) -> None:
    evaluated(call, folder)
    (folder / "sub").mkdir()
    for place, file in ((folder, "run.mg"), (folder / "sub", "../run.mg")):
        report = call("report", file, "-o", "page.html", cwd=place)
        assert (report.returncode, report.stderr) == (0, "mapgauge: report in page.html\n")
        assert "All 20 frames can be drawn" in (place / "page.html").read_text(encoding="utf-8")
        show = call("show", file, "-o", "frame.svg", cwd=place)
        assert (show.returncode, show.stderr) == (
            0,
            "mapgauge: figure in frame.svg\n"
            "mapgauge: predictions with a confidence below 0.05 are not drawn; --confidence 0 draws all\n",
        )
    row = mg.load_results(folder / "run.mg").frames()[0]
    assert show.stdout.startswith(f"{row['token']}, run: pld {row['pld']:.3f}, ap_chamfer ")
    moved = (folder / "turned.geojson").rename(folder / "moved.geojson")
    given = call("report", f"run.mg,predictions={moved}", "-o", "page.html", cwd=folder)
    assert given.stderr == "mapgauge: report in page.html\n"
    lost = call("show", "run.mg", "-o", "frame.svg", cwd=folder)
    assert lost.returncode == 1
    assert lost.stderr.endswith(
        "Else give the files after the name of the results: RESULTS,predictions=FILE,truth=FILE\n"
    )


def test_with_geometry_no_other_file_is_needed(call: Run, folder: Path) -> None:
    evaluated(call, folder, "--with-geometry")
    (folder / "turned.geojson").unlink()
    (folder / "truth.geojson").unlink()
    report = call("report", "run.mg", "-o", "page.html", cwd=folder)
    assert report.stderr == "mapgauge: report in page.html\n"
    assert "All 20 frames can be drawn" in (folder / "page.html").read_text(encoding="utf-8")
    assert call("show", "run.mg", "--frame", "median", "-o", "frame.png", cwd=folder).returncode == 0


def test_geometry_needs_a_file_to_go_to(call: Run) -> None:
    done = call("evaluate", "good.json", "truth.geojson", "--with-geometry")
    assert done.returncode == 2
    assert "needs a file to write to: -o FILE" in done.stderr


def test_a_folder_stands_for_the_results_in_it(call: Run, world: Path, tmp_path: Path) -> None:
    single = call("compare", world / "good.mg", world / "poor.mg", "--samples", "10")
    assert call("compare", world, "--samples", "10").stdout == single.stdout
    report = call("report", world, "-o", tmp_path / "page.html", "--frames", "2")
    assert report.stderr == f"mapgauge: report in {tmp_path / 'page.html'}\n"
    show = call("show", world, "-o", tmp_path / "frame.png")
    assert re.findall(r", (\w+): pld", show.stdout) == ["good", "poor"]
    empty = call("compare", tmp_path)
    assert empty.returncode == 1
    assert f"{tmp_path}: no results (.mg) in this folder" in empty.stderr


@pytest.mark.needs_feature("confidence")
@pytest.mark.parametrize(
    "command",
    [
        "compare a.mg b.mg --csv",
        "plot parts a.mg b.mg -o x.svg",
        "paper a.mg b.mg -o out --samples 20",
        "report a.mg b.mg -o x.html",
        "why a.mg b.mg",
        "show a.mg b.mg -o x.svg",
        "confidence a.mg b.mg",
    ],
)
def test_errors_among_the_findings_are_said_whenever_results_are_used(
    call: Run, world: Path, tmp_path: Path, command: str
) -> None:
    found = mg.evaluate(world / "good.json", world / "truth.geojson", metrics=["pld"])
    wrong = mg.Finding("error", "axes-turned", "the predictions are turned")
    found = replace(found, findings=(wrong,), geometry=None)
    for name in ("a.mg", "b.mg"):
        found.save(tmp_path / name)
    done = call(*command.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("error: a, b: the predictions are turned\n") == 1
    assert "mapgauge: 1 of the findings above is an error: do not trust the numbers\n" in done.stderr
    if command.startswith("paper"):
        assert "errors among the findings of a, b: do not trust" in (tmp_path / "out" / "table.tex").read_text(
            encoding="utf-8"
        )


def test_warnings_of_an_evaluation_are_not_repeated(call: Run, world: Path, tmp_path: Path) -> None:
    found = mg.load_results(world / "good.mg")
    doubt = mg.Finding("warning", "confidence-small", "the confidences are small")
    replace(found, findings=(doubt,), geometry=None).save(tmp_path / "a.mg")
    assert "small" not in call("show", "a.mg", "-o", "x.svg", cwd=tmp_path).stderr
    assert "warning: the confidences are small" in call("inspect", "a.mg", cwd=tmp_path).stdout


def test_a_folder_with_results_of_several_protocols_is_refused_by_name(call: Run, world: Path, tmp_path: Path) -> None:
    shutil.copy(world / "good.mg", tmp_path)
    shutil.copy(world / "poor.mg", tmp_path)
    mg.evaluate(world / "good.json", world / "truth.geojson", "maptr").save(tmp_path / "other.mg")
    for command in (("compare",), ("report", "-o", tmp_path / "page.html"), ("show", "-o", tmp_path / "frame.png")):
        done = call(command[0], tmp_path, *command[1:])
        assert done.returncode == 1
        assert "the results come from 2 protocols" in done.stderr
        assert "paper-60x30: good, poor; maptr: other. The first two differ in " in done.stderr
        assert "; cutoffs: 1.5 and none; " in done.stderr
        assert done.stderr.endswith(". Name the files of one protocol\n")


def test_work_folders_in_a_folder_are_results_too(call: Run, world: Path, tmp_path: Path) -> None:
    for name in ("good.json", "poor.json", "truth.geojson"):
        mg.write(mg.read(world / name), tmp_path / f"{Path(name).stem}.parquet")
    files = ("good.parquet", "poor.parquet", "truth.parquet")
    assert call("evaluate", *files, "--metrics", "pld", "--work", "work", cwd=tmp_path).returncode == 0
    done = call("compare", "work", "--samples", "10", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "poor minus good, mean" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("good.json",), 2, "give predictions and truth, or results. good.json is no file of results"),
        (("nothing.mg",), 1, "nothing.mg: no such file"),
        (("good.mg", "nothing.mg"), 1, "nothing.mg: no such file"),
        (("good.mg", "truth.geojson"), 2, "not both. good.mg is results, truth.geojson is not"),
        (("good.mg", "--protocol", "maptr"), 2, "--protocol: has no effect on results"),
        (("good.mg", "--rotate", "90"), 2, "How a file is read is said after its name: FILE,rotate=VALUE"),
        (("good.mg,rotate=90",), 2, "results have no option 'rotate', only name, tags, predictions and truth"),
        (("good.mg", "--frame", "nowhere"), 1, "good.mg: no frame 'nowhere'"),
    ],
)
def test_show_refuses_what_does_not_fit_results(
    call: Run, tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = call("show", *arguments, "-o", tmp_path / "frame.png")
    assert done.returncode == code
    assert message in " ".join(done.stderr.split())


def test_show_of_results_on_other_frames_names_the_file(call: Run, world: Path, tmp_path: Path) -> None:
    results = mg.evaluate(world / "poor.json", world / "truth.geojson")
    results.of_frames([3, 4]).save(tmp_path / "few.mg", geometry="original")
    token = results.tokens[7]
    done = call("show", world / "good.mg", tmp_path / "few.mg", "--frame", token, "-o", tmp_path / "frame.png")
    assert done.returncode == 1
    assert f"few.mg: no frame '{token}'" in done.stderr


def test_outputs_never_overwrite_a_recorded_file_beside_the_results(call: Run, folder: Path) -> None:
    evaluated(call, folder)
    (folder / "sub").mkdir()
    (folder / "sub" / "page.html").symlink_to(folder / "truth.geojson")
    done = call("report", "../run.mg", "-o", "page.html", cwd=folder / "sub")
    assert done.returncode == 1
    assert "would overwrite an input" in done.stderr
