"""The first screen of the view: the answer, and the panel *where*, which is made after the first drawing."""

import json
import re
import threading
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")

from playwright.sync_api import expect
from tests.features.view.conftest import PATIENCE, Open, drawn, serving, serving_methods

import mapgauge as mg
from mapgauge.features.view.explorer import Method
from mapgauge.features.view.panel import PanelMaking
from mapgauge.features.view.server import Server
from mapgauge.markup import Html
from mapgauge.report import write_report
from mapgauge.typing import Progress

pytestmark = pytest.mark.needs_feature("error_map")


def of(address: str) -> bytes:
    """Return what the server answers."""
    body: bytes = build_opener(ProxyHandler({})).open(address).read()
    return body


def test_the_panel_where_has_the_error_map_of_both_methods(look: Open, server: Server) -> None:
    page = look(server.address)
    page.wait_for_selector("#where-slot #error-canvas")
    assert page.locator("#error-bar [data-mode]").all_inner_texts() == ["good", "poor", "poor minus good"]
    progress = page.locator("#where-progress")
    assert progress.is_hidden()
    before, after = progress.evaluate("""(node) => {
        const parts = ["where-title", "where-slot"].map((id) => document.getElementById(id));
        const places = () => parts.map((part) => part.getBoundingClientRect().toJSON());
        const before = places();
        node.textContent = "12 %";
        node.hidden = false;
        const after = places();
        node.hidden = true;
        return [before, after];
    }""")
    assert after == before, "what is said while the map is made moves the panel"


def test_the_answer_says_all_after_the_data_were_read(look: Open, server: Server) -> None:
    page = look(server.address)
    page.wait_for_function("() => document.getElementById('answer').textContent.includes('% of the map')")
    assert "the rest of the answer" not in page.locator("#answer").inner_text()
    assert page.locator("#failure").inner_text() == ""


def test_why_has_the_families_of_causes_after_the_data_were_read(look: Open, server: Server) -> None:
    page = look(server.address)
    page.wait_for_selector("#why-family-missing")
    names = page.locator("#why-card .rows th").all_inner_texts()
    assert sorted(name.split()[0] for name in names) == ["class", "confidence", "extra", "missing", "place"]
    page.click("#why-family-missing")
    causes = page.locator("#why-card .rows tr.sub th").all_inner_texts()
    assert causes == ["missed", "extent", "found only faintly"]
    page.click("#why-family-missing")
    assert page.locator("#why-card .rows tr.sub").count() == 0
    page.wait_for_selector("#examples svg.thumb")


def test_the_answer_does_not_wait_for_the_map_on_the_server(files: Path) -> None:
    with serving(files / "good.mg") as running:
        assert "where" not in json.loads(of(f"{running.address}answer/values"))
        assert 'id="error-map-about"' not in of(running.address).decode()


def test_the_examples_are_drawn_when_their_frames_have_come(look: Open, server: Server) -> None:
    page = look(server.address)
    page.wait_for_function("""() => {
        const thumbs = [...document.querySelectorAll('#examples svg.thumb')];
        return thumbs.length > 0 && thumbs.every((svg) => svg.querySelector('g'));
    }""")


def test_the_examples_are_those_of_the_report(
    look: Open, show: Open, server: Server, files: Path, tmp_path: Path
) -> None:
    methods = [mg.load_results(files / f"{name}.mg").with_data() for name in ("good", "poor")]
    write_report(methods, tmp_path / "report.html", names=("good", "poor"))
    report = show((tmp_path / "report.html").as_uri())
    page = look(server.address)
    captions = "#examples .caption"
    assert report.locator("#examples-about").inner_text().startswith("causes of PLD")
    report.wait_for_selector(captions)
    expect(page.locator("#examples-about")).to_contain_text("causes of PLD", timeout=PATIENCE)
    assert page.locator(captions).all_inner_texts() == report.locator(captions).all_inner_texts()
    assert page.locator("#least-value").inner_text() == report.locator("#least-value").inner_text()


def test_the_map_of_the_pane_is_that_of_the_first_screen(look: Open, server: Server) -> None:
    page = look(f"{server.address}#pane=place&ground=road")
    page.wait_for_selector("#place-road #error-canvas")
    assert page.locator("#error-canvas").count() == 1
    assert page.locator("#place-stage").is_hidden()
    page.locator("#place-road [data-mode='1-0']").click()
    assert page.locator("#place-road [data-mode='1-0']").get_attribute("aria-pressed") == "true"
    page.locator("#place-value").select_option("pld")
    page.wait_for_selector("#where-slot #error-canvas")
    assert page.locator("#place-stage").is_visible()
    assert page.locator("#place-road").is_hidden()


def test_a_piece_of_the_road_keeps_the_frames_that_saw_it(look: Open, server: Server) -> None:
    page = look(f"{server.address}#pane=place&ground=road")
    drawn(page)
    page.wait_for_selector("#place-road #error-places button")
    button = page.locator("#error-places button").first
    seen = int(re.match(r"\d+", button.get_attribute("title") or "0")[0])  # type: ignore[index]
    button.click()
    page.wait_for_selector("#chips button")
    assert "saw " in page.locator("#chips").inner_text()
    kept = int(re.match(r"\d+", page.locator("#chips-count").inner_text())[0])  # type: ignore[index]
    assert 0 < kept <= seen


def test_poses_that_were_given_to_the_view_place_the_map(files: Path, bare: Path) -> None:
    method = Method("good", "good.mg", loaded := mg.load_results(bare / "good.mg"), loaded.with_data)
    with serving_methods([method], poses=files / "truth.parquet") as running:
        panel = json.loads(of(f"{running.address}panel"))
        while panel["state"] == "making":
            panel = json.loads(of(f"{running.address}panel"))
    assert "&quot;kind&quot;:&quot;map&quot;" in panel["body"]


def test_a_panel_that_cannot_be_made_says_why() -> None:
    def fails(progress: Progress) -> Html:
        progress(3, 10)
        raise ValueError("no road")

    assert PanelMaking(fails).state(60) == {"state": "failed", "failure": "ValueError: no road"}


def test_a_panel_that_is_being_made_says_how_far_it_is() -> None:
    begun = threading.Event()
    may_end = threading.Event()

    def slow(progress: Progress) -> Html:
        progress(3, 10)
        begun.set()
        may_end.wait(60)
        return Html("<p>done</p>")

    making = PanelMaking(slow)
    making.begin()
    begun.wait(60)
    assert making.state(0) == {"state": "making", "done": 3, "total": 10}
    may_end.set()
    assert making.state(60) == {"state": "ready", "body": "<p>done</p>"}


def test_the_answer_of_the_view_is_that_of_the_library(files: Path) -> None:
    results = mg.load_results(files / "good.mg")
    said = [statement.text for statement in mg.answer(results.with_data(), names=["good"]).statements]
    with serving(files / "good.mg") as running:
        while b"ready" not in of(f"{running.address}geometry"):
            pass  # the server waits before it answers
        answer = json.loads(of(f"{running.address}answer/geometry"))["answer"]
    assert [statement["text"] for statement in answer["statements"]] == said
