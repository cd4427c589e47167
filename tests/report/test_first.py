"""The first screen of the report in a real browser: answer, panels, examples, scenes and filters."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import expect
from tests.audit import faults_of
from tests.cli.conftest import caller

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.report import write_report
from mapgauge.views.report.further import Limits
from mapgauge.views.report.page import made_report

if TYPE_CHECKING:
    from playwright.sync_api import Page

Show = Callable[..., "Page"]
SVG = "{http://www.w3.org/2000/svg}"
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, Scheme] = ("light", "dark")


def listed(page: "Page") -> list[str]:
    return page.locator("#list tbody tr[data-frame] td:first-child").all_inner_texts()


def number_of_frames(page: "Page") -> int:
    return int(page.locator("#count").inner_text().split()[0])


@pytest.fixture(scope="module")
def five(methods: list[mg.Results], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of five methods: two pairs of equal ones."""
    path = tmp_path_factory.mktemp("five") / "report.html"
    good, poor = methods
    write_report([good, poor, good, poor, good], path, names=["A", "B", "C", "D", "E"])
    return path


def test_the_panels_have_the_values_of_the_results(look: Show, two: Path, methods: list[mg.Results]) -> None:
    page = look(two)
    what = page.locator("#what").inner_text()
    for method in methods:
        assert f"{method.mean['pld']:.3f}" in what
        assert f"{method.mean['ap_chamfer']:.3f}" in what
        assert f"{method.classes['divider']['pld']:.3f}" in what
    names = page.locator("#what .rows th button").all_inner_texts()
    worst = sorted(methods[0].class_names, key=lambda name: -(methods[0].classes[name]["pld"] or 0))
    assert names == worst


def test_the_waterfall_leads_from_one_method_to_the_other(look: Show, two: Path, methods: list[mg.Results]) -> None:
    page = look(two)
    said = page.locator("#why-card .rows td:last-child").all_inner_texts()
    steps = [float(text.replace("\u2212", "-")) for text in said]
    gap = (methods[1].mean["pld"] or 0) - (methods[0].mean["pld"] or 0)
    assert len(steps) == 5
    assert abs(sum(steps) - gap) < 0.003
    assert [abs(step) for step in steps] == sorted((abs(step) for step in steps), reverse=True)
    page.get_by_role("button", name="missing").click()
    causes = page.locator("#why-card .rows tr.sub th").all_inner_texts()
    assert causes == ["missed", "extent", "found only faintly"]
    page.get_by_role("button", name="missing").click()
    assert page.locator("#why-card .rows tr.sub").count() == 0


def test_a_class_and_a_cause_are_filters_with_chips(look: Show, two: Path) -> None:
    page = look(two)
    page.locator("#what").get_by_role("button", name="divider").click()
    assert page.get_by_label("divider", exact=True).first.is_checked()
    page.locator("#why-card").get_by_role("button", name="missing").click()
    page.locator("#why-card").get_by_role("button", name="missed").click()
    assert page.locator("#list th[aria-sort]").get_attribute("data-key") == "due_to_missed"
    assert page.locator("#why-due_to_missed").get_attribute("aria-pressed") == "true"
    assert page.locator("#chips button").all_inner_texts() == ["divider \u2715", "cause missed \u2715"]
    for _ in range(2):
        page.locator("#chips button").first.click()
    assert page.locator("#chips button").count() == 0
    assert page.locator("#why-due_to_missed").get_attribute("aria-pressed") == "false"
    page.locator("#why-card").get_by_role("button", name="missing").click()
    assert page.locator("#why-due_to_missed").count() == 0


@pytest.mark.parametrize("name", ["divider", "boundary"])
def test_the_value_above_a_drawing_is_that_of_the_lines_in_it(
    look: Show, two: Path, methods: list[mg.Results], name: str
) -> None:
    page = look(two, f"#frame=scene-0001-4&of={name}")
    by_token = [{row["token"]: row["pld"] for row in method.frames(class_name=name)} for method in methods]
    captions = page.locator(".panel figcaption > span").all_inner_texts()
    assert [text.split(" = ")[0] for text in captions] == [
        f"{name}: PLD {values['scene-0001-4']:.3f}" for values in by_token
    ]


