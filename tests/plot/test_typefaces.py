"""Names in scripts that the typeface of matplotlib lacks. A typeface with two such letters is made for the test."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.font_manager import fontManager

import mapgauge as mg
from mapgauge import plot
from mapgauge.views.figures.style import families, width_of

NAME = "地图"
FAMILY = "Noto Sans CJK SC"  # one of those that figures look for
EM = 1000
WIDTH = 1700  # of each letter, wider than any in DejaVu Sans


def write_typeface(path: Path) -> None:
    """Write a typeface whose letters are boxes."""
    glyphs = {}
    for name in (".notdef", *(f"uni{ord(letter):04X}" for letter in NAME)):
        pen = TTGlyphPen(None)
        corners = [(100, 0), (100, 800), (1600, 800), (1600, 0)]
        pen.moveTo(corners[0])
        for corner in corners[1:]:
            pen.lineTo(corner)
        pen.closePath()
        glyphs[name] = pen.glyph()
    builder = FontBuilder(EM, isTTF=True)
    builder.setupGlyphOrder(list(glyphs))
    builder.setupCharacterMap({ord(letter): f"uni{ord(letter):04X}" for letter in NAME})
    builder.setupGlyf(glyphs)
    builder.setupHorizontalMetrics(dict.fromkeys(glyphs, (WIDTH, 100)))
    builder.setupHorizontalHeader(ascent=900, descent=-200)
    builder.setupNameTable({"familyName": FAMILY, "styleName": "Regular", "psName": "Boxes-Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(path)


@pytest.fixture
def typeface(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine with DejaVu Sans and this typeface."""
    write_typeface(tmp_path / "boxes.ttf")
    caches = (families, width_of)
    dejavu = [entry for entry in fontManager.ttflist if entry.name == "DejaVu Sans"]
    monkeypatch.setattr(fontManager, "ttflist", dejavu)
    fontManager.addfont(tmp_path / "boxes.ttf")
    for cache in caches:
        cache.cache_clear()
    yield
    monkeypatch.undo()
    for cache in caches:
        cache.cache_clear()


@pytest.mark.usefixtures("typeface")
def test_letters_come_from_another_typeface_that_is_there(tmp_path: Path) -> None:
    assert families() == ("DejaVu Sans", FAMILY)
    assert width_of(NAME, 10.0) * 72 == pytest.approx(2 * 10 * WIDTH / EM, rel=0.05)
    frames = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    results = mg.evaluate(frames.with_confidence(1), frames, "paper-60x30")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns of a letter that no typeface has
        figure = plot.frame(results.assignment("a"), names=[NAME], title=f"Map {NAME}")
        for suffix in ("png", "svg", "pdf"):
            plot.save(figure, tmp_path / f"figure.{suffix}")
    drawn = ElementTree.parse(tmp_path / "figure.svg")
    (style,) = {node.get("style") for node in drawn.iter() if node.tag.endswith("text") and node.text == f"Map {NAME}"}
    assert FAMILY in str(style)
    assert b"Boxes-Regular" in (tmp_path / "figure.pdf").read_bytes()  # it is embedded
    assert mpl.rcParams["font.family"] == ["sans-serif"]
