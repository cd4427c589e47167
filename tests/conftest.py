"""Fixtures and settings shared by all tests."""

import os
import shutil
import signal
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from mapgauge import manifest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from playwright.sync_api import Browser

# There is no deadline, because the first call of a kernel compiles it for seconds. CI tries the same examples every
# time. Other runs try new examples each time, and MAPGAUGE_EXAMPLES sets their number.
settings.register_profile(
    "mapgauge",
    deadline=None,
    derandomize="CI" in os.environ,
    max_examples=int(os.environ.get("MAPGAUGE_EXAMPLES", "30")),
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("mapgauge")

# A script starts what follows `&` with Ctrl-C ignored, and nohup ignores SIGHUP. Commands that tests interrupt, in this
# process and in others, would ignore them too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> "Generator[None, list[pytest.Collector], list[pytest.Collector]]":
    """Look for tests alone. Examples are in docstrings of the package and in pages, and searching takes seconds."""
    found = yield
    return [one for one in found if type(one) is pytest.Module]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests of features that were deleted. Nothing is skipped where the package is complete."""
    present = {one.name for one in manifest.own()}
    for item in items:
        needed = {name for mark in item.iter_markers("needs_feature") for name in mark.args}
        absent = sorted(needed - present)
        if absent:
            item.add_marker(pytest.mark.skip(reason=f"deleted: {', '.join(absent)}"))


@pytest.fixture(scope="session", autouse=True)
def unsynced() -> "Iterator[None]":
    """What tests write need not survive a loss of power. They would wait for the disk seven thousand times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261115)


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    # The shell without windows draws pages in two thirds of the time.
    programs = ("chromium-headless-shell", "chromium", "chromium-browser")
    program = next(filter(None, map(shutil.which, programs)), None)
    if program is None:
        pytest.skip("there is no Chromium")
    with api.sync_playwright() as playwright:
        # Other threads would optimise scripts of pages that are open for a second.
        arguments = ["--no-sandbox", "--js-flags=--single-threaded"]
        chromium = playwright.chromium.launch(executable_path=program, args=arguments)
        yield chromium
        chromium.close()