def test_a_filter_draws_the_first_frame_of_the_list(look: Show, two: Path) -> None:
    page = look(two)
    page.select_option("#method", "1-0")
    for button in ("#largest-gain", "#largest-loss"):
        page.click(button)
        assert page.locator("#chosen").inner_text().startswith(listed(page)[0])
    page.locator("#what").get_by_role("button", name="boundary").click()
    assert page.locator("#chosen").inner_text().startswith(listed(page)[0])
    page.fill("#text", "scene-0002")
    assert page.locator("#chosen").inner_text().startswith("scene-0002")


def test_the_examples_are_of_different_scenes_and_findings(look: Show, two: Path) -> None:
    page = look(two)
    page.wait_for_selector("#examples .thumb path")
    titles = [
        str(text) for text in page.locator("#examples .thumb-button").evaluate_all("all => all.map((b) => b.title)")
    ]
    captions = page.locator("#examples .caption").all_inner_texts()
    assert len(titles) == len(set(titles)) == 6
    assert len({title.rpartition("-")[0] for title in titles}) == 3  # all scenes of this report
    assert len(set(captions)) > 3
    page.locator("#examples .thumb-button").nth(2).click()
    assert page.locator("#chosen").inner_text().startswith(titles[2])


def test_the_examples_follow_the_filters(look: Show, two: Path) -> None:
    page = look(two)
    page.locator("#what").get_by_role("button", name="divider").click()
    page.select_option("#scene", "scene-0001")
    expect(page.locator("#examples .thumb-button:not([title^=scene-0001])")).to_have_count(0)
    captions = page.locator("#examples .caption").all_inner_texts()
    assert captions
    assert all("divider" in text for text in captions)


DRAWN_MARKS = """() => {
    const panel = document.querySelector('.panel');
    const seen = [...panel.querySelectorAll('.instance')].filter((node) => node.style.display !== 'none');
    const truth = seen.filter((node) => node.matches('.truth'));
    const missed = truth.some((node) => node.querySelector('.rim'));
    const faint = truth.some((node) => node.matches('.faintly') && !node.querySelector('.rim'));
    const found = truth.some((node) => !node.matches('.faintly') && !node.querySelector('.rim'));
    const lines = seen.filter((node) => node.matches('.predictions'));
    const strokes = lines.flatMap((node) => [...node.querySelectorAll('.stroke')]);
    const colours = [...new Set(strokes.map((one) => one.getAttribute('stroke')))].sort();
    return { missed, faint, found, lonely: lines.some((node) => node.matches('.lonely')), colours };
}"""
THUMB_MARKS = """(button) => {
    const has = (name) => button.querySelector(`.thumb ${name}`) !== null;
    const strokes = [...button.querySelectorAll('.thumb :is(.near, .far)')];
    const colours = [...new Set(strokes.map((one) => one.getAttribute('stroke')))].sort();
    const [missed, faint, found, lonely] = ['.missed', '.faintly', '.found:not(.faintly)', '.false'].map(has);
    return { missed, faint, found, lonely, colours };
}"""
WIDTHS_OF_SCALES = "all => all.map((one) => one.getBoundingClientRect().width)"


def test_a_thumbnail_has_the_marks_of_the_drawing(show: Show, tmp_path: Path) -> None:
    write_report(mg.evaluate(*demo_world(20, predictions=15, quality="poor")), tmp_path / "page.html")
    page = show(tmp_path / "page.html")
    page.wait_for_selector("#examples .thumb path")
    page.locator("#least").fill("0.3")
    page.wait_for_function("document.querySelector('#least-value').textContent.startsWith('0.30')")
    page.wait_for_selector("#examples .thumb .faintly")
    marks = []
    for k in range(page.locator("#examples .thumb-button").count()):
        button = page.locator("#examples .thumb-button").nth(k)
        button.click()
        marks.append(button.evaluate(THUMB_MARKS))
        assert marks[-1] == page.evaluate(DRAWN_MARKS)
    assert any(mark["missed"] for mark in marks)
    assert any(mark["faint"] for mark in marks)
    assert any(mark["lonely"] for mark in marks)
    assert all(len(mark["colours"]) > 3 for mark in marks)  # of classes, and of pieces that are far


