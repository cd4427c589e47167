"""Functions draw in axes of the caller, and figures show themselves in a notebook."""

import io
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from matplotlib.figure import Figure
from PIL import Image

import mapgauge as mg
from mapgauge import plot
from mapgauge.demo import demo_world


def sweep_of() -> mg.Sweep:
    return mg.sweep(*demo_world(2, predictions=5), cutoffs=[0.5, 1.5], metrics=["pld"])


DRAWN: dict[str, Callable[[mg.Results, Any], Figure]] = {
    "parts": lambda good, ax: plot.parts(good, ax=ax),
    "ranges": lambda good, ax: plot.ranges(good, ax=ax),
    "histogram": lambda good, ax: plot.histogram(good, ax=ax),
    "precision_recall": lambda good, ax: plot.precision_recall(good, threshold=0.5, ax=ax),
    "frame": lambda good, ax: plot.frame(good.assignment(good.tokens[0]), title="a title", ax=ax),
    "cutoffs": lambda _, ax: plot.cutoffs(sweep_of(), ax=ax),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_function_draws_in_axes_of_the_caller(good: mg.Results, name: str) -> None:
    figure = Figure(figsize=(8, 4), layout="constrained")
    part: Any = figure.subfigures(1, 1)  # axes may be in a part of a figure
    mine, other = part.subplots(1, 2)
    (line,) = mine.plot([0, 1], [0, 1], label="mine")
    other.set_title("$x$")
    assert DRAWN[name](good, mine) is figure
    assert set(figure.get_axes()) == {mine, other}
    assert not figure.legends
    legend = mine.get_legend()
    assert legend is not None
    assert line in mine.get_lines()
    assert name == "precision_recall" or "mine" not in [text.get_text() for text in legend.get_texts()]
    assert other.title.get_parse_math()  # the text of other axes stays as it is
    figure.savefig(io.BytesIO())


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_shows_itself(good: mg.Results, name: str) -> None:
    data, size = DRAWN[name](good, None)._repr_png_()  # type: ignore[attr-defined]
    with Image.open(io.BytesIO(data)) as image:
        assert image.format == "PNG"
        assert image.size[0] == pytest.approx(2 * size["width"], abs=2)
        assert image.size[1] == pytest.approx(2 * size["height"], abs=2)


def test_several_panels_need_axes_of_their_own(good: mg.Results) -> None:
    ax = Figure().add_subplot()
    with pytest.raises(mg.InvalidInput, match="3 thresholds.*Pass threshold="):
        plot.precision_recall(good, ax=ax)
    with pytest.raises(mg.InvalidInput, match="2 panels"):
        plot.frame([good.assignment(good.tokens[0])] * 2, ax=ax)
    with pytest.raises(mg.InvalidInput, match="ax must be the axes of a matplotlib figure, got Figure"):
        plot.parts(good, ax=Figure())  # type: ignore[arg-type]


def test_modules_resolve_without_an_import_and_without_pyplot() -> None:
    code = (
        "import sys, mapgauge as mg; assert 'matplotlib' not in sys.modules; mg.report.write_report; "
        "mg.plot.parts; assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
