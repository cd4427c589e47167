"""The report in a real browser, used as a person would. The fixture ``show`` fails on any complaint or request."""

import csv
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.report.conftest import LONG
from tests.report.pdf import pdf_pages

import mapgauge as mg
from mapgauge.cli.output import plain
from mapgauge.demo import demo_world
from mapgauge.report import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Page

Show = Callable[..., "Page"]


def column(page: "Page", name: str) -> list[str]:
    """The cells of a column of the list, from the rows that are in the page."""
    heads = [text.rstrip(" ▾▴") for text in page.locator("#list thead th").all_inner_texts()]
    at = heads.index(name) + 1
    return page.locator(f"#list tbody tr[data-frame] td:nth-child({at})").all_inner_texts()


def tokens(page: "Page") -> list[str]:
    return [text.removeprefix("● ") for text in column(page, "token")]


def chosen(page: "Page") -> str:
    return page.locator("#chosen").inner_text().split(" · ")[0]


def view(page: "Page", panel: int = 0) -> list[float]:
    """What a panel shows: left, top, width, height in metres."""
    text = page.locator(".panel svg").nth(panel).get_attribute("viewBox")
    assert text is not None
    return [float(value) for value in text.split()]


def on_screen(page: "Page", selector: str) -> bool:
    """Whether the whole of an element is within the window."""
    return bool(
        page.locator(selector).first.evaluate(
            """node => {
                const box = node.getBoundingClientRect();
                const within = (low, high, size) => low > -1 && high < size + 1;
                const across = within(box.left, box.right, innerWidth);
                return box.width > 0 && across && within(box.top, box.bottom, innerHeight);
            }"""
        )
    )


def visible(page: "Page", selector: str) -> int:
    return page.locator(f".panel svg {selector}:visible").count()


def test_the_list_has_the_values_of_the_results_worst_first(look: Show, one: Path, methods: list[mg.Results]) -> None:
    page = look(one, "#columns=all")
    rows = methods[0].frames()
    assert tokens(page) == [row["token"] for row in rows]
    titles = {"PLD": "pld", "detection": "detection", "missed (part)": "missed", "false (part)": "false"}
    for name, key in titles.items():
        assert column(page, name) == [f"{row[key]:.3f}" for row in rows]
    assert column(page, "hits of Chamfer-AP@0.5") == [str(row["hits:ap_chamfer@0.5"]) for row in rows]
    assert page.locator("#count").inner_text() == "30 of 30 frames"


def test_a_class_is_listed_and_drawn_alone(look: Show, one: Path, methods: list[mg.Results]) -> None:
    page = look(one, "#columns=all")
    before = visible(page, ".instance")
    page.get_by_label("divider", exact=True).check()
    rows = methods[0].frames(class_name="divider")
    assert tokens(page) == [row["token"] for row in rows]
    assert column(page, "confidence (part)") == [f"{row['confidence']:.3f}" for row in rows]
    assert 0 < visible(page, ".instance") < before
    assert page.locator('.panel .instance:visible:not([aria-label*=", divider"])').count() == 0
    page.get_by_label("all", exact=True).check()
    page.get_by_label("divider", exact=True).check()
    assert chosen(page) == rows[0]["token"], "the worst frame of the class is drawn"


def test_every_column_sorts_both_ways(look: Show, one: Path) -> None:
    page = look(one, "#columns=all")
    for name in ("localisation", "hits of Fréchet-AP@2.0", "token"):
        head = page.locator("#list thead button", has_text=name).first
        head.click()
        first = column(page, name)
        head.click()
        again = column(page, name)
        if name == "token":
            texts = [text.removeprefix("● ") for text in first]
            assert texts == sorted(texts)
        else:
            values = [float(text) for text in first]
            assert values == sorted(values, reverse=True)
            assert [float(text) for text in again] == values[::-1]
        assert page.locator("#list th[aria-sort]").count() == 1
    assert page.locator("#list th[aria-sort]").get_attribute("aria-sort") == "descending"