def test_methods_that_are_the_same_have_no_examples_and_the_page_says_so(
    show: Show, methods: list[mg.Results], tmp_path: Path
) -> None:
    write_report([methods[0], methods[0]], tmp_path / "page.html", names=["A", "B"], frames=4)
    page = show(tmp_path / "page.html")
    expect(page.locator("#examples .body")).to_have_text("A and B have the same values in all frames of the list.")


def test_few_scenes_decide_nothing_and_no_tie_is_marked(show: Show, tmp_path: Path) -> None:
    methods = [mg.evaluate(*demo_world(10, predictions=count)) for count in (75, 40, 20)]
    write_report(methods, tmp_path / "page.html", names=["A", "B", "C"], frames=4)
    page = show(tmp_path / "page.html", "#method=1-0")
    said = page.locator("#what td.plot .unseen").all_inner_texts()
    assert said
    assert all("undecided" in text for text in said)
    bold = page.locator("#what table.facts tbody tr").evaluate_all(
        "all => all.map((row) => row.querySelectorAll('strong').length)"
    )
    assert sum(bold) == 3  # the best of each metric


def test_all_that_tie_with_the_best_are_marked_in_the_overview_too(look: Show, five: Path) -> None:
    page = look(five)
    marked = (
        page.locator("#overview table")
        .first.locator("tbody tr")
        .evaluate_all("all => all.map((row) => row.querySelectorAll('.best').length)")
    )
    assert marked == [3, 0, 3, 0, 3]


@pytest.mark.needs_feature("error_map")
def test_a_difference_of_any_two_methods_is_drawn_beside_its_map(look: Show, five: Path) -> None:
    page = look(five, "#method=3-2")
    assert page.locator("#error-choice option:checked").inner_text() == "D minus C"
    names = page.locator(".panel:visible figcaption strong").all_inner_texts()
    assert names == ["C", "D"]
    wide = page.locator(".panel:visible .scale").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().width)"
    )
    page.select_option("#method", "4-1")
    later = page.locator(".panel:visible .scale").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().width)"
    )
    assert later == pytest.approx(wide, rel=0.01)
    assert page.locator("#least-value").inner_text().count(" and ") <= 1, "what is hidden in the two that are drawn"


def test_the_scenes_are_rows_of_cells_worst_first(look: Show, one: Path, methods: list[mg.Results]) -> None:
    page = look(one)
    rows = page.locator("#scene-rows li")
    by_scene = methods[0].by("scene")
    values = {scene: by_scene[scene].mean["pld"] for scene in by_scene}
    worst = sorted(values, key=lambda scene: -(values[scene] or 0))
    assert rows.evaluate_all("all => all.map((row) => row.dataset.scene)") == worst
    assert page.locator("#scene-rows .mean").first.inner_text() == f"{values[worst[0]]:.3f}"
    page.locator("#scene-rows li .row").first.click()
    assert number_of_frames(page) == len(by_scene[worst[0]].tokens)
    assert page.locator("#chips button").inner_text() == f"scene {worst[0]} \u2715"


def test_a_scene_has_the_value_of_its_frames_together(look: Show, two: Path, methods: list[mg.Results]) -> None:
    """As a table of values by scene has it: the mean of the values of frames is another number."""
    first, second = (method.by("scene") for method in methods)
    name = methods[0].class_names[0]
    for address, class_name, signed in (("", None, False), (f"#of={name}", name, False), ("#method=1-0", None, True)):
        page = look(two, address)
        shown = page.locator("#scene-rows li").evaluate_all(
            "all => all.map((row) => [row.dataset.scene, row.querySelector('.mean').textContent])"
        )
        assert len(shown) == len(first)
        for scene, text in shown:
            of_first, of_second = (
                part[scene].mean["pld"] if class_name is None else part[scene].classes[class_name]["pld"]
                for part in (first, second)
            )
            assert of_first is not None
            assert of_second is not None
            assert float(text) == pytest.approx(of_second - of_first if signed else of_first, abs=0.00051)
    assert "over all frames" in page.locator("#scenes-card").inner_text()


