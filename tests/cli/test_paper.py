"""``mapgauge paper``: tables, figures and provenance in a folder of its own."""

import csv
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.commands import said

import mapgauge as mg

pytest.importorskip("matplotlib")


TABLES = ("table.tex", "classes.tex", "intervals.tex", "table.csv")
FIGURES = ("parts.pdf", "pr.pdf", "ranges.pdf", "cutoffs.pdf")
FILES = (*TABLES, *FIGURES, "provenance.txt")


@pytest.fixture(scope="module")
def rich(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of results with rings and several cutoffs."""
    folder = tmp_path_factory.mktemp("rich")
    settings = mg.protocol("paper-60x30", cutoffs=(0.5, 1.5))
    for name in ("good", "poor"):
        results = mg.evaluate(world / f"{name}.json", world / "truth.geojson", settings, ranges=(0, 10, 30))
        results.save(folder / f"{name}.mg")
    return folder


@pytest.fixture(scope="module")
def written(rich: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """What the command writes for these results, and what it prints."""
    folder = tmp_path_factory.mktemp("written")
    return folder / "out", said(f"paper {rich} -o out --samples 9", folder)


def test_a_folder_gets_all_tables_and_figures(written: tuple[Path, str], rich: Path) -> None:
    out, printed = written
    assert {file.name for file in out.iterdir()} == {*FILES, ".mapgauge-paper"}
    assert all((out / name).read_bytes().startswith(b"%PDF") for name in FIGURES)
    assert all(name in printed for name in FILES)

    line, sentence = (out / "provenance.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    assert sentence.startswith("Print the digest of the truth with your values")
    results = [mg.load_results(rich / f"{name}.mg") for name in ("good", "poor")]
    assert line.count("\n") == 1
    assert line.startswith(f"mapgauge {mg.__version__}; protocol paper-60x30, cutoff 1.5 m, also 0.5 m: classes=")
    for part in ("cutoffs=1.5/0.5", "ranges 0.0/10.0/30.0", "9 draws of 2 scenes, seed 0", results[0].inputs[1].hash):
        assert line.count(part) == 1
    assert all(one.inputs[0].hash in line for one in results)
    for name in ("table.tex", "classes.tex", "intervals.tex"):
        assert f"% {line}" in (out / name).read_text(encoding="utf-8")
    assert rf"good & $\mathbf{{{results[0].mean['pld']:.3f}}}$" in (out / "table.tex").read_text(encoding="utf-8")
    assert r"\scriptsize [" in (out / "intervals.tex").read_text(encoding="utf-8")
    rows = list(csv.DictReader((out / "table.csv").read_text(encoding="utf-8").splitlines()))
    same = mg.compare(results, names=["good", "poor"], samples=9).estimates[0]["mean"]["pld"]
    assert [float(rows[k]["low"]) for k, row in enumerate(rows) if _is(row, "good", "pld")] == [same.low]


def _is(row: dict[str, str], name: str, key: str) -> bool:
    return (row["name"], row["minus"], row["class"], row["key"]) == (name, "", "mean", key)


def test_a_second_run_replaces_its_own_files_only(call: Run, written: tuple[Path, str], tmp_path: Path) -> None:
    shutil.copytree(written[0], tmp_path / "out")
    (tmp_path / "out" / "notes.md").write_text("mine", encoding="utf-8")
    again = call("paper", "good.mg", "-o", tmp_path / "out", "--samples", "9", "-q")
    assert (again.returncode, again.stdout) == (0, "")
    assert "written to" not in again.stderr
    names = {file.name for file in (tmp_path / "out").iterdir()}
    assert "notes.md" in names
    assert not names & {"cutoffs.pdf", "ranges.pdf"}  # these results have no such values
    assert "poor" not in (tmp_path / "out" / "table.tex").read_text(encoding="utf-8")


def test_other_files_are_never_overwritten(call: Run, world: Path, tmp_path: Path) -> None:
    (tmp_path / "table.tex").write_text("mine", encoding="utf-8")
    refused = call("paper", "good.mg", "-o", tmp_path)
    assert refused.returncode == 1
    assert "files that mapgauge paper did not write (table.tex)" in refused.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["table.tex"]
    before = {path.name for path in world.iterdir()}
    assert call("paper", "good.mg", "-o", world).returncode == 1
    assert {path.name for path in world.iterdir()} == before


def test_results_of_several_protocols_are_refused(call: Run, world: Path, tmp_path: Path) -> None:
    mg.evaluate(world / "good.json", world / "truth.geojson", "maptr").save(tmp_path / "maptr.mg")
    refused = call("paper", "good.mg", tmp_path / "maptr.mg", "-o", tmp_path / "out")
    assert refused.returncode == 1
    assert "2 protocols" in refused.stderr
    assert not (tmp_path / "out").exists()
    alone = call("paper", tmp_path / "maptr.mg", "-o", tmp_path / "out", "--samples", "9")
    assert alone.returncode == 0, alone.stderr
    assert not (tmp_path / "out" / "parts.pdf").exists()  # no PLD
    assert (tmp_path / "out" / "pr.pdf").exists()