def test_text_scene_and_range_filter_together(look: Show, one: Path) -> None:
    page = look(one)
    page.fill("#text", "SCENE-0001")
    assert len(tokens(page)) == 10
    page.fill("#text", "-3")
    assert set(tokens(page)) == {"scene-0000-3", "scene-0001-3", "scene-0002-3"}
    page.select_option("#scene", "scene-0002")
    assert tokens(page) == ["scene-0002-3"]
    page.click("#clear")
    values = [float(text) for text in column(page, "PLD")]
    page.fill("#low", "0.75")
    page.fill("#high", "0.8")
    assert len(tokens(page)) == sum(0.75 <= value <= 0.8 for value in values) > 0
    page.select_option("#value", "truth")
    page.fill("#low", "12")
    assert all(int(text) >= 12 for text in column(page, "truth"))
    assert page.locator("#chips button").all_inner_texts() == ["0.75 ≤ PLD ≤ 0.8 ✕", "12 ≤ truth ✕"]
    page.locator("#chips button").first.click()
    assert page.locator("#chips button").count() == 1
    assert page.locator("#empty").is_hidden()
    page.fill("#text", "no such token")
    assert page.locator("#empty").inner_text().startswith("No frame matches the filters.")
    assert page.locator("#outside").is_visible()
    assert page.locator("#save-list").is_disabled()
    page.click("#clear-empty")
    assert page.locator("#count").inner_text() == "30 of 30 frames"
    assert page.locator("#empty").is_hidden()


def test_frames_can_be_listed_by_the_reason_why_they_are_drawn(look: Show, one: Path) -> None:
    page = look(one)
    assert page.locator("#list tbody", has_text="●").count() == 1
    page.select_option("#why", "drawn")
    assert page.locator("#count").inner_text() == "12 of 30 frames"
    page.select_option("#why", "highest missed")
    missed = column(page, "missed (part)")
    assert 0 < len(missed) < 12
    page.locator("#list tbody tr[data-frame]").first.click()
    assert "highest missed" in page.locator("#reasons").inner_text()
    assert "highest missed" in (page.locator("#list tbody span").first.get_attribute("title") or "")
    page.select_option("#why", "random sample")
    assert page.locator("#count").inner_text() == "3 of 30 frames"


def test_dragging_across_the_distribution_chooses_a_range(look: Show, one: Path, methods: list[mg.Results]) -> None:
    page = look(one)
    values = [row["pld"] for row in methods[0].frames()]
    page.locator("#histogram").scroll_into_view_if_needed()
    box = page.locator("#histogram").bounding_box()
    assert box is not None
    left = 19  # the room for the counts, which have one digit
    page.mouse.move(box["x"] + left + 0.5 * (box["width"] - left), box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 30, steps=4)
    page.mouse.move(box["x"] + box["width"], box["y"] + 30, steps=4)
    page.mouse.up()
    page.wait_for_function("() => document.getElementById('low').value && document.getElementById('high').value")
    middle = (min(values) + max(values)) / 2
    low, high = (float(page.input_value(name)) for name in ("#low", "#high"))
    assert low == pytest.approx(middle, abs=0.01)
    assert max(values) <= high <= max(values) + 0.001
    assert len(tokens(page)) == sum(low <= value <= high for value in values)
    page.mouse.click(box["x"] + 30, box["y"] + 30)
    page.locator("#count", has_text="30 of 30 frames").wait_for()


def test_a_click_draws_the_frame_with_all_its_instances(look: Show, two: Path, methods: list[mg.Results]) -> None:
    page = look(two)
    page.locator("#list tbody tr[data-frame]").nth(3).click()
    token = tokens(page)[3]
    assert chosen(page) == token
    for k, method in enumerate(methods):
        assignment = method.assignment(token)
        panel = page.locator(".panel").nth(k)
        assert panel.locator(".instance.truth").count() == len(assignment.truth)
        assert panel.locator(".instance.predictions").count() == len(assignment.predictions)
        assert panel.locator("path.pairs").count() == len(assignment.matches)
    row = next(row for row in methods[1].frames() if row["token"] == token)
    assert (
        f"PLD {row['pld']:.3f} = localisation {row['localisation']:.3f}" in page.locator(".panel").nth(1).inner_text()
    )


def test_a_frame_without_geometry_says_so_and_has_its_values(look: Show, one: Path, methods: list[mg.Results]) -> None:
    page = look(one)
    bare = page.locator("#list tbody tr[data-frame]:not(:has-text('●'))").first
    token = bare.locator("td").first.inner_text()
    bare.click()
    row = next(row for row in methods[0].frames() if row["token"] == token)
    assert "not in the page" in page.locator(".panel .none").inner_text()
    assert visible(page, "") == 0
    assert f"{row['pld']:.3f}" in page.locator("#frame-values").inner_text()


