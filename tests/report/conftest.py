"""A small world evaluated once, reports of it, and a browser to open them in."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.evaluation.evaluate import with_metrics
from mapgauge.report import write_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

FRAMES = 30
PREDICTIONS = 30  # in each frame
DRAWN = 12
PATIENCE = 30_000  # milliseconds, for busy machines
LONG = [
    "StreamMapNet_r50_24e_newsplit_60x30",
    "MapTRv2_nusc_r50_110ep_centerline",
    "MapTracker_stage3_joint_finetune",
]


@pytest.fixture(scope="session")
def methods() -> list[mg.Results]:
    good, truth = demo_world(FRAMES, predictions=PREDICTIONS)
    poor, _ = demo_world(FRAMES, predictions=PREDICTIONS, quality="poor")
    return [with_metrics(mg.evaluate(side, truth), ["completeness", "causes"]) for side in (good, poor)]


@pytest.fixture(scope="session")
def one(methods: list[mg.Results], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of one method; some frames are drawn."""
    path = tmp_path_factory.mktemp("one") / "report.html"
    write_report(methods[0], path, frames=DRAWN)
    return path


@pytest.fixture(scope="session")
def two(methods: list[mg.Results], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two methods; all frames are drawn."""
    path = tmp_path_factory.mktemp("two") / "report.html"
    write_report(methods, path, names=["good", "poor"])
    return path


@pytest.fixture(scope="session")
def three(methods: list[mg.Results], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of three methods with long names; all frames are drawn."""
    path = tmp_path_factory.mktemp("three") / "report.html"
    write_report([*methods, methods[0]], path, names=LONG)
    return path


def listeners_of(said: list[str], asked: list[str]) -> "dict[str, Callable[[Any], None]]":
    """What notes the complaints of a page, and what it loads."""
    return {
        "console": lambda message: said.append(f"{message.type}: {message.text}"),
        "pageerror": lambda error: said.append(str(error)),
        "request": lambda request: asked.append(request.url),
    }


@pytest.fixture(scope="session")
def window(browser: "Browser") -> "Page":
    """A page that all tests open their first report in. A new one costs as much as most tests."""
    page = browser.new_context().new_page()
    page.context.set_default_timeout(PATIENCE)
    return page


# Follows an address as a link within the page does, and waits until all is drawn for it and for the size of the window.
# An entry that the page ignores makes the address differ from the one before, so that it is followed.
FOLLOWED = """(address) => new Promise((done) => {
    scrollTo(0, 0);
    document.activeElement.blur();
    addEventListener("hashchange", () => requestAnimationFrame(() => requestAnimationFrame(done)), { once: true });
    location.hash = `${address}&look=${performance.now()}`;
})"""


@pytest.fixture(scope="session")
def kept() -> "dict[Path, Page]":
    """Tabs that stay open, by the report that they show."""
    return {}


@pytest.fixture
def look(browser: "Browser", kept: "dict[Path, Page]") -> "Iterator[Callable[..., Page]]":
    """Opens a report for a test that changes nothing but what the address says.

    The tab stays open for the next test, which is quicker than to load the report again. The browser must have had
    nothing to complain of and nothing to load.
    """
    said: list[str] = []
    asked: list[str] = []
    pages: list[Page] = []
    listeners = listeners_of(said, asked)

    def opened(path: Path, address: str = "", *, dark: bool = False, width: int = 1400, height: int = 900) -> "Page":
        page = kept.get(path) or browser.new_page()
        page.set_default_timeout(PATIENCE)
        if page not in pages:
            pages.append(page)
            for event, listener in listeners.items():
                page.on(event, listener)  # type: ignore[call-overload]
        page.emulate_media(color_scheme="dark" if dark else "light", media="screen")
        page.set_viewport_size({"width": width, "height": height})
        if path in kept:
            page.evaluate(FOLLOWED, address)
        else:
            page.goto(path.as_uri() + address)
            page.wait_for_selector("body[data-ready]")
            kept[path] = page
        return page

    yield opened
    for page in pages:
        page.mouse.move(0, 0)
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
    assert said == []
    assert all(url.startswith(("file:", "data:")) for url in asked)


@pytest.fixture
def show(window: "Page") -> "Iterator[Callable[..., Page]]":
    """Opens a report. At the end of a test, the browser must have had nothing to complain of and nothing to load."""
    said: list[str] = []
    asked: list[str] = []
    pages: list[Page] = []
    listeners = listeners_of(said, asked)

    def opened(path: Path, address: str = "", *, dark: bool = False, width: int = 1400, height: int = 900) -> "Page":
        page = window.context.new_page() if pages else window
        pages.append(page)
        page.emulate_media(color_scheme="dark" if dark else "light", media="screen")
        page.set_viewport_size({"width": width, "height": height})
        for event, listener in listeners.items():
            page.on(event, listener)  # type: ignore[call-overload]
        page.goto(path.as_uri() + address)
        page.wait_for_selector("body[data-ready]")
        return page

    yield opened
    for page in pages:
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
        if page is not window:
            page.close()
    window.goto("about:blank")
    window.mouse.move(0, 0)
    window.context.clear_permissions()
    assert said == []
    assert all(url.startswith(("file:", "data:")) for url in asked)
