"""Draws precision over recall, from the hits of predictions."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.markup import number
from mapgauge.metrics.average_precision import curve, envelope
from mapgauge.metrics.metric import ValueKey
from mapgauge.metrics.table import METRICS, colours_of, hit_metrics
from mapgauge.results.bootstrap import Drawn
from mapgauge.results.curve_bands import CurveBand, band_in_words, drawn_for_bands, precision_band
from mapgauge.results.intervals import FEWEST
from mapgauge.results.results import Results
from mapgauge.typing import Floats
from mapgauge.views.figures.style import (
    DISTINCT,
    HEIGHT,
    INK,
    PALE,
    SEVERAL,
    STYLES,
    End,
    GivenAxes,
    Style,
    canvas,
    dress,
    fewer_classes,
    list_below,
    look,
    method_looks,
    most_frequent,
    need,
    note,
    several,
    shortened,
    styled,
    width_of,
    word_of,
    write_ends,
)
from mapgauge.words import did_you_mean

LINE = 0.13  # inches, of a line of a legend
PANEL = 1.2  # inches, the height of a panel of one class
ACROSS = 6  # classes that have panels
SHADE = 0.15  # the opacity of a band
POINTS = 80  # of a band


@styled
def precision_recall(
    results: Results | Sequence[Results],
    *,
    metric: str | None = None,
    threshold: float | None = None,
    names: Sequence[str] | None = None,
    title: str | None = None,
    style: Style = "paper",
    ax: GivenAxes = None,
) -> Figure:
    """Draw precision over recall for each class, with its average precision.

    The curve is the one that ``average_precision`` computes. Predictions of equal confidence are one step. Precision at
    a recall is the highest precision at this or any higher recall. The area under a curve is its average precision,
    unless the protocol uses 11-point interpolation. A band is a 95 % interval of the precision at each recall, from a
    bootstrap over scenes. Fewer than five scenes have none. Two methods differ in line style, and the average
    precisions below a panel are in the order of the methods in the legend. From three methods on, every class has
    panels of its own, every method has a colour, and the average precision is written at the end of its curve.

    Of more than ten classes, the nine with the most true instances have a colour, and the others are grey. From three
    methods on, the six with the most true instances are drawn.

    Args:
        results: From ``evaluate``; one for each method.
        metric: An average precision, such as ``"ap_chamfer"``; None uses the first of the results.
        threshold: A threshold of the protocol; None draws a panel for each threshold.
        names: Names of the methods; None uses the file names.
        title: Title above the figure.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into, one for each panel, row by row; None makes a new figure.
    """
    methods = several(results, names)
    metric, panels = thresholds_of(methods, metric, threshold)
    if len(methods) >= SEVERAL:
        return _by_class(methods, metric, panels, title=title, ax=ax)
    labels = {name: labels_of(method, metric) for name, method in methods.items()}
    classes = list(dict.fromkeys(class_name for of_method in labels.values() for class_name in of_method))
    named = most_frequent(classes, methods.values(), DISTINCT if len(classes) <= DISTINCT else DISTINCT - 1)
    colours = colours_of(named)
    others = len(classes) - len(named)
    if len(panels) == 1:
        width = look().column
    else:
        width = look().page
    height = (HEIGHT + LINE * (len(named) + bool(others))) * look().room
    sheet = canvas(width, height, len(panels), ax=ax, share=True)
    styles = _styles(methods)
    drawn = bands_of(methods)
    about_bands = band_note(drawn)
    for axes, value in zip(sheet.axes, panels, strict=True):
        areas: dict[str, list[str]] = {class_name: [] for class_name in classes}
        for (name, method), line in zip(methods.items(), cycle(STYLES), strict=False):
            for class_name in classes:
                label = labels[name].get(class_name)
                if label is None:  # the method has no such class
                    areas[class_name].append(number(None))
                    continue
                areas[class_name].append(number(method.classes[class_name][str(ValueKey(metric, value))]))
                curve = _draw_curve(
                    axes,
                    method,
                    metric,
                    label=label,
                    value=value,
                    drawn=drawn[name],
                    colour=colours.get(class_name),
                )
                curve.set(linestyle=line, label=f"{word_of(class_name)}, {name}")
        dress(axes, "recall", "precision" if axes is sheet.axes[0] else "")
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.02)
        axes.set_title(panel_title(metric, value), fontsize=look().normal, color=INK, pad=3)
        room = width / len(panels) - 0.6 * look().room
        handles = [
            Line2D([], [], color=colours[name], linewidth=1.1, label=_listed(word_of(name), areas[name], room))
            for name in named
        ]
        if others:
            handles.append(Line2D([], [], color=PALE, linewidth=0.5, label=f"{others} other classes"))
        explained = not sheet.own and axes is sheet.axes[-1]  # given axes have no legend for all panels
        list_below(axes, [[*handles, *([*styles, about_bands] if explained else [])]])
    if sheet.own:
        sheet.legend([*styles, about_bands], most=3)
    return sheet.finished(title)


def _draw_curve(
    axes: Axes, results: Results, metric: str, *, label: int, value: float, drawn: Drawn, colour: str | None
) -> Line2D:
    """Draw the curve of a class at a threshold, with its band. A class without a colour is a thin line without one."""
    place = METRICS[metric].settings(results.protocol).index(value)
    x, y = _steps(results, metric, label, place=place)
    if colour is None:
        (line,) = axes.plot(x, y, color=PALE, linewidth=0.5, drawstyle="steps-pre", zorder=1)
        return line
    _draw_band(axes, results, metric, label=label, place=place, drawn=drawn, colour=colour)
    (line,) = axes.plot(x, y, color=colour, linewidth=1.1, drawstyle="steps-pre")
    return line


def _listed(name: str, areas: Sequence[str], room: float) -> str:
    """Return the name of a class and its average precisions. A name that is too long is shortened, never the values."""
    values = " | ".join(areas)
    return f"{shortened(name, room - width_of(f' {values}', look().small), look().small)} {values}"


def _by_class(
    methods: Mapping[str, Results], metric: str, thresholds: Sequence[float], *, title: str | None, ax: GivenAxes
) -> Figure:
    """Draw a column of panels for each class and a row for each threshold. Methods have the colours."""
    labels = {name: labels_of(method, metric) for name, method in methods.items()}
    classes = list(dict.fromkeys(class_name for of_method in labels.values() for class_name in of_method))
    named = most_frequent(classes, methods.values(), ACROSS)
    looks = method_looks(methods)
    drawn = bands_of(methods)
    rows = len(thresholds)
    if len(named) > 1:
        width = look().page
        high = PANEL * look().room
    else:
        width = look().column
        high = (HEIGHT - 0.6) * look().room
    height = rows * (high + 0.12 * look().room) + 0.75 * look().room
    sheet = canvas(width, height, rows * len(named), rows=rows, ax=ax, share=True)
    for k, axes in enumerate(sheet.axes):
        row, column = divmod(k, len(named))
        value = thresholds[row]
        class_name = named[column]
        ends = []
        for name, method in methods.items():
            label = labels[name].get(class_name)
            if label is None:
                continue
            place = METRICS[metric].settings(method.protocol).index(value)
            x, y = _steps(method, metric, label, place=place)
            colour = looks[name]["color"]
            _draw_band(axes, method, metric, label=label, place=place, drawn=drawn[name], colour=colour)
            label_of = f"{word_of(class_name)}, {name}"
            axes.plot(x, y, **looks[name], linewidth=1.1, drawstyle="steps-pre", label=label_of)
            area = number(method.classes[class_name][str(ValueKey(metric, value))])
            if len(x):
                ends.append(End(float(x[-1]), float(y[-1]), area, colour=colour))
            else:
                ends.append(End(x=float("nan"), y=0.0, text=area, colour=colour))
        below = ""
        if row == rows - 1:
            below = "recall"
        beside = ""
        if column == 0:
            beside = f"{panel_title(metric, value)}\nprecision"
        dress(axes, below, beside)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.02)
        axes.tick_params(labelbottom=row == rows - 1)
        if sheet.own:
            write_ends(axes, ends, high)
        else:
            write_ends(axes, ends, axes.get_window_extent().height / sheet.figure.dpi)
        if row == 0:
            room = width / len(named) - 0.3 * look().room
            name_of = shortened(word_of(class_name), room, look().normal)
            axes.set_title(name_of, fontsize=look().normal, color=INK, pad=3)
    handles: list[Artist] = [Line2D([], [], **looks[name], linewidth=1.6, label=name) for name in methods]
    if len(named) < len(classes):
        handles.append(note(fewer_classes(len(named), len(classes))))
    handles.append(band_note(drawn))
    sheet.legend(handles, most=5)
    return sheet.finished(title)


def _styles(methods: Mapping[str, Results]) -> list[Line2D]:
    """Return the line style of each of several methods, for a legend."""
    looks: list[dict[str, Any]] = [{"linestyle": line} for line in STYLES]
    return [
        Line2D([], [], color=INK, linewidth=1.1, label=name, **line)
        for name, line in zip(methods if len(methods) > 1 else (), cycle(looks), strict=False)
    ]


def panel_title(metric: str, value: float) -> str:
    """Return the title of the panel of a threshold."""
    setting = METRICS[metric].setting
    if setting is not None and setting.unit:
        unit = f" {setting.unit}"
    else:
        unit = ""
    return word_of(str(ValueKey(metric, value))) + unit


def thresholds_of(
    methods: Mapping[str, Results], metric: str | None, threshold: float | None
) -> tuple[str, tuple[float, ...]]:
    """Return the metric and the thresholds to draw. All methods must have them."""
    known = [row.name for row, _ in hit_metrics(tuple(METRICS))]
    if metric is None:
        computed = [row.name for row, _ in hit_metrics(next(iter(methods.values())).metrics)]
        metric = next(iter(computed), known[0])  # an error names what is missing
    if metric not in known:
        hint = did_you_mean(metric, known)
        raise InvalidInput(f"metric must be one of {', '.join(known)}, got {metric!r}{hint}")
    need(metric, methods.items())
    first = METRICS[metric].settings(next(iter(methods.values())).protocol)
    if threshold is None:
        wanted = first
    else:
        wanted = (threshold,)
    for name, method in methods.items():
        able = METRICS[metric].settings(method.protocol)
        lacking = [value for value in wanted if value not in able]
        if lacking:
            has = ", ".join(f"{value:g}" for value in able)
            raise InvalidInput(f"{name}: {metric} has no threshold {lacking[0]!r}; available: {has}")
    return metric, tuple(float(value) for value in wanted)


def labels_of(results: Results, metric: str) -> dict[str, int]:
    """Return the labels of the classes that the metric covers and that have predictions or truth, by name."""
    return {
        name: label
        for label, name in enumerate(results.class_names)
        if METRICS[metric].covers(name, results.protocol) and name not in results.without_value
    }


def predictions_of(
    results: Results, metric: str, labels: Sequence[int], place: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the confidence of the predictions that count in some classes, and whether they hit."""
    scores = results.scores
    counted = np.logical_or.reduce([scores.counted(label, results.protocol) for label in labels])
    return scores.confidence[counted], ((scores.hits[metric][counted] >> place) & 1).astype(np.bool_)


