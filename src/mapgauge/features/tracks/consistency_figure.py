"""Draws the flicker over the lag, and its parts."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from mapgauge.errors import InvalidInput
from mapgauge.features.tracks.consistency import FLICKER, MEAN, Consistency
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import COLOURS, colours_of, part_colours
from mapgauge.views.figures.style import INK, MARKERS, GivenAxes, Style, canvas, dress, look, styled, word_of

HEIGHT = 2.4  # inches, of a figure
_APART = 0.06  # between lines, as a share of the distance between two lags


@styled
def lags(
    consistency: Consistency | Sequence[Consistency],
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    style: Style = "paper",
    ax: GivenAxes = None,
) -> Figure:
    """Draw the flicker over the lag, with intervals.

    A single method has two panels: the flicker of its classes, and the parts of the mean over classes. Several methods
    have one panel with the means over classes.

    Args:
        consistency: From ``mapgauge.consistency``; one for each method.
        names: Names of the methods; None uses the file names.
        title: Title above the figure.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into; None makes a new figure.
    """
    methods = [consistency] if isinstance(consistency, Consistency) else list(consistency)
    for k, method in enumerate(methods):
        if not isinstance(method, Consistency):
            raise InvalidInput(
                f"consistency {k}: expected a Consistency from mapgauge.consistency(), got {type(method).__name__}"
            )
    if not methods:
        raise InvalidInput("consistency: expected at least one, got none")
    called = _names(methods, names)
    alone = len(methods) == 1
    sheet = canvas(look().page if alone else look().column, HEIGHT * look().room, 1 + alone, ax=ax)
    handles: list[Line2D | Patch] = []
    if alone:
        (method,) = methods
        colours = colours_of(method.class_names) | {MEAN: INK}
        rows = [(name, method, name, colours[name]) for name in (*method.class_names, MEAN)]
    else:
        rows = [
            (name, method, MEAN, colour) for name, method, colour in zip(called, methods, cycle(COLOURS), strict=False)
        ]
    wanted = sorted({lag for method in methods for lag in method.lags if method.estimates[lag]})
    for k, ((name, method, row, colour), marker) in enumerate(zip(rows, cycle(MARKERS), strict=False)):
        places = {lag: i + _APART * (k - (len(rows) - 1) / 2) for i, lag in enumerate(wanted)}
        line = _draw_line(sheet.axes[0], method, row, places, colour, marker)
        if line is not None:
            line.set_label(word_of(name) if alone else name)
            handles.append(line)
    dress(sheet.axes[0], "lag (frames)", "flicker" + ("" if alone else ", mean over classes"))
    sheet.axes[0].set_xticks(np.arange(len(wanted)), list(map(str, wanted)))
    sheet.axes[0].set_ylim(bottom=0)
    if alone:
        handles += _draw_parts(sheet.axes[1], methods[0])
    sheet.legend(handles, 5)
    return sheet.finished(title)


def _names(methods: Sequence[Consistency], names: Sequence[str] | None) -> list[str]:
    """Return the names of methods. Matplotlib omits labels with a leading underscore, so those get a space in front."""
    chosen = [Path(method.name).stem or f"method {k}" for k, method in enumerate(methods)] if names is None else names
    if len(chosen) != len(methods) or isinstance(chosen, str):
        raise InvalidInput(f"names must be {len(methods)} strings, got {names!r}")
    return [f" {name}" if name.startswith("_") else name for name in chosen]


def _draw_line(
    axes: Axes, method: Consistency, row: str, places: Mapping[int, float], colour: str, marker: str
) -> Line2D | None:
    """Draw the flicker of a class or of the mean over classes, with its intervals.

    ``places`` has the place of each lag. Lines are drawn side by side, so that their intervals do not hide each other.
    """
    lags = [lag for lag in method.lags if row in method.estimates[lag]]
    if not lags:
        return None
    at = [places[lag] for lag in lags]
    estimates = [method.estimates[lag][row][FLICKER] for lag in lags]
    for place, value in zip(at, estimates, strict=True):
        if np.isfinite(value.low):
            axes.plot([place, place], [value.low, value.high], color=colour, linewidth=0.7, alpha=0.6)
    width = 1.6 if colour == INK else 1.1
    heights = [value.value for value in estimates]
    (line,) = axes.plot(at, heights, color=colour, marker=marker, markersize=3, linewidth=width)
    return line


def _draw_parts(axes: Axes, method: Consistency) -> list[Line2D | Patch]:
    """Draw the parts of the mean over classes as a bar for each lag."""
    lags = [lag for lag in method.lags if method.estimates[lag]]
    bottom = np.zeros(len(lags))
    colours = part_colours(PLD)
    drawn: list[Line2D | Patch] = []
    for value in PLD.with_role("part"):
        heights = np.array([method.estimates[lag][MEAN][value.key].value for lag in lags])
        axes.bar(np.arange(len(lags)), heights, 0.6, bottom, color=colours[value.key])
        drawn.append(Patch(facecolor=colours[value.key], label=value.words))
        bottom += heights
    dress(axes, "lag (frames)", "parts, mean over classes")
    axes.set_xticks(np.arange(len(lags)), list(map(str, lags)))
    return drawn