def test_keys_and_buttons_go_to_the_next_and_the_previous_frame(look: Show, one: Path) -> None:
    page = look(one)
    order = tokens(page)
    assert chosen(page) == order[0]
    assert page.locator("#previous").is_disabled()
    for key, expected in (("j", 1), ("ArrowRight", 2), ("k", 1), ("ArrowLeft", 0), ("k", 0)):
        page.keyboard.press(key)
        assert chosen(page) == order[expected]
    page.click("#next")
    assert chosen(page) == order[1]
    page.locator("#list").focus()
    for key, expected in (("ArrowDown", 2), ("ArrowUp", 1), ("End", 29), ("Home", 0)):
        page.keyboard.press(key)
        assert chosen(page) == order[expected]
    row = page.locator("#list tr[aria-selected=true]")
    assert row.count() == 1
    assert page.locator("#list").get_attribute("aria-activedescendant") == row.get_attribute("id")


def test_keys_typed_into_a_field_stay_there(look: Show, one: Path) -> None:
    page = look(one)
    page.locator("#text").focus()
    page.keyboard.type("jk")
    assert page.input_value("#text") == "jk"
    assert page.locator("#count").inner_text() == "0 of 30 frames"


def test_ctrl_wheel_buttons_and_keys_zoom_all_panels(look: Show, two: Path) -> None:
    page = look(two)
    first = view(page)
    panel = page.locator(".panel svg").first
    panel.scroll_into_view_if_needed()
    box = panel.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 0.5 * box["height"])
    scrolled = page.evaluate("scrollY")
    page.mouse.wheel(0, -100)
    page.wait_for_function("before => scrollY < before", arg=scrolled)
    assert view(page) == first
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 0.5 * box["height"] + 100)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    page.wait_for_url(re.compile("view="))
    closer = view(page)
    fixed = first[0] + 0.25 * first[2]
    assert abs(closer[0] + 0.25 * closer[2] - fixed) < 0.2  # what is under the pointer stays there
    assert view(page, 1) == closer
    page.click("#closer")
    assert abs(view(page)[2] - 0.7 * closer[2]) < 0.01
    page.click("#whole")
    assert view(page) == first
    page.keyboard.press("+")
    assert view(page)[2] < first[2]
    page.keyboard.press("0")
    assert view(page) == first
    for key, bound in (("-", 1.5 * first[2]), ("+", 2 * first[2] / (30 * 1.06))):  # the view does not get lost
        for _ in range(14):
            page.keyboard.press(key)
        assert abs(view(page)[2] - bound) < 0.01


def test_dragging_and_arrow_keys_pan_all_panels(look: Show, two: Path) -> None:
    page = look(two)
    first = view(page)
    panel = page.locator(".panel svg").first
    panel.scroll_into_view_if_needed()
    box = panel.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 5, steps=5)
    page.mouse.up()
    panned = view(page)
    assert abs(panned[0] - first[0] - 0.25 * first[2]) < 0.2
    assert panned[2:] == first[2:]
    assert view(page, 1) == panned
    panel.focus()
    page.keyboard.press("ArrowUp")
    assert view(page)[1] < panned[1]
    token = chosen(page)
    page.keyboard.press("ArrowRight")
    assert chosen(page) == token


def test_layers_can_be_hidden(look: Show, two: Path) -> None:
    page = look(two)
    for layer, selector in (
        ("truth", ".instance.truth"),
        ("predictions", ".instance.predictions"),
        ("pairs", ".pairs"),
        ("dots", ".dots"),
    ):
        assert visible(page, selector) > 0
        page.uncheck(f"[data-layer={layer}]")
        assert visible(page, selector) == 0
        page.check(f"[data-layer={layer}]")


def test_ignored_lines_are_dotted_and_a_layer_of_their_own(show: Show, look: Show, tmp_path: Path, two: Path) -> None:
    predictions, truth = demo_world(4)
    flags = np.arange(len(truth.polylines)) % 3 == 0
    results = mg.evaluate(predictions, truth.with_ignore(flags))
    results.save(tmp_path / "results.mg", geometry="original")  # with the lines that are ignored
    write_report(mg.load_results(tmp_path / "results.mg"), tmp_path / "ignored.html")
    token = truth.tokens[0]
    frame = results.assignment(token)
    expected = sum(line.ignore for line in truth.with_ignore(flags)[token])
    assert sum(line.confidence is None for line in frame.ignored) == expected > 0
    assert len(frame.ignored) > expected  # and predictions that are matched with them
    page = show(tmp_path / "ignored.html", f"#frame={token}&least=0&cause=every")
    assert page.locator(".panel path.ignored:visible").count() == len(frame.ignored)
    page.locator('[data-layer="ignored"]').uncheck()
    assert page.locator(".panel path.ignored:visible").count() == 0
    assert look(two).locator('[data-layer="ignored"]').count() == 0


