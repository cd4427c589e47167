"""The chosen frame is drawn before all frames are read, and is checked after that."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.features.view.conftest import Open, serving_methods
from tests.features.view.test_server import ask, below, unpacked

import mapgauge as mg
from mapgauge.errors import InvalidInput
from mapgauge.features.view.explorer import Method
from mapgauge.io import parquet
from mapgauge.results.one_frame import frame_alone
from mapgauge.results.results import Results

NAMES = ("good", "poor")


@pytest.fixture(scope="module")
def parted(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two detectors, whose files have several row groups."""
    folder = tmp_path_factory.mktemp("parted")
    for name in (*NAMES, "truth"):
        (folder / f"{name}.parquet").write_bytes(parquet.write(mg.read(files / f"{name}.parquet"), group_rows=512))
    for name in NAMES:
        mg.evaluate(mg.read(folder / f"{name}.parquet"), mg.read(folder / "truth.parquet")).save(folder / f"{name}.mg")
    return folder


class Reading:
    """Reads all frames when the test says so."""

    def __init__(self, folder: Path) -> None:
        self.allowed = threading.Event()
        self.failure = ""
        loaded = [mg.load_results(folder / f"{name}.mg") for name in NAMES]
        self.methods = [
            Method(name, f"{name}.mg", results, partial(self.read, results), partial(frame_alone, results))
            for name, results in zip(NAMES, loaded, strict=True)
        ]

    def read(self, results: Results) -> Results:
        self.allowed.wait()
        if self.failure:
            raise InvalidInput(self.failure)
        return results.with_data()


@pytest.fixture
def reading(parted: Path) -> Iterator[Reading]:
    made = Reading(parted)
    yield made
    made.allowed.set()


def test_the_chosen_frame_is_drawn_before_all_are_read_and_looks_the_same_after(show: Open, reading: Reading) -> None:
    with serving_methods(reading.methods) as server:
        page = show(server.address)
        page.wait_for_selector(".panel .instance", state="attached")
        page.wait_for_function("() => document.getElementById('status').textContent.includes('not checked yet')")
        paths = "nodes => nodes.map((node) => node.outerHTML)"
        before = page.locator(".panel .instance path").evaluate_all(paths)
        page.evaluate("document.querySelectorAll('.panel .instance').forEach((node) => node.classList.add('early'))")
        reading.allowed.set()
        page.wait_for_selector(".panel .instance:not(.early)", state="attached")
        page.wait_for_function("() => document.getElementById('status').textContent === ''")
        assert page.locator(".panel .instance path").evaluate_all(paths) == before
        assert page.locator(".panel .instance.early").count() == 0


def test_a_drawn_frame_is_taken_away_if_the_files_have_changed(show: Open, reading: Reading) -> None:
    reading.failure = "the file changed since"
    with serving_methods(reading.methods) as server:
        page = show(server.address)
        page.wait_for_selector(".panel .instance", state="attached")
        reading.allowed.set()
        page.wait_for_selector(".panel .instance", state="detached")
        assert "the file changed since" in page.locator("#status").inner_text()
        assert "This frame cannot be drawn" in page.locator(".panel .none").first.inner_text()


def test_the_server_draws_a_frame_of_all_methods_or_says_that_it_is_not_found(parted: Path, reading: Reading) -> None:
    with serving_methods(reading.methods) as server:
        header, arrays = unpacked(ask(server, below(server, "unchecked/17"))[1])
        assert header["found"] is True
        assert unpacked(ask(server, below(server, "geometry"))[1])[0]["state"] == "reading"
        reading.allowed.set()
        _, expected = unpacked(ask(server, below(server, "frame/17"))[1])
        assert list(arrays) == list(expected)
        for key, column in arrays.items():
            np.testing.assert_array_equal(column, expected[key], err_msg=key)
        assert ask(server, below(server, "unchecked/999"))[0].status == 422
    one_cannot = [reading.methods[0], reading.methods[1]._replace(alone=lambda token: None)]
    with serving_methods(one_cannot) as server:
        header, arrays = unpacked(ask(server, below(server, "unchecked/17"))[1])
        assert (header["found"], arrays) == (False, {})


def test_a_map_is_not_drawn_before_its_extent_is_known(reading: Reading) -> None:
    """What a map looks like depends on all of its frames."""
    world = [method._replace(alone=partial(_as_map, method.results)) for method in reading.methods]
    with serving_methods(world) as server:
        assert unpacked(ask(server, below(server, "unchecked/0"))[1])[0]["found"] is False


def _as_map(results: Results, token: str) -> Results | None:
    alone = frame_alone(results, token)
    assert alone is not None
    return replace(alone, protocol=replace(alone.protocol, has_ego=False))