def test_a_scene_of_which_some_frames_are_listed_has_their_mean(
    look: Show, one: Path, methods: list[mg.Results]
) -> None:
    middle = round(float(np.median([row["pld"] for row in methods[0].frames()])), 3)
    page = look(one, f"#range=pld+{middle}+1")
    rows = [row for row in methods[0].frames() if float(row["pld"]) >= middle]
    scene = page.locator("#scene-rows li").first.get_attribute("data-scene")
    mean = np.mean([float(row["pld"]) for row in rows if row["scene"] == scene])
    assert 0 < len(rows) < len(methods[0].tokens)
    assert page.locator("#scene-rows .mean").first.inner_text() == f"{mean:.3f}"
    assert "mean over the listed frames" in page.locator("#scenes-card").inner_text()


def test_the_scale_of_cells_says_where_it_is_cut(look: Show, one: Path, methods: list[mg.Results]) -> None:
    page = look(one)
    low, high = page.locator("#scenes-card .ramp > span").all_inner_texts()
    values = [float(row["pld"]) for row in methods[0].frames()]
    for text, beyond, is_beyond in ((low, "\u2264", min(values)), (high, "\u2265", max(values))):
        end = float(text.removeprefix(beyond))
        assert text.startswith(beyond) == (abs(end - is_beyond) > 0.0006)


def test_a_scene_is_played_from_a_cell(look: Show, one: Path) -> None:
    page = look(one)
    cells = page.locator("#scene-rows .strip").first
    scene = page.locator("#scene-rows li").first.get_attribute("data-scene")
    box = cells.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 0.85 * box["width"], box["y"] + 5)
    assert page.locator("#chosen").inner_text().startswith(f"{scene}-8")
    expect(page.locator("#chosen")).to_contain_text(f"{scene}-9")
    expect(page.locator("#stop")).to_be_hidden()  # the scene has ended


def test_the_grid_has_the_frames_of_the_list(look: Show, two: Path) -> None:
    page = look(two)
    expected = listed(page)[:5]
    expect(page.locator("#grid-frames")).not_to_be_in_viewport()
    page.keyboard.press("2")
    expect(page.locator("#grid-frames")).to_be_in_viewport()
    page.wait_for_selector("#grid-frames .thumb path")
    titles = page.locator("#grid-frames .thumb-button").evaluate_all("all => all.map((b) => b.title)")
    assert titles[:5] == expected
    page.locator("#grid-frames .thumb-button").nth(3).click()
    assert page.locator("#chosen").inner_text().startswith(expected[3])
    page.keyboard.press("1")
    assert page.locator("#list").is_visible()
    assert page.locator("#grid-frames").is_hidden()


@pytest.mark.needs_feature("error_map")
def test_a_piece_of_the_road_is_a_filter_with_a_chip(look: Show, two: Path) -> None:
    page = look(two)
    assert page.locator("#error-places li").first.inner_text() == "Worst:"
    page.locator("#error-bar input").fill("4")
    assert page.locator("#error-places li").first.inner_text() == "Worst (confidence \u2265 0):"
    page.locator("#error-bar input").fill("0")
    page.locator("#error-places button").first.click()
    assert page.locator("#chips button").count() == 1
    assert page.locator("#chips button").inner_text().startswith("saw ")
    kept = number_of_frames(page)
    assert 0 < kept < 30
    page.wait_for_url(re.compile("road="))
    address = page.evaluate("location.hash")
    assert number_of_frames(look(two)) == 30
    again = look(two, address)
    expect(again.locator("#count")).to_contain_text(f"{kept} of")
    again.locator("#chips button").click()
    assert number_of_frames(again) == 30


def test_ranges_say_why_they_are_no_filters(show: Show, tmp_path: Path) -> None:
    results = mg.evaluate(*demo_world(2), ranges=(0, 10, 20), metrics=["pld", "completeness"])
    write_report(results.without_data(), tmp_path / "page.html")
    page = show(tmp_path / "page.html")
    where = page.locator("#where-slot")
    assert where.locator("tbody tr").count() == 2
    assert "A range does not filter the list" in where.inner_text()


