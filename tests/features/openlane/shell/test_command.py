"""Scores of lane graphs on the command line, from OpenLane-V2's pickles: tables, documents, pages and conditions."""

import csv
import io
import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.lane_frames import TRAFFIC_ELEMENTS
from tests.lane_worlds import write_pickles

import mapgauge as mg

V11, V21 = "openlanev2-v1.1", "openlanev2-v2.1"


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two submissions and the truth as OpenLane-V2's pickles."""
    return write_pickles(tmp_path_factory.mktemp("lanes"), "good.pkl", "poor.pkl", "truth.pkl")


def test_versions_stand_side_by_side(call: Run, files: Path) -> None:
    protocols = ("openlanev2-v1.0", V11, f"{V11}-near")
    options = ("evaluate", files / "good.pkl", files / "truth.pkl", "--protocol", ",".join(protocols))
    done = call(*options, "--tables")
    assert done.returncode == 0, done.stderr
    table = done.stdout.split("Means over classes\n")[1].splitlines()
    titles = "DET_l ↑ DET_l_ch ↑ DET_t ↑ TOP_ll ↑ TOP_lt ↑ OLS ↑ OLS_l ↑ F ↑"
    assert table[0].split() == ["protocol", *titles.split()]
    assert [row.split()[0] for row in table[1:4]] == list(protocols)
    documents = json.loads(call(*options, "--json").stdout)
    assert [f"{one['mean']['ols']:.3f}" for one in documents] == [row.split()[6] for row in table[1:4]]
    rows = list(csv.DictReader(io.StringIO(call(*options, "--csv").stdout)))
    assert [float(row["top_ll"]) for row in rows if row["class"] == "mean"] == [
        one["mean"]["top_ll"] for one in documents
    ]
    latex = call(*options, "--latex").stdout
    assert r"OLS [\%] $\uparrow$" in latex
    assert f"${100 * documents[1]['mean']['ols']:.1f}$" in latex


def test_a_table_has_the_classes_of_its_score(call: Run, files: Path, tmp_path: Path) -> None:
    page, results = tmp_path / "page.html", tmp_path / "out"
    pair = (files / "good.pkl", files / "poor.pkl")
    done = call("evaluate", *pair, files / "truth.pkl", "-p", V11, "--tables", "--report", page, "-o", results)
    assert done.returncode == 0, done.stderr
    tables = {text.partition(",")[0]: text.splitlines() for text in done.stdout.split("\n\n")}
    assert [row.split()[:2] for row in tables["OLS"][2:4]] == [["good", "mean"], ["poor", "mean"]]
    assert len(tables["TOP_ll"]) == 2 + 4
    assert len(tables["DET_t"]) == 2 + 2 * (1 + len(TRAFFIC_ELEMENTS))
    assert "Protocol openlanev2-v1.1" in page.read_text(encoding="utf-8")
    good, poor = results / "good.mg", results / "poor.mg"
    assert call("compare", good, poor, "--fail-if", "ols < -0.5").returncode == 0
    assert call("compare", good, poor, "--fail-if", "ols < 0.99").returncode == 3
    assert call("compare", good, "--fail-if", "top_ll < 0.99").returncode == 3


def test_advice_for_files_without_links(call: Run, files: Path, tmp_path: Path) -> None:
    predictions, truth = (mg.read(files / name) for name in ("good.pkl", "truth.pkl"))
    for side, name in ((predictions, "x.geojson"), (truth, "y.geojson")):
        mg.write(side.select(["centerline"]), tmp_path / name)
    done = call("evaluate", tmp_path / "x.geojson", tmp_path / "y.geojson", "-p", V21)
    assert done.returncode == 1
    assert (
        "lanes have no left line, expected lane segments. Score centrelines: --protocol openlanev2-v1.1" in done.stderr
    )
    done = call("evaluate", files / "good.pkl", files / "truth.pkl")
    told = " ".join(done.stdout.split())
    assert "available: centerline. For lanes, pass --protocol with one of" in told
    assert "openlanev2-v1.1" in told
    assert V21 not in told  # which needs the lines beside a lane
    assert "has instances of the compared classes, so there is nothing to compare with" in told
