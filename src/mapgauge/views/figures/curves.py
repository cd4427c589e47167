"""Figures of values: over cutoffs and ranges, parts, and distributions over frames."""

import math
import shlex
from collections.abc import Mapping, Sequence
from itertools import cycle, pairwise
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.evaluation.sweeps import Sweep, region_of, sampling_of
from mapgauge.markup import number
from mapgauge.metrics.metric import Metric, ValueKey
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import COLOURS, colours_of, part_colours
from mapgauge.results.results import Results
from mapgauge.typing import Floats
from mapgauge.views.figures.style import (
    DISTINCT,
    HEIGHT,
    INK,
    MARKERS,
    PALE,
    SEVERAL,
    STYLES,
    End,
    GivenAxes,
    Style,
    canvas,
    dress,
    fewer_classes,
    grid,
    legend_names,
    look,
    method_looks,
    most_frequent,
    need,
    plain,
    round_step,
    several,
    shortened,
    styled,
    width_of,
    word_of,
    write_ends,
)
from mapgauge.words import counted, did_you_mean


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
            of a sweep has its own lines. From three lines on, every value has a panel of its own.
        names: Names of the methods; None uses the file names.
        title: Title above the figure.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into, one for each panel; None makes a new figure.
    """
    rows_of = _rows([sweep] if isinstance(sweep, Sweep | Results) else list(sweep), names)
    everything = [row for rows in rows_of.values() for row in rows]
    # PLD of an order above 1 has no Loc and Det.
    headline = [value.key for value in PLD.with_role("main", "headline")]
    keys = [key for key in headline if all(row[key] is not None for row in everything)]
    for rows in rows_of.values():
        rows.sort(key=lambda row: float(row["cutoff"]))
    if len(rows_of) >= SEVERAL:
        return _by_value(rows_of, keys, title, ax=ax)
    looks: list[dict[str, Any]] = [
        {"linestyle": line, "marker": marker, "markersize": 3, "linewidth": 1.1}
        for _, line, marker in zip(keys, STYLES, MARKERS, strict=False)
    ]
    sheet = canvas(look().column, HEIGHT * look().room, ax=ax)
    (axes,) = sheet.axes
    for (name, rows), colour in zip(rows_of.items(), cycle(COLOURS), strict=False):
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
    sheet.legend(handles, most=3)
    return sheet.finished(title)


def _by_value(
    rows_of: dict[str, list[dict[str, Any]]], keys: Sequence[str], title: str | None, ax: GivenAxes
) -> Figure:
    """Draw a panel for each value over the cutoff. Methods have the colours."""
    looks = method_looks(rows_of)
    high = 1.75 * look().room
    sheet = canvas(look().page, high + 0.6 * look().room, len(keys), ax=ax)
    for key, axes in zip(keys, sheet.axes, strict=True):
        for (name, rows), marker in zip(rows_of.items(), cycle(MARKERS), strict=False):
            label = f"{name}: {word_of(key)}"
            drawn: dict[str, Any] = {"marker": marker, "markersize": 3, "linewidth": 1.1, "label": label}
            axes.plot([row["cutoff"] for row in rows], [row[key] for row in rows], **looks[name], **drawn)
        dress(axes, "cutoff (m)", "mean over classes" if axes is sheet.axes[0] else "")
        axes.set_title(word_of(key), fontsize=look().normal, color=INK, pad=3)
        ends = [
            End(float(rows[-1]["cutoff"]), float(rows[-1][key]), number(rows[-1][key]), colour=looks[name]["color"])
            for name, rows in rows_of.items()
        ]
        write_ends(axes, ends, high if sheet.own else axes.get_window_extent().height / sheet.figure.dpi)
    handles = [
        Line2D([], [], **looks[name], marker=marker, markersize=3, linewidth=1.1, label=name)
        for name, marker in zip(rows_of, cycle(MARKERS), strict=False)
    ]
    sheet.legend(handles, most=5)
    return sheet.finished(title)


def _need_several_cutoffs(name: str, sweep: Sweep) -> None:
    """Refuse results with one cutoff, of which there is no curve."""
    cutoffs = sorted({float(row["cutoff"]) for row in sweep.rows})
    if len(cutoffs) > 1:
        return
    (only,) = cutoffs
    wanted = [only, *(cutoff for cutoff in CUTOFFS if cutoff != only)]
    first = sweep.results[0]
    files = [side.name or place for side, place in zip(first.inputs, ("PREDICTIONS", "TRUTH"), strict=True)]
    listed = ",".join(f"{cutoff:g}" for cutoff in wanted)
    line = shlex.join(["mapgauge", "evaluate", *files, "-p", first.protocol.name, "-c", listed, "-o", "cutoffs.mg"])
    raise InvalidInput(
        f"{name}: a curve over the cutoff needs several cutoffs, and these results have one, {only:g} m",
        remedy=Remedy(
            f"Pass mapgauge.sweep(predictions, truth, cutoffs=[{listed.replace(',', ', ')}])",
            f"Evaluate with several: {line} && mapgauge plot cutoffs cutoffs.mg -o cutoffs.png",
        ),
    )


def _rows(given: list[Sweep | Results], names: Sequence[str] | None) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each method, region and sampling, by a name with the settings that differ."""
    sweeps = [Sweep((sweep,)) if isinstance(sweep, Results) else sweep for sweep in given]
    for sweep in sweeps:
        if not isinstance(sweep, Sweep):
            raise InvalidInput(f"sweep: expected a Sweep from mapgauge.sweep(), got {type(sweep).__name__}")
    if not sweeps or not all(sweep.results for sweep in sweeps):
        raise InvalidInput("sweep: expected at least one result, got none")
    rows_of: dict[str, list[dict[str, Any]]] = {}
    for name, sweep in zip(legend_names([sweep.results[0] for sweep in sweeps], names), sweeps, strict=True):
        need(PLD.name, ((name, results) for results in sweep.results))
        _need_several_cutoffs(name, sweep)
        several_regions = len({region_of(row) for row in sweep.rows}) > 1
        several_samplings = len({(row["spacing"], row["count"]) for row in sweep.rows}) > 1
        for row in sweep.rows:
            if len(sweeps) > 1:
                words = [name]
            else:
                words = []
            if several_regions:
                words.append("all" if row["region"] is None else region_of(row, unit=" m"))
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

    The figure shows the classes and the mean of a single method, or the means of several methods. Of more than ten
    classes, the nine with the most true instances have a colour, and the others are grey.

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
    faint: list[_OverRings] = []  # of classes without a colour
    title_of_value = word_of(PLD.main.key, methods.values())
    if len(methods) == 1:
        lines, faint = _rings_of_classes(*methods.values())
    else:
        lines = [
            _OverRings.of(name, method, method.mean, colour=colour)
            for (name, method), colour in zip(methods.items(), cycle(COLOURS), strict=False)
        ]
        title_of_value += "\nmean over classes"

    others: list[Line2D] = []
    for line in faint:
        others += axes.plot(line.middles, line.heights, color=PALE, linewidth=0.5, zorder=1, label="_")
    if others:
        others[0].set_label(f"{len(others)} other classes")
    drawn: list[Line2D] = []
    ends = []
    for line, marker in zip(lines, cycle(MARKERS), strict=False):
        drawn += axes.plot(
            line.middles,
            line.heights,
            color=line.colour,
            label=line.name,
            marker=marker,
            markersize=3,
            linewidth=1.6 if line.colour == INK else 1.1,
        )
        there = np.flatnonzero(np.isfinite(line.heights))
        if len(methods) >= SEVERAL and len(there):
            last = int(there[-1])
            height = float(line.heights[last])
            ends.append(End(line.middles[last], height, number(height), colour=line.colour))

    dress(axes, "distance from the ego (m)", title_of_value)
    bounds = sorted({bound for method in methods.values() for bound in method.ranges})
    axes.set_xticks(bounds, [f"{bound:g}" for bound in bounds])
    axes.set_xlim(bounds[0], bounds[-1])
    axes.grid(visible=True, axis="x", color="#EEEEEE", linewidth=0.4 * look().pen)
    if ends:
        height = (HEIGHT - 0.6) * look().room
        if not sheet.own:
            height = axes.get_window_extent().height / sheet.figure.dpi
        write_ends(axes, ends, height)
    sheet.legend([*drawn, *others[:1]])
    return sheet.finished(title)


