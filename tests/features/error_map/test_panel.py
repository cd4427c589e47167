"""The panel *where* of the report: the error map with poses, and the area around the vehicle without."""

import base64
import gzip
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.features.error_map import planted

import mapgauge as mg
from mapgauge.features.error_map.panel import map_panel, shown_of
from mapgauge.features.error_map.report_section import SECTION
from mapgauge.geometry.polylines import ranges
from mapgauge.report import write_report
from mapgauge.views.tiles import areas_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

Show = Callable[..., "Page"]
NAMES = ("good", "poor")


@cache
def methods(*, poses: bool = True) -> tuple[mg.Results, mg.Results]:
    """A good method, and one with planted failures."""
    sides = [planted.perfect(), planted.predictions(), planted.truth()]
    if not poses:
        sides = [replace(side, poses=None) for side in sides]
    perfect, predictions, truth = sides
    return planted.evaluated(perfect, truth), planted.evaluated(predictions, truth)


def read(html: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the panel says, and its arrays."""
    (text,) = re.findall(r'<pre id="error-map-about" hidden="hidden">(.*?)</pre>', html)
    (data,) = re.findall(r'<pre id="error-map-data" hidden="hidden">(.*?)</pre>', html)
    about = json.loads(text.replace("&quot;", '"').replace("&#34;", '"').replace("&amp;", "&"))
    block = gzip.decompress(base64.b64decode(data))
    arrays = {
        name: np.frombuffer(block, kind, count=size, offset=start)
        for name, (kind, start, size) in about["arrays"].items()
    }
    return about, arrays


def pieces_of_runs(arrays: dict[str, Any], piece: int) -> list[int]:
    """Return the frames that saw a shown piece, as the script finds them."""
    runs = arrays["runs"]
    before = int(runs[:piece].sum())
    some = slice(before, before + int(runs[piece]))
    places = ranges(arrays["start"][some].astype(np.int64), arrays["size"][some].astype(np.int64))
    frames: list[int] = arrays["order"][places].tolist()
    return frames


def test_the_panel_has_the_map_with_all_counts() -> None:
    about, arrays = read(SECTION.in_panel(methods(), NAMES))
    made = mg.error_map(methods(), names=NAMES)
    assert about["kind"] == "map"
    assert about["count"] == len(made.pieces.x)
    np.testing.assert_array_equal(arrays["seen"], made.seen)
    levels = arrays["1.found"].reshape(len(about["levels"]), -1)
    found = levels[0] - np.concatenate([np.zeros_like(levels[:1]), levels[1:].cumsum(axis=0)])
    for k, level in enumerate(about["levels"]):
        np.testing.assert_array_equal(found[k], made.found(1, level))
    (place, *_) = about["places"][1]["missed"]
    assert place["class"] == "divider"
    assert place["share"].startswith("59 % [")
    # The page and the table name a place by the same piece.
    worst = made.worst(NAMES[1], count=1)[0]
    assert (made.pieces.x[place["piece"]], made.pieces.y[place["piece"]]) == (worst.x, worst.y)


def test_the_page_knows_the_frames_that_saw_a_piece() -> None:
    _, arrays = read(SECTION.in_panel(methods(), NAMES))
    made = mg.error_map(methods(), names=NAMES)
    for piece in (0, 17, len(made.pieces.x) - 1):
        assert sorted(made.tokens[frame] for frame in pieces_of_runs(arrays, piece)) == sorted(made.frames(piece))


def test_many_pieces_are_shown_as_few() -> None:
    made = mg.error_map(methods(), names=NAMES)
    about, arrays = read(map_panel(made, NAMES, most=120))
    assert about["count"] <= 120
    assert about["merged"] >= 1
    assert arrays["seen"].sum() == made.seen.sum()
    assert arrays["length"].sum() / 100 == pytest.approx(made.pieces.length.sum(), abs=1)
    shown = shown_of(made, areas_of(made.pieces.x, made.pieces.y, made.pieces.length), 120)
    piece = int(shown.piece[5])
    saw = {token for k in np.flatnonzero(shown.piece == piece) for token in made.frames(int(k))}
    assert {made.tokens[frame] for frame in pieces_of_runs(arrays, piece)} == saw


def test_without_poses_it_is_the_area_around_the_vehicle() -> None:
    about, arrays = read(SECTION.in_panel(methods(poses=False), NAMES))
    assert about["kind"] == "ego"
    assert about["columns"] * about["rows"] == len(arrays["0.seen"])
    np.testing.assert_allclose(arrays["0.found"].reshape(len(about["levels"]), -1)[0], arrays["0.seen"])
    text = SECTION.in_panel(methods(poses=False), NAMES)
    assert "good: not found 0 % ahead, 0 % beside, 0 % behind" in text


def test_methods_without_a_common_map_are_shown_around_the_vehicle() -> None:
    first, second = methods()
    other = replace(planted.truth(), polylines=planted.truth().rotate(1.0).polylines)
    text = SECTION.in_panel([first, planted.evaluated(planted.predictions(), other)], NAMES)
    assert read(text)[0]["kind"] == "ego"
    assert read(SECTION.in_panel([first, second], NAMES))[0]["kind"] == "map"


def test_nothing_is_said_of_a_method_with_an_error() -> None:
    first, second = methods()
    doubtful = replace(second, findings=(mg.Finding("error", "wrong", "the axes are wrong", count=1),))
    text = SECTION.in_panel([first, doubtful], NAMES)
    assert "poor misses most" not in text
    assert "poor misses most" in SECTION.in_panel([first, second], NAMES)


def test_without_data_there_is_no_panel() -> None:
    assert SECTION.in_panel([method.without_data() for method in methods()], NAMES) == ""


def test_names_and_classes_cannot_become_markup() -> None:
    wild = "</pre><script>alert(1)</script>"
    text = SECTION.in_panel(methods(), (wild, "B"))
    assert "<script" not in text
    assert read(text)[0]["names"][0].startswith(("&lt;", "</pre>"))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """Reports with and without poses."""
    folder = tmp_path_factory.mktemp("pages")
    files = {poses: folder / f"{poses}.html" for poses in (True, False)}
    for poses, file in files.items():
        write_report(methods(poses=poses), file, names=NAMES)
    return files


def test_a_click_on_a_place_lists_the_frames_that_saw_it(show: Show, pages: dict[bool, Path]) -> None:
    page = show(pages[True])
    page.wait_for_selector("#error-canvas")
    page.click("#error-bar [data-mode='1']")
    assert page.get_attribute("#error-bar [data-mode='1']", "aria-pressed") == "true"
    place = page.locator("#error-places button").first
    assert "divider 7 m, 59 %" in place.inner_text()
    place.click()
    page.wait_for_url("**road=*")
    listed = page.inner_text("#count")
    number = int(page.evaluate("new URLSearchParams(location.hash.slice(1)).get('road')"))
    made = mg.error_map(methods(), names=NAMES)
    assert listed.startswith(f"{made.seen[number]} of 90")
    # The filter is taken away together with the others, and an address brings it back.
    address = page.evaluate("location.hash")
    page.click("#clear")
    assert page.inner_text("#count").startswith("90 of 90")
    page.wait_for_function("() => !location.hash.includes('road=')")
    page.evaluate("address => { location.hash = address; }", address)
    page.locator("#count", has_text=f"{made.seen[number]} of 90").wait_for()


def test_a_place_that_the_second_method_gains_filters_too(show: Show, tmp_path: Path) -> None:
    poor, good = reversed(methods())
    write_report([poor, good], tmp_path / "report.html", names=("poor", "good"))
    page = show(tmp_path / "report.html")
    page.click("#error-bar [data-mode='1-0']")
    assert page.locator("#error-places li:not(:has(button))").all_inner_texts() == ["Better at:"]
    place = page.locator("#error-places button").first
    assert "divider 7 m, \u221259 %" in place.inner_text()
    place.click()
    page.wait_for_url("**road=*")
    number = int(page.evaluate("new URLSearchParams(location.hash.slice(1)).get('road')"))
    made = mg.error_map([poor, good], names=("poor", "good"))
    (gained, *_) = made.worst("good", kind="gained")
    assert number in gained.pieces
    assert page.locator("#chips button").inner_text().startswith("saw ")
    assert page.inner_text("#count").startswith(f"{made.seen[number]} of 90")
    # The command names the frames that saw the piece.
    words = shlex.split(page.get_attribute("#copy-command", "title") or "")
    assert words[:2] == ["mapgauge", "frames"]
    rows = made.seen_frame[made.offsets[number] : made.offsets[number] + made.seen[number]]
    assert sorted(good.where(words[-1]).tokens) == sorted(made.tokens[frame] for frame in rows)


def saved(page: "Page") -> str:
    """The map as SVG."""
    with page.expect_download() as download:
        page.click("#error-tools button:text('SVG')")
    return Path(download.value.path()).read_text(encoding="utf-8")


@pytest.mark.parametrize("poses", [True, False])
def test_the_slider_moves_the_least_confidence_of_the_map_that_is_saved(
    show: Show, pages: dict[bool, Path], poses: bool
) -> None:
    page = show(pages[poses])
    page.wait_for_selector("#error-canvas")
    found, missed = "#aab2bd", "#d3202f"
    drawn = r'(?:d="M[^"]+" fill="none" stroke|fill)="{}"'
    before = saved(page)
    assert before.startswith("<svg xmlns=")
    assert re.search(drawn.format(found), before)
    assert not re.search(drawn.format(missed), before)
    zones = page.locator("#error-zones li > span:first-child")
    assert zones.all_inner_texts() == ["0 to 10 m", "10 to 20 m", "over 20 m", "ahead", "beside", "behind"]
    assert set(page.locator("#error-zones b").all_inner_texts()) == {"0 %"}
    page.fill("#error-bar input", "9")  # all predictions have a confidence of 0.8
    assert page.inner_text("#error-least") == "0.9"
    assert set(page.locator("#error-zones b").all_inner_texts()) == {"100 %"}
    after = saved(page)
    assert re.search(drawn.format(missed), after)
    assert not re.search(drawn.format(found), after)