def test_without_predictions_ranges_have_their_values(show: Show, tmp_path: Path) -> None:
    results = mg.evaluate(*demo_world(2), ranges=(0, 10, 20), metrics=["pld"])
    write_report(results.without_data(), tmp_path / "page.html")
    page = show(tmp_path / "page.html")
    said = page.locator("#where-slot tbody .hbar-row span").all_inner_texts()
    assert said == [f"{results.mean[f'pld:{ring}']:.3f}" for ring in ("0-10m", "10-20m")]


def test_key_3_shows_the_panel_where_large(look: Show, two: Path) -> None:
    page = look(two)
    small = page.locator("#where-slot").bounding_box()
    page.keyboard.press("3")
    assert page.locator("#where-pane #where-slot").is_visible()
    assert page.locator("#list").is_hidden()
    large = page.locator("#where-slot").bounding_box()
    assert small is not None
    assert large is not None
    assert large["height"] > 1.3 * small["height"]
    assert page.locator('#views [data-view="where"]').get_attribute("aria-pressed") == "true"
    page.keyboard.press("1")
    assert page.locator("#where-card #where-slot").is_visible()
    assert page.locator("#list").is_visible()


def test_a_box_in_the_scatter_keeps_frames(look: Show, two: Path) -> None:
    page = look(two, "#pane=scatter")
    points = page.locator("#scatter .points")
    assert points.evaluate_all("all => all.map((p) => p.getAttribute('d').split('h0').length - 1)") != []
    box = page.locator("#scatter").bounding_box()
    assert box is not None
    page.locator("#scatter").scroll_into_view_if_needed()
    box = page.locator("#scatter").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.45 * box["width"], box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 0.6 * box["height"])
    page.mouse.up()
    kept = number_of_frames(page)
    assert 0 < kept < 30
    drawn = points.evaluate_all("all => all.map((p) => p.getAttribute('d').split('h0').length - 1)")
    assert sum(drawn) == 30, "points outside of the box stay, so that the box can be seen among them"
    page.wait_for_url(re.compile("box="))
    address = page.evaluate("location.hash")
    assert number_of_frames(look(two)) == 30
    again = look(two, address)
    assert number_of_frames(again) == kept
    again.locator("#chips button").click()
    assert number_of_frames(again) == 30


def test_columns_are_chosen_by_a_menu(look: Show, two: Path) -> None:
    page = look(two)
    usual = page.locator("#list thead th").evaluate_all("all => all.map((head) => head.dataset.key)")
    assert usual == ["token", "scene", "pld", "largest", "missed", "false", "truth"]
    page.click("#columns-choice summary")
    page.locator('[data-column="detection"]').check()
    assert page.locator('#list th[data-key="detection"]').count() == 1
    page.locator('[data-column="truth"]').uncheck()
    assert page.locator('#list th[data-key="truth"]').count() == 0
    page.locator('#list th[data-key="largest"] button').click()
    assert page.locator("#list th[aria-sort]").get_attribute("data-key") == "largest"


def test_the_largest_cause_of_a_frame_is_in_the_list(look: Show, one: Path, methods: list[mg.Results]) -> None:
    page = look(one)
    row = methods[0].frames()[0]
    causes = {key: float(value) for key, value in row.items() if key.startswith("due_to_")}
    key = max(causes, key=lambda cause: causes[cause])
    text = page.locator("#list tbody tr[data-frame]").first.locator("td").nth(3).inner_text()
    assert text.endswith(f"{causes[key]:.3f}"[:4])


def test_key_b_shows_the_methods_and_the_truth_in_turn(look: Show, two: Path) -> None:
    page = look(two)
    page.emulate_media(reduced_motion="reduce")
    seen = []
    for _ in range(3):
        page.keyboard.press("b")
        seen.append((page.locator("#blinking").inner_text(), page.locator(".panel:visible").count()))
    assert seen == [("good", 1), ("poor", 1), ("truth", 1)]
    assert (
        page.locator(".panel .instance.predictions:visible").evaluate_all(
            "all => all.filter((node) => getComputedStyle(node).visibility === 'visible').length"
        )
        == 0
    )
    page.keyboard.press("b")
    assert page.locator(".panel:visible").count() == 2
    page.emulate_media(reduced_motion="no-preference")