class _OverRings(NamedTuple):
    """The values of a class or a method over the distance from the ego."""

    name: str
    middles: list[float]  # of the rings, in metres
    heights: Floats  # NaN for an empty ring
    colour: str

    @classmethod
    def of(cls, name: str, results: Results, values: Mapping[str, float | None], colour: str) -> "_OverRings":
        """Return PLD in each ring of some results, from the values of a class or of their mean."""
        rings = list(pairwise(results.ranges))
        middles = [(inner + outer) / 2 for inner, outer in rings]
        heights = [values[str(ValueKey(PLD.main.key, ring=ring))] for ring in rings]
        return cls(name, middles, np.array(heights, np.float64), colour=colour)


def _rings_of_classes(results: Results) -> tuple[list[_OverRings], list[_OverRings]]:
    """Return the lines of the classes with a colour and of their mean, and those of all other classes."""
    with_value = [name for name in results.class_names if name not in results.without_value]
    most = DISTINCT
    if len(with_value) > DISTINCT:
        most = DISTINCT - 1  # the others share the last entry of the legend
    named = most_frequent(with_value, [results], most)
    colours = colours_of(named)
    lines = [_OverRings.of(word_of(name), results, results.classes[name], colour=colours[name]) for name in named]
    lines.append(_OverRings.of("mean", results, results.mean, colour=INK))
    others = [name for name in with_value if name not in colours]
    return lines, [_OverRings.of(name, results, results.classes[name], colour=PALE) for name in others]


