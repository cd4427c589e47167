"""Conditions in the list of frames. The page has the same language as ``mapgauge frames --where``."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.report.test_browser import tokens
from tests.results.query_cases import CLASSES, ERRORS, HOLD, OF_CLASS, TABLE, TOO_LONG

import mapgauge as mg
from mapgauge.report import write_report
from mapgauge.results.query import InvalidQuery
from mapgauge.views.report.explorer import resource

if TYPE_CHECKING:
    from playwright.sync_api import Page

Show = Callable[..., "Page"]
APPLY = """([table, known, classes, conditions]) => conditions.map((text) => {
    try {
        const held = holdsFor(text, { named: (name) => table[name], known, classes }, table[known[0]].values.length);
        return held.flatMap((holds, frame) => (holds ? [frame] : []));
    } catch (error) {
        if (!(error instanceof InvalidQuery)) throw error;
        return [error.place, error.message, error.pointer];
    }
})"""


def applied(window: "Page", conditions: list[str]) -> list[Any]:
    """What the script of the page returns for conditions on the table of the cases."""
    columns = {name: column._asdict() for name, column in (TABLE | OF_CLASS).items()}
    whole = f"(given) => {{ {resource('query.js')}; return ({APPLY})(given); }}"
    answers: list[Any] = window.evaluate(whole, [columns, list(TABLE), CLASSES, conditions])
    return answers


def test_a_condition_holds_for_the_same_frames_as_in_python(window: "Page") -> None:
    assert applied(window, [text for text, _ in HOLD]) == [frames for _, frames in HOLD]


def test_an_error_has_the_same_place_and_words_as_in_python(window: "Page") -> None:
    pointers = [f"{message}\n  {text}\n  {' ' * place}^" for text, place, message in ERRORS]
    expected = [[place, message, p] for (_, place, message), p in zip(ERRORS, pointers, strict=True)]
    assert applied(window, [text for text, _, _ in ERRORS]) == expected


def test_a_condition_has_the_same_longest_length_as_in_python(window: "Page") -> None:
    text, message = TOO_LONG
    assert applied(window, [text]) == [[0, message, message]]


@pytest.fixture(scope="module")
def tagged(methods: list[mg.Results], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, mg.Tags]:
    """A report of two methods with tags, and the tags."""
    folder = tmp_path_factory.mktemp("tagged")
    (folder / "tags.csv").write_text("scene,city,night\nscene-0000,boston,yes\nscene-0001,miami,no\n", encoding="utf-8")
    tags = mg.read_tags(folder / "tags.csv")
    write_report(methods, folder / "x.html", names=["good", "poor"], frames=3, tags=tags)
    return folder / "x.html", tags


@pytest.mark.parametrize(
    ("method", "condition"),
    [
        (0, "pld > 0.75 and missed.divider = 0"),
        (1, "false >= 60 or pld_missed.boundary > 0.01"),
        (0, "scene = 'scene-0001' and hits:ap_chamfer@0.5 < truth"),
        (1, "predictions.divider > truth.divider and city != 'miami'"),
        (1, "night = none or night and median_offset > 0.2"),
    ],
)
def test_the_list_has_the_frames_of_a_condition(
    look: Show, methods: list[mg.Results], tagged: tuple[Path, mg.Tags], method: int, condition: str
) -> None:
    path, tags = tagged
    page = look(path, f"#method={method}", height=2000)
    page.fill("#where", condition)
    expected = methods[method].where(condition, tags).tokens
    assert 0 < len(expected) < len(methods[method].tokens)
    assert sorted(tokens(page)) == sorted(expected)
    assert page.locator("#where-wrong").is_hidden()


def test_a_condition_holds_for_the_chosen_method(
    look: Show, methods: list[mg.Results], tagged: tuple[Path, mg.Tags]
) -> None:
    page = look(tagged[0], "#where=pld > 0.8", height=2000)
    for method, results in enumerate(methods):
        page.select_option("#method", str(method))
        assert sorted(tokens(page)) == sorted(results.where("pld > 0.8").tokens)


def test_an_error_is_shown_and_filters_nothing(look: Show, one: Path, methods: list[mg.Results]) -> None:
    page = look(one)
    condition = "pld > 0.8 and mised > 2"
    page.fill("#where", condition)
    with pytest.raises(InvalidQuery) as raised:
        methods[0].where(condition)
    assert page.locator("#where-wrong").text_content() == raised.value.pointer
    assert page.locator("#count").inner_text() == "30 of 30 frames"
    page.click("#clear")
    assert page.locator("#where-wrong").is_hidden()
    assert page.input_value("#where") == ""


def test_a_condition_is_in_the_address(look: Show, one: Path, methods: list[mg.Results]) -> None:
    page = look(one)
    page.fill("#where", "pld > 0.8")
    page.wait_for_url(re.compile("where="))
    address = page.evaluate("location.hash")
    assert look(one).input_value("#where") == ""
    again = look(one, address)
    assert again.input_value("#where") == "pld > 0.8"
    assert again.locator("#count").inner_text() == f"{len(methods[0].where('pld > 0.8').tokens)} of 30 frames"