def test_the_key_b_goes_on_by_itself_until_it_is_pressed_again(look: Show, two: Path) -> None:
    page = look(two)
    page.keyboard.press("b")
    for name in ("good", "poor"):
        expect(page.locator("#blinking")).to_have_text(name)
    page.keyboard.press("b")
    assert page.locator("#blinking").inner_text() == ""


def test_help_opens_and_closes_with_the_keyboard(look: Show, two: Path) -> None:
    page = look(two)
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    assert page.locator("#help svg").count() > 6
    assert faults_of(page) == []
    page.keyboard.press("Escape")
    assert page.locator("#help").is_hidden()


def test_five_methods_have_ridges_a_table_and_two_drawings(look: Show, five: Path) -> None:
    page = look(five)
    assert page.locator("#what table.facts tbody tr").count() == 5
    assert page.locator("#histogram .ridge").count() == 5
    assert page.locator(".panel:visible").count() == 2
    bold = page.locator("#what table.facts tbody tr").evaluate_all(
        "all => all.map((row) => row.querySelectorAll('strong').length)"
    )
    assert bold == [3, 0, 3, 0, 3], "all that tie with the best are marked"
    page.select_option("#shown-second", "3")
    assert page.locator(".panel:visible figcaption strong").all_inner_texts() == ["A", "D"]
    assert page.locator(".panel:visible .instance.truth").count() > 0
    page.wait_for_url(re.compile("shown="))
    address = page.evaluate("location.hash")
    look(five)
    again = look(five, address)
    assert again.locator(".panel:visible figcaption strong").all_inner_texts() == ["A", "D"]


def drawn_box(page: "Page", selector: str) -> dict[str, float]:
    return dict(page.locator(f".panel:visible svg {selector}").first.evaluate("node => node.getBoundingClientRect()"))


@pytest.mark.parametrize(("width", "height", "turned"), [(1900, 700, True), (1000, 1400, False)])
def test_a_frame_is_turned_where_it_is_larger_so(
    look: Show, one: Path, tmp_path: Path, width: int, height: int, *, turned: bool
) -> None:
    page = look(one, width=width, height=height)
    region, ego = drawn_box(page, ".region"), drawn_box(page, ".ego")
    assert (region["width"] > region["height"]) == turned
    assert (ego["width"] > ego["height"]) == turned
    with page.expect_download() as saved:
        page.locator(".panel .save").first.click()
    saved.value.save_as(tmp_path / "frame.svg")
    assert ("rotate(90)" in (tmp_path / "frame.svg").read_text(encoding="utf-8")) == turned
    svg = page.locator(".panel svg").first
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = drawn_box(page, ".ego")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 15, y + 5)
    page.mouse.move(x + 30, y + 10)
    page.mouse.up()
    after = drawn_box(page, ".ego")
    assert after["x"] - before["x"] == pytest.approx(30, abs=4)  # the drawing follows the pointer
    assert after["y"] - before["y"] == pytest.approx(10, abs=4)
    svg.focus()
    page.keyboard.press("ArrowRight")
    assert drawn_box(page, ".ego")["x"] < after["x"]  # shows what is to the right
    assert drawn_box(page, ".ego")["y"] == pytest.approx(after["y"], abs=1)


def test_thumbnails_have_forward_up_in_a_region_that_is_wider_than_long(show: Show, tmp_path: Path) -> None:
    truth = {f"f{i}": {"divider": [[[-9, i], [9, i]]], "boundary": [[[-9, 4], [9, 4]]]} for i in range(6)}
    frames = mg.MapFrames.of(truth, classes=["divider", "boundary"])
    for region, lies in (((60, 30), True), ((30, 60), False)):
        settings = mg.protocol("paper-60x30", classes=["divider", "boundary"], region=region)
        write_report(mg.evaluate(frames.with_confidence(0.8), frames, settings), tmp_path / f"{lies}.html")
        page = show(tmp_path / f"{lies}.html")
        page.wait_for_selector("#examples .thumb path")
        box = page.locator("#examples .thumb .ego").first.evaluate(
            "node => (({ width, height }) => ({ width, height }))(node.getBoundingClientRect())"
        )
        assert (box["width"] > box["height"]) == lies


