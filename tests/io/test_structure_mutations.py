"""Files of a sound encoding with a wrong structure: each is read or refused in our own words, never anything else."""

import csv
import io
import json
import os
import pickle
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.io.test_mutations import CASES, sound, world

import mapgauge as mg
from mapgauge.io.dataset import open_dataset

QUICK = 60  # mutants per format in `make test`; `make fuzz` asks for more
ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 7, 2**31, 2**63, 2**70, -0.0, 0.5, 1e155, 1e308, float("nan"), float("-inf")),
    *("", "0", "t0", "\ud800", "x" * 300, "a\0b", "divider", "$.results", "'", "\n"),
    *([], [[]], [1], [[1, 2]], [[1, 2, 3], [1, 2]], {}, {"vectors": []}, {"": None}),
)


def odd(rng: np.random.Generator) -> Any:
    return deepcopy(ODD[rng.integers(len(ODD))])


def nodes(value: Any) -> list[tuple[Any, Any]]:
    """All places in a document: a container and a key or an index of it."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, part in inner for place in ((value, key), *nodes(part))]


def mutate(document: Any, rng: np.random.Generator) -> Any:
    """Put one to three faults into a document."""
    for _ in range(rng.integers(1, 4)):
        places = nodes(document)
        if not places:
            return odd(rng)
        container, key = places[rng.integers(len(places))]
        kind = rng.integers(7)
        if kind <= 2:
            container[key] = odd(rng)
        elif kind == 3:
            del container[key]
        elif kind == 4:
            container[key] = [container[key]] * int(rng.integers(1, 4))
        elif kind == 5:
            other, there = places[rng.integers(len(places))]
            container[key] = deepcopy(other[there]) if there in range_of(other) else None
        elif isinstance(container, dict):
            container[str(odd(rng))[:20]] = container.pop(key)
        else:
            container.insert(key, container[key])
    return document


def range_of(container: Any) -> Any:
    return container if isinstance(container, dict) else range(len(container))


def documents(name: str, rng: np.random.Generator) -> bytes:
    """A mutant of a JSON file or a pickle."""
    data = sound(name)
    if data[:1] in (b"{", b"["):
        return json.dumps(mutate(json.loads(data), rng)).encode("utf-8", "surrogatepass")
    return pickle.dumps(mutate(pickle.loads(data), rng), int(rng.integers(2, 6)))


def csv_rows(name: str, rng: np.random.Generator) -> bytes:
    """A mutant of a CSV file: cells and rows that are odd, missing, doubled or moved."""
    rows = mutate(list(csv.reader(sound(name).decode().splitlines())), rng)
    cells = [row if isinstance(row, list) else [row] for row in rows] if isinstance(rows, list) else [[rows]]
    text = io.StringIO()
    csv.writer(text).writerows(cells)
    return text.getvalue().encode("utf-8", "surrogatepass")


def tables(name: str, rng: np.random.Generator) -> bytes:
    """A mutant of a Parquet file: columns that are missing, doubled, renamed, of another type, or with nulls."""
    table = pq.read_table(io.BytesIO(sound("parquet")))
    for _ in range(rng.integers(1, 4)):
        if not table.num_columns:
            break
        k = int(rng.integers(table.num_columns))
        column, field = table.column(k), table.schema.field(k).remove_metadata().with_nullable(True)
        kind = rng.integers(8)
        if kind == 0:
            table = table.remove_column(k)
        elif kind == 1:
            table = table.append_column(field, column)
        elif kind == 2:
            other = str(rng.choice(["frame", "token", "class", "scene", "timestamp", "confidence", "track", "pose"]))
            table = table.set_column(k, other, column)
        elif kind == 3:
            table = table.take(rng.integers(0, max(1, len(table)), len(table) + 1) if len(table) else [])
        elif kind == 4:
            empty = [None if rng.integers(2) else value for value in column.to_pylist()]
            table = table.set_column(k, field, pa.array(empty, field.type))
        elif kind == 5 and not pa.types.is_nested(column.type):
            values = [None if value is None else str(value) for value in column.to_pylist()]
            kind_of_text = str(rng.choice(["string", "large_string", "binary"]))
            table = table.set_column(k, field.name, pa.array(values, pa.string()).cast(kind_of_text))
            if pa.types.is_floating(column.type):
                table = table.set_column(k, field.name, pa.array([float(ODD[rng.integers(1, 14)]) for _ in values]))
        elif kind == 6:
            about = mutate(json.loads(table.schema.metadata[b"mapgauge"]), rng) if table.schema.metadata else {}
            text = json.dumps(about).encode("utf-8", "surrogatepass")
            table = table.replace_schema_metadata({b"mapgauge": text})
        else:
            table = table.replace_schema_metadata(None)
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=int(rng.integers(1, 6)), write_statistics=bool(rng.integers(2)))
    return file.getvalue()


@cache
def result_arrays() -> dict[str, Any]:
    results = mg.evaluate(world().with_confidence(0.5), world())
    file = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mapgauge.results.saving.save", lambda path, data: file.write(data))
        results.save("r.mg")
    with np.load(io.BytesIO(file.getvalue())) as archive:
        return {name: archive[name] for name in archive.files}


def archives(name: str, rng: np.random.Generator) -> bytes:
    """A mutant of a file of results: arrays that are missing, renamed, of another type or shape, or another header."""
    arrays = dict(result_arrays())
    for _ in range(rng.integers(1, 3)):
        key = list(arrays)[rng.integers(len(arrays))]
        kind = rng.integers(7)
        if kind <= 2:
            header = mutate(json.loads(result_arrays()["header"].tobytes()), rng)
            text = json.dumps(header).encode("utf-8", "surrogatepass")
            arrays["header"] = np.frombuffer(text, np.uint8)
        elif kind == 3 and len(arrays) > 1:
            del arrays[key]
        elif kind == 4:
            arrays[str(rng.choice(["predicted", "header", "more", "hits_"]))] = arrays[key]
        elif kind == 5:
            arrays[key] = arrays[key].astype(str(rng.choice(["f4", "i8", "u1", "U9", "?", "c16"])))
        else:
            arrays[key] = arrays[key].ravel()[: int(rng.integers(0, 9))]
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    data = file.getvalue()
    if rng.integers(3) == 0:
        at = int(rng.integers(len(data)))
        data = data[:at] + bytes([data[at] ^ 1 << int(rng.integers(8))]) + data[at + 1 :]
    return data


def attack(
    name: str,
    make: Callable[[str, np.random.Generator], bytes],
    reads: tuple[Callable[[Path], object], ...],
    path: Path,
    cases: int,
) -> int:
    """Read mutants; return how many were refused."""
    rng = np.random.default_rng(3)
    refused = 0
    for _ in range(cases):
        path.write_bytes(make(name, rng))
        for read in reads:
            message = str(path)
            try:
                read(path)
            except mg.UnreadableFile as refusal:
                message = str(refusal)
                refused += 1
            assert str(path) in message
            assert message.encode()  # it can be printed
            assert len(message) < 1500
    return refused


def _named(name: str) -> Callable[[Path], object]:
    return lambda path: mg.read(path, name, degenerate="drop")


WAYS: dict[str, tuple[Callable[[str, np.random.Generator], bytes], tuple[Callable[[Path], object], ...]]] = {
    **{
        name: (documents, (mg.read, _named(name)))
        for name in CASES
        if name not in ("csv", "gis", "lanelet2", "parquet")
    },
    "csv": (csv_rows, (mg.read, _named("csv"))),
    "parquet": (tables, (mg.read, lambda path: open_dataset(path).read())),
    "results": (archives, (mg.load_results,)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WAYS)
def test_wrong_structures_are_read_or_refused(name: str, tmp_path: Path) -> None:
    make, reads = WAYS[name]
    assert attack(name, make, reads, tmp_path / "file", QUICK) > QUICK // 4


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WAYS)
def test_thousands_of_wrong_structures_are_read_or_refused(name: str, tmp_path: Path) -> None:
    make, reads = WAYS[name]
    assert attack(name, make, reads, tmp_path / "file", int(os.environ.get("MAPGAUGE_FUZZ_FILES", "5000"))) > 0
