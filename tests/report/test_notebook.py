"""The first screen in a notebook: its panels in a frame of their own, and what remains where scripts are taken away."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.report.conftest import PATIENCE, listeners_of

import mapgauge as mg
from mapgauge.demo import demo_world

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FrameLocator, Page

# A notebook with elements whose names the page of the report has too.
NOTEBOOK = """<!DOCTYPE html><html lang="en"><head><title>notebook</title>
<style>body {{ font: 17px serif; background: rgb(255, 250, 240) }}</style></head>
<body><h1 id="first">Notebook</h1><table class="facts" id="list"><tr><th>mine</th></tr></table>
<div id="output">{}</div></body></html>"""
STYLE_OF_THE_NOTEBOOK = """() => [...document.querySelectorAll("body, #first, #list, #list th")].map((one) => {
    const style = getComputedStyle(one);
    return [style.font, style.color, style.backgroundColor, style.margin, style.padding, style.border].join();
})"""


@contextmanager
def notebook(page: "Page", folder: Path, output: str) -> "Iterator[Page]":
    """Show the output of a cell. The browser must have nothing to complain of, and nothing to load."""
    path = folder / "notebook.html"
    path.write_text(NOTEBOOK.format(output), encoding="utf-8")
    said: list[str] = []
    asked: list[str] = []
    listeners = listeners_of(said, asked)
    page.set_viewport_size({"width": 1200, "height": 900})
    for event, listener in listeners.items():
        page.on(event, listener)  # type: ignore[call-overload]
    page.goto(path.as_uri())
    yield page
    page.goto("about:blank")
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []


def panels(page: "Page") -> "FrameLocator":
    page.locator("iframe").scroll_into_view_if_needed()
    frame = page.frame_locator("iframe")
    frame.locator("body[data-ready]").wait_for()
    return frame


@pytest.fixture(scope="module")
def output(methods: list[mg.Results]) -> str:
    """What a notebook shows of one method."""
    return str(methods[0]._repr_html_())


@pytest.mark.needs_feature("error_map")
def test_results_show_the_map_of_errors(window: "Page", tmp_path: Path, output: str) -> None:
    with notebook(window, tmp_path, output) as page:
        assert panels(page).locator("#where-card canvas").is_visible()


def test_results_show_the_panels_of_the_report(
    window: "Page", tmp_path: Path, output: str, methods: list[mg.Results]
) -> None:
    with notebook(window, tmp_path, output) as page:
        frame = panels(page)
        assert f"{methods[0].classes['divider']['pld']:.3f}" in frame.locator("#what").inner_text()
        assert frame.locator("#why-card .rows tr").count() == 5
        frame.locator("#examples .thumb path").first.wait_for()
        assert not frame.locator("#answer").is_visible()  # it stands in the notebook
        frame.locator("#what").get_by_role("button", name="divider").click()
        assert frame.locator("#chips button").all_inner_texts() == ["divider \u2715"]
        frame.locator("#examples .thumb-button").nth(1).click()
        token = frame.locator("#examples .thumb-button").nth(1).get_attribute("title")
        assert frame.locator("#chosen").inner_text().startswith(token or "?")
        page.wait_for_timeout(300)  # the page writes its state to the address, if it has one


def test_two_methods_are_compared(window: "Page", tmp_path: Path, methods: list[mg.Results]) -> None:
    screen = mg.first_screen(methods, names=["good", "poor"])
    assert str(screen) == str(screen.answer)
    assert str(screen).startswith("Whether poor or good is better")
    with notebook(window, tmp_path, screen._repr_html_()) as page:
        assert "Whether poor or good is better" in page.locator("#output").inner_text()
        frame = panels(page)
        assert frame.locator("#who button").all_inner_texts() == ["good", "poor", "poor minus good"]
        assert "The way from" in frame.locator("#why-card").inner_text()


def test_the_panels_change_nothing_of_the_notebook(window: "Page", tmp_path: Path, output: str) -> None:
    with notebook(window, tmp_path, "") as page:
        before = page.evaluate(STYLE_OF_THE_NOTEBOOK)
    with notebook(window, tmp_path, output) as page:
        frame = panels(page)
        assert page.evaluate(STYLE_OF_THE_NOTEBOOK) == before
        assert page.title() == "notebook"
        page.locator("h1").click()
        page.keyboard.press("2")  # a key of the report
        assert page.locator("h1").inner_text() == "Notebook"
        assert not frame.locator("#grid-frames").is_visible()
        inside = page.frames[1]
        assert inside.evaluate("() => origin") == "null"  # so it can read nothing of the notebook


def test_the_answer_and_the_tables_remain_without_scripts(
    browser: "Browser", tmp_path: Path, output: str, methods: list[mg.Results]
) -> None:
    without_frames = re.sub(r"<iframe.*?</iframe>", "", output)
    assert "<iframe" in output
    assert "<script" not in output.lower()
    page = browser.new_page(java_script_enabled=False)
    page.set_default_timeout(PATIENCE)
    for shown in (output, without_frames):
        with notebook(page, tmp_path, shown):
            text = page.locator("#output").inner_text()
            assert f"{methods[0].mean['pld']:.3f}" in text
            assert "of the map" in text
            if shown is output:
                inside = page.frame_locator("iframe").locator("body").inner_text()
                assert "need JavaScript" in inside
                assert "What" not in inside
    page.close()


def test_a_notebook_stays_small() -> None:
    few = mg.evaluate(*demo_world(20, predictions=10))._repr_html_()
    assert len(few) < 700_000
    many = mg.evaluate(*demo_world(501, predictions=3))
    html = many._repr_html_()
    assert "<iframe" not in html
    assert "mapgauge.first_screen(results)" in html
    assert "<table" in html


@pytest.mark.parametrize("named", [lambda name: name, lambda name: f"</iframe><script>alert(1)</script>\"'{name}"])
def test_names_cannot_leave_the_frame(window: "Page", tmp_path: Path, named: Callable[[str], str]) -> None:
    line = [[0, 0], [9, 0]]
    truth = mg.MapFrames.of({named(f"t{k}"): {named("lane"): [line]} for k in range(3)})
    settings = mg.protocol("paper-60x30", classes=[named("lane")])
    results = mg.evaluate(truth.with_confidence(0.5), truth, settings)
    html = results._repr_html_()
    assert html.count("<iframe") == html.count("</iframe>") == 1
    assert "<script" not in html
    (source,) = re.findall(r'srcdoc="([^"]*)"', html)
    assert unescape(source).startswith("<!DOCTYPE html>")
    with notebook(window, tmp_path, html) as page:
        frame = panels(page)
        assert frame.locator("#what .rows th button").all_inner_texts() == [named("lane")]