def test_many_classes_are_searched(show: Show, tmp_path: Path) -> None:
    names = [f"kind_{k:02d}" for k in range(60)]
    truth = {f"f{i}": {name: [[[0, k % 9], [9, k % 9]]] for k, name in enumerate(names)} for i in range(3)}
    frames = mg.MapFrames.of(truth, classes=names)
    results = mg.evaluate(frames.with_confidence(0.8), frames, mg.protocol("paper-60x30", classes=names))
    write_report(results, tmp_path / "page.html")
    page = show(tmp_path / "page.html")
    assert page.locator("#what .rows tbody tr").count() == 60
    page.fill("#class-search", "KIND_4")
    assert page.locator("#what .rows tbody tr").count() == 10
    page.locator("#what").get_by_role("button", name="kind_42").click()
    assert page.locator("#class-choice").input_value() == "kind_42"


def test_panels_are_saved_as_svg_and_png(look: Show, two: Path, tmp_path: Path) -> None:
    page = look(two)
    for name in ("what", "why"):
        with page.expect_download() as waiting:
            page.locator(f'[aria-label="Save the panel {name} as SVG"]').dispatch_event("click")
        waiting.value.save_as(tmp_path / "panel.svg")
        root = ElementTree.parse(tmp_path / "panel.svg").getroot()
        texts = ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]
        assert name.capitalize() in texts
        assert "good" in texts
        assert root.find(f".//{SVG}svg") is not None
    with page.expect_download() as waiting:
        page.locator('[aria-label="Save the panel why as PNG"]').dispatch_event("click")
    waiting.value.save_as(tmp_path / "panel.png")
    assert (tmp_path / "panel.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("address", "schemes"),
    [
        ("", SCHEMES),
        ("#method=1-0", SCHEMES[::-1]),
        ("#pane=grid", SCHEMES),
        ("#pane=scatter", SCHEMES[::-1]),
        ("#pane=where", SCHEMES),
        ("#of=divider&cause=due_to_missed", SCHEMES[::-1]),
        ("#where=pld+%3E", SCHEMES),
    ],
)
def test_every_state_is_accessible(look: Show, two: Path, address: str, schemes: tuple[Scheme, Scheme]) -> None:
    """States that follow each other have the other colours, so that what they share is seen in both at both widths."""
    page = look(two, address)
    page.wait_for_selector("#examples .thumb path")
    for width, scheme in zip((1400, 390), schemes, strict=True):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert faults_of(page) == [], (width, scheme)


