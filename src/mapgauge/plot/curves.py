"""Draws lines: values over the cutoff, PLD over the distance from the ego, and precision over recall."""

from collections.abc import Mapping, Sequence
from itertools import cycle, pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mapgauge.display.colours import COLOURS, colours_of
from mapgauge.errors import InvalidInput
from mapgauge.evaluation.sweeps import Sweep, region_of, sampling_of
from mapgauge.metrics.average_precision import curve, envelope
from mapgauge.metrics.keys import ValueKey
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import METRICS, hit_metrics
from mapgauge.plot.style import (
    COLUMN,
    INK,
    MARKERS,
    NORMAL,
    PAGE,
    SMALL,
    STYLES,
    axes_for,
    below,
    figure_of,
    finished,
    grid,
    legend_names,
    need,
    new_figure,
    plain,
    several,
    word_of,
)
from mapgauge.results.results import Results
from mapgauge.typing import Floats

HEIGHT, LINE = 2.4, 0.13  # inches, of a figure and of a line of a legend


def cutoffs(sweep: Sweep | Sequence[Sweep], *, names: Sequence[str] | None = None, ax: Axes | None = None) -> Figure:
    """Draw PLD, Loc and Det over the cutoff, as means over classes.

    Args:
        sweep: From ``mapgauge.sweep``; one for each method. Every region and sampling in it has its own lines.
        names: Names of the methods; None uses the file names.
        ax: Axes of a figure of yours to draw in; None makes a new figure.
    """
    rows_of = _rows([sweep] if isinstance(sweep, Sweep) else list(sweep), names)
    everything = [row for rows in rows_of.values() for row in rows]
    # PLD of an order above 1 has no Loc and Det.
    headline = [value.key for value in PLD.with_role("main", "headline")]
    keys = [key for key in headline if all(row[key] is not None for row in everything)]
    looks: list[dict[str, Any]] = [
        {"linestyle": style, "marker": marker, "markersize": 3, "linewidth": 1.1}
        for _, style, marker in zip(keys, STYLES, MARKERS, strict=False)
    ]
    axes = axes_for(ax, COLUMN, HEIGHT)
    for (name, rows), colour in zip(rows_of.items(), cycle(COLOURS), strict=False):
        rows.sort(key=lambda row: float(row["cutoff"]))
        for key, look in zip(keys, looks, strict=True):
            label = f"{name}: {word_of(key)}"
            axes.plot([row["cutoff"] for row in rows], [row[key] for row in rows], color=colour, label=label, **look)
    _dress(axes, "cutoff (m)", "mean over classes")
    handles = [Line2D([], [], color=INK, label=word_of(key), **look) for key, look in zip(keys, looks, strict=True)]
    if len(rows_of) > 1:
        handles += [
            Line2D([], [], color=colour, linewidth=3, label=name)
            for name, colour in zip(rows_of, cycle(COLOURS), strict=False)
        ]
    below(axes, handles, 3, own=ax is not None)
    return finished(figure_of(axes), ax)


