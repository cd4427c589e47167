"""A metric with a setting in a distribution outside this one: one file and one row, used everywhere."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import environment

import mapgauge as mg
from mapgauge.demo import demo_world

TOY = '''
"""The price of missed polylines, as a share of all."""

from dataclasses import dataclass

import numpy as np

from mapgauge.metrics.metric import Metric, SumRows, Value
from mapgauge.metrics.settings import Settings, setting


@dataclass(frozen=True, kw_only=True)
class ToySettings(Settings):
    price: float = setting(1.0, unit="EUR", help="Price of a polyline that has no prediction.")


def score(groups, protocol, _):
    predicted, true = np.diff(groups.bounds, axis=1).T
    lacking = np.maximum(true - predicted, 0)
    return np.stack([lacking, true], axis=1).astype(float)


def values(sums, protocol):
    price = protocol.settings["toy"].price
    return {"toy": price * sums[..., 0] / np.where(sums[..., 1] > 0, sums[..., 1], 1.0)}


TOY = Metric(
    name="toy",
    title="Toy price",
    symbol="price",
    lower_is_better=True,
    values=(Value("toy", "", "Toy price", "main"),),
    rows=SumRows(("lacking", "true"), score, values),
    settings_type=ToySettings,
    stated=lambda protocol: f"price {protocol.settings['toy'].price:g} EUR",
)
'''


def made(folder: Path, *, code: str = TOY, rows: str = "") -> Path:
    """Write a distribution with an entry point into a folder, and return the folder."""
    folder.mkdir(exist_ok=True)
    (folder / "toy_metric.py").write_text(code, encoding="utf-8")
    about = folder / "toy_metric-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-metric\nVersion: 1.2\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(rows or "[mapgauge.metrics]\ntoy = toy_metric:TOY\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with predictions and truth, as JSON and as Parquet, and the distribution in ``site``."""
    folder = tmp_path_factory.mktemp("plugins")
    for quality in ("good", "poor"):
        predictions, truth = demo_world(12, quality=quality)
        sparse = predictions.filter(0.6)
        mg.write(sparse, folder / f"{quality}.json", "streammapnet")
        mg.write(sparse, folder / f"{quality}.parquet")
        mg.write(truth, folder / "truth.geojson")
        mg.write(truth, folder / "truth.parquet")
    made(folder / "site")
    (folder / "plain").mkdir()
    (folder / "plain" / "toy_metric.py").write_text(TOY, encoding="utf-8")
    return folder


