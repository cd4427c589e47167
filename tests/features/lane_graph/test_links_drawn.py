"""Figures and reports show which links between lanes are right, false, missing and half."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.features.lane_graph.lane_graph_cases import LIGHTS, as_frames, chain

import mapgauge as mg
from mapgauge import plot
from mapgauge.report import write_report
from mapgauge.views.figures.panel import arrow_ends
from mapgauge.views.report.frames import frame_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

PROTOCOL = mg.protocol("lane-graph", classes=("centerline", *LIGHTS), boxes=LIGHTS)
# Lane 3 is missed. The link from 0 to 1 is right, that from 1 to 2 is missing, and that from 2 to 0 is false.
EXPECTED = [
    mg.FrameLink("right", False, 0, 1, 1.0),
    mg.FrameLink("half", False, 2, 3, 1.0),
    mg.FrameLink("missing", False, 1, 2, 1.0),
    mg.FrameLink("false", True, 2, 0, 1.0),
]


@pytest.fixture(scope="module")
def results() -> mg.Results:
    truth = as_frames(chain([0.0, 5.0, 10.0, 15.0])).with_confidence(None)
    return mg.evaluate(as_frames(chain([0.0, 5.0, 10.0], [(0, 1), (2, 0)], sure=0.9)), truth, PROTOCOL)


def test_an_assignment_has_the_links_of_its_frame(results: mg.Results, monkeypatch: pytest.MonkeyPatch) -> None:
    found = results.assignment("a")
    assert found.links == EXPECTED
    begin, end = arrow_ends(found, EXPECTED[0])
    assert (begin.tolist(), end.tolist()) == ([2.0, 0.0], [2.0, 5.0])  # the middles of these short lanes
    assert results.data is not None
    plain = mg.evaluate(*results.data, PROTOCOL.replace(settings={"lane_graph_pld": None}))
    assert plain.assignment("a").links == []
    monkeypatch.setitem(sys.modules, "highspy", None)
    assert results.assignment("a").links == []


def test_a_figure_has_an_arrow_for_each_link(results: mg.Results) -> None:
    figure = plot.frame(results.assignment("a"))
    arrows = [str(patch.get_gid()) for patch in figure.axes[0].patches if str(patch.get_gid()).startswith("link")]
    assert arrows == [
        "link-right-truth-0-1-0",
        "link-half-truth-2-3-0",
        "link-missing-truth-1-2-0",
        "link-false-prediction-2-0-0",
    ]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert [name for name in names if "link" in name] == ["right link", "half link", "missing link", "false link"]
    sides = plot.frame(results.assignment("a"), side_by_side=True).axes
    assert [sum("link" in str(patch.get_gid()) for patch in axes.patches) for axes in sides] == [3, 1]
    sure = plot.frame(results.assignment("a"), confidence=0.95).axes[0]
    assert not [patch for patch in sure.patches if "link-false" in str(patch.get_gid())]


def test_a_saved_result_keeps_its_links(results: mg.Results, tmp_path: Path) -> None:
    results.save(tmp_path / "results.mg", geometry="original")
    assert mg.load_results(tmp_path / "results.mg").with_data().assignment("a").links == EXPECTED


def test_a_report_draws_them(results: mg.Results, tmp_path: Path, show: "Callable[..., Page]") -> None:
    write_report(results, tmp_path / "report.html")
    page = show(tmp_path / "report.html")
    states = page.eval_on_selector_all(".panel .link", "nodes => nodes.map((node) => node.getAttribute('class'))")
    assert states == ["link right", "link half", "link missing", "link false"]
    titles = page.eval_on_selector_all(".panel .link title", "nodes => nodes.map((node) => node.textContent)")
    assert titles[-1] == "false link from prediction 2 to prediction 0, score 1.000"
    assert "missing link from truth 1 to truth 2" in titles
    legend = page.locator("#cause-key li:has(.link)").all_inner_texts()
    assert [text.strip() for text in legend] == ["right link", "half link", "missing link", "false link"]
    page.get_by_label("links of lanes").uncheck()
    hidden = page.eval_on_selector_all(".panel .link", "nodes => nodes.map((node) => node.style.display)")
    assert hidden == ["none"] * 4


def test_boxes_have_no_value_of_metrics_of_lines() -> None:
    protocol = mg.protocol("lane-graph", classes=("centerline", *LIGHTS), boxes=LIGHTS)
    lit = as_frames(replace(chain([0.0, 5.0]), lights=[(LIGHTS[0], 0.0)], light_confidence=[1.0]))
    numbers = frame_numbers(mg.evaluate(lit, lit.with_confidence(None), protocol))
    assert numbers["truth"][:, 0].tolist()[:3] == [3, 2, 1]
    assert np.isfinite(numbers["pld"][:2]).all()
    assert np.isnan(numbers["pld"][2:]).all()