def _rows(sweeps: list[Sweep], names: Sequence[str] | None) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each method, region and sampling, by a name with the settings that differ."""
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


def ranges(
    results: Results | Sequence[Results], *, names: Sequence[str] | None = None, ax: Axes | None = None
) -> Figure:
    """Draw PLD over the distance from the ego, with one point at the middle of each ring.

    The figure shows the classes and the mean of a single method, or the means of several methods.

    Args:
        results: From ``evaluate`` with ``ranges=...``; one for each method.
        names: Names of the methods; None uses the file names.
        ax: Axes of a figure of yours to draw in; None makes a new figure.
    """
    methods = several(results, names)
    need(PLD.name, methods.items())
    for name, method in methods.items():
        if not method.ranges:
            raise InvalidInput(f"{name}: these results have no ranges", remedy="Evaluate with ranges=(0, 10, 20, 30)")
    axes = axes_for(ax, COLUMN, HEIGHT)
    before = list(axes.get_lines())  # of the caller
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
    for (name, rings, values, colour), marker in zip(lines, cycle(MARKERS), strict=False):
        keys = [str(ValueKey(PLD.main.key, ring=ring)) for ring in pairwise(rings)]
        middles = [(inner + outer) / 2 for inner, outer in pairwise(rings)]
        heights = np.array([values[key] for key in keys], np.float64)  # None, for an empty ring, becomes NaN
        width = 1.6 if colour == INK else 1.1
        axes.plot(middles, heights, color=colour, label=name, marker=marker, markersize=3, linewidth=width)
    _dress(axes, "distance from the ego (m)", PLD.title + (", mean over classes" if more else ""))
    axes.set_xticks(bounds, [f"{bound:g}" for bound in bounds])
    axes.set_xlim(bounds[0], bounds[-1])
    axes.grid(visible=True, axis="x", color="#EEEEEE", linewidth=0.4)
    below(axes, [line for line in axes.get_lines() if line not in before], own=ax is not None)
    return finished(figure_of(axes), ax)


def precision_recall(
    results: Results | Sequence[Results],
    *,
    metric: str = "ap_chamfer",
    threshold: float | None = None,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw precision over recall for each class, with its average precision.

    The curve is that of ``average_precision``. Predictions of equal confidence are one step. Precision at a recall is
    the highest precision at this or any higher recall. The area under a curve is its average precision, unless the
    protocol uses 11-point interpolation. Several methods differ in line style.

    Args:
        results: From ``evaluate``; one for each method.
        metric: ``"ap_chamfer"``, ``"ap_frechet"`` or ``"ap_sospa"``.
        threshold: A threshold of the protocol; None draws a panel for each threshold.
        names: Names of the methods; None uses the file names.
        ax: Axes of a figure of yours to draw in; None makes a new figure.
    """
    methods = several(results, names)
    panels = _thresholds(methods, metric, threshold)
    colours = colours_of(name for method in methods.values() for name in method.class_names)
    width = COLUMN if len(panels) == 1 else PAGE
    lines = sum(len(method.class_names) for method in methods.values())
    if ax is None:
        figure = new_figure(width, HEIGHT + LINE * lines)
        every = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
    elif len(panels) > 1:
        raise InvalidInput(
            f"ax: there are {len(panels)} thresholds, and a panel for each", remedy=f"Pass threshold={panels[0]:g}"
        )
    else:
        every = np.array([axes_for(ax, width, HEIGHT)])
        figure = figure_of(every[0])
    for axes, value in zip(every, panels, strict=True):
        for (name, method), style in zip(methods.items(), cycle(STYLES), strict=False):
            for label, class_name in enumerate(method.class_names):
                if class_name in method.without_value:
                    continue
                x, y = _steps(method, metric, label, METRICS[metric].settings(method.protocol).index(value))
                area = method.classes[class_name][str(ValueKey(metric, value))]
                words = f"{word_of(class_name)}{f', {name}' if len(methods) > 1 else ''} {area:.3f}"
                look: dict[str, Any] = {"linestyle": style, "linewidth": 1.1, "drawstyle": "steps-pre"}
                axes.plot(x, y, color=colours[class_name], label=words, **look)
        _dress(axes, "recall", "precision" if axes is every[0] else "")
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.02)
        setting = METRICS[metric].setting
        unit = f" {setting.unit}" if setting is not None and setting.unit else ""
        axes.set_title(word_of(str(ValueKey(metric, value))) + unit, fontsize=NORMAL, color=INK, pad=3)
        axes.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, -0.2),
            fontsize=SMALL,
            frameon=False,
            labelspacing=0.3,
            handlelength=2.2,
        )
    return finished(figure, ax)


def _thresholds(methods: Mapping[str, Results], metric: str, threshold: float | None) -> tuple[float, ...]:
    """Return the thresholds to draw. All methods must have them."""
    known = [row.name for row, _ in hit_metrics(tuple(METRICS))]
    if metric not in known:
        raise InvalidInput(f"metric must be one of {', '.join(known)}, got {metric!r}")
    need(metric, methods.items())
    first = METRICS[metric].settings(next(iter(methods.values())).protocol)
    wanted = first if threshold is None else (threshold,)
    for name, method in methods.items():
        there = METRICS[metric].settings(method.protocol)
        lacking = [value for value in wanted if value not in there]
        if lacking:
            has = ", ".join(f"{value:g}" for value in there)
            raise InvalidInput(f"{name}: {metric} has no threshold {lacking[0]!r}; available: {has}")
    return tuple(float(value) for value in wanted)


def _steps(results: Results, metric: str, label: int, place: int) -> tuple[Floats, Floats]:
    """Return recall from 0 on and the highest precision from there on; both are empty without predictions."""
    scores = results.scores
    mine = scores.label == label
    confidence = scores.confidence[mine]
    if not len(confidence):
        return np.empty(0), np.empty(0)
    hits = ((scores.hits[metric][mine] >> place) & 1).astype(np.bool_)
    levels = np.sort(confidence[hits])[::-1]
    number = len(confidence) - np.searchsorted(np.sort(confidence), levels)
    recall, precision = curve(levels, number, int(scores.true[:, label].sum()))
    highest = envelope(precision)
    return np.append(0.0, recall), np.append(highest[:1], highest)


def _dress(axes: Axes, across: str, up: str) -> None:
    plain(axes)
    grid(axes, "y")
    axes.set_xlabel(across, fontsize=NORMAL, color=INK)
    axes.set_ylabel(up, fontsize=NORMAL, color=INK)
