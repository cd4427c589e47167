"""``mapgauge view`` with thousands of frames and hundreds of scenes."""

from dataclasses import replace

import numpy as np
from tests.features.view.conftest import Open, serving_methods

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.view.explorer import Method
from mapgauge.results.frame_tables import MemoryRows
from mapgauge.scoring.scores import Totals

FRAMES = 5110  # in 511 scenes: of more than 500, the list of scenes is filled when it is opened


def test_5110_frames_can_be_listed_filtered_played_and_drawn(show: Open) -> None:
    """The frames are copies of twenty, so that the test is quick."""
    predictions, truth = demo_world(20, predictions=4)
    results = mg.evaluate(predictions, truth)
    copied = np.resize(np.arange(20), FRAMES).tolist()
    names = {"tokens": tuple(f"{k:032x}" for k in range(FRAMES)), "scenes": tuple(f"s{k // 10}" for k in range(FRAMES))}
    x, y = (replace(side.at(copied), **names) for side in (predictions, truth))  # type: ignore[arg-type]
    scores = results.scores.at(np.array(copied))
    rows = MemoryRows(names["tokens"], names["scenes"], scores)
    many = replace(results, totals_from=lambda: Totals.of(scores, results.protocol), rows=rows)
    with_data = replace(many, geometry=type(results.need_data()).of(x, y, results.protocol))
    with serving_methods([Method("many", "many.mg", many, lambda: with_data)]) as server:
        page = show(server.address)
        assert page.locator("#count").inner_text() == "5,110 of 5,110 frames"
        assert page.locator("#list tbody tr[data-frame]").count() < 100  # only rows that are seen
        page.wait_for_selector(".panel .instance", state="attached")
        page.fill("#where", f"token in ('{FRAMES - 1:032x}', '{7:032x}')")
        page.wait_for_function("() => document.getElementById('count').textContent.startsWith('2 of 5,110')")
        last = page.locator("#list tbody tr[data-frame]", has_text=f"{FRAMES - 1:032x}"[-12:])
        last.click()
        truth_of_last = len(results.with_data().assignment(results.tokens[(FRAMES - 1) % 20]).truth)
        drawn = "n => document.querySelectorAll('.instance.truth').length === n"
        page.wait_for_function(drawn, arg=truth_of_last)
        assert page.locator("#moment").inner_text().startswith("s510: frame 10 of 10")
        page.click("#clear")
        page.wait_for_function("() => document.getElementById('count').textContent.startsWith('5,110 of')")
        page.locator("#scene").focus()
        page.select_option("#scene", "s400")
        assert page.locator("#count").inner_text() == "10 of 5,110 frames"
