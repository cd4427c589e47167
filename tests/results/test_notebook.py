"""Results, comparisons, assignments and frames in a notebook: short text, and HTML without injected markup."""

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.demo import demo_world

HOSTILE = "</td></svg><script>alert('x')</script><img src=x onerror=\"alert(1)\">&amp;\n"
ALLOWED = {"iframe", "div", "table", "thead", "tbody", "tr", "th", "td", "span", "em"}
DRAWN = {"svg", "title", "polyline", "polygon", "circle", "rect", "line"}


class Reader(HTMLParser):
    """Collects the elements, and checks that they are closed in order and are only those of the package."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED | DRAWN
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]
        self.open.append(tag)
        self.seen.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in DRAWN
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


OF_CONFIDENCE = pytest.param("confidence", marks=pytest.mark.needs_feature("confidence"))


def things_of(class_name: str, token: str, *methods: str, frames: int = 6) -> dict[str, Any]:
    """Return one of each kind, with these names everywhere."""
    truth = mg.MapFrames.of(
        {f"{token}{k}": {class_name: [[[0, k], [9, k]], [[0, 5], [3, 5], [3, 8], [0, 5]]]} for k in range(frames)}
    )
    settings = mg.protocol("paper-60x30", classes=[class_name])
    results = [mg.evaluate(truth.with_confidence(0.1 + 0.8 / (k + 1)), truth, settings) for k in range(len(methods))]
    assignment = results[0].assignment(f"{token}0")
    return {
        "frames": truth,
        "results": results[0],
        "assignment": assignment,
        "match": assignment.matches[0],
        "comparison": mg.compare(results, names=methods),
        "causes": mg.causes(results[0]),
    }


def thing_of(kind: str, class_name: str, token: str, *methods: str) -> Any:
    things = things_of(class_name, token, *methods)
    if kind == "confidence":
        return mg.confidence(things["results"])
    return things[kind]


@pytest.mark.parametrize("kind", ["frames", "results", "assignment", "comparison", "causes", OF_CONFIDENCE])
def test_names_cannot_inject_markup(kind: str) -> None:
    thing = thing_of(kind, HOSTILE, HOSTILE, "A" + HOSTILE, "B" + HOSTILE + "\ud800")  # a name may not be text
    html = thing._repr_html_()
    found = Reader(html)
    assert "table" in found.seen
    assert "svg" in found.seen
    assert "alert" in found.text
    html.encode("utf-8")


@pytest.mark.parametrize("kind", ["frames", "results", "assignment", "match", "comparison", "causes", OF_CONFIDENCE])
def test_reprs_are_one_short_line(kind: str) -> None:
    thing = thing_of(kind, "divider", "t" * 500, *(f"method {k} with a long name" for k in range(6)))
    text = repr(thing)
    assert "\n" not in text
    assert len(text) < 400


def test_reprs_say_the_most_important() -> None:
    things = things_of("divider", "t", "one", "two")
    assert repr(things["assignment"]) == "<Assignment t0: 2 predictions, 2 truth, 2 matches>"
    assert repr(things["match"]) == "<Match divider: prediction 0 to truth 0, distance 0.000, 19 points>"
    assert repr(things["comparison"]) == "<Comparison pld one 0.100, two 0.500 over 6 frames>"


@pytest.mark.needs_feature("confidence")
def test_html_has_the_values_of_the_tables() -> None:
    results = mg.evaluate(*demo_world(4, predictions=10))
    text = Reader(results._repr_html_()).text
    for value in (results.mean["pld"], results.classes["divider"]["ap_chamfer"]):
        assert f"{value:.3f}" in text
    comparison = mg.compare([results], names=["only"])
    assert str(comparison.estimates[0]["mean"]["detection"]) in Reader(comparison._repr_html_()).text
    causes, sure = mg.causes(results), mg.confidence(results)
    assert f"{causes.classes['divider']['under_confident']:.3f}" in Reader(causes._repr_html_()).text
    one = mg.pld([[[0, 0], [9, 0]]], [[[0, 1], [9, 1]]], confidence=[0.75])
    assert "confidence0.15625" in Reader(one._repr_html_()).text
    study = mg.sweep(*demo_world(4, predictions=10), cutoffs=[1.5, 0.5])
    assert f"{study.rows[1]['pld']:.3f}" in Reader(study._repr_html_()).text
    assert "ped_crossing, divider, boundary" in Reader(results.protocol._repr_html_()).text
    assert "SOSPA (m)1" in Reader(mg.sospa_align([[0, 0], [9, 0]], [[0, 0.5], [9, 0.5]])._repr_html_()).text
    price = sure.classes["divider"].price
    assert price is not None
    text = Reader(sure._repr_html_()).text
    assert all(shown in text for shown in (str(price), f"{sure.classes['divider'].thresholds['best_pld']:.3f}"))


@pytest.mark.needs_feature("confidence", "graph_scores")
def test_odd_things_of_features_have_html_too() -> None:
    empty = mg.MapFrames.of({"a": {"divider": []}})
    results = mg.evaluate(empty.with_confidence(0.5), empty)
    for thing in (mg.confidence(results), mg.protocol("graph")):
        Reader(thing._repr_html_())


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
