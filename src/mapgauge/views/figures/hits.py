"""Draws what hits say about confidences: precision over recall, and calibration."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from mapgauge.arguments import check_whole
from mapgauge.errors import InvalidInput
from mapgauge.features.confidence.figure import reliability_figure
from mapgauge.markup import number
from mapgauge.metrics.average_precision import curve, envelope
from mapgauge.metrics.metric import ValueKey
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import COLOURS, METRICS, colours_of, hit_metrics
from mapgauge.results.results import Results
from mapgauge.typing import Floats
from mapgauge.views.figures.canvas import GivenAxes, canvas, list_below
from mapgauge.views.figures.style import INK, MARKERS, PALE, STYLES, Style, dress, look, need, several, styled, word_of

HEIGHT, LINE = 2.4, 0.13  # inches, of a figure and of a line of a legend
BINS = 10  # of confidence


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

    The curve is that of ``average_precision``. Predictions of equal confidence are one step. Precision at a recall is
    the highest precision at this or any higher recall. The area under a curve is its average precision, unless the
    protocol uses 11-point interpolation. Several methods differ in line style, and the average precisions below a panel
    are in the order of the methods in the legend.

    Args:
        results: From ``evaluate``; one for each method.
        metric: An average precision, such as ``"ap_chamfer"`` or ``"det_l"``; None uses the first of the results.
        threshold: A threshold of the protocol; None draws a panel for each threshold.
        names: Names of the methods; None uses the file names.
        title: Title above the figure.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into, one for each panel; None makes a new figure.
    """
    methods = several(results, names)
    metric, panels = _thresholds(methods, metric, threshold)
    labels = {name: _labels(method, metric) for name, method in methods.items()}
    classes = list(dict.fromkeys(class_name for labels_of_method in labels.values() for class_name in labels_of_method))
    colours = colours_of(classes)
    width = look().column if len(panels) == 1 else look().page
    height = (HEIGHT + LINE * len(classes)) * look().room
    sheet = canvas(width, height, len(panels), ax=ax, share=True)
    styles = _styles(methods)
    for axes, value in zip(sheet.axes, panels, strict=True):
        areas: dict[str, list[str]] = {}
        for (name, method), line in zip(methods.items(), cycle(STYLES), strict=False):
            for class_name in classes:
                label = labels[name].get(class_name)
                area = None if label is None else method.classes[class_name][str(ValueKey(metric, value))]
                areas.setdefault(class_name, []).append(number(area))
                if label is None:
                    continue
                x, y = _steps(method, metric, label, METRICS[metric].settings(method.protocol).index(value))
                look_of: dict[str, Any] = {"linestyle": line, "linewidth": 1.1, "drawstyle": "steps-pre"}
                label_of = f"{word_of(class_name)}, {name}"
                axes.plot(x, y, color=colours[class_name], label=label_of, **look_of)
        dress(axes, "recall", "precision" if axes is sheet.axes[0] else "")
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.02)
        axes.set_title(_panel_title(metric, value), fontsize=look().normal, color=INK, pad=3)
        handles = [
            Line2D([], [], color=colours[name], linewidth=1.1, label=f"{word_of(name)} {' | '.join(area)}")
            for name, area in areas.items()
        ]
        explained = not sheet.own and axes is sheet.axes[-1]  # given axes have no legend for all panels
        list_below(axes, [[*handles, *(styles if explained else [])]])
    if sheet.own and styles:
        sheet.legend(styles, 3)
    sheet.entitle(title)
    return sheet.finished()


def _styles(methods: Mapping[str, Results]) -> list[Line2D]:
    """Return the line style of each of several methods, for a legend."""
    looks: list[dict[str, Any]] = [{"linestyle": line} for line in STYLES]
    return [
        Line2D([], [], color=INK, linewidth=1.1, label=name, **line)
        for name, line in zip(methods if len(methods) > 1 else (), cycle(looks), strict=False)
    ]


