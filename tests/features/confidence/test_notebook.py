"""Confidence in a notebook: short text, and HTML without injected markup."""

from tests.results.notebooks import HOSTILE, Reader, things_of

import mapgauge as mg
from mapgauge.demo import demo_world


def sure_of(class_name: str, token: str) -> mg.Confidence:
    return mg.confidence(things_of(class_name, token, "one")["results"])


def test_names_cannot_inject_markup() -> None:
    html = sure_of(HOSTILE, HOSTILE)._repr_html_()
    found = Reader(html)
    assert "table" in found.seen
    assert "svg" in found.seen
    assert "alert" in found.text
    html.encode("utf-8")


def test_the_repr_is_one_short_line() -> None:
    text = repr(sure_of("divider", "t" * 500))
    assert "\n" not in text
    assert len(text) < 400


def test_html_has_the_values() -> None:
    sure = mg.confidence(mg.evaluate(*demo_world(4, predictions=10)))
    divider = sure.classes["divider"]
    assert divider.price is not None
    text = Reader(sure._repr_html_()).text
    assert str(divider.price) in text
    assert f"{divider.thresholds['best_pld']:.3f}" in text


def test_nothing_has_html_too() -> None:
    empty = mg.MapFrames.of({"a": {"divider": []}})
    Reader(mg.confidence(mg.evaluate(empty.with_confidence(0.5), empty))._repr_html_())