def test_the_slider_hides_what_is_less_confident(look: Show, two: Path, methods: list[mg.Results]) -> None:
    page = look(two)
    least = float(page.input_value("#least"))
    predictions = sum(int(method.scores.predicted.sum()) for method in methods)
    assert 0 < least < 0.3
    assert predictions > 4 * methods[0].scores.true.sum()
    for expected in (least, 0.3):
        page.fill("#least", str(expected))
        token = chosen(page)
        confidence = [
            np.array([instance.confidence for instance in method.assignment(token).predictions]) for method in methods
        ]
        fainter = [int((values < expected).sum()) for values in confidence]
        said = f"{expected:.2f}, hides {fainter[0]} and {fainter[1]} fainter"
        assert page.locator("#least-value").inner_text() == said
        assert visible(page, ".instance.predictions") == sum(map(len, confidence)) - sum(fainter)
    assert visible(page, ".instance.truth") == sum(len(method.assignment(token).truth) for method in methods)


def test_an_instance_shows_its_partner_on_hover(look: Show, one: Path, methods: list[mg.Results]) -> None:
    page = look(one, "#least=0.99")  # nothing lies on the truth
    assignment = methods[0].assignment(chosen(page))
    match = next(match for match in assignment.matches if match.class_name == "divider")
    page.locator(".panel svg").scroll_into_view_if_needed()
    point = page.evaluate(
        """(label) => {
            const node = document.querySelector(`.instance[aria-label^="${label},"] .stroke`);
            const at = node.getPointAtLength(node.getTotalLength() / 2).matrixTransform(node.getScreenCTM());
            return [at.x, at.y];
        }""",
        f"truth {match.truth}",
    )
    page.mouse.move(*point)
    tip = page.locator("#line-tip")
    tip.wait_for()
    said = tip.inner_text().split("\n")
    confidence = assignment.predictions[match.prediction].confidence
    assert said[0] == f"truth {match.truth}, divider"
    assert said[1] == f"partner: prediction {match.prediction}, confidence {confidence:.3f}"
    assert said[2] == f"distance {match.distance:.3f} (normalised SOSPA)"
    assert said[3].startswith(f"{len(match.pairs)} matched points")
    assert [line.rsplit(" ", 1)[0] for line in said[5:8]] == ["matched points", "unmatched points", "confidence"]
    assert said[8].startswith("causes: ")
    assert page.locator(".instance.looked").count() == 2
    page.mouse.move(5, 5)
    tip.wait_for(state="hidden")


def test_instances_can_be_stepped_through_by_keyboard(look: Show, one: Path) -> None:
    page = look(one)
    page.locator(".panel svg").focus()
    page.keyboard.press("n")
    focused = page.locator(".instance:focus")
    assert (focused.get_attribute("aria-label") or "").startswith("truth 0,")
    assert page.locator("#line-tip").is_visible()
    page.keyboard.press("n")
    assert (focused.get_attribute("aria-label") or "").startswith("truth 1,")
    page.keyboard.press("p")
    page.keyboard.press("p")
    assert (focused.get_attribute("aria-label") or "").startswith("prediction ")
    page.keyboard.press("Escape")
    assert page.locator("#line-tip").is_hidden()


def test_parts_of_all_instances_add_up_to_the_value_of_the_class(
    look: Show, one: Path, methods: list[mg.Results]
) -> None:
    page = look(one)
    labels = page.locator(".instance").evaluate_all("nodes => nodes.map((node) => node.getAttribute('aria-label'))")
    total = 0.0
    for label in labels:
        counted = "partner: prediction" in label  # a match is told twice
        if ", divider" in label.split(", confidence")[0] and not counted:
            total += float(label.split("share of the PLD of the class: ")[1].split(",")[0])
    row = next(row for row in methods[0].frames(class_name="divider") if row["token"] == chosen(page))
    assert abs(total - row["pld"]) < 0.003


