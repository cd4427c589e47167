"""The tracks of a scene over time in the report."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.report.test_file import Elements, contents
from tests.tracked import EVIL, many_tracks, tracked_results, tracked_world

import mapgauge as mg
from mapgauge.features.tracks.strips import SCENES, strips_of
from mapgauge.report import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Page

Show = Callable[..., "Page"]
ONLY_OVER_TIME = re.compile(r"strip-slider|strips|over-time > ")


@pytest.fixture(scope="module")
def tracked() -> mg.Results:
    return tracked_results(*tracked_world())


@pytest.fixture(scope="module")
def page_of(tracked: mg.Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("strip") / "report.html"
    predictions, truth = tracked_world()
    assert predictions.track is not None
    other = replace(predictions, track=np.array([f"b-{track}" for track in predictions.track]))
    write_report([tracked, tracked_results(other, truth)], path, names=["one", "two"])
    return path


def test_the_page_has_the_strips_of_the_scenes(page_of: Path, tracked: mg.Results) -> None:
    meta, arrays = contents(page_of)
    assert meta["strips"]["scenes"] == ["s1", "s0"], "the highest T-PLD first"
    assert meta["strips"]["frames"] == [[6, 7, 8, 9, 10, 11], [0, 1, 2, 3, 4, 5]]
    strips = [strip for scene in ("s1", "s0") for strip in strips_of(tracked, scene)]
    cells = [cell for strip in strips for row in (*strip.truth, *strip.false) for cell in row.cells.tolist()]
    assert arrays["0.strip.cells"].tolist() == cells
    assert arrays["1.strip.cells"].tolist() == cells


def test_pages_without_t_pld_have_nothing_of_it(tmp_path: Path) -> None:
    predictions, truth = tracked_world()
    settings = mg.protocol("paper-60x30", classes=["divider"])
    bare = mg.evaluate(replace(predictions, track=None), replace(truth, track=None), settings, metrics=["pld"])
    write_report(bare, tmp_path / "bare.html")
    text = (tmp_path / "bare.html").read_text(encoding="utf-8")
    assert not ONLY_OVER_TIME.search(text)
    assert "switch_cost" not in Elements(text).text.split("Settings")[0]
    write_report(mg.evaluate(predictions, truth, settings, metrics=["pld"]), tmp_path / "hint.html")
    text = (tmp_path / "hint.html").read_text(encoding="utf-8")
    assert not ONLY_OVER_TIME.search(text)
    assert "mapgauge evaluate --set track_pld.switch_cost=0.5" in text
    tracked = tracked_results(predictions, truth)
    write_report(tracked.without_data(), tmp_path / "no-data.html")
    assert not ONLY_OVER_TIME.search((tmp_path / "no-data.html").read_text(encoding="utf-8"))


def test_without_the_solver_the_page_says_so(
    tracked: mg.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise mg.MissingDependency("a metric of tracks needs highspy", remedy="Install it")

    monkeypatch.setattr("mapgauge.features.tracks.strips.strips_of", missing)
    write_report(tracked, tmp_path / "report.html")
    text = Elements((tmp_path / "report.html").read_text(encoding="utf-8")).text
    assert "Tracks are not shown over time: a metric of tracks needs highspy. Install it." in text


def test_whole_scenes_are_drawn_and_their_number_is_limited(tmp_path: Path) -> None:
    many = tracked_results(*tracked_world(scenes=SCENES + 3, frames=2, lines=2))
    write_report(many, tmp_path / "some.html", frames=12)
    meta, _ = contents(tmp_path / "some.html")
    worst = [f"s{SCENES + 2 - k}" for k in range(3)]  # as many as fit into half of the frames
    number = meta["reasons"].index("in a scene with the worst T-PLD")
    whole = {meta["scenes"][frame] for frame, why in zip(meta["drawn"], meta["why"], strict=True) if number in why}
    assert whole == set(worst)
    assert len(meta["drawn"]) == 12
    assert meta["strips"]["scenes"][:3] == worst
    assert set(meta["strips"]["scenes"]) == {meta["scenes"][frame] for frame in meta["drawn"]}
    write_report(many, tmp_path / "all.html")
    meta, _ = contents(tmp_path / "all.html")
    assert len(meta["strips"]["scenes"]) == SCENES
    assert meta["strips"]["all"] == SCENES + 3


def test_the_slider_moves_through_the_frames(show: Show, page_of: Path) -> None:
    page = show(page_of)
    assert page.locator("#strip").is_hidden()
    page.get_by_role("radio", name="tracks over time").check()
    assert page.locator("#list").is_hidden()
    page.select_option("#strip-scene", "s0")
    assert page.locator("#strip-now").inner_text() == "frame 1 of 6 · 0.0 s"
    slider = page.locator("#strip-slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#chosen").inner_text().startswith("s0-2")
    assert slider.get_attribute("aria-valuetext") == "frame 3 of 6 · 20.0 s, s0-2"
    assert page.locator(".panel .instance").count() == 2 * 7
    page.keyboard.press("End")
    assert page.locator("#chosen").inner_text().startswith("s0-5")
    assert page.locator("#next").is_disabled()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("k")
    assert page.locator("#chosen").inner_text().startswith("s0-4"), "keys go through the scene"
    page.locator("#strip-rows .row rect").first.scroll_into_view_if_needed()
    cursor = page.locator("#strip-rows .cursor").bounding_box()
    first = page.locator("#strip-rows .row rect").first.bounding_box()
    assert cursor is not None
    assert first is not None
    page.mouse.click(first["x"] + 2, first["y"] + 4)
    assert page.locator("#chosen").inner_text().startswith("s0-0"), "a click in a bar"
    moved = page.locator("#strip-rows .cursor").bounding_box()
    assert moved is not None
    assert moved["x"] < cursor["x"]
    page.wait_for_url(re.compile("frame=s0-0"))  # the address follows a little later
    again = show(page_of, page.evaluate("location.hash"))
    assert again.locator("#strip-now").inner_text() == "frame 1 of 6 · 0.0 s"
    again.get_by_role("radio", name="list of frames").check()
    assert again.locator("#list tbody tr[data-frame]").count() == 12


def test_bars_and_switches_say_who_matched(show: Show, page_of: Path) -> None:
    page = show(page_of, "#frame=s0-0&pane=time")
    rows = page.locator("#strip-rows .row.true")
    assert [row.get_attribute("aria-label") for row in rows.all()] == [
        "divider, true track lane-0: matched in 5 of 6 frames",
        "divider, true track lane-1: matched in 6 of 6 frames",
        "divider, true track lane-2: matched in 6 of 6 frames; frame 4: taken over from early by late",
    ]
    titles = rows.nth(0).locator("rect title").all_text_contents()
    assert titles == [
        "lane-0\nframe 1: matched by p0",
        "lane-0\nframe 2: missed",
        "lane-0\nframes 3 to 6: matched by p0",
    ]
    assert page.locator("#strip-rows .switch title").all_text_contents() == [
        "lane-2\nframe 4: taken over from early by late"
    ]
    (early, late) = (box.get_attribute("fill") for box in rows.nth(2).locator("rect").all())
    assert early != late
    assert rows.nth(0).locator("rect.missed").count() == 1
    assert page.locator("#strip-rows .row.predicted title").all_text_contents()[-1] == "ghost\nframes 1 to 6: false"
    page.select_option("#method", "1-0")
    assert rows.nth(0).locator("rect title").first.text_content() == "lane-0\nframe 1: matched by b-p0"
    assert "3 true tracks, T-PLD" in page.locator("#strip-rows").inner_html()


def test_odd_names_many_tracks_and_one_frame(show: Show, tmp_path: Path) -> None:
    write_report(many_tracks(), tmp_path / "many.html")
    assert (tmp_path / "many.html").stat().st_size < 600_000
    page = show(tmp_path / "many.html", "#pane=time")
    assert page.locator("#strip-rows .row.true").count() == 500
    name = page.locator("#strip-rows .row.true text").first
    assert len(name.evaluate("node => node.firstChild.data")) <= 17
    assert EVIL in (name.locator("title").text_content() or "")
    single = tracked_results(*tracked_world(scenes=1, frames=1))
    write_report(single, tmp_path / "single.html")
    page = show(tmp_path / "single.html", "#pane=time")
    assert page.locator("#strip-slider").is_disabled()
    assert page.locator("#strip-now").inner_text() == "frame 1 of 1 · 0.0 s"


def test_a_scene_without_tracks_in_the_page_says_so(show: Show, tmp_path: Path) -> None:
    results = tracked_results(*tracked_world(scenes=3))
    write_report(results, tmp_path / "report.html", frames=2)
    meta, _ = contents(tmp_path / "report.html")
    absent = next(scene for scene in ("s0", "s1", "s2") if scene not in meta["strips"]["scenes"])
    page = show(tmp_path / "report.html", f"#frame={absent}-0&pane=time")
    assert page.locator("#strip-absent").inner_text() == f"The tracks of the scene {absent} are not in the page."
    page.select_option("#strip-scene", meta["strips"]["scenes"][0])
    assert page.locator("#strip-rows .row").count() > 0
    assert page.locator("#strip-absent").is_hidden()
    assert page.locator("#strip-axis .drawable").count() >= 1
