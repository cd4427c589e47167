"""Figures are drawn with settings of our own, and not with those of a file in the current folder."""

from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.text import Text

import mapgauge as mg
from mapgauge import plot


@pytest.fixture
def hostile() -> Iterator[None]:
    """What ``matplotlibrc`` in the current folder may say. Without LaTeX, drawing text with it fails."""
    with mpl.rc_context({"text.usetex": True, "text.latex.preamble": r"\input{secret}", "axes.facecolor": "red"}):
        yield


@pytest.mark.usefixtures("hostile")
def test_text_is_not_given_to_latex(good: mg.Results, tmp_path: Path) -> None:
    figure = plot.parts(good, names=["$\\input{secret}$"])
    assert not any(text.get_usetex() for text in figure.findobj(Text))
    for suffix in ("png", "svg", "pdf"):
        plot.save(figure, tmp_path / f"parts.{suffix}")
        figure.savefig(tmp_path / f"own.{suffix}")
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    assert mpl.rcParams["text.usetex"]  # the program's own settings stay


def test_settings_of_the_program_do_not_change_a_figure(good: mg.Results, tmp_path: Path) -> None:
    plot.save(plot.parts(good), tmp_path / "plain.svg")
    with mpl.rc_context(
        {"axes.facecolor": "red", "font.family": "serif", "lines.linewidth": 9, "svg.fonttype": "path"}
    ):
        plot.save(plot.parts(good), tmp_path / "changed.svg")
    assert (tmp_path / "plain.svg").read_bytes() == (tmp_path / "changed.svg").read_bytes()
