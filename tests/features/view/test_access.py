"""``mapgauge view`` can be used without a mouse, and read by everybody."""

from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import pytest
from tests.audit import faults_of
from tests.features.view.conftest import Open

from mapgauge.features.view.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Page

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.mark.parametrize("pane", ["", "place", pytest.param("like", marks=pytest.mark.needs_feature("splits"))])
def test_there_is_no_serious_fault_in_the_view(look: Open, cameras: Server, pane: str) -> None:
    page = look(f"{cameras.address}#frame=scene-0001-4&pane={pane}&where=pld+%3E")
    page.wait_for_selector(".camera img")
    page.click("#curve-choice summary")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert faults_of(page) == [], scheme
    page.click("#moment")
    assert not page.locator("#curve-boxes").is_visible()


def test_the_audit_finds_faults(window: "Page") -> None:
    window.evaluate("""() => {
        document.body.insertAdjacentHTML("beforeend", '<button></button><img src="data:,">');
        document.body.insertAdjacentHTML("beforeend", '<p id="a">x</p><p id="a">x</p>');
        document.body.insertAdjacentHTML("beforeend", '<p class="pale">pale</p><input aria-describedby="nothing">');
        document.body.insertAdjacentHTML("beforeend", '<nav aria-label="twin">x</nav><nav aria-label="twin">x</nav>');
        document.querySelector(".pale").style.color = "#ccc";
        document.body.insertAdjacentHTML("beforeend", '<pre style="width: 9px; overflow: auto">wide</pre>');
    }""")
    faults = " ".join(faults_of(window))
    window.goto("about:blank")
    for word in ("no name", "no alt", "id twice: a", "contrast 1.", "aria-describedby of nothing", "scrolls without"):
        assert word in faults
    assert "landmark twice: nav twin" in faults


def test_everything_is_reached_with_the_keyboard(look: Open, cameras: Server) -> None:
    page = look(f"{cameras.address}#frame=scene-0001-4")
    page.wait_for_selector(".camera img")
    wanted = {"where", "list", "play", "moments", "space", "trail", "speed", "copy-command", "larger"}
    if page.locator("#more-like").count():  # the feature splits finds frames that are alike
        wanted.add("more-like")
    reached: set[str] = set()
    for _ in range(400):  # many rows and pieces of the panels are reached too
        page.keyboard.press("Tab")
        reached.add(page.evaluate("() => document.activeElement.id || document.activeElement.getAttribute('class')"))
        if wanted <= reached:
            break
    assert wanted - reached == set()


def test_a_phone_shows_everything_without_scrolling_sideways(look: Open, cameras: Server) -> None:
    page = look(f"{cameras.address}#frame=scene-0001-4&where=pld+%3E")
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_selector(".camera img")
    page.wait_for_selector("#where-wrong:visible")
    page.wait_for_function("() => document.documentElement.scrollWidth === 390")
    assert faults_of(page) == []
    boxes = [page.locator(name).bounding_box() for name in (".right", "#time", "#cameras", "#filters", ".left")]
    for above, below in pairwise(boxes):
        assert above is not None
        assert below is not None
        assert above["y"] + above["height"] <= below["y"]  # nothing covers anything


def test_a_laptop_shows_drawings_scene_and_images_without_scrolling(look: Open, cameras: Server) -> None:
    page = look(f"{cameras.address}#frame=scene-0001-4")
    page.set_viewport_size({"width": 1280, "height": 720})
    page.wait_for_selector(".camera .instance", state="attached")
    page.wait_for_function("() => document.querySelector('#images').getBoundingClientRect().bottom <= 720")
    page.wait_for_function("() => document.querySelector('.panel svg').getBoundingClientRect().height > 200")
