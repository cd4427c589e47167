"""Results of a small world with their files, a real server, and a browser in front of it."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cameras.rigs import nuscenes_rig
from tests.report.conftest import FOLLOWED

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.view.explorer import Explorer, Method
from mapgauge.features.view.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize

FRAMES = 30
PREDICTIONS = 30  # in each frame
SIZE: "ViewportSize" = {"width": 1400, "height": 1200}
WINDOWS: list["BrowserContext"] = []
POLL = 0.01  # seconds; servers of tests end at once
PATIENCE = 30_000  # milliseconds; kernels may have to be compiled on a busy machine


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with predictions of two detectors, truth, and results."""
    folder = tmp_path_factory.mktemp("view")
    for quality in ("good", "poor"):
        predictions, truth = demo_world(FRAMES, predictions=PREDICTIONS, quality=quality)
        mg.write(truth, folder / "truth.parquet")
        mg.write(predictions, folder / f"{quality}.parquet")
        read, of = (mg.read(folder / f"{name}.parquet") for name in (quality, "truth"))
        mg.evaluate(read, of).save(folder / f"{quality}.mg")
    return folder


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with results of files without scenes and poses, as those of MapTR and StreamMapNet are."""
    folder = tmp_path_factory.mktemp("bare")
    for quality in ("good", "poor"):
        predictions, truth = demo_world(FRAMES, predictions=PREDICTIONS, quality=quality)
        mg.write(predictions, folder / f"{quality}.json", "maptr")
        mg.write(truth, folder / "truth.json", "maptr-truth")
        mg.evaluate(mg.read(folder / f"{quality}.json"), mg.read(folder / "truth.json")).save(folder / f"{quality}.mg")
    return folder


@contextmanager
def serving(*paths: Path, **settings: Any) -> Iterator[Server]:
    """Serve files of results from a thread."""
    methods = [Method(path.stem, str(path), loaded := mg.load_results(path), loaded.with_data) for path in paths]
    with serving_methods(methods, **settings) as server:
        yield server


@contextmanager
def serving_methods(methods: Sequence[Method], **settings: Any) -> Iterator[Server]:
    """Serve methods from a thread."""
    server = Server(Explorer(methods, **settings).routes, poll=POLL)
    thread = threading.Thread(target=server.run, kwargs={"until_closed": settings.get("tabs", False)})
    thread.start()
    try:
        yield server
    finally:
        close_pages_of(server)
        server.shutdown()
        thread.join()


def close_pages_of(server: Server) -> None:
    """Leave the pages of a server before it ends. They ask now and then, and would complain that nobody answers."""
    for window in WINDOWS:
        for page in window.pages:
            if page.url.startswith(server.address):
                page.goto("about:blank")


@pytest.fixture(scope="session")
def server(files: Path) -> Iterator[Server]:
    """A server of two methods."""
    with serving(files / "good.mg", files / "poor.mg") as running:
        yield running


@pytest.fixture(scope="session")
def rig(tmp_path_factory: pytest.TempPathFactory, files: Path) -> Path:
    """A folder with the results of two detectors, and with images in the layout of nuScenes."""
    folder = tmp_path_factory.mktemp("rig")
    nuscenes_rig(folder / "images", mg.read(files / "truth.parquet"))
    for name in ("good", "poor"):
        results = mg.load_results(files / f"{name}.mg").with_data()
        results.save(folder / f"{name}.mg", geometry="original")
    return folder


@pytest.fixture(scope="session")
def cameras(rig: Path, files: Path) -> Iterator[Server]:
    """A server of two methods with camera images."""
    with serving(files / "good.mg", files / "poor.mg", images=rig / "images") as running:
        yield running


def until(condition: Callable[[], bool]) -> None:
    """Wait for something outside the browser."""
    limit = time.monotonic() + PATIENCE / 1000
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.02)


@contextmanager
def started(
    files: Path, *words: str, program: tuple[str, str] = ("-m", "mapgauge")
) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Run the command in the folder of the files. Yields the process and the address that it prints."""
    command = [sys.executable, *program, "view", *words, "--no-browser"]
    with subprocess.Popen(
        command, cwd=files, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


Open = Callable[..., "Page"]
DRAWN = """() => document.querySelector('.panel .instance') && !document.querySelector('.panel svg.waiting')"""


def drawn(page: "Page") -> None:
    """Wait until the chosen frame is drawn. The frame before it stays in the page until then."""
    page.wait_for_function(DRAWN)


@pytest.fixture(scope="session")
def tabs(browser: "Browser") -> "BrowserContext":
    """A window whose first tab all tests use. A new window costs as much as a test."""
    context = browser.new_context(viewport=SIZE)
    context.set_default_timeout(PATIENCE)
    WINDOWS.append(context)
    return context


@pytest.fixture(scope="session")
def kept() -> "dict[str, Page]":
    """Tabs that stay open, by the address of their server."""
    return {}


@pytest.fixture
def look(tabs: "BrowserContext", kept: "dict[str, Page]") -> Iterator[Open]:
    """Opens an address of a server of all tests, for a test that changes nothing but what the address says.

    The tab stays open for the next test, which is quicker than to load the page again. The browser must have had
    nothing to complain of.
    """
    complaints: list[str] = []
    heard: list[Page] = []
    listeners: dict[str, Callable[[Any], None]] = {
        "console": lambda message: complaints.append(f"{message.type}: {message.text}"),
        "pageerror": lambda error: complaints.append(str(error)),
    }

    def opened(address: str) -> "Page":
        base, _, state = address.partition("#")
        page = kept.get(base) or tabs.browser.new_page()  # type: ignore[union-attr]
        page.set_default_timeout(PATIENCE)
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(SIZE)
        if page not in heard:
            heard.append(page)
            for event, listener in listeners.items():
                page.on(event, listener)  # type: ignore[call-overload]
        if base in kept:
            page.evaluate(FOLLOWED, state)
        else:
            page.goto(address)
            page.wait_for_selector("body[data-ready]")
            kept[base] = page
            WINDOWS.append(page.context)
        drawn(page)
        return page

    yield opened
    for page in heard:
        page.mouse.move(0, 0)
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
    assert complaints == []


@pytest.fixture
def show(tabs: "BrowserContext") -> Iterator[Open]:
    """Opens an address. At the end of a test, the browser must have had nothing to complain of, unless it may."""
    complaints: list[str] = []
    listeners: dict[str, Callable[[Any], None]] = {
        "console": lambda message: complaints.append(f"{message.type}: {message.text}"),
        "pageerror": lambda error: complaints.append(str(error)),
    }
    free = tabs.pages[:1]
    heard: list[Page] = []

    def opened(address: str, *, quiet: bool = True) -> "Page":
        page = free.pop() if free else tabs.new_page()
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(SIZE)
        if quiet:
            heard.append(page)
            for event, listener in listeners.items():
                page.on(event, listener)  # type: ignore[call-overload]
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        return page

    yield opened
    first, *others = tabs.pages or [tabs.new_page()]
    for page in others:
        page.close()
    first.goto("about:blank")
    first.mouse.move(0, 0)
    for page in heard:
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
    assert complaints == []
