"""Draws lines: values over the cutoff, and PLD over the distance from the ego."""

from collections.abc import Sequence
from itertools import cycle, pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mapgauge.display.colours import COLOURS, colours_of
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.evaluation.sweeps import Sweep, region_of, sampling_of
from mapgauge.metrics.keys import ValueKey
from mapgauge.metrics.pld import PLD
from mapgauge.plot.canvas import GivenAxes, canvas
from mapgauge.plot.style import (
    INK,
    MARKERS,
    STYLES,
    Style,
    dress,
    legend_names,
    look,
    need,
    several,
    styled,
    word_of,
)
from mapgauge.results.results import Results

HEIGHT = 2.4  # inches, of a figure


@styled
def cutoffs(
    sweep: Sweep | Results | Sequence[Sweep | Results],
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    style: Style = "paper",
    ax: GivenAxes = None,
) -> Figure:
    """Draw PLD, Loc and Det over the cutoff, as means over classes.

    Args:
        sweep: From ``mapgauge.sweep``, or results with several cutoffs; one for each method. Every region and sampling
            of a sweep has its own lines.
        names: Names of the methods; None uses the file names.
        title: Title above the figure.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into; None makes a new figure.
    """
    rows_of = _rows([sweep] if isinstance(sweep, Sweep | Results) else list(sweep), names)
    everything = [row for rows in rows_of.values() for row in rows]
    # PLD of an order above 1 has no Loc and Det.
    headline = [value.key for value in PLD.with_role("main", "headline")]
    keys = [key for key in headline if all(row[key] is not None for row in everything)]
    looks: list[dict[str, Any]] = [
        {"linestyle": line, "marker": marker, "markersize": 3, "linewidth": 1.1}
        for _, line, marker in zip(keys, STYLES, MARKERS, strict=False)
    ]
    sheet = canvas(look().column, HEIGHT * look().room, ax=ax)
    (axes,) = sheet.axes
    for (name, rows), colour in zip(rows_of.items(), cycle(COLOURS), strict=False):
        rows.sort(key=lambda row: float(row["cutoff"]))
        for key, line in zip(keys, looks, strict=True):
            label = f"{name}: {word_of(key)}"
            axes.plot([row["cutoff"] for row in rows], [row[key] for row in rows], color=colour, label=label, **line)
    dress(axes, "cutoff (m)", "mean over classes")
    handles = [Line2D([], [], color=INK, label=word_of(key), **line) for key, line in zip(keys, looks, strict=True)]
    if len(rows_of) > 1:
        handles += [
            Line2D([], [], color=colour, linewidth=3, label=name)
            for name, colour in zip(rows_of, cycle(COLOURS), strict=False)
        ]
    sheet.legend(handles, 3)
    sheet.entitle(title)
    return sheet.finished()


def _rows(given: list[Sweep | Results], names: Sequence[str] | None) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each method, region and sampling, by a name with the settings that differ."""
    sweeps = [Sweep((found,)) if isinstance(found, Results) else found for found in given]
    for found in sweeps:
        if not isinstance(found, Sweep):
            raise InvalidInput(f"sweep: expected a Sweep from mapgauge.sweep(), got {type(found).__name__}")
    if not sweeps or not all(found.results for found in sweeps):
        raise InvalidInput("sweep: expected at least one result, got none")
    rows_of: dict[str, list[dict[str, Any]]] = {}
    for name, found in zip(legend_names([found.results[0] for found in sweeps], names), sweeps, strict=True):
        need(PLD.name, ((name, results) for results in found.results))
        several_regions = len({row["region"] for row in found.rows}) > 1
        several_samplings = len({(row["spacing"], row["count"]) for row in found.rows}) > 1
        for row in found.rows:
            words = [name] if len(sweeps) > 1 else []
            if several_regions:
                words.append("all" if row["region"] is None else f"{region_of(row)} m")
            if several_samplings:
                words.append(sampling_of(row))
            rows_of.setdefault(", ".join(words) or name, []).append(row)
    return rows_of


@styled
def ranges(
    results: Results | Sequence[Results],
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    style: Style = "paper",
    ax: GivenAxes = None,
) -> Figure:
    """Draw PLD over the distance from the ego, with one point at the middle of each ring.

    The figure shows the classes and the mean of a single method, or the means of several methods.

    Args:
        results: From ``evaluate`` with ``ranges=...``; one for each method.
        names: Names of the methods; None uses the file names.
        title: Title above the figure.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into; None makes a new figure.
    """
    methods = several(results, names)
    need(PLD.name, methods.items())
    for name, method in methods.items():
        if not method.ranges:
            raise InvalidInput(
                f"{name}: these results have no ranges",
                remedy=Remedy("Evaluate with ranges=(0, 10, 20, 30)", "Evaluate with --ranges 0,10,20,30"),
            )
    sheet = canvas(look().column, HEIGHT * look().room, ax=ax)
    (axes,) = sheet.axes
    bounds = sorted({bound for method in methods.values() for bound in method.ranges})
    (only, *more) = methods.values()
    if more:
        lines = [
            (name, method.ranges, method.mean, colour)
            for (name, method), colour in zip(methods.items(), cycle(COLOURS), strict=False)
        ]
    else:
        colours = colours_of(only.class_names)
        there = [name for name in only.class_names if name not in only.without_value]
        lines = [(word_of(name), only.ranges, only.classes[name], colours[name]) for name in there]
        lines.append(("mean", only.ranges, only.mean, INK))
    drawn = []
    for (name, rings, values, colour), marker in zip(lines, cycle(MARKERS), strict=False):
        keys = [str(ValueKey(PLD.main.key, ring=ring)) for ring in pairwise(rings)]
        middles = [(inner + outer) / 2 for inner, outer in pairwise(rings)]
        heights = np.array([values[key] for key in keys], np.float64)  # None, for an empty ring, becomes NaN
        width = 1.6 if colour == INK else 1.1
        drawn += axes.plot(middles, heights, color=colour, label=name, marker=marker, markersize=3, linewidth=width)
    dress(
        axes,
        "distance from the ego (m)",
        word_of(PLD.main.key, methods.values()) + (", mean over classes" if more else ""),
    )
    axes.set_xticks(bounds, [f"{bound:g}" for bound in bounds])
    axes.set_xlim(bounds[0], bounds[-1])
    axes.grid(visible=True, axis="x", color="#EEEEEE", linewidth=0.4 * look().pen)
    sheet.legend(drawn)
    sheet.entitle(title)
    return sheet.finished()