@pytest.mark.parametrize("width", [390, 1280])
def test_five_methods_are_accessible(look: Show, five: Path, width: int) -> None:
    page = look(five, width=width)
    page.wait_for_selector("#examples .thumb path")
    assert faults_of(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_copied_command_lists_the_same_frames(
    look: Show,
    two: Path,
    methods: list[mg.Results],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, method in zip(("good", "poor"), methods, strict=True):
        method.save(tmp_path / f"{name}.mg")
    call = caller(tmp_path, monkeypatch, capsys)
    page = look(two)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    states = (
        "#scene=scene-0001&range=pld 0.6 0.85",
        "#method=1&of=divider&range=pld 0.5 0.9",
        "#text=scene-0002-1",
        "#method=1-0&range=pld 0.01 1",
    )
    for address in states:
        look(two, address)
        page.click("#copy-command")
        command = page.evaluate("navigator.clipboard.readText()")
        assert command.startswith("mapgauge frames ")
        given = ["sh", "-c", command.replace("mapgauge", "printf '%s\\n'", 1)]
        words = subprocess.run(given, capture_output=True, text=True, encoding="utf-8", check=True).stdout.splitlines()
        ran = call(*words, "--tokens")
        assert sorted(ran.stdout.split()) == sorted(text.removeprefix("\u25cf ") for text in listed(page)), address
    page.context.clear_permissions()


def test_an_error_of_a_script_is_said_on_the_page(window: "Page", one: Path, tmp_path: Path) -> None:
    text = one.read_text(encoding="utf-8")
    meta = json.loads(text.split('id="meta">')[1].split("</script>")[0])
    meta["values"] = None
    page_file = tmp_path / "broken.html"
    before, rest = text.split('id="meta">')
    page_file.write_text(
        f'{before}id="meta">{json.dumps(meta)}</script>{rest.partition("</script>")[2]}', encoding="utf-8"
    )
    window.goto(page_file.as_uri())
    expect(window.locator("#failure")).to_contain_text("cannot be shown")
    assert window.locator("#failure").is_visible()
    window.goto("about:blank")


def test_all_frames_are_drawn_and_faint_ones_are_left_out(show: Show, tmp_path: Path) -> None:
    results = mg.evaluate(*demo_world(12))
    made = made_report([results], limits=Limits(frames=4, block=4))
    (tmp_path / "page.html").write_text(made.page, encoding="utf-8")
    page = show(tmp_path / "page.html")
    said = "All 12 frames can be drawn. In 8 of them, predictions that are not matched and have a confidence below 0.1"
    assert said in page.locator("#explorer .heading").inner_text()
    for row in range(12):
        page.keyboard.press("j")
        page.wait_for_selector(".panel .instance.truth", state="attached")
        token = page.locator("#chosen").inner_text().split(" \u00b7 ")[0]
        frame = results.assignment(token)
        assert page.locator(".panel .instance.truth").count() == len(frame.truth), row
        shown = page.locator(".panel .instance.predictions").count()
        matched = {match.prediction for match in frame.matches}
        kept = sum((x.confidence or 0) >= 0.1 or k in matched for k, x in enumerate(frame.predictions))
        assert shown in (len(frame.predictions), kept)
        missed = page.locator('.panel .instance.truth[aria-label*="unmatched: missed"]').count()
        assert missed == len(frame.truth) - len(frame.matches)


def test_drawings_stop_at_a_limit_of_size(show: Show, tmp_path: Path) -> None:
    limits = Limits(frames=5, block=5, megabytes=0.05)
    made = made_report([mg.evaluate(*demo_world(40))], limits=limits)
    (tmp_path / "page.html").write_text(made.page, encoding="utf-8")
    page = show(tmp_path / "page.html")
    found = re.search(r"(\d+) of 40 frames can be drawn", page.locator("#explorer .heading").inner_text())
    assert found is not None
    drawable = int(found[1])
    assert 10 <= drawable < 40
    page.select_option("#why", "drawn")
    assert number_of_frames(page) == drawable


def test_an_example_says_who_has_more_of_what(look: Show, two: Path) -> None:
    """A method that has more of a cause in a frame may have the lower PLD there."""
    page = look(two)
    captions = page.locator("#examples .caption").all_inner_texts()
    assert captions
    assert all(re.match(r"(good|poor) has [\d.]+ more: .+, \w+$", text) for text in captions)
    assert page.locator("#examples-about").inner_text().startswith("causes of PLD")


def test_parts_and_causes_of_pld_are_told_apart(look: Show, two: Path) -> None:
    page = look(two)
    assert (page.locator("#column-boxes").text_content() or "").count("missed (part)") == 1
    assert "by cause" in page.locator("#why-card").inner_text()
    said = page.locator("#parts").inner_text()
    assert "PLD is split in two ways" in said
    assert "missing is missed, extent, found only faintly" in said


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (1280, 720)])
def test_every_class_of_a_difference_can_be_reached(
    look: Show, two: Path, methods: list[mg.Results], width: int, height: int
) -> None:
    page = look(two, "#method=1-0", width=width, height=height)
    body = page.locator("#what > .body")
    for name in methods[0].class_names:
        button = body.locator("button.row", has_text=name)
        button.scroll_into_view_if_needed()
        box, frame = button.bounding_box(), body.bounding_box()
        assert box is not None
        assert frame is not None
        assert box["y"] >= frame["y"] - 1
        assert box["y"] + box["height"] <= frame["y"] + frame["height"] + 1
