"""Commands print the keys of JSON and the columns of CSV that their page lists, and that are stable."""

import csv
import io
import json

import pytest
from tests.cli.conftest import Run
from tools import contract

# Keys that depend on options or on the number of files.
OPTIONAL = {
    "evaluate": {"slices"},
    "compare": {"causes", "gate", "metadata", "margin", "power", "ranks", "runs", "seeds"},
    "why": {"frames", "difference"},
    "diff": {"explanation"},
}


def needing(feature: str, *words: str) -> object:
    return pytest.param(words, marks=pytest.mark.needs_feature(feature))


COMMANDS = [
    ("evaluate", "good.json", "truth.geojson"),
    ("compare", "good.mg", "poor.mg", "--samples", "9"),
    ("sweep", "good.json", "truth.geojson", "--cutoff", "0.5,1.5"),
    ("frames", "good.mg"),
    ("why", "good.mg"),
    ("inspect", "good.json"),
    ("doctor",),
    ("list formats",),
    ("list metrics",),
    needing("confidence", "confidence", "good.mg"),
    needing("error_map", "errors", "good.mg", "poor.mg"),
    needing("suspects", "suspects", "good.mg", "poor.mg"),
    needing("tracks", "consistency", "good.json", "--poses", "truth.geojson"),
    needing("provenance", "diff", "good.mg", "poor.mg"),
    needing("challenge", "verify", "good.mg", "--predictions", "good.json", "--truth", "truth.geojson"),
    needing("splits", "splits overlap", "truth.geojson", "truth.geojson"),
]
WITH_CSV = {command for command, _ in contract.csv_columns()}


def listed(command: str) -> set[str]:
    """The keys on the page at the top of the document, and those of nested objects by the first part of their path."""
    return {key for of, key in contract.json_keys() if of == command and "." not in key and "[" not in key}


@pytest.mark.parametrize("words", COMMANDS)
def test_json_has_the_keys_of_its_page(call: Run, words: tuple[str, ...]) -> None:
    command, *files = words
    done = call(*command.split(), *files, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    if isinstance(document, list):
        document = document[0]
    further = {key for key in document if key.startswith("ap_")}
    known = listed(command)
    assert set(document) - further <= known
    assert known - set(document) <= OPTIONAL.get(command, set())


@pytest.mark.parametrize("words", COMMANDS)
def test_csv_begins_with_the_columns_of_its_page(call: Run, words: tuple[str, ...]) -> None:
    command, *files = words
    done = call(*command.split(), *files, "--csv")
    if command not in WITH_CSV:
        assert done.returncode == 2
        return
    assert done.returncode == 0, done.stderr
    header = next(csv.reader(io.StringIO(done.stdout)))
    columns = [column for of, column in contract.csv_columns() if of == command]
    assert header[: len(columns)] == columns