@styled
def calibration(
    results: Results | Sequence[Results],
    *,
    metric: str | None = None,
    threshold: float | None = None,
    bins: int = BINS,
    names: Sequence[str] | None = None,
    title: str | None = None,
    style: Style = "paper",
    ax: GivenAxes = None,
) -> Figure:
    """Draw how often predictions of a confidence hit: a reliability diagram.

    Predictions are put into bins of equal width by their confidence. A point shows the mean confidence of a bin and the
    share of its predictions that hit a true instance. The confidences of a calibrated method lie on the diagonal. The
    area of a point is proportional to the number of its predictions. The figure shows the classes of a single method,
    or all predictions of each of several methods.

    Args:
        results: From ``evaluate``; one for each method.
        metric: An average precision, which decides what a hit is; None uses the first of the results. With ``"pld"``,
            a hit is a prediction that PLD assigns at a normalised SOSPA of at most 0.5, and a second panel has the
            mean of 1 - SOSPA. This needs results with their data.
        threshold: A threshold of the protocol; None draws a panel for each threshold.
        bins: Number of bins of confidence.
        names: Names of the methods; None uses the file names.
        title: Title above the figure.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into, one for each panel; None makes a new figure.
    """
    methods = several(results, names)
    count = check_whole("bins", bins, 1)
    if metric == PLD.name:
        if threshold is not None:
            raise InvalidInput(f"threshold: {metric} has none, got {threshold!r}")
        return reliability_figure(methods, count, title, ax)
    metric, panels = _thresholds(methods, metric, threshold)
    (only, *more) = methods.values()
    lines: list[tuple[str, Results, list[int], str]]
    if more:
        lines = [
            (name, method, list(_labels(method, metric).values()), colour)
            for (name, method), colour in zip(methods.items(), cycle(COLOURS), strict=False)
        ]
    else:
        colours = colours_of(only.class_names)
        lines = [(word_of(name), only, [label], colours[name]) for name, label in _labels(only, metric).items()]
    width = look().column if len(panels) == 1 else look().page
    sheet = canvas(width, (HEIGHT + 0.3) * look().room, len(panels), ax=ax, share=True)
    for axes, value in zip(sheet.axes, panels, strict=True):
        axes.plot([0, 1], [0, 1], color=PALE, linewidth=1.0, zorder=1)
        for (name, method, labels, colour), marker in zip(lines, cycle(MARKERS), strict=False):
            place = METRICS[metric].settings(method.protocol).index(value)
            confidence, hits = _predictions(method, metric, labels, place)
            at, share, counts = reliability(confidence, hits, count)
            axes.plot(at, share, color=colour, linewidth=0.8, zorder=2)
            sizes = 60 * look().pen ** 2 * counts / max(counts.max(initial=0), 1)
            axes.scatter(
                at, share, s=np.maximum(sizes, 4), color=colour, marker=marker, linewidth=0, zorder=3, label=name
            )
        dress(axes, "confidence", "share of hits" if axes is sheet.axes[0] else "")
        axes.set(xlim=(0, 1), ylim=(0, 1.02))
        axes.set_title(_panel_title(metric, value), fontsize=look().normal, color=INK, pad=3)
    handles = [
        Line2D([], [], color=colour, linewidth=0.8, marker=marker, markersize=3, label=name)
        for (name, _, _, colour), marker in zip(lines, cycle(MARKERS), strict=False)
    ]
    sheet.legend([*handles, Line2D([], [], color=PALE, linewidth=1.0, label="calibrated")])
    sheet.entitle(title)
    return sheet.finished()


def reliability(confidence: Floats, hits: NDArray[np.bool_], bins: int) -> tuple[Floats, Floats, Floats]:
    """Return mean confidence, share of hits and number of predictions of each bin of confidence that is not empty."""
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    number = np.bincount(place, minlength=bins).astype(np.float64)
    filled = number > 0
    mean = np.bincount(place, confidence, bins)[filled] / number[filled]
    share = np.bincount(place, hits, bins)[filled] / number[filled]
    return mean, share, number[filled]


def _panel_title(metric: str, value: float) -> str:
    setting = METRICS[metric].setting
    unit = f" {setting.unit}" if setting is not None and setting.unit else ""
    return word_of(str(ValueKey(metric, value))) + unit


def _thresholds(
    methods: Mapping[str, Results], metric: str | None, threshold: float | None
) -> tuple[str, tuple[float, ...]]:
    """Return the metric and the thresholds to draw. All methods must have them."""
    known = [row.name for row, _ in hit_metrics(tuple(METRICS))]
    if metric is None:
        metrics = [row.name for row, _ in hit_metrics(next(iter(methods.values())).metrics)]
        metric = next(iter(metrics), known[0])  # an error names what is missing
    if metric not in known:
        raise InvalidInput(f"metric must be one of {', '.join(known)}, got {metric!r}")
    need(metric, methods.items())
    first = METRICS[metric].settings(next(iter(methods.values())).protocol)
    wanted = first if threshold is None else (threshold,)
    for name, method in methods.items():
        able = METRICS[metric].settings(method.protocol)
        lacking = [value for value in wanted if value not in able]
        if lacking:
            has = ", ".join(f"{value:g}" for value in able)
            raise InvalidInput(f"{name}: {metric} has no threshold {lacking[0]!r}; available: {has}")
    return metric, tuple(float(value) for value in wanted)


def _labels(results: Results, metric: str) -> dict[str, int]:
    """Return the labels of the classes that the metric covers and that have predictions or truth, by name."""
    return {
        name: label
        for label, name in enumerate(results.class_names)
        if METRICS[metric].covers(name, results.protocol) and name not in results.without_value
    }


def _predictions(results: Results, metric: str, labels: Sequence[int], place: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the confidence of the predictions that count in some classes, and whether they hit."""
    scores = results.scores
    counted = np.logical_or.reduce([scores.counted(label, results.protocol) for label in labels])
    return scores.confidence[counted], ((scores.hits[metric][counted] >> place) & 1).astype(np.bool_)


def _steps(results: Results, metric: str, label: int, place: int) -> tuple[Floats, Floats]:
    """Return recall from 0 on and the highest precision from there on; both are empty without hits."""
    confidence, hits = _predictions(results, metric, [label], place)
    if not hits.any():
        return np.empty(0), np.empty(0)
    levels = np.sort(confidence[hits])[::-1]
    number = len(confidence) - np.searchsorted(np.sort(confidence), levels)
    recall, precision = curve(levels, number, int(results.scores.true[:, label].sum()))
    highest = envelope(precision)
    return np.append(0.0, recall), np.append(highest[:1], highest)