def test_the_address_reopens_the_same_view(show: Show, two: Path) -> None:
    page = show(two, "#columns=all")
    page.select_option("#method", "1-0")
    page.get_by_label("boundary", exact=True).check()
    page.locator("#list thead button", has_text="detection").click()
    page.locator("#list thead button", has_text="detection").click()
    page.fill("#text", "scene-000")
    page.select_option("#scene", "scene-0001")
    page.select_option("#value", "missed")
    page.fill("#high", "0.5")
    page.keyboard.press("Tab")
    page.locator("#list tbody tr[data-frame]").nth(2).click()
    page.uncheck("[data-layer=pairs]")
    page.fill("#least", "0.25")
    page.click("#closer")

    def seen(of: "Page") -> list[Any]:
        fields = ["method", "text", "scene", "value", "low", "high", "least"]
        values: list[Any] = [of.input_value(f"#{name}") for name in fields]
        boxes = of.locator("#explorer :is(input[type=checkbox], input[type=radio])").evaluate_all(
            "all => all.map((box) => box.checked)"
        )
        return [*values, tokens(of), chosen(of), [round(v, 1) for v in view(of)], boxes, visible(of, ".instance")]

    page.wait_for_url(re.compile("view="))  # the address follows a moment later
    address = page.evaluate("location.hash")
    assert seen(show(two, address)) == seen(page)


def test_an_address_changed_in_the_open_page_is_followed(look: Show, one: Path) -> None:
    page = look(one)
    assert page.evaluate("scrollY") == 0
    page.evaluate("location.hash = '#frame=scene-0001-4&sort=token'")
    page.locator("#chosen", has_text="scene-0001-4").wait_for()
    assert tokens(page)[0] == "scene-0000-0"
    assert page.evaluate("scrollY") > 200


def test_a_link_followed_while_the_page_writes_its_address_is_not_lost(look: Show, one: Path) -> None:
    page = look(one)
    page.wait_for_url(re.compile("frame="))  # the first state is written
    page.evaluate(
        """() => {
            const later = window.setTimeout;
            let write;
            window.setTimeout = (callback) => (write = callback);
            document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }));
            document.querySelector('#parts .legend [href*=cause]').click();
            write(); // before the event of the new address, as happens on a busy machine
            window.setTimeout = later;
        }"""
    )
    page.wait_for_selector("#cause-key button")


def test_a_link_within_the_page_keeps_the_view(look: Show, one: Path) -> None:
    page = look(one)
    page.fill("#text", "scene-0002")
    page.locator("#sections a", has_text="Values").click()
    page.keyboard.press("j")
    page.wait_for_url(re.compile("text=scene-0002"))
    assert len(tokens(page)) == 10


def test_an_address_of_another_report_does_no_harm(look: Show, one: Path) -> None:
    page = look(one, "#frame=absent&sort=-nothing&of=tree&range=height+1+2&view=a+b+c&method=9&off=moon&why=no")
    assert len(tokens(page)) == 30
    notice = page.locator("#absent")
    assert notice.inner_text() == "The link names the frame absent, which is not in this report."
    assert on_screen(page, "#absent")
    page.keyboard.press("j")
    assert notice.is_hidden()


@pytest.mark.parametrize("height", [900, 620])  # in a low window, there is no room for it in a drawing
def test_a_true_line_is_marked_in_all_panels_and_the_tooltip_leaves_it_free(look: Show, two: Path, height: int) -> None:
    page = look(two, height=height)
    lines = page.locator(".panel").first.locator(".instance.truth")
    for k in range(lines.count()):
        lines.nth(k).focus()
        marked = page.locator(".panel").nth(1).locator(".instance.truth.looked")
        said = lines.nth(k).get_attribute("aria-label") or ""
        assert (marked.get_attribute("aria-label") or "").split(",")[0] == said.split(",")[0] == f"truth {k}"
        covered = page.evaluate(
            """() => {
              const tip = document.querySelector("#line-tip:not([hidden])").getBoundingClientRect();
              const path = document.querySelector(".instance:focus .stroke");
              const matrix = path.getScreenCTM();
              const step = path.getTotalLength() / 100;
              const points = Array.from({ length: 101 }, (_, i) => path.getPointAtLength(i * step));
              const inside = ({ x, y }) => x > tip.left && x < tip.right && y > tip.top && y < tip.bottom;
              return points.filter((point) => inside(point.matrixTransform(matrix))).length;
            }"""
        )
        assert covered == 0


def test_gains_and_losses_sort_the_differences(look: Show, two: Path) -> None:
    page = look(two)
    assert page.locator("#largest-gain").is_hidden()
    page.select_option("#method", label="poor minus good")
    page.click("#largest-gain")
    gains = [float(text) for text in column(page, "PLD")]
    assert gains == sorted(gains)
    page.click("#largest-loss")
    assert next(float(text) for text in column(page, "PLD")) == max(gains)