def bands_of(methods: Mapping[str, Results]) -> dict[str, Drawn]:
    """Return the draws of scenes for the bands of each method."""
    return {name: drawn_for_bands(method) for name, method in methods.items()}


def band_note(drawn: Mapping[str, Drawn]) -> Artist:
    """Return an entry of a legend that says what the bands of methods are, or why there are none."""
    first = next(iter(drawn.values()))
    return band_entry(first.kind, first.count)


def band_entry(kind: str, count: int) -> Artist:
    """Return an entry of a legend that says what bands are, from what was drawn and how many there are."""
    text = band_in_words(kind, count)
    if count < FEWEST:
        return note(text)
    return Patch(facecolor=INK, alpha=SHADE, linewidth=0, label=text)


def draw_band(axes: Axes, x: Floats, band: CurveBand, colour: str, **others: Any) -> None:
    """Draw a band behind a curve."""
    axes.fill_between(x, band.low, band.high, color=colour, alpha=SHADE, linewidth=0, zorder=0.5, **others)


def _band_of(
    results: Results, metric: str, label: int, place: int, *, drawn: Drawn, steps: tuple[Floats, Floats]
) -> CurveBand:
    """Return the band at the recalls of a curve."""
    scores = results.scores
    counted = scores.counted(label, results.protocol)
    hits = ((scores.hits[metric][counted] >> place) & 1).astype(np.bool_)
    return precision_band(
        scores.confidence[counted],
        hits,
        drawn.unit_of_frame[scores.frame[counted]],
        truth=scores.true[:, label].astype(np.float64),
        drawn=drawn,
        at=steps[0],
        precision=steps[1],
    )


def _draw_band(axes: Axes, results: Results, metric: str, label: int, *, place: int, drawn: Drawn, colour: str) -> None:
    """Draw the band of the curve of a class, at some of its points."""
    x, y = _steps(results, metric, label, place=place)
    if not len(x):
        return
    some = np.unique(np.linspace(0, len(x) - 1, min(POINTS, len(x))).round().astype(np.int64))
    steps = (x[some], y[some])
    band = _band_of(results, metric, label, place=place, drawn=drawn, steps=steps)
    draw_band(axes, steps[0], band, colour=colour)


def _steps(results: Results, metric: str, label: int, place: int) -> tuple[Floats, Floats]:
    """Return recall from 0 on and the highest precision from there on; both are empty without hits."""
    confidence, hits = predictions_of(results, metric, [label], place=place)
    if not hits.any():
        return np.empty(0), np.empty(0)
    levels = np.sort(confidence[hits])[::-1]
    number = len(confidence) - np.searchsorted(np.sort(confidence), levels)
    recall, precision = curve(levels, number, int(results.scores.true[:, label].sum()))
    highest = envelope(precision)
    return np.append(0.0, recall), np.append(highest[:1], highest)
