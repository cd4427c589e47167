"""A package outside of mapgauge adds one of everything by its manifest, and all of it works everywhere.

The package is ``examples/plugin``.
"""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import MISSING, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import environment

import mapgauge as mg
from mapgauge import manifest
from mapgauge.demo import demo_world
from mapgauge.manifest import Command, Feature, Figure

EXAMPLE = Path(__file__).parents[1] / "examples" / "plugin" / "mapgauge_prices"
ALONE = """
from mapgauge.plugin import Feature
from mapgauge_prices.column import COST
from mapgauge_prices.metric import PRICE

FEATURE = Feature(metrics=(":PRICE",), columns=(":COST",))
"""


def made(folder: Path, *, name: str = "prices", code: str | None = None) -> Path:
    """Write a distribution with an entry point into a folder, and return the folder.

    With ``code``, the module of the manifest has this code.
    """
    package = folder / f"mapgauge_{name}"
    shutil.copytree(EXAMPLE, package, ignore=shutil.ignore_patterns("__pycache__"))
    if code is not None:
        (package / "__init__.py").write_text(code, encoding="utf-8")
    about = folder / f"mapgauge_{name}-1.2.dist-info"
    about.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: mapgauge-{name}\nVersion: 1.2\n"
    (about / "METADATA").write_text(metadata, encoding="utf-8")
    entry = f"[mapgauge.features]\n{name} = {package.name}:FEATURE\n"
    (about / "entry_points.txt").write_text(entry, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with predictions and truth, as JSON and as Parquet, and the distribution in ``site``.

    ``plain`` has the package without an entry point, and a module with a manifest.
    """
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
    shutil.copytree(EXAMPLE, folder / "plain" / EXAMPLE.name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "plain" / "alone.py").write_text(ALONE, encoding="utf-8")
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

done = []
for line in json.loads(sys.argv[1]):
    sys.argv = ["mapgauge", *line]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    done.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(done))
"""


def outcomes(folder: Path, lines: list[str], path: str = "site", before: str = "") -> list[tuple[int, str, str]]:
    """Run commands in one process, after the code in ``before``.

    Return the exit code of each, and what it prints on stdout and stderr.
    """
    done = python(folder, "-c", before + ONE_AFTER_ANOTHER, json.dumps([line.split() for line in lines]), path=path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [tuple(one) for one in json.loads(done.stdout)]


def one_after_another(folder: Path, lines: list[str]) -> tuple[list[str], str]:
    """Run commands that end with 0. Return what each prints, and what all print on stderr."""
    done = outcomes(folder, lines)
    for line, (code, _, errors) in zip(lines, done, strict=True):
        assert code == 0, f"{line}: {errors}"
    return [printed for _, printed, _ in done], "".join(errors for _, _, errors in done)


def test_the_metric_is_computed_and_printed_in_the_shell(world: Path) -> None:
    good, poor = (f"evaluate {name}.json truth.geojson" for name in ("good", "poor"))
    lines = [
        "list metrics",
        f"{good} --set price.price=1 --json",
        f"{good} --set price.price=2 --json",
        f"{good} --set price.price=2 --report page.html -o good.mg --tables",
        f"{good} --set price.price=2 --metrics price --csv",
        f"{good} --set price.price=2 --metrics price --latex",
        f"{poor} --set price.price=2 -o poor.mg",
        "compare good.mg poor.mg --fail-if price>+100",
        "sweep good.json truth.geojson --set price.price=2 --cutoff 0.5,1.5 --json",
    ]
    (listed, *documents, text, table, latex, _, compared, swept), said = one_after_another(world, lines)
    once, twice = map(json.loads, documents)
    assert "Price of a polyline that has no prediction." in listed
    assert once["mean"]["price"] > 0
    assert twice["mean"]["price"] == pytest.approx(2 * once["mean"]["price"])
    assert twice["protocol"]["settings"]["price"] == {"price": 2.0}
    assert twice["protocol"]["full_name"] == "paper-60x30, price 2"
    assert "Price, lower is better (paper-60x30, price 2; price 2 EUR, a point every 0.5 m)" in text
    assert float(list(csv.DictReader(io.StringIO(table)))[-1]["price"]) == twice["mean"]["price"]
    assert r"Price $\downarrow$" in latex
    assert "Price ↓" in compared
    assert "gate passed" in said
    assert [row["price"] for row in json.loads(swept)] == [twice["mean"]["price"]] * 2


@pytest.mark.needs_feature("provenance")
def test_what_a_plug_in_cites_is_printed(world: Path) -> None:
    price = "--set price.price=2 --metrics price"
    lines = [f"evaluate good.json truth.geojson {price} -o cited.mg", "cite cited.mg"]
    (_, cited), _ = one_after_another(world, lines)
    assert "% Cited for: Price\n@misc{prices2026,\n" in cited


def test_everything_else_of_the_manifest_works_in_the_shell(world: Path) -> None:
    token = mg.read(world / "truth.geojson").tokens[0]
    text = f"#lines\n{token} divider 0.9 2.5 0,0 9,0\n"
    (world / "some.txt").write_text(text, encoding="utf-8")
    lines = [
        "--help",
        "list formats",
        "list protocols",
        "list prices",
        "evaluate good.json truth.geojson -p prices-60x30 --report priced.html -o priced.mg",
        "inspect some.txt",
        "prices priced.mg",
        "plot prices priced.mg -o prices.svg",
        "convert some.txt some.parquet",
        "convert some.parquet some.geojson",
    ]
    (helped, formats, protocols, listed, evaluated, inspected, prices, *_), _ = one_after_another(world, lines)
    assert re.search("^  prices +Print what missed polylines of each class cost", helped, re.M)
    assert re.search("^lines +read +predictions, a polyline in a line of text$", formats, re.M)
    assert re.search("^prices-60x30 ", protocols, re.M)
    assert listed == "2.00 EUR for a polyline that has no prediction\n"
    assert re.search(r"A true polyline costs \d\.\d\d EUR\.", evaluated)
    assert "some.txt (lines: predictions" in inspected
    assert re.search(r"^divider \d\.\d\d EUR$", prices, re.M)
    assert (world / "prices.svg").stat().st_size > 1000
    page = (world / "priced.html").read_text(encoding="utf-8")
    assert re.search(r"<h2[^>]*>Prices</h2>", page)
    assert re.search(r"<li>good: \d\.\d\d EUR</li>", page)
    assert "Price (lower is better)" in page
    assert '"cost":2.5' in (world / "some.geojson").read_text(encoding="utf-8")


def test_a_module_on_the_path_is_enough(world: Path) -> None:
    """Without an entry point, ``--plugin`` names the module. Worker processes import it too."""
    command = ("evaluate", "good.parquet", "truth.parquet", "--set", "price.price=2", "--json")
    assert "unknown metric 'price'" in python(world, "-m", "mapgauge", *command, path="plain").stderr
    in_a_process = ("--engine", "processes", "--workers", "1")
    streamed = json.loads(shell(world, *command, "--plugin", "alone", *in_a_process, path="plain"))
    first = json.loads(shell(world, "--plugin=mapgauge_prices", *command, path="plain"))
    assert streamed["mean"] == first["mean"]
    assert first["mean"]["price"] > 0


PYTHON = """
import numpy as np
import mapgauge as mg
from mapgauge.metrics.table import settings_rows

if __name__ == "__main__":  # processes import this file, too
    assert "price.price" in [row["name"] for row in settings_rows()]
    protocol = mg.protocol("prices-60x30")
    truth = mg.read("truth.parquet")
    costly = truth.with_columns(cost=np.arange(len(truth.polylines)) % 5 - 1)
    mg.write(costly, "costly.parquet")
    results = mg.evaluate("good.parquet", costly, protocol)
    assert results.metrics[-1] == "price" and results.mean["price"] > 0, results.mean
    assert results.mean["price"] != mg.evaluate("good.parquet", truth, protocol).mean["price"]
    assert "prices-negative" in [finding.code for finding in results.findings]
    for engine in ("processes", "dask"):
        streamed = mg.evaluate("good.parquet", "costly.parquet", protocol, engine=engine, workers=1)
        assert streamed.mean == results.mean, engine
        assert streamed.inputs[1].hash == results.inputs[1].hash, engine
        assert streamed.findings == results.findings, engine
    accumulator = mg.Accumulator(protocol)
    accumulator.update(*mg.align(mg.read("good.parquet"), costly))
    assert accumulator.results().mean["price"] == results.mean["price"]
    assert mg.plot.prices(results).axes
    print("done")
"""


def test_python_accumulates_streams_and_draws_with_metric_column_and_check(world: Path) -> None:
    (world / "everywhere.py").write_text(PYTHON, encoding="utf-8")
    done = python(world, "everywhere.py")
    assert done.stdout.splitlines()[-1:] == ["done"], done.stderr


COLUMN = """
import numpy as np
import mapgauge as mg
from mapgauge.frames.alignment import join_frames
from mapgauge.frames.content import content_hash

def costs(frames):
    return frames.more["cost"].tolist()

rows = [f"{token} divider 0.9 {k + 0.5} 0,{k} 9,{k}" for k, token in enumerate("aabc")]
with open("costs.txt", "w", encoding="utf-8") as file:
    file.write("\\n".join(["#lines", *rows]) + "\\n")
predictions = mg.read("costs.txt")
assert costs(predictions) == [0.5, 1.5, 2.5, 3.5]
for name in ("costs.parquet", "costs.geojson"):
    mg.write(predictions, name)
    again = mg.read(name)
    assert costs(again) == costs(predictions), name
    assert content_hash(again) == content_hash(predictions) != content_hash(predictions.with_columns(cost=None))
assert costs(predictions.at([2, 0])) == [3.5, 0.5, 1.5]
assert costs(predictions.crop((4, 30))) == [0.5, 1.5, 2.5, 3.5]
other = mg.MapFrames.of({"d": {"divider": [[[0, 0], [9, 0]]]}}, confidence={"d": {"divider": [1]}})
assert costs(join_frames([predictions, other])) == [0.5, 1.5, 2.5, 3.5, 1.0]
aligned, _ = mg.align(predictions, predictions.with_confidence(None).at([2, 1, 0]))
assert costs(aligned) == [3.5, 2.5, 0.5, 1.5]

x, truth = mg.read("good.parquet"), mg.read("truth.parquet")
y = truth.with_columns(cost=np.arange(len(truth.polylines)) % 5)
protocol = mg.protocol("prices-60x30")
results = mg.evaluate(x, y, protocol, metrics=["price"])
accumulator = mg.Accumulator(protocol, metrics=["price"])
accumulator.update(*mg.align(x, y))
assert accumulator.results().mean == results.mean
dicts = mg.Accumulator(protocol, metrics=["price"])
line = [[0, 0], [9, 0]]
dicts.update(
    [{"polylines": [], "labels": [], "confidence": []}] * 2,
    [{"polylines": [line], "labels": ["divider"], "cost": [3]}, {"polylines": [line], "labels": ["divider"]}],
)
assert dicts.results().classes["divider"]["price"] == 2 * (3 + 1) / 2
print("done")
"""


def test_the_column_is_read_stored_aligned_and_accumulated(world: Path) -> None:
    done = python(world, "-c", COLUMN)
    assert done.stdout.splitlines()[-1:] == ["done"], done.stderr


CHECK = """
import numpy as np
import mapgauge as mg

x, truth = mg.read("good.parquet"), mg.read("truth.parquet")
y = truth.with_columns(cost=np.where(np.arange(len(truth.polylines)) < 2, -1.0, 1.0))
mg.write(y, "negative.parquet")
text = f"truth: 2 of {len(truth.polylines)} polylines have a cost below 0"

def told(findings):
    return [finding.message for finding in findings if finding.code == "prices-negative"]

assert told(mg.check(x, y)) == [text]
assert told(mg.check(x, truth)) == []
protocol = mg.protocol("prices-60x30")
assert told(mg.evaluate(x, y, protocol).findings) == [text]
"""


def test_the_check_is_made_in_python_and_in_the_shell(world: Path) -> None:
    lines = ["inspect negative.parquet", "inspect truth.parquet", "evaluate good.parquet negative.parquet"]
    done = outcomes(world, lines, before=CHECK)
    assert [ended for ended, _, _ in done] == [0, 0, 0], done
    negative, sound, evaluated = (printed for _, printed, _ in done)
    assert "2 of" in negative
    assert "polylines have a cost below 0. Check the costs" in " ".join(negative.split())
    assert "below 0" not in sound
    assert "have a cost below 0" in " ".join(evaluated.split())


@pytest.mark.parametrize("page", ["add-a-feature", "add-a-file-format"])
def test_the_pages_show_the_files_of_the_example(page: str) -> None:
    text = (EXAMPLE.parents[2] / "docs" / "how-to" / f"{page}.md").read_text(encoding="utf-8")
    files = {path.read_text(encoding="utf-8") for path in EXAMPLE.glob("*.py")}
    shown = re.findall("^```python\n(.*?)^```$", text, re.M | re.S)
    assert shown
    for block in shown:
        assert block in files, block[:80]


DISTRIBUTION = "the plug-in prices of the distribution mapgauge-prices 1.2"
HEAD = "from mapgauge.plugin import Feature\n"


# By the name of the plug-in: the module of its manifest, and what is said.
FAULTS = {
    "absent": ("import no_such_package", "cannot be imported: ModuleNotFoundError"),
    "number": ("FEATURE = 5", "mapgauge_number:FEATURE is a int, expected a mapgauge.plugin.Feature"),
    "nothing": (
        f'{HEAD}FEATURE = Feature(metrics=("metric:NONE",))',
        "mapgauge_nothing.metric:NONE cannot be imported: AttributeError",
    ),
    "function": (
        f'{HEAD}FEATURE = Feature(metrics=("metric:score",))',
        "a row of metrics is a function, expected a Metric",
    ),
    "unchecked": (
        f'{HEAD}FEATURE = Feature(checks=(":rows",))\ndef rows():\n    return [len]',
        "a row of checks is a builtin_function_or_method, expected a Check",
    ),
    "failing": (
        f'{HEAD}FEATURE = Feature(checks=(":rows",))\ndef rows():\n    raise ValueError("no prices")',
        "its checks cannot be made: ValueError: no prices",
    ),
    "taken": (
        f"{HEAD}import dataclasses\nfrom mapgauge_taken.metric import PRICE\n"
        'OURS = dataclasses.replace(PRICE, name="pld")\nFEATURE = Feature(metrics=(":OURS",))',
        "the name 'pld' in metrics is used by mapgauge",
    ),
}


@pytest.fixture(scope="module")
def with_faults(world: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, str, str]]:
    """How evaluations by a known and by an unknown metric end while there is a plug-in with each fault."""
    site = tmp_path_factory.mktemp("faults")
    for name, (code, _) in FAULTS.items():
        made(site, name=name, code=code)
    lines = [f"evaluate good.json truth.geojson --metrics {metric} --json" for metric in ("pld", "price")]
    return outcomes(world, lines, path=str(site))


@pytest.mark.parametrize("name", FAULTS)
def test_a_plug_in_with_a_fault_is_a_warning_that_names_its_distribution(
    name: str, with_faults: list[tuple[int, str, str]]
) -> None:
    (ended, printed, errors), (asked, _, unknown) = with_faults
    words = FAULTS[name][1]
    (said,) = [line for line in errors.splitlines() if f"the distribution mapgauge-{name} 1.2" in line]
    assert f"the plug-in {name} of" in said
    assert words in said
    assert ended == 0, errors
    assert "Traceback" not in errors
    assert json.loads(printed)["mean"]["pld"] > 0
    assert asked in (1, 2)
    assert "unknown metric 'price'" in unknown
    assert words in unknown.split("unknown metric 'price'")[1]


def test_a_command_that_cannot_be_imported_does_not_stop_the_help(world: Path, tmp_path: Path) -> None:
    code = (
        "from mapgauge.plugin import Command, Feature\n"
        'BAD = {"bad": Command(place="nowhere:bad", group="Ask")}\n'
        'FEATURE = Feature(commands=BAD, lists={"bad": "nowhere:listed"})\n'
    )
    site = str(made(tmp_path / "site", code=code))
    helped = outcomes(world, ["--help", "list --help"], site)
    assert [ended for ended, _, _ in helped] == [0, 0], helped
    for name in ("bad", "listed"):
        said = f"{DISTRIBUTION}: mapgauge_prices.nowhere:{name} cannot be imported"
        assert sum(errors.count(said) for _, _, errors in helped) == 1


def test_a_plug_in_may_read_tables_while_it_is_imported(world: Path, tmp_path: Path) -> None:
    code = (
        f'{HEAD}import mapgauge as mg\nOURS = mg.protocol("paper-60x30", spacing=0.25).replace(name="ours")\n'
        'known = list(mg.protocols.PROTOCOLS) if hasattr(mg, "protocols") else []\n'
        'FEATURE = Feature(protocols=(":ours",))\ndef ours():\n    return [OURS]\n'
    )
    site = str(made(tmp_path / "site", code=code))
    evaluated, listed = outcomes(world, ["evaluate good.json truth.geojson -p ours", "list protocols"], site)
    assert (evaluated[0], evaluated[2].count("plug-in")) == (0, 0), evaluated
    assert re.search("^ours ", listed[1], re.M)


def test_a_protocol_of_the_package_is_read_without_plug_ins(tmp_path: Path) -> None:
    site = made(tmp_path / "site", code="raise SystemExit('imported')")
    code = "import mapgauge as mg; print(mg.protocol('maptr', settings={'ap_chamfer': {'buffers': 3.0}}).name)"
    done = python(tmp_path, "-c", code, path=str(site))
    assert done.stdout.strip() == "maptr", done.stderr


def test_a_module_that_is_no_plug_in_is_refused(world: Path) -> None:
    refused = {
        "no_such_module": "the plug-in no_such_module cannot be imported",
        "json": "json has no FEATURE",
    }
    done = outcomes(world, [f"list formats --plugin {module}" for module in refused])
    for (ended, _, errors), words in zip(done, refused.values(), strict=True):
        assert ended == 1
        assert words in errors


@pytest.mark.parametrize("one", manifest.own(), ids=lambda one: one.name)
def test_every_place_of_a_manifest_exists(one: manifest.Manifest) -> None:
    """Type checkers do not see places."""
    for place in places_of(one.feature):
        assert one.load(place) is not None
    names = {other.name for other in manifest.own()}
    assert set(one.feature.needs) <= names - {one.name}
    assert all(command.group in manifest.GROUPS for command in one.feature.commands.values())


def places_of(feature: Feature) -> list[str]:
    """Return the places in all fields of a manifest. ``needs`` has names, and modules are no objects of a module."""
    places = []
    for field in fields(feature):
        if field.name == "needs" or (field.name == "torch" and find_spec("torchmetrics") is None):
            continue
        places += places_in(getattr(feature, field.name))
    return [place for place in places if not place.endswith(":")]


def places_in(value: Any) -> list[str]:
    """Return the places in the value of a field: texts, mappings to texts, or rows with places."""
    if isinstance(value, tuple):
        return list(value)
    places = []
    for row in value.values():
        if isinstance(row, str):
            places.append(row)
        elif isinstance(row, Figure):
            places += [place for place in (row.place, row.needs_data) if place]
        else:
            assert isinstance(row, Command)
            places.append(row.place)
    return places


def test_no_field_of_a_manifest_is_missed() -> None:
    """A manifest with one place in each field, whatever the fields are, has all of them among its places."""
    rows = {"commands": Command(place="a:commands", group="Ask"), "figures": Figure(place="a:figures")}
    given: dict[str, Any] = {}
    for field in fields(Feature):
        if field.default is MISSING:  # a mapping
            given[field.name] = {"x": rows.get(field.name, f"a:{field.name}")}
        else:
            given[field.name] = (f"a:{field.name}",)
    expected = {f"a:{name}" for name in given if name != "needs"}
    if find_spec("torchmetrics") is None:
        expected.remove("a:torch")
    assert set(places_of(Feature(**given))) == expected


TWO_PROVIDERS = """
from mapgauge.hooks import prior_tables, similar
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    first = similar()
    similar()
print(first is not None and first.__module__)
print([f"{one.category.__name__}: {one.message}" for one in caught])
"""


@pytest.mark.parametrize("has_own", [pytest.param(True, marks=pytest.mark.needs_feature("splits")), False])
def test_a_second_provider_of_a_hook_is_a_warning_that_names_both(has_own: bool, tmp_path: Path) -> None:
    """The first one is used: that of the package, or else of the plug-in that comes first."""
    site = tmp_path / "site"
    for name in ("prices", "shapes"):
        folder = site / f"our_{name}"
        folder.mkdir(parents=True)
        code = f'{HEAD}FEATURE = Feature(similar=(":similar",))\ndef similar(truth, protocol):\n    return None\n'
        (folder / "__init__.py").write_text(code, encoding="utf-8")
        about = site / f"our_{name}-1.2.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: our-{name}\nVersion: 1.2\n", encoding="utf-8")
        entry = f"[mapgauge.features]\n{name} = our_{name}:FEATURE\n"
        (about / "entry_points.txt").write_text(entry, encoding="utf-8")
    without = (
        "import dataclasses\nfrom mapgauge import manifest\nown = manifest.own()\nmanifest.own = lambda: own[:1]\n"
    )
    done = python(tmp_path, "-c", TWO_PROVIDERS if has_own else without + TWO_PROVIDERS)
    used, warned = done.stdout.splitlines()
    if has_own:
        assert used.startswith("mapgauge.features.")
        assert warned.count("PluginWarning") == 2
    else:
        assert used == "our_prices"
        assert warned.count("PluginWarning") == 1
        assert "plug-in prices of the distribution our-prices" in warned
    assert "plug-in shapes of the distribution our-shapes" in warned
    assert used in warned