def test_differences_between_methods_can_be_listed(look: Show, two: Path, methods: list[mg.Results]) -> None:
    page = look(two)
    page.select_option("#method", label="poor minus good")
    good, poor = ({row["token"]: row["pld"] for row in method.frames()} for method in methods)
    expected = sorted((poor[token] - good[token] for token in good), reverse=True)
    assert column(page, "PLD")[:3] == [f"{value:+.3f}" for value in expected[:3]]


@pytest.mark.parametrize(("report", "names"), [("one", ["demo-good"]), ("two", ["good", "poor"]), ("three", LONG)])
def test_a_link_shows_the_list_and_all_drawings_together(
    look: Show, request: pytest.FixtureRequest, methods: list[mg.Results], report: str, names: list[str]
) -> None:
    worst = methods[0].frames(count=1)[0]["token"]
    page = look(request.getfixturevalue(report), f"#frame={worst}&sort=pld", width=1366, height=768)
    assert chosen(page) == worst
    assert tokens(page)[-1] == worst  # the last of the list
    assert on_screen(page, "#histogram")
    assert on_screen(page, "#scroller")
    assert on_screen(page, "#list tr[aria-selected=true] td")
    assert on_screen(page, "#panels")
    boxes = [page.locator(".panel svg").nth(k).bounding_box() for k in range(len(names))]
    assert all(box and box["y"] + box["height"] <= 768 and box["height"] > 400 and box["width"] > 200 for box in boxes)
    assert page.locator(".panel figcaption strong").all_inner_texts() == names
    assert page.locator("#scroller").bounding_box()["height"] > 300  # type: ignore[index]


def test_the_histogram_has_counts_of_all_methods(look: Show, two: Path, methods: list[mg.Results]) -> None:
    page = look(two, "#value=truth")
    assert page.locator("#histogram-key li").all_inner_texts() == ["good", "poor"]
    box = page.locator("#histogram").bounding_box()
    assert box is not None
    page.locator("#histogram").hover(position={"x": 40, "y": 20})
    page.locator("#histogram-tip").wait_for()
    found = re.fullmatch(
        r"truth (\d+)\ngood: (\d+) frames?\npoor: (\d+) frames?", page.locator("#histogram-tip").inner_text()
    )
    assert found is not None
    for method, count in zip(methods, found.groups()[1:], strict=True):
        assert sum(row["truth"] == int(found[1]) for row in method.frames()) == int(count)
    assert page.locator("#histogram text").all_text_contents()[0] == "0"
    assert page.locator("#histogram path.outline").count() == 1
    page.select_option("#method", "1-0")
    assert page.locator("#histogram path.outline").count() == 0