LONGEST = 2.6  # inches, of the name of a method
BAR = 0.155  # inches, of a row with a bar
BINS = 30  # approximate maximum
MOST_BARS = 40  # of a figure without the mean; classes with fewer true instances are left out
RIDGE = 0.34  # inches, of a row of a histogram
CUTOFFS = (0.5, 1.0, 1.5, 2.0)  # that an error names, in metres


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
    return stacked(several(results, names), PLD, title, ax=ax)


def stacked(methods: dict[str, Results], metric: Metric, title: str | None, ax: GivenAxes) -> Figure:
    """Draw the parts of a metric as stacked bars, for each class and the mean."""
    need(metric.name, methods.items())
    for name, method in methods.items():
        if method.protocol.order != 1:
            raise InvalidInput(
                f"{name}: PLD of order {method.protocol.order:g} does not split into parts",
                remedy="Evaluate with a protocol of order 1",
            )
    rows, labels, note = _bars(methods, metric)
    labels = {place: shortened(label, LONGEST * look().room, look().small) for place, label in labels.items()}
    needed = max(width_of(label, look().small) for label in labels.values())
    width = min(look().column + max(needed - 0.8 * look().room, 0), look().page)
    sheet = canvas(width, (BAR * (max(rows) + 1) + 0.75) * look().room, ax=ax)
    (axes,) = sheet.axes
    places = list(rows)
    values = np.array(list(rows.values()))
    ends = values.cumsum(axis=1)
    colours = part_colours(metric)
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
    about = word_of(metric.main.key, methods.values())
    axes.set_xlabel("\n".join([about, *note]), fontsize=look().normal, color=INK)
    sheet.legend(
        [Patch(facecolor=colours[part], label=word_of(part).removeprefix("due to ")) for part in colours], most=3
    )
    return sheet.finished(title)


