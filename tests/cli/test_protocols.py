"""Several protocols in one pass: one table, results of each, and a report for each."""

import csv
import io
import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg

NAMES = ("paper-60x30", "maptr", "streammapnet-60x30")
BOTH = ("evaluate", "good.json", "poor.json", "truth.geojson", "--protocol", ",".join(NAMES))


@pytest.fixture(scope="module")
def few(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the first frames of the data set."""
    folder = tmp_path_factory.mktemp("few")
    for name in ("good.json", "poor.json"):
        mg.write(mg.read(world / name).at(range(6)), folder / name, "streammapnet")
    mg.write(mg.read(world / "truth.geojson").at(range(6)), folder / "truth.geojson")
    return folder


def test_one_table_has_a_row_per_protocol_and_method(call: Run, few: Path) -> None:
    done = call(*BOTH, cwd=few)
    assert done.stdout.count("good, poor against truth.geojson") == 1  # read once
    table = done.stdout.split("Means over classes\n")[1].splitlines()
    assert table[0].split() == ["protocol", "name", "PLD", "↓", "Loc", "Det", "Chamfer-AP", "↑", "Fréchet-AP", "↑"]
    assert [tuple(row.split()[:2]) for row in table[1:7]] == [
        (protocol, name) for protocol in NAMES for name in ("good", "poor")
    ]
    alone = mg.evaluate(few / "good.json", few / "truth.geojson", "maptr")
    assert table[3].split() == ["maptr", "good", "-", "-", "-", f"{alone.mean['ap_chamfer']:.3f}", "-"]
    short = call("evaluate", "good.json", "truth.geojson", "-p", "maptr", "-p", "paper-60x30", cwd=few).stdout
    assert "protocol     PLD ↓" in short


def test_json_csv_and_latex_have_all_protocols(call: Run, few: Path) -> None:
    documents = json.loads(call(*BOTH, "--json", cwd=few).stdout)
    pairs = [(name, protocol) for name in ("good", "poor") for protocol in NAMES]
    assert [(one["name"], one["protocol"]["name"]) for one in documents] == pairs
    rows = list(csv.DictReader(io.StringIO(call(*BOTH, "--csv", cwd=few).stdout)))
    assert [(row["name"], row["protocol"]) for row in rows if row["class"] == "mean"] == pairs
    assert [float(row["ap_chamfer"]) for row in rows if row["class"] == "mean"] == [
        one["mean"]["ap_chamfer"] for one in documents
    ]
    latex = call(*BOTH, "--latex", cwd=few).stdout
    assert latex.count(r"\begin{tabular}") == 1
    assert "maptr & good & -- & -- & -- & $\\mathbf{" in latex


def test_results_and_reports_are_written_for_each(call: Run, few: Path, tmp_path: Path) -> None:
    done = call(*BOTH, "-o", tmp_path / "out", "--report", tmp_path / "page.html", cwd=few)
    assert done.returncode == 0
    expected = {f"{name}-{protocol}.mg" for name in ("good", "poor") for protocol in NAMES}
    assert {path.name for path in (tmp_path / "out").glob("*.mg")} == expected
    assert mg.load_results(tmp_path / "out" / "poor-maptr.mg").protocol == mg.protocol("maptr")
    assert {path.name for path in tmp_path.glob("*.html")} == {f"page-{protocol}.html" for protocol in NAMES}


def test_outputs_are_checked_before_the_work(call: Run, world: Path, tmp_path: Path) -> None:
    alone = ("evaluate", "good.json", "truth.geojson", "-p", "paper-60x30,maptr")
    refused = call(*alone, "-o", tmp_path / "one.mg")
    assert "must be a folder if there are several predictions or protocols" in refused.stderr
    (tmp_path / "page-maptr.html").mkdir()
    refused = call(*alone, "--report", tmp_path / "page.html")
    assert "page-maptr.html: cannot be written" in refused.stderr
    assert not list(tmp_path.glob("page-paper*"))


def test_metrics_and_ranges_are_computed_where_a_protocol_has_them(call: Run) -> None:
    arguments = ("evaluate", "good.json", "truth.geojson", "-p", "paper-60x30,maptr", "--json")
    found = json.loads(call(*arguments, "--metrics", "pld,ap_chamfer", "--ranges", "0,15,30").stdout)
    assert ["pld" in one["mean"] for one in found] == [True, False]
    assert any("15-30" in key for key in found[0]["mean"])
    assert "the protocol maptr has no cutoffs for pld" in call(*arguments, "--metrics", "pld").stderr
    assert "unknown metric 'iou'" in call(*arguments, "--metrics", "iou").stderr
    assert "crop needs a region" in call(*arguments, "--set", "crop=true").stderr


def test_parquet_is_streamed_once_per_protocol(call: Run, tmp_path: Path) -> None:
    for name in ("good.json", "truth.geojson"):
        call("convert", name, f"{tmp_path / Path(name).stem}/")
    arguments = ("-p", "paper-60x30,maptr", "--csv")
    streamed = call("evaluate", tmp_path / "good", tmp_path / "truth", "--work", tmp_path / "work", *arguments)
    assert streamed.stdout == call("evaluate", "good.json", "truth.geojson", *arguments).stdout
    assert {path.name for path in (tmp_path / "work").iterdir() if path.is_dir()} == {"good-paper-60x30", "good-maptr"}
