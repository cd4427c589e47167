"""Results, comparisons, assignments and frames in a notebook: short text, and HTML without injected markup."""

from typing import Any

import numpy as np
import pytest
from tests.results.notebooks import HOSTILE, Reader, things_of

import mapgauge as mg
from mapgauge.demo import demo_world


@pytest.mark.parametrize("kind", ["frames", "results", "assignment", "comparison", "causes"])
def test_names_cannot_inject_markup(kind: str) -> None:
    thing = things_of(HOSTILE, HOSTILE, "A" + HOSTILE, "B" + HOSTILE + "\ud800")[kind]  # a name may not be text
    html = thing._repr_html_()
    found = Reader(html)
    assert "table" in found.seen
    assert "svg" in found.seen
    assert "alert" in found.text
    html.encode("utf-8")


@pytest.mark.parametrize("kind", ["frames", "results", "assignment", "match", "comparison", "causes"])
def test_reprs_are_one_short_line(kind: str) -> None:
    thing = things_of("divider", "t" * 500, *(f"method {k} with a long name" for k in range(6)))[kind]
    text = repr(thing)
    assert "\n" not in text
    assert len(text) < 400


def test_reprs_say_the_most_important() -> None:
    things = things_of("divider", "t", "one", "two")
    assert repr(things["assignment"]) == "<Assignment t0: 2 predictions, 2 truth, 2 matches>"
    assert repr(things["match"]) == "<Match divider: prediction 0 to truth 0, distance 0.000, 19 points>"
    assert repr(things["comparison"]) == "<Comparison pld one 0.100, two 0.500 over 6 frames>"


def test_html_has_the_values_of_the_tables() -> None:
    results = mg.evaluate(*demo_world(4, predictions=10))
    text = Reader(results._repr_html_()).text
    for value in (results.mean["pld"], results.classes["divider"]["ap_chamfer"]):
        assert f"{value:.3f}" in text
    comparison = mg.compare([results], names=["only"])
    assert str(comparison.estimates[0]["mean"]["detection"]) in Reader(comparison._repr_html_()).text
    causes = mg.causes(results)
    assert f"{causes.classes['divider']['under_confident']:.3f}" in Reader(causes._repr_html_()).text
    one = mg.pld([[[0, 0], [9, 0]]], [[[0, 1], [9, 1]]], confidence=[0.75])
    assert "confidence0.15625" in Reader(one._repr_html_()).text
    study = mg.sweep(*demo_world(4, predictions=10), cutoffs=[1.5, 0.5])
    assert f"{study.rows[1]['pld']:.3f}" in Reader(study._repr_html_()).text
    assert "ped_crossing, divider, boundary" in Reader(results.protocol._repr_html_()).text
    assert "SOSPA (m)1" in Reader(mg.sospa_align([[0, 0], [9, 0]], [[0, 0.5], [9, 0.5]])._repr_html_()).text


def test_odd_things_have_html_too() -> None:
    empty = mg.MapFrames.of({"a": {"divider": []}})
    results = mg.evaluate(empty.with_confidence(0.5), empty)
    things: list[Any] = [empty, mg.MapFrames.of({}), results, results.assignment("a"), mg.compare([results])]
    line = [[0, 0], [9, 0]]
    things += [mg.causes(results), mg.pld([line], [line], order=2), mg.sospa_align(line, line)]
    for thing in things:
        Reader(thing._repr_html_())
    of_order_2 = mg.evaluate(*demo_world(2, predictions=5), mg.protocol("paper-60x30", order=2))
    assert "svg" not in Reader(of_order_2._repr_html_()).seen  # there are no parts to draw
    large = mg.MapFrames.of({"a": {"divider": np.random.default_rng(0).normal(size=(2000, 500, 2))}})
    assert len(large._repr_html_()) < 300_000


def test_frames_are_a_collection_of_tokens() -> None:
    frames = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}, "b": {}})
    assert list(frames) == ["a", "b"]
    assert [len(frames[token]) for token in frames] == [1, 0]
    assert "b" in frames
    assert "c" not in frames
    assert 0 not in frames
    assert [] not in frames
    with pytest.raises(KeyError, match="no frame 'c'"):
        frames["c"]