def _bars(methods: dict[str, Results], metric: Metric) -> tuple[dict[float, list[float]], dict[float, str], list[str]]:
    """Return parts and labels by their position from the top, and what is to be said of classes that are left out.

    Several methods have the class as a line above them.
    """
    rows: dict[float, list[float]] = {}
    labels: dict[float, str] = {}
    place = 0.0
    of_any = dict.fromkeys(name for method in methods.values() for name in method.class_names)

    def has_value(class_name: str) -> bool:
        """Whether any method has a value for a class."""
        found = [method.classes.get(class_name, {}).get(metric.main.key) for method in methods.values()]
        return any(value is not None for value in found)

    classes = list(filter(has_value, of_any))
    named = most_frequent(classes, methods.values(), max(MOST_BARS // (len(methods) + (len(methods) > 1)), 6))
    for class_name in [*named, "mean"]:
        bars = {}
        for name, method in methods.items():
            if class_name == "mean":
                values = method.mean
            else:
                values = method.classes.get(class_name, {})
            if values.get(metric.main.key) is not None:
                bars[name] = [float(values[part] or 0.0) for part in part_colours(metric)]
        if len(methods) > 1 and bars:
            labels[place] = word_of(class_name)
            place += 0.9
        for name, lengths in bars.items():
            rows[place] = lengths
            if len(methods) == 1:
                labels[place] = word_of(class_name)
            else:
                labels[place] = name
            place += 1
        place += 0.25 * (len(methods) > 1 and bool(bars))
    if len(named) < len(classes):
        return rows, labels, [fewer_classes(len(named), len(classes))]
    return rows, labels, []


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
    """Draw the histogram of a value over frames, with its median. From three methods on, each has a row of its own.

    Args:
        results: From ``evaluate``; one for each method.
        value: A key of the rows of ``Results.frames``, such as ``pld``, ``missed``, ``truth`` or
            ``hits:ap_chamfer@1.0``. Frames without a value, such as the PLD of a frame that is empty on both sides,
            are left out, and the legend says how many are drawn.
        names: Names of the methods; None uses the file names.
        title: Title above the figure.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into; None makes a new figure.
    """
    methods = several(results, names)
    columns = {name: _column(method, value, name) for name, method in methods.items()}
    edges = _edges(np.concatenate(list(columns.values())))
    if len(methods) >= SEVERAL:
        return _ridges(methods, columns, value, title=title, ax=ax)
    sheet = canvas(look().column, 2.2 * look().room, ax=ax)
    (axes,) = sheet.axes
    outlines = []
    for (name, column), colour, line in zip(columns.items(), cycle(COLOURS), cycle(STYLES), strict=False):
        counts = np.histogram(column, edges)[0]
        middle = float(np.median(column))
        median = _median(methods[name], column)
        room = look().column - 0.5 * look().room - width_of(f", {median}", look().small)
        label = f"{shortened(name, room, look().small)}, {median}"
        axes.stairs(counts, edges, color=colour, fill=True, alpha=0.15)
        outlines.append(axes.stairs(counts, edges, color=colour, linewidth=1.1, linestyle=line, label=label))
        axes.axvline(middle, color=colour, linewidth=0.8, linestyle=line)
    dress(axes, f"{word_of(value, methods.values())} of a frame", "frames")
    axes.set_xlim(edges[0], edges[-1])
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    sheet.legend(outlines, most=2)
    return sheet.finished(title)


def _median(results: Results, column: Floats) -> str:
    """Return the median in words, with the number of frames if not all have a value."""
    if len(column) == len(results.tokens):
        some = ""
    else:
        some = f" of {counted(len(column), 'frame')}"
    return f"median {float(np.median(column)):.3g}{some}"


def _ridges(
    methods: dict[str, Results], columns: dict[str, Floats], value: str, title: str | None, ax: GivenAxes
) -> Figure:
    """Draw the histogram of each method in a row of its own, all with the same scale, and their medians."""
    edges = _edges(np.concatenate(list(columns.values())))
    counts = {name: np.histogram(column, edges)[0] for name, column in columns.items()}
    most = max(int(of_method.max()) for of_method in counts.values())
    looks = method_looks(methods)
    sheet = canvas(look().column + 0.9 * look().room, (RIDGE * len(methods) + 0.6) * look().room, ax=ax)
    (axes,) = sheet.axes
    last = len(methods) - 1
    for k, (name, column) in enumerate(columns.items()):
        base = float(last - k)
        outline = {"color": looks[name]["color"], "linestyle": looks[name]["linestyle"], "linewidth": 1.1}
        heights = base + 0.85 * counts[name] / most
        axes.stairs(heights, edges, baseline=base, color=looks[name]["color"], fill=True, alpha=0.25)
        axes.stairs(heights, edges, baseline=base, label=name, **outline)
        middle = float(np.median(column))
        axes.vlines(middle, base, base + 0.85, color=INK, linewidth=0.8 * look().pen)
        words: dict[str, Any] = {"fontsize": look().small, "color": looks[name]["color"], "va": "center_baseline"}
        axes.annotate(_median(methods[name], column), (1.02, base + 0.3), xycoords=axes.get_yaxis_transform(), **words)
    about = f"{word_of(value, methods.values())} of a frame"
    dress(axes, f"{about}\nheight: frames; the highest bar has {most:,}", "")
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(-0.08, last + 1)
    axes.spines["left"].set_visible(False)
    room = 1.4 * look().room
    labels = [shortened(name, room, look().small) for name in methods]
    axes.set_yticks([float(last - k) for k in range(len(methods))], labels)
    axes.tick_params(axis="y", length=0)
    return sheet.finished(title)


def _column(results: Results, value: str, name: str) -> Floats:
    """Return the numbers of the frames that have one."""
    rows = results.frames(sort="token")
    known = [key for key in rows[0] if key not in ("token", "scene") and any(row[key] is not None for row in rows)]
    if value not in known:
        hint = did_you_mean(value, known)
        raise InvalidInput(f"{name}: value {value!r} not found; available: {', '.join(known)}{hint}")
    return np.array([row[value] for row in rows if row[value] is not None], np.float64)


def _edges(values: Floats) -> Floats:
    """Return the edges of bins that hold all values. Whole numbers lie in the middle of their bins."""
    low = float(values.min())
    high = float(values.max())
    if (values == np.rint(values)).all() and high > 1:
        whole = math.ceil((high - low + 1) / BINS)
        return np.arange(low - 0.5, high + 0.5 + whole, whole, dtype=np.float64)
    step = round_step(max((high - low) / BINS, 1e-3))
    first = math.floor(low / step)
    last = math.floor(high / step) + 1
    edges: Floats = np.arange(first, last + 1, dtype=np.float64) * step
    edges[0] = min(edges[0], low)  # rounding may have put it above the lowest value
    return edges
