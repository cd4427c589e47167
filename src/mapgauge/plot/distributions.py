"""Draws distributions: the five parts of PLD as bars, and histograms over frames."""

import math
from collections.abc import Sequence
from itertools import cycle

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from mapgauge.display.colours import COLOURS, part_colours
from mapgauge.display.tables import number
from mapgauge.errors import InvalidInput
from mapgauge.metrics.pld import PLD
from mapgauge.plot.canvas import GivenAxes, canvas
from mapgauge.plot.style import (
    INK,
    STYLES,
    Style,
    dress,
    grid,
    look,
    need,
    plain,
    round_step,
    several,
    shortened,
    styled,
    width_of,
    word_of,
)
from mapgauge.results.results import Results
from mapgauge.typing import Floats

LONGEST = 2.6  # inches, of the name of a method
BAR = 0.155  # inches, of a row with a bar
BINS = 30  # approximate maximum


@styled
def parts(
    results: Results | Sequence[Results],
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    style: Style = "paper",
    ax: GivenAxes = None,
) -> Figure:
    """Draw the five parts of PLD as stacked bars, for each class and the mean.

    Args:
        results: From ``evaluate``; one for each method. The bars of a class are grouped.
        names: Names of the methods; None uses the file names.
        title: Title above the figure.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into; None makes a new figure.
    """
    methods = several(results, names)
    need(PLD.name, methods.items())
    for name, method in methods.items():
        if method.protocol.order != 1:
            raise InvalidInput(
                f"{name}: PLD of order {method.protocol.order:g} does not split into parts",
                remedy="Evaluate with a protocol of order 1",
            )
    rows, labels = _bars(methods)
    labels = {place: shortened(label, LONGEST * look().room, look().small) for place, label in labels.items()}
    needed = max(width_of(label, look().small) for label in labels.values())
    width = min(look().column + max(needed - 0.8 * look().room, 0), look().page)
    sheet = canvas(width, (BAR * (max(rows) + 1) + 0.75) * look().room, ax=ax)
    (axes,) = sheet.axes
    places, values = list(rows), np.array(list(rows.values()))
    ends = values.cumsum(axis=1)
    colours = part_colours(PLD)
    for k, part in enumerate(colours):
        axes.barh(
            places,
            values[:, k],
            left=ends[:, k] - values[:, k],
            height=0.8,
            color=colours[part],
            edgecolor="white",
            linewidth=0.4,
            label=word_of(part),
        )
    for place, end in zip(places, ends[:, -1].tolist(), strict=True):
        axes.text(end + 0.01, place, number(end), fontsize=look().small, color=INK, va="center_baseline")
    plain(axes)
    grid(axes, "x")
    axes.spines["left"].set_visible(False)
    axes.set_yticks(list(labels), list(labels.values()))
    axes.tick_params(axis="y", length=0)
    for tick, place in zip(axes.get_yticklabels(), labels, strict=True):
        tick.set_fontweight("normal" if place in rows else "bold")
    axes.set_ylim(max(rows) + 0.6, -0.6)
    axes.set_xlim(0, 1.08 if ends.max() > 0.9 else 1)
    axes.set_xlabel(word_of(PLD.main.key, methods.values()), fontsize=look().normal, color=INK)
    sheet.legend([Patch(facecolor=colours[part], label=word_of(part)) for part in colours], 3)
    sheet.entitle(title)
    return sheet.finished()


def _bars(methods: dict[str, Results]) -> tuple[dict[float, list[float]], dict[float, str]]:
    """Return parts and labels by their position from the top. Several methods have the class as a line above them."""
    rows: dict[float, list[float]] = {}
    labels: dict[float, str] = {}
    place = 0.0
    for class_name in [*dict.fromkeys(name for method in methods.values() for name in method.class_names), "mean"]:
        found = {
            name: [float(values[part] or 0.0) for part in part_colours(PLD)]
            for name, method in methods.items()
            if (values := method.mean if class_name == "mean" else method.classes.get(class_name, {})).get(PLD.main.key)
            is not None
        }
        if len(methods) > 1 and found:
            labels[place] = word_of(class_name)
            place += 0.9
        for name, lengths in found.items():
            rows[place], labels[place] = lengths, word_of(class_name) if len(methods) == 1 else name
            place += 1
        place += 0.25 * (len(methods) > 1 and bool(found))
    return rows, labels


@styled
def histogram(
    results: Results | Sequence[Results],
    *,
    value: str = "pld",
    names: Sequence[str] | None = None,
    title: str | None = None,
    style: Style = "paper",
    ax: GivenAxes = None,
) -> Figure:
    """Draw the histogram of a value over frames, with its median.

    Args:
        results: From ``evaluate``; one for each method.
        value: A key of the rows of ``Results.frames``, such as ``pld``, ``missed``, ``truth`` or
            ``hits:ap_chamfer@1.0``. A frame that is empty on both sides has a PLD of 0. Frames without a value are
            left out, and the legend says how many are drawn.
        names: Names of the methods; None uses the file names.
        title: Title above the figure.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into; None makes a new figure.
    """
    methods = several(results, names)
    columns = {name: _column(method, value, name) for name, method in methods.items()}
    edges = _edges(np.concatenate(list(columns.values())))
    sheet = canvas(look().column, 2.2 * look().room, ax=ax)
    (axes,) = sheet.axes
    outlines = []
    for (name, column), colour, line in zip(columns.items(), cycle(COLOURS), cycle(STYLES), strict=False):
        counts = np.histogram(column, edges)[0]
        middle = float(np.median(column))
        some = "" if len(column) == len(methods[name].tokens) else f" of {len(column)} frames"
        label = f"{name}, median {middle:.3g}{some}"
        axes.stairs(counts, edges, color=colour, fill=True, alpha=0.15)
        outlines.append(axes.stairs(counts, edges, color=colour, linewidth=1.1, linestyle=line, label=label))
        axes.axvline(middle, color=colour, linewidth=0.8, linestyle=line)
    dress(axes, f"{word_of(value, methods.values())} of a frame", "frames")
    axes.set_xlim(edges[0], edges[-1])
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    sheet.legend(outlines, 2)
    sheet.entitle(title)
    return sheet.finished()


def _column(results: Results, value: str, name: str) -> Floats:
    """Return the numbers of the frames that have one."""
    rows = results.frames(sort="token")
    known = [key for key in rows[0] if key not in ("token", "scene") and any(row[key] is not None for row in rows)]
    if value not in known:
        raise InvalidInput(f"{name}: value {value!r} not found; available: {', '.join(known)}")
    return np.array([row[value] for row in rows if row[value] is not None], np.float64)


def _edges(values: Floats) -> Floats:
    """Return the edges of bins that hold all values. Whole numbers lie in the middle of their bins."""
    low, high = float(values.min()), float(values.max())
    if (values == np.rint(values)).all() and high > 1:
        whole = math.ceil((high - low + 1) / BINS)
        return np.arange(low - 0.5, high + 0.5 + whole, whole, dtype=np.float64)
    step = round_step(max((high - low) / BINS, 1e-3))
    first, last = math.floor(low / step), math.floor(high / step) + 1
    edges: Floats = np.arange(first, last + 1, dtype=np.float64) * step
    edges[0] = min(edges[0], low)  # rounding may have put it above the lowest value
    return edges
