"""Scenes over time in ``mapgauge view``, in a real browser."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.features.view.conftest import Open, serving

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.view.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Page


def opened(show: Open, server: Server, address: str) -> "Page":
    """A page whose frame is drawn and whose times are read."""
    page = show(server.address + address)
    page.wait_for_function("() => document.getElementById('moment').textContent.endsWith(' s')")
    page.wait_for_selector(".panel .instance", state="attached")
    return page


def moment(page: "Page") -> str:
    return page.locator("#moment").inner_text()


def matrix(page: "Page", selector: str) -> list[float]:
    """The motion of a group of lines: a, b, c, d, e, f."""
    text = page.locator(f".panel:first-child {selector}").first.get_attribute("transform") or ""
    return [float(value) for value in text.removeprefix("matrix(").removesuffix(")").split()]


def test_a_scene_is_played_to_its_end(look: Open, server: Server) -> None:
    page = opened(look, server, "#frame=scene-0001-6&speed=8")
    assert moment(page) == "scene-0001: frame 7 of 10 · 3.0 s"
    page.click("#play")
    page.wait_for_function("() => document.getElementById('moment').textContent.includes('frame 10 of 10')")
    page.wait_for_function("() => document.getElementById('play').getAttribute('aria-pressed') === 'false'")
    assert page.locator("#chosen").inner_text().startswith("scene-0001-9")
    page.select_option("#speed", "1")
    page.click("#play")  # from the beginning
    page.wait_for_function("() => /frame [2-9] of 10/.test(document.getElementById('moment').textContent)")
    page.click("#play")
    assert page.locator("#play").get_attribute("aria-pressed") == "false"
    stopped = moment(page)
    page.wait_for_function("start => performance.now() - start > 600", arg=page.evaluate("() => performance.now()"))
    assert moment(page) == stopped  # longer than a frame is shown


def test_a_cell_of_the_scenes_is_played_by_the_clock(look: Open, server: Server) -> None:
    page = opened(look, server, "#frame=scene-0001-0&speed=8")
    strip = page.locator('#scene-rows li[data-scene="scene-0002"] .strip')
    strip.scroll_into_view_if_needed()
    box = strip.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 0.25 * box["width"], box["y"] + 5)
    page.wait_for_function("() => document.getElementById('play').getAttribute('aria-pressed') === 'true'")
    assert page.locator("#stop").is_hidden()
    page.wait_for_function("() => document.getElementById('moment').textContent.includes('0002: frame 10 of 10')")
    page.wait_for_function("() => document.getElementById('play').getAttribute('aria-pressed') === 'false'")


def test_curves_have_the_average_precisions_of_frames(look: Open, server: Server, files: Path) -> None:
    for of in ("", "divider"):
        page = opened(look, server, f"#frame=scene-0001-4&of={of}")
        page.click("#curve-choice summary")
        menu = page.locator("#curve-boxes")
        assert menu.evaluate("node => node.scrollWidth <= node.clientWidth")  # nothing is cut
        page.get_by_label("Chamfer-AP", exact=True).check()
        page.click("#moment")
        assert not menu.is_visible()
        expected = []
        for name in ("good", "poor"):
            alone = mg.load_results(files / f"{name}.mg").by(lambda token: token == "scene-0001-4")[True]
            value = alone.classes[of]["ap_chamfer"] if of else alone.mean["ap_chamfer"]
            expected.append("-" if value is None else f"{value:.3f}")
        text = " | ".join(expected)
        page.wait_for_function("text => document.querySelector('[data-key=ap_chamfer]').textContent === text", arg=text)


# A clock that a test sets forward: what is looked at for a second is an entry of the history.
CLOCK = """() => {
    const now = performance.now.bind(performance);
    window.passed = 0;
    performance.now = () => now() + window.passed;
}"""


def test_the_back_button_returns_to_what_was_looked_at(show: Open, server: Server) -> None:
    page = opened(show, server, "#frame=scene-0001-4")
    page.evaluate(CLOCK)
    page.evaluate("() => window.passed += 1100")
    page.get_by_role("radio", name="map of all frames").check()
    page.wait_for_function("() => location.hash.includes('pane=place')")
    page.evaluate("() => window.passed += 1100")
    page.locator("#place-worst button").first.click()
    page.wait_for_function("() => !location.hash.includes('frame=scene-0001-4')")
    page.go_back()
    page.wait_for_function("() => document.getElementById('chosen').textContent === 'scene-0001-4'")
    assert page.locator("#place").is_visible()
    page.go_back()
    page.wait_for_function("() => !location.hash.includes('pane')")
    page.locator("#list").wait_for()
    page.evaluate("() => window.passed += 1100")
    for _ in range(3):  # what is passed by quickly is no entry
        page.keyboard.press(".")
    page.wait_for_function("() => location.hash.includes('frame=scene-0001-7')")
    page.go_back()
    page.wait_for_function("() => document.getElementById('chosen').textContent === 'scene-0001-4'")


def test_keys_slider_and_curves_step_through_the_scene(look: Open, server: Server) -> None:
    page = opened(look, server, "#frame=scene-0001-4")
    page.locator("#list").focus()
    page.keyboard.press(".")
    assert "frame 6 of 10" in moment(page)
    page.keyboard.press(",")
    page.keyboard.press(",")
    assert "frame 4 of 10" in moment(page)
    page.locator("#moments").fill("8")
    assert page.locator("#chosen").inner_text().startswith("scene-0001-8")
    page.locator("#curves .field").first.click(position={"x": 1, "y": 5})
    assert "frame 1 of 10" in moment(page)
    assert page.locator("#step-back").is_disabled()
    page.click("#scene-after")
    assert moment(page).startswith("scene-0002: frame 1 of 10")
    assert page.locator("#scene-after").is_disabled()
    page.locator("#scene-before").focus()
    page.keyboard.press(" ")  # presses the button, and does not play
    assert moment(page).startswith("scene-0001: frame 1 of 10")
    assert page.locator("#play").get_attribute("aria-pressed") == "false"


def test_curves_show_the_values_of_all_methods(look: Open, server: Server, files: Path) -> None:
    page = opened(look, server, "#frame=scene-0001-4")
    assert page.locator("#curves .name").all_text_contents() == ["PLD", "localisation", "detection"]
    values = [
        next(row["pld"] for row in mg.load_results(files / f"{name}.mg").frames() if row["token"] == "scene-0001-4")
        for name in ("good", "poor")
    ]
    of_scene = [
        row["pld"]
        for name in ("good", "poor")
        for row in mg.load_results(files / f"{name}.mg").frames()
        if row["scene"] == "scene-0001"
    ]
    ends = page.locator("#curves .axis").all_text_contents()[:2]
    assert ends == [f"{max(of_scene):.3f}", f"{min(of_scene):.3f}"]
    assert page.locator("#curves .now").first.text_content() == " | ".join(f"{value:.3f}" for value in values)
    strokes = page.locator("#curves .curve").evaluate_all("all => all.map((one) => one.getAttribute('stroke'))")
    dots = (
        page.locator("#who, #what").locator("thead .dot").evaluate_all("all => all.map((one) => one.style.background)")
    )
    assert len(strokes) == 6
    assert len(set(strokes)) == len(set(dots)) == 2
    as_rgb = [f"rgb({', '.join(str(int(stroke[k : k + 2], 16)) for k in (1, 3, 5))})" for stroke in strokes[:2]]
    assert as_rgb == dots, "a method has one colour everywhere"
    page.click("#curve-choice summary")
    page.locator("#curve-boxes").get_by_label("truth", exact=True).check()
    page.locator("#curve-boxes").get_by_label("detection", exact=True).uncheck()
    assert page.locator("#curves .name").all_text_contents() == ["PLD", "localisation", "truth"]
    page.wait_for_function("() => location.hash.includes('curves=pld+localisation+truth')")


def test_the_world_has_north_up_and_the_ego_where_its_pose_is(look: Open, server: Server, files: Path) -> None:
    page = opened(look, server, "#frame=scene-0001-4&space=world")
    truth = mg.read(files / "truth.parquet")
    assert truth.poses is not None
    first, pose = (truth.poses[truth.index[f"scene-0001-{k}"]] for k in (0, 4))
    page.wait_for_selector(".panel g[transform]", state="attached")
    a, b, c, d, e, f = matrix(page, "g[transform]:has(.ego)")
    assert np.allclose([e, -f], (pose - first)[:2, 3])
    # In drawings, x is to the right and y is down. Ahead is (0, -1).
    assert np.allclose([-c, d], pose[:2, 0])
    assert np.allclose([a, -b], -pose[:2, 1])
    page.select_option("#space", "follow")
    page.wait_for_function("() => document.querySelector('.panel g[transform]').transform.baseVal[0].matrix.e === 0")
    page.select_option("#space", "")
    page.wait_for_function("() => !document.querySelector('.panel g[transform]:has(.ego)')")


def test_the_trail_has_the_frames_before_in_their_places(look: Open, server: Server, files: Path) -> None:
    page = opened(look, server, "#frame=scene-0001-4&trail=3")
    page.wait_for_function("() => document.querySelectorAll('.panel:first-child .trail').length === 3")
    truth = mg.read(files / "truth.parquet")
    assert truth.poses is not None
    before, now = (truth.poses[truth.index[f"scene-0001-{k}"]] for k in (3, 4))
    moved = (np.linalg.inv(now) @ before)[:2, 3]  # x forward, y to the left
    *_, e, f = matrix(page, ".trail >> nth=2")
    assert np.allclose([-f, -e], moved, atol=1e-6)
    page.locator('[data-layer="predictions"]').uncheck()
    assert page.locator("#cause-key li", has_text="trail: ").count() == 1
    page.wait_for_function("() => !document.querySelector('.trail-over .predictions')")
    assert page.locator(".panel:first-child .trail .truth").count() > 0
    page.keyboard.press("Home")
    page.locator("#moments").fill("0")
    page.wait_for_function("() => !document.querySelector('.trail')")


def test_a_drawing_in_the_world_is_saved_as_it_is_seen(look: Open, server: Server, tmp_path: Path) -> None:
    page = opened(look, server, "#frame=scene-0001-4&space=world&trail=3")
    page.wait_for_function("() => document.querySelectorAll('.panel:first-child .trail').length === 3")
    with page.expect_download() as saved:
        page.locator(".panel .save:not(.png)").first.click()
    saved.value.save_as(tmp_path / "frame.svg")
    assert (tmp_path / "frame.svg").read_text(encoding="utf-8").count(
        "matrix("
    ) == 8  # truth and predictions of the frame and of three before it


def test_files_without_poses_can_be_played_but_not_placed(show: Open, tmp_path: Path) -> None:
    line = {"divider": [[[0, 0], [9, 0]]]}
    truth = mg.MapFrames.of({"a": line, "b": line})
    results = mg.evaluate(truth.with_confidence(1), truth, scenes={"a": "one", "b": "one"})
    results.save(tmp_path / "results.mg", geometry="original")
    with serving(tmp_path / "results.mg") as server:
        page = show(f"{server.address}#pane=place")
        page.wait_for_selector(".panel .instance", state="attached")
        page.wait_for_function("() => document.getElementById('place-absent').textContent.includes('no poses')")
        assert page.locator("#place-absent").is_visible()
        assert not page.locator("#place-scale").is_visible()
        assert moment(page) == "one: frame 1 of 2"
        assert page.locator("#space").is_disabled()
        assert page.locator("#trail-label").get_attribute("title") == "The files have no poses."
        page.click("#step-on")
        assert moment(page) == "one: frame 2 of 2"


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results with T-PLD."""
    folder = tmp_path_factory.mktemp("tracked")
    predictions, truth = demo_world(20)
    mg.write(mg.track(predictions, poses=truth), folder / "predictions.parquet")
    mg.write(truth, folder / "truth.parquet")
    sides = (mg.read(folder / f"{name}.parquet") for name in ("predictions", "truth"))
    protocol = mg.protocol("paper-60x30", settings={"track_pld": {"switch_cost": 0.5}})
    x, y = sides
    mg.evaluate(x, y, protocol).save(folder / "results.mg")
    return folder / "results.mg"


@pytest.mark.needs_feature("tracks")
def test_tracks_of_any_scene_are_shown_over_time(show: Open, tracked: Path) -> None:
    with serving(tracked) as server:
        page = opened(show, server, "#frame=scene-0001-4&pane=time")
        page.wait_for_selector("#strip-rows .row", state="attached")
        assert page.locator("#strip-now").inner_text().startswith("frame 5 of 10")
        page.select_option("#strip-scene", "scene-0000")
        page.wait_for_function("() => document.getElementById('moment').textContent.startsWith('scene-0000: frame 1')")
        page.wait_for_selector("#strip-rows .row", state="attached")
        page.locator("#strip-slider").fill("7")
        assert "frame 8 of 10" in moment(page)
