"""Whole maps in the report: colours by distance, and the values after a share of the frames."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from tests.features.global_map.test_global_map import city
from tests.features.global_map.test_rules import drive

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.metrics.colours import FAR, FOUND, MISSED
from mapgauge.metrics.table import colours_of
from mapgauge.report import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_a_map_is_coloured_by_distance_and_grows(show: Callable[..., "Page"], tmp_path: Path) -> None:
    """The line is 0.6 m from the truth for half of its length, and then 9 m."""
    truth = city({"divider": [[[-30.0, 2.6], [35.0, 2.6], [35.0, 11.0], [100.0, 11.0]]]})
    write_report(mg.global_map(drive(), truth, over_time=True).results, tmp_path / "map.html")
    page = show(tmp_path / "map.html", "#cause=offset")
    strokes = page.locator(".panel .predictions .stroke").evaluate_all(
        "nodes => nodes.map(node => node.getAttribute('stroke'))"
    )
    assert {"#6a9f00", "#8e44ad"} <= set(strokes)  # up to 0.75 m, and beyond the cutoff
    assert page.locator("#cause-key li:has(.sample)").count() == 7 + 3  # and truth, missed truth, false predictions
    page.click("#modes [data-mode=errors]")
    strokes = page.locator(".panel .predictions .stroke").evaluate_all(
        "nodes => nodes.map(node => node.getAttribute('stroke'))"
    )
    assert {"#E07A00", "#C8102E"} <= set(strokes)
    chart = page.locator("#growth figure svg")
    assert chart.locator("path[stroke-width]").count() == 3
    assert "completeness from" in (chart.get_attribute("aria-label") or "")


def test_the_figure_has_the_colours_of_all_drawings() -> None:
    predictions, truth = demo_world(20, quality="poor")
    made = mg.global_map(predictions, truth)
    (axes,) = mg.plot.global_map(made).axes
    lines: list[Any] = [drawn for drawn in axes.collections if isinstance(drawn, LineCollection)]
    colours = {to_hex(colour).upper() for drawn in lines for colour in drawn.get_colors()}
    near = {colour.upper() for colour in colours_of(truth.classes).values()}
    assert {FOUND.upper(), MISSED.upper()} <= colours
    assert colours & near
    assert colours - near - {FOUND.upper(), MISSED.upper()} <= {colour.upper() for colour in FAR}
    width_of = {to_hex(drawn.get_colors()[0]).upper(): drawn.get_linewidths()[0] for drawn in lines}
    assert min(width_of[FOUND], width_of[MISSED]) > max(width_of[colour] for colour in near & width_of.keys())