def python(folder: Path, *arguments: object, path: str = "site") -> "subprocess.CompletedProcess[str]":
    """Run Python in a folder, with another folder in front of the path."""
    paths = os.pathsep.join([str(folder / path), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env=environment() | {"PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def shell(folder: Path, *arguments: object, path: str = "site") -> str:
    """Run ``mapgauge`` and return what it prints."""
    done = python(folder, "-m", "mapgauge", *arguments, path=path)
    assert done.returncode == 0, done.stderr
    return done.stdout


ONE_AFTER_ANOTHER = """
import contextlib, io, json, sys
from mapgauge.cli import main

printed = []
for line in json.loads(sys.argv[1]):
    sys.argv = ["mapgauge", *line]
    with contextlib.redirect_stdout(io.StringIO()) as heard:
        try:
            main()
        except SystemExit as ended:
            assert not ended.code, line
    printed.append(heard.getvalue())
print(json.dumps(printed))
"""


def test_the_shell_computes_and_prints_it(world: Path) -> None:
    good, poor = (f"evaluate {name}.json truth.geojson" for name in ("good", "poor"))
    lines = [
        "metrics",
        f"{good} --set toy.price=1 --json",
        f"{good} --set toy.price=2 --json",
        f"{good} --set toy.price=2 --report page.html -o good.mg",
        f"{good} --set toy.price=2 --metrics toy --csv",
        f"{good} --set toy.price=2 --metrics toy --latex",
        f"{poor} --set toy.price=2 -o poor.mg",
        "compare good.mg poor.mg --fail-if toy>+100",
        "sweep good.json truth.geojson --set toy.price=2 --cutoff 0.5,1.5 --json",
    ]
    done = python(world, "-c", ONE_AFTER_ANOTHER, json.dumps([line.split() for line in lines]))
    assert done.returncode == 0, done.stderr
    listed, *documents, text, table, latex, _, compared, swept = json.loads(done.stdout)
    once, twice = map(json.loads, documents)
    assert "Price of a polyline that has no prediction." in listed
    assert once["mean"]["toy"] > 0
    assert twice["mean"]["toy"] == pytest.approx(2 * once["mean"]["toy"])
    assert twice["protocol"]["settings"]["toy"] == {"price": 2.0}
    assert twice["protocol"]["full_name"] == "paper-60x30, price 2"
    assert "Toy price, lower is better (paper-60x30, price 2; price 2 EUR, a point every 0.5 m)" in text
    page = (world / "page.html").read_text(encoding="utf-8")
    assert "Toy price (lower is better)" in page
    assert "toy.price" in page
    assert float(list(csv.DictReader(io.StringIO(table)))[-1]["toy"]) == twice["mean"]["toy"]
    assert r"price $\downarrow$" in latex
    assert "Toy price ↓" in compared
    assert "gate passed" in done.stderr
    assert [row["toy"] for row in json.loads(swept)] == [twice["mean"]["toy"]] * 2


def test_a_module_on_the_path_is_enough(world: Path) -> None:
    """Without an entry point, ``--plugin`` names the module. Worker processes import it too."""
    command = ("evaluate", "good.parquet", "truth.parquet", "--set", "toy.price=2", "--json")
    assert "unknown metric 'toy'" in python(world, "-m", "mapgauge", *command, path="plain").stderr
    streamed = json.loads(shell(world, *command, "--plugin", "toy_metric", "--engine", "processes", path="plain"))
    first = json.loads(shell(world, "--plugin=toy_metric", *command, path="plain"))
    assert streamed["mean"] == first["mean"]
    assert first["mean"]["toy"] > 0


PYTHON = """
import mapgauge as mg
from mapgauge.metrics.table import settings_rows

if __name__ == "__main__":  # processes import this file, too
    assert "toy.price" in [row["name"] for row in settings_rows()]
    protocol = mg.protocol("paper-60x30", settings={"toy": {"price": 2}})
    sides = mg.read("good.parquet"), mg.read("truth.parquet")
    results = mg.evaluate(*sides, protocol)
    assert results.metrics[-1] == "toy" and results.mean["toy"] > 0, results.mean
    streamed = mg.evaluate("good.parquet", "truth.parquet", protocol, engine="processes", workers=2)
    assert streamed.mean == results.mean
    accumulator = mg.Accumulator(protocol)
    accumulator.update(*mg.align(*sides))
    assert accumulator.results().mean["toy"] == results.mean["toy"]
    print("done")
"""


def test_python_accumulates_and_streams_with_it(world: Path) -> None:
    (world / "everywhere.py").write_text(PYTHON, encoding="utf-8")
    done = python(world, "everywhere.py")
    assert done.stdout.splitlines()[-1:] == ["done"], done.stderr


@pytest.mark.parametrize(
    ("code", "rows", "words"),
    [
        ("import no_such_package", "", "toy_metric:TOY of the distribution toy-metric 1.2 cannot be imported"),
        (
            TOY.replace('name="toy"', 'name="pld"'),
            "",
            "the name 'pld' is used twice, by mapgauge and by toy_metric:TOY of the distribution toy-metric 1.2",
        ),
        ("TOY = 5", "", "toy_metric:TOY of the distribution toy-metric 1.2 is a int, expected a Metric"),
        (
            'from mapgauge import Protocol\nOURS = Protocol("maptr")',
            "[mapgauge.protocols]\nours = toy_metric:OURS\n",
            "mapgauge.protocols: the name 'maptr' is used twice",
        ),
        (
            "import broken_reader",
            "[mapgauge.formats]\nours = toy_metric:OURS\n",
            "mapgauge.formats: toy_metric:OURS of the distribution toy-metric 1.2 cannot be imported: ModuleNot",
        ),
    ],
)
def test_a_plug_in_with_a_fault_is_an_error_that_names_its_distribution(
    code: str, rows: str, words: str, world: Path, tmp_path: Path
) -> None:
    site = made(tmp_path / "site", code=code, rows=rows)
    done = python(world, "-m", "mapgauge", "evaluate", "good.json", "truth.geojson", path=str(site))
    assert done.returncode == 1, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_protocols_of_plug_ins_are_listed(world: Path, tmp_path: Path) -> None:
    code = 'from mapgauge import Protocol\nOURS = Protocol("ours", "our own", cutoffs=(0.7,), spacing=0.5)'
    site = made(tmp_path / "site", code=code, rows="[mapgauge.protocols]\nours = toy_metric:OURS\n")
    assert re.search("^ours +our own$", shell(world, "protocols", path=str(site)), re.M)
    assert "PLD" in shell(world, "evaluate", "good.json", "truth.geojson", "-p", "ours", path=str(site))


@pytest.mark.parametrize(
    ("module", "words"),
    [("no_such_module", "the plug-in no_such_module cannot be imported"), ("json", "json has no row of a table")],
)
def test_a_module_that_is_no_plug_in_is_refused(module: str, words: str, world: Path) -> None:
    done = python(world, "-m", "mapgauge", "formats", "--plugin", module)
    assert done.returncode == 1
    assert words in done.stderr