def test_list_token_and_drawing_can_be_saved(show: Show, tmp_path: Path) -> None:
    names = ["=1+1", "-1.5", "+1e3x", "@a,b", "\tq", "\uff1d1", "plain", 'a "quote"', "-inf", "-"]
    truth = mg.MapFrames.of({name: {"divider": [[[0, 0], [9, k]]]} for k, name in enumerate(names)})
    results = mg.evaluate(truth.with_confidence(0.5), truth, mg.protocol("paper-60x30", classes=["divider"]))
    write_report(results, tmp_path / "report.html", names=["=m"])
    page = show(tmp_path / "report.html", "#sort=token&text=1")
    with page.expect_download() as saved:
        page.click("#save-list")
    saved.value.save_as(tmp_path / "frames.csv")
    with (tmp_path / "frames.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert saved.value.suggested_filename == "frames.csv"
    assert [row["token"] for row in rows] == [plain(name) for name in tokens(page)]
    page.click("#clear")
    with page.expect_download() as saved:
        page.click("#save-list")
    saved.value.save_as(tmp_path / "all.csv")
    with (tmp_path / "all.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["token"] for row in rows) == sorted(map(plain, names))
    assert {row["method"] for row in rows} == {"'=m"}
    expected = {plain(row["token"]): row for row in results.frames()}
    for row in rows:
        assert float(row["pld"]) == pytest.approx(expected[row["token"]]["pld"], rel=1e-6)
        assert row["truth"] == "1"
    page.locator("#list tbody tr[data-frame]", has_text="@a,b").click()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("#copy")
    page.locator("#copied", has_text="copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "@a,b"
    page.uncheck("[data-layer=predictions]")
    with page.expect_download() as saved:
        page.click(".panel .save")
    assert saved.value.suggested_filename == "-a-b-m.svg"
    saved.value.save_as(tmp_path / "drawing.svg")
    drawing = ElementTree.parse(tmp_path / "drawing.svg")
    said = [node.text for node in drawing.iter("{http://www.w3.org/2000/svg}title")]
    assert said[0] == "@a,b · =m"
    assert sum(str(text).startswith("truth 0, divider") for text in said) == 1
    assert not any(str(text).startswith("prediction") for text in said)
    assert not any("class" in node.attrib or "vector-effect" in node.attrib for node in drawing.iter())


def test_only_rows_that_can_be_seen_are_in_the_page(show: Show, tmp_path: Path) -> None:
    truth = mg.MapFrames.of({f"t{i:04d}": {"divider": [[[0, 0], [9, i % 7]]]} for i in range(500)})
    results = mg.evaluate(truth.with_confidence(0.5), truth, metrics=["pld"])
    write_report(results, tmp_path / "report.html", frames=4)
    page = show(tmp_path / "report.html", "#sort=token")
    assert page.locator("#list tbody tr[data-frame]").count() < 80
    page.locator("#scroller").evaluate("node => { node.scrollTop = node.scrollHeight; }")
    page.locator("#row-499").wait_for()
    assert page.locator("#row-499").get_attribute("aria-rowindex") == "501"
    page.locator("#list").focus()
    page.keyboard.press("Home")
    page.locator("#row-0").wait_for()
    assert tokens(page)[0] == "t0000"


def luminance(colour: str) -> float:
    channels = [int(value) / 255 for value in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_can_be_read_in_light_and_dark(look: Show, one: Path) -> None:
    papers = []
    for dark in (False, True):
        page = look(one, dark=dark)
        paper = luminance(page.locator("body").evaluate("node => getComputedStyle(node).backgroundColor"))
        papers.append(paper)
        for selector in ("body", "#count", "small", "summary", "#list thead button", ".finding strong", "label"):
            ink = luminance(page.locator(selector).first.evaluate("node => getComputedStyle(node).color"))
            light, low = max(ink, paper), min(ink, paper)
            assert (light + 0.05) / (low + 0.05) >= 4.5, f"{selector}, dark: {dark}"
    assert papers[0] > 0.9
    assert papers[1] < 0.1


def test_every_control_has_a_name(look: Show, two: Path) -> None:
    page = look(two)
    controls = page.locator("body :is(input, select, button, svg[tabindex], table, [role=region])")
    nameless = controls.evaluate_all(
        """all => all.filter((node) => !(node.ariaLabel || node.getAttribute("aria-label") || node.labels?.length
            || node.textContent.trim())).map((node) => node.outerHTML)"""
    )
    assert nameless == []
    titles = page.locator("main section[aria-labelledby]").evaluate_all(
        "all => all.map((node) => document.getElementById(node.getAttribute('aria-labelledby')).localName)"
    )
    assert len(titles) > 8
    assert set(titles) == {"h2", "h3"}


def test_a_phone_needs_no_sideways_scrolling(look: Show, three: Path) -> None:
    page = look(three, "#frame=scene-0001-4", width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert on_screen(page, "#chosen")
    assert on_screen(page, "#reasons, .panel figcaption")
    assert page.locator("#list tbody tr[data-frame]").count() < 30  # the list scrolls in a box
    assert min(page.locator(".panel svg").evaluate_all("all => all.map((node) => node.clientWidth)")) > 350
    drawing, bench = page.locator(".panel").first.bounding_box(), page.locator("#filters").bounding_box()
    assert drawing is not None
    assert bench is not None
    assert drawing["y"] < bench["y"]  # the drawing comes before the filters and the list
    assert page.locator("#values caption").evaluate_all(
        "all => all.every((node) => node.firstChild.getBoundingClientRect().right <= 390)"
    )


def test_a_phone_has_two_drawings_side_by_side(look: Show, two: Path) -> None:
    page = look(two, "#frame=scene-0001-4", width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    first, second = (panel.bounding_box() for panel in page.locator(".panel").all())
    assert first is not None
    assert second is not None
    assert first["y"] == second["y"]
    assert first["width"] > 170


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1440, 900)])
def test_the_first_screen_of_a_laptop_has_answer_panels_examples_and_scenes(
    look: Show, two: Path, width: int, height: int
) -> None:
    page = look(two, width=width, height=height)
    page.wait_for_selector("#examples .thumb path")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for part in ("#what", "#where-card", "#why-card", "#examples", "#scenes-card"):
        assert on_screen(page, part), part


def test_list_and_drawings_are_side_by_side(look: Show, two: Path) -> None:
    page = look(two, width=1280, height=720)
    page.keyboard.press("j")
    page.locator("#workbench").evaluate("node => node.scrollIntoView()")
    assert on_screen(page, "#list tbody tr[aria-selected=true]")
    assert on_screen(page, ".panel svg")


@pytest.mark.usefixtures("browser")
def test_a_browser_without_a_window_prints_everything(three: Path, methods: list[mg.Results], tmp_path: Path) -> None:
    programs = ("chromium-headless-shell", "chromium", "chromium-browser")
    program = next(filter(None, map(shutil.which, programs)))
    command = [program, "--headless", "--no-sandbox", f"--user-data-dir={tmp_path}/p"]
    subprocess.run(
        [*command, f"--print-to-pdf={tmp_path / 'page.pdf'}", str(three)],
        check=True,
        capture_output=True,
        timeout=120,
    )
    pages = pdf_pages((tmp_path / "page.pdf").read_bytes())
    text = " ".join(page.text for page in pages)
    for name in LONG:
        assert name in text.replace(" ", "")
    assert "Values of this frame" in text
    assert "Frames: values of" in text
    assert all(token in text for token in methods[0].tokens)
    assert f"{methods[0].mean['ap_frechet@3.0']:.3f}" in text  # the last column
    assert max(page.curves for page in pages) > 500  # the drawings
    assert "Minimum confidence" not in text
    assert "Previous" not in text


def test_no_table_is_cut_on_paper(show: Show, three: Path) -> None:
    page = show(three, width=1047)  # A4 across, without its margins, in CSS pixels
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    tables = page.locator("main table:visible")
    assert tables.count() > 6
    assert max(tables.evaluate_all("all => all.map((node) => node.getBoundingClientRect().right)")) <= 1047
    assert page.locator("#list").is_hidden()
    assert page.locator("input:visible, select:visible").count() == 0
    buttons = page.locator("button:visible").evaluate_all("all => all.map((node) => node.className)")
    assert set(buttons) <= {"row", "thumb-button"}, "they are names of classes and causes, and drawings"
    assert page.locator("#printed tbody tr").count() == 30
    assert page.locator(".panel svg:visible").count() == 3


def test_results_without_data_pld_or_scenes_can_be_explored(show: Show, tmp_path: Path) -> None:
    predictions, truth = demo_world(2)
    results = mg.evaluate(replace(predictions, scenes=None), replace(truth, scenes=None), "streammapnet-60x30")
    write_report(results, tmp_path / "drawn.html")
    page = show(tmp_path / "drawn.html")
    assert visible(page, ".instance.truth") > 0
    assert page.locator("#layer-boxes input").count() == 2
    assert page.locator("#scene").is_hidden()
    page.locator(".panel svg").focus()
    page.keyboard.press("n")
    assert page.locator("#line-tip").inner_text().startswith("truth 0, ")
    write_report(results.without_data(), tmp_path / "bare.html")
    page = show(tmp_path / "bare.html")
    page.keyboard.press("j")
    assert chosen(page) == tokens(page)[1]
    assert page.locator(".panel .none").inner_text() == "This page has no geometry."


def test_a_frame_and_a_class_without_value_have_a_dash(show: Show, tmp_path: Path) -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}, "b": {}}, classes=["divider", "boundary"])
    results = mg.evaluate(truth.with_confidence(0.9), truth, metrics=["pld"])
    write_report(results, tmp_path / "report.html")
    page = show(tmp_path / "report.html")
    assert tokens(page) == ["a", "b"]
    assert column(page, "PLD")[1] == "-"
    page.get_by_label("boundary", exact=True).check()
    assert column(page, "PLD") == ["-", "-"]


def test_text_from_outside_is_shown_as_text(show: Show, tmp_path: Path) -> None:
    evil = "</script><img src=x onerror=alert(1)>"
    truth = replace(mg.MapFrames.of({evil: {evil: [[[0, 0], [9, 0]]]}}), scenes=(evil,))
    settings = mg.protocol("paper-60x30", classes=[evil])
    write_report(mg.evaluate(truth.with_confidence(1), truth, settings), tmp_path / "r.html", names=[evil], title=evil)
    page = show(tmp_path / "r.html")
    assert page.title() == evil
    assert chosen(page) == evil
    assert column(page, "token") == ["</script><im…or=alert(1)>"]  # long tokens are cut in the middle
    assert page.locator("#list tr[data-frame] td").first.get_attribute("title") == evil
    assert page.locator("img").count() == 0
