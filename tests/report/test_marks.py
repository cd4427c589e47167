"""What the drawings of the report show of errors, in each of its modes."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.report.test_file import contents

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.markup import stroke_width
from mapgauge.metrics.colours import FAR
from mapgauge.metrics.table import colours_of
from mapgauge.results.marks import STEPS, levels_of
from mapgauge.views.report.explorer import geometry_arrays

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page

    Show = Callable[..., Page]


def with_missed(results: mg.Results) -> str:
    """The token of a frame with missed truth."""
    frames = (results.assignment(token) for token in results.tokens)
    return next(frame.token for frame in frames if len(frame.matches) < len(frame.truth))


def style(found: "Locator", name: str) -> set[str]:
    """The values of a property of some elements."""
    values: list[str] = found.evaluate_all(f"all => all.map((node) => getComputedStyle(node)['{name}'])")
    return set(values)


def test_levels_are_the_distances_to_the_matched_line_in_sixths_of_the_cutoff() -> None:
    x = np.linspace(0, 10, 11)
    truth = [mg.Instance("divider", np.stack([x, 0 * x], 1)), mg.Instance("divider", np.stack([x, 0 * x + 9], 1))]
    slope = np.stack([x, x * 0.3], 1)  # from 0 to 3 m
    lines = [mg.Instance("divider", slope, 1.0), mg.Instance("divider", np.stack([x, 0 * x + 8.4], 1), 1.0)]
    lines.append(mg.Instance("boundary", slope, 1.0))
    match = mg.Match("divider", 0, 0, 0.5, np.array([[0, 0]]))
    found = levels_of(mg.Assignment(token="t", predictions=lines, truth=truth, matches=[match], cutoff=1.5))
    middles = (slope[1:, 1] + slope[:-1, 1]) / 2
    assert found[0].tolist() == [*np.minimum(middles / 0.25, STEPS).astype(int).tolist(), STEPS]
    assert set(found[1].tolist()) == {2}  # unmatched: 0.6 m from the nearest line of its class
    assert set(found[2].tolist()) == {STEPS}  # no truth of its class
    nothing = levels_of(mg.Assignment(token="t", predictions=lines, truth=truth, matches=[match]))
    assert {level for levels in nothing for level in levels.tolist()} == {0}


def test_the_page_has_the_levels_of_all_pieces(two: Path, methods: list[mg.Results]) -> None:
    meta, arrays = contents(two)
    for k, method in enumerate(methods):
        frames = [method.assignment(meta["tokens"][frame]) for frame in meta["drawn"]]
        expected = np.concatenate([levels for frame in frames for levels in levels_of(frame)])
        np.testing.assert_array_equal(arrays[f"{k}.predictions.far"], expected)


def test_levels_belong_to_the_predictions_that_are_drawn() -> None:
    results = mg.evaluate(*demo_world(6), metrics=["pld"])
    least = 0.1
    columns = geometry_arrays(0, results, None, advance=lambda: None, centred=False, least=least)
    expected = []
    for frame in map(results.assignment, results.tokens):
        matched = {match.prediction for match in frame.matches}
        for k, (line, levels) in enumerate(zip(frame.predictions, levels_of(frame), strict=True)):
            if k in matched or (line.confidence or 0.0) >= least:
                expected.append(levels)
    assert 0 < len(expected) < len(results.scores.confidence)
    assert columns["0.predictions.far"].tolist() == np.concatenate(expected).tolist()


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_begins_with_errors(look: "Show", two: Path, methods: list[mg.Results], dark: bool) -> None:
    token = with_missed(methods[0])
    page = look(two, f"#frame={token}&least=0", dark=dark)
    assert page.locator("#modes button").all_inner_texts() == ["errors", "classes", "distances", "causes"]
    assert page.locator("#modes [aria-pressed=true]").inner_text() == "errors"
    panel = page.locator(".panel").first
    found = panel.locator(".instance.truth:not(.lonely)")
    assert style(found.locator(".stroke"), "stroke") == {"rgb(111, 121, 133)" if dark else "rgb(152, 161, 171)"}
    assert panel.locator(".instance.truth.lonely .hatch").count() == panel.locator(".instance.truth.lonely").count()
    missed = {"rgb(228, 87, 92)" if dark else "rgb(190, 45, 51)"}
    assert style(panel.locator(".instance.truth.lonely .rim"), "stroke") == missed
    assert "none" not in style(panel.locator(".instance.predictions.lonely .stroke"), "strokeDasharray")
    assert style(panel.locator(".instance.predictions:not(.lonely) .stroke"), "strokeDasharray") == {"none"}
    frame = methods[0].assignment(token)
    strokes = panel.locator(".instance.predictions .stroke")
    levels = strokes.evaluate_all("all => all.map((node) => Number(node.dataset.level))")
    drawn = strokes.evaluate_all("all => all.map((node) => node.getAttribute('stroke'))")
    assert set(levels) == {level for of_line in levels_of(frame) for level in of_line.tolist()}
    classes = set(colours_of(methods[0].class_names).values())
    for level, colour in zip(levels, drawn, strict=True):
        assert (colour in classes) if level < 2 else colour == FAR[(level - 2) // 2]
    said = page.locator("#cause-key").inner_text()
    assert "matched by PLD within 1.5 m" in said
    assert "width: confidence" in said


def test_confidence_is_the_width_of_a_line(look: "Show", two: Path) -> None:
    panel = look(two, "#least=0").locator(".panel").first
    labels = panel.locator(".instance.predictions").evaluate_all(
        "all => all.map((node) => node.getAttribute('aria-label'))"
    )
    widths = panel.locator(".instance.predictions").evaluate_all(
        "all => all.map((node) => parseFloat(getComputedStyle(node.querySelector('.stroke')).strokeWidth))"
    )
    sure = [float(re.search(r"confidence ([\d.]+)", label)[1]) for label in labels]  # type: ignore[index]
    assert widths == pytest.approx([stroke_width(confidence) for confidence in sure], abs=0.02)
    assert style(panel.locator(".instance .stroke"), "strokeOpacity") == {"1"}


def test_truth_of_a_hidden_prediction_is_paler(look: "Show", two: Path) -> None:
    page = look(two, "#least=0")
    assert page.locator(".truth.faintly").count() == 0
    page.locator("#least").fill("1")
    found = page.locator(".panel .instance.truth.faintly")
    assert found.count() > 0
    assert style(found.locator(".stroke"), "opacity") == {"0.4"}


def test_every_mode_has_its_button_its_colours_and_its_legend(
    look: "Show", two: Path, methods: list[mg.Results]
) -> None:
    page = look(two, f"#frame={with_missed(methods[0])}")
    panel = page.locator(".panel").first
    classes = {f"#{colour[1:]}" for colour in colours_of(methods[0].class_names).values()}
    strokes = "all => all.map((node) => node.getAttribute('stroke'))"
    page.click("#modes [data-mode=classes]")
    assert set(panel.locator(".instance .stroke").evaluate_all(strokes)) <= classes
    assert style(panel.locator(".rim"), "display") == {"none"}
    page.wait_for_url("**cause=classes*")
    page.click("#modes [data-mode=offset]")
    assert not set(panel.locator(".instance.predictions .stroke").evaluate_all(strokes)) & classes
    assert page.locator("#cause-key").inner_text().count("up to") == STEPS
    page.click("#modes [data-mode=every]")
    assert panel.locator(".instance.caused").count()
    assert page.locator("#cause-key .family").count() > 2
    page.click("#modes [data-mode=errors]")
    page.wait_for_function("() => !location.hash.includes('cause')")
    look(two, "#cause=offset")
    assert page.locator("#modes [aria-pressed=true]").get_attribute("data-mode") == "offset"


def test_points_and_the_region_are_in_the_legend(look: "Show", two: Path) -> None:
    page = look(two)
    for mode in ("errors", "classes", "every"):
        page.click(f"#modes [data-mode={mode}]")
        said = page.locator("#cause-key").inner_text()
        assert "matched points" in said
        assert "unmatched points of truth and predictions" in said
        assert "from 8 px per metre" in said
        assert "region of the protocol" in said
        assert "ego" in page.locator("#cause-key li:has(.ego)").inner_text()
    page.click("#modes [data-mode=offset]")
    assert "matched points" not in page.locator("#cause-key").inner_text(), "they are not drawn"


def test_the_scale_is_outside_the_drawing(look: "Show", two: Path) -> None:
    page = look(two)
    drawing, scale = (page.locator(f".panel {name}").first.bounding_box() for name in ("svg", ".scale"))
    assert drawing is not None
    assert scale is not None
    assert scale["y"] >= drawing["y"] + drawing["height"]


def test_matched_points_are_drawn_from_eight_pixels_per_metre(look: "Show", two: Path) -> None:
    page = look(two, "#view=0.00+0.00+10.00")
    assert "inline" in style(page.locator("path.pairs"), "display")  # others are fainter than the least confidence
    page.click("#whole")
    for _ in range(3):
        page.click("#farther")
    assert style(page.locator("path.pairs"), "display") == {"none"}


def test_without_a_cutoff_lines_have_the_colours_of_their_classes(show: "Show", tmp_path: Path) -> None:
    from mapgauge.demo import demo_world
    from mapgauge.report import write_report

    predictions, truth = demo_world(2, predictions=9)
    settings = mg.protocol("paper-60x30", cutoffs=())
    write_report(mg.evaluate(predictions, truth, settings, metrics=["ap_chamfer"]), tmp_path / "page.html")
    page = show(tmp_path / "page.html")
    assert page.locator("#modes").is_hidden()
    assert page.locator(".panel svg[data-mode=classes]").count() == 1
