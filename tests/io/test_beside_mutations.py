"""Damaged files that hold no lines: poses, tags and results. Each is read or refused in our own words."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from tests.io.test_mutations import mutant, world

import mapgauge as mg
from mapgauge.io.poses import read_feather
from mapgauge.truth.poses import read_poses

QUICK = 150  # mutants of each file in `make test`; `make fuzz` asks for more
NUMBERS = ("qw", "qx", "qy", "qz", "tx_m", "ty_m", "tz_m")


def _json() -> bytes:
    pose = {"translation": [10, 20, 0.5], "rotation": [1, 0, 0, 0], "scene": "s", "timestamp": 1526915243047392123}
    return json.dumps({"frames": {"t0": pose, "t1": pose}}).encode()


def _tum() -> bytes:
    return b"# t tx ty tz qx qy qz qw\n1526915243.047392 10 20 0.5 0 0 0 1\n1526915244.5 11 20 0.5 0 0 0 1\n"


def _feather() -> bytes:
    file = io.BytesIO()
    columns = {"timestamp_ns": [1, 2]} | {name: [float(name == "qw")] * 2 for name in NUMBERS}
    feather.write_feather(pa.table(columns), file, compression="uncompressed")
    return file.getvalue()


def _tags_csv() -> bytes:
    return b"token,weather,night,speed\nt0,rain,yes,3.5\nt1,,no,\n"


def _tags_parquet() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"token": ["t0", "t1"], "weather": ["rain", None], "speed": [1.5, 2.0]}), file)
    return file.getvalue()


def _results(folder: Path) -> bytes:
    mg.evaluate(world().with_confidence(0.5), world()).save(folder / "r.mg")
    return (folder / "r.mg").read_bytes()


WAYS: dict[str, tuple[Callable[[Path], bytes], Callable[[Path], object]]] = {
    "poses.json": (lambda folder: _json(), read_poses),
    "poses.txt": (lambda folder: _tum(), read_poses),
    "poses.feather": (lambda folder: _feather(), read_feather),
    "tags.csv": (lambda folder: _tags_csv(), mg.read_tags),
    "tags.json": (lambda folder: b'{"t0": {"weather": "rain", "night": true}, "t1": {"speed": 3.5}}', mg.read_tags),
    "tags.parquet": (lambda folder: _tags_parquet(), mg.read_tags),
    "results.mg": (_results, mg.load_results),
}


def attack(name: str, folder: Path, cases: int) -> int:
    """Read mutants; return how many were refused."""
    rng = np.random.default_rng(5)
    make, read = WAYS[name]
    sound = make(folder)
    path = folder / name
    path.write_bytes(sound)
    read(path)
    refused = 0
    for _ in range(cases):
        path.write_bytes(mutant(sound, rng))
        message = str(path)
        try:
            read(path)
        except mg.UnreadableFile as refusal:
            message = str(refusal)
            refused += 1
        assert str(path) in message
        assert message.encode()  # it can be printed
    return refused


@pytest.mark.parametrize("name", WAYS)
def test_damaged_files_without_lines_are_read_or_refused(name: str, tmp_path: Path) -> None:
    assert attack(name, tmp_path, QUICK) > QUICK // 10


@pytest.mark.fuzz
@pytest.mark.parametrize("name", WAYS)
def test_thousands_of_damaged_files_without_lines_are_read_or_refused(name: str, tmp_path: Path) -> None:
    assert attack(name, tmp_path, int(os.environ.get("MAPGAUGE_FUZZ_FILES", "5000"))) > 0
