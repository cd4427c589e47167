"""The page of a history in a browser: what it shows, how it is used, and that everybody can read it."""

import html
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.audit import faults_of
from tests.features.history.conftest import copies, evaluated

import mapgauge as mg

if TYPE_CHECKING:
    from playwright.sync_api import Page

Show = Callable[[str], "Page"]


@pytest.fixture(scope="module")
def page_file(stepped: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "history.html"
    mg.history(stepped).save(path)
    return path


def opened(window: "Page", file: Path) -> "Page":
    window.goto("about:blank")
    window.goto(file.as_uri())
    window.wait_for_selector("#charts .night", state="attached")
    return window


def test_the_page_loads_nothing_and_allows_only_its_own_script(page_file: Path) -> None:
    text = html.unescape(page_file.read_text(encoding="utf-8"))
    assert "default-src 'none'; script-src 'sha256-" in text
    assert re.findall(r'(?:src|href)="(?!#)', text) == []
    assert "http://" not in re.sub(r"http://www\.w3\.org/\S+", "", text)


def test_the_answer_comes_first_and_each_class_has_a_curve_with_axes(window: "Page", page_file: Path) -> None:
    page = opened(window, page_file)
    assert (page.text_content("#said p") or "").startswith("boundary got worse by 0.0")
    captions = [node.text_content() or "" for node in page.query_selector_all("#charts figcaption")]
    assert [caption.split(" PLD")[0] for caption in captions] == [
        "mean over classes",
        "boundary",
        "ped_crossing",
        "divider",
    ]
    labels = [node.text_content() or "" for node in page.query_selector_all("#charts figure:nth-child(2) text")]
    assert any(re.fullmatch(r"0\.\d+", label) for label in labels)
    assert any("Nov" in label for label in labels)
    assert any(label.startswith("+0.0") for label in labels)  # the step
    assert len(page.query_selector_all("#charts figure:nth-child(2) .night")) == 30
    assert page.query_selector("#charts .interval")
    assert page.text_content("#failure") == ""


def test_another_value_and_another_night_can_be_chosen(window: "Page", page_file: Path) -> None:
    page = opened(window, page_file)
    page.select_option("#value", label="Chamfer-AP")
    assert "Chamfer-AP, higher is better" in (page.text_content("#charts figcaption") or "")
    page.focus("#night")
    page.keyboard.press("Home")
    assert (page.text_content("#readout") or "").startswith(
        "14 Oct 2026 (commit 1b3c), Chamfer-AP: mean over classes 0."
    )
    page.keyboard.press("ArrowRight")
    assert (page.text_content("#readout") or "").startswith("15 Oct 2026")
    page.hover("#charts svg")
    assert "Oct 2026" in (page.text_content("#readout") or "")
    page.click("#changes tbody button")
    assert (page.text_content("#readout") or "").startswith("3 Nov 2026 (commit 4f2a), PLD:")


def test_the_intervals_can_be_hidden(window: "Page", page_file: Path) -> None:
    page = opened(window, page_file)
    page.uncheck("#bands")
    assert page.query_selector("#charts .interval") is None
    page.check("#bands")
    assert page.query_selector("#charts .interval")


def test_the_switch_keeps_only_what_got_worse(window: "Page", page_file: Path) -> None:
    page = opened(window, page_file)
    rows = page.query_selector_all("#changes tbody tr")
    page.check("#only-worse")
    shown = [row for row in rows if row.is_visible()]
    assert 0 < len(shown) < len(rows)
    assert all("is-worse" in (row.get_attribute("class") or "") for row in shown)
    page.uncheck("#only-worse")
    assert all(row.is_visible() for row in rows)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1300, 380])
def test_there_is_no_serious_fault(window: "Page", page_file: Path, dark: bool, width: int) -> None:
    size = window.viewport_size
    page = opened(window, page_file)
    page.emulate_media(color_scheme="dark" if dark else "light")
    page.set_viewport_size({"width": width, "height": 800})
    assert faults_of(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    page.emulate_media(color_scheme="light")
    if size is not None:
        page.set_viewport_size(size)


def test_names_of_strangers_are_text(window: "Page", sides: tuple[mg.MapFrames, mg.MapFrames], tmp_path: Path) -> None:
    hostile = '</script><script>document.title = "taken"</script><img src=x onerror=alert(1)>'
    results = replace(evaluated(sides, {}, {}), metadata={"note": hostile})
    folder = copies([results, results], tmp_path / "n")
    (folder / "<b>bad.mg").write_text("x", encoding="utf-8")
    mg.history(folder).save(tmp_path / "history.html", title=hostile)
    page = opened(window, tmp_path / "history.html")
    assert page.title() == hostile
    assert page.query_selector("img") is None
    assert "<b>bad.mg: not a file of results" in (page.text_content("#nights") or "")
    assert page.text_content("#failure") == ""
