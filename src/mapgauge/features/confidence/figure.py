"""Draws what ``mapgauge.confidence`` measured: values over the threshold, and reliability diagrams."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from mapgauge.arguments import check_whole
from mapgauge.errors import InvalidInput
from mapgauge.features.confidence.calibration import bin_of
from mapgauge.features.confidence.confidence import ALL, Confidence, Target
from mapgauge.features.confidence.confidence import confidence as measure
from mapgauge.features.confidence.levels import Form, Levels
from mapgauge.features.confidence.operating import CRITERIA
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import COLOURS, METRICS, colours_of, title_of
from mapgauge.results.bootstrap import Drawn
from mapgauge.results.curve_bands import CurveBand, mean_band
from mapgauge.results.results import Results
from mapgauge.typing import Floats
from mapgauge.views.figures.hits import (
    band_entry,
    band_note,
    bands_of,
    draw_band,
    labels_of,
    panel_title,
    predictions_of,
    thresholds_of,
)
from mapgauge.views.figures.style import (
    DISTINCT,
    HEIGHT,
    INK,
    MARKERS,
    PALE,
    GivenAxes,
    Style,
    canvas,
    dress,
    fewer_classes,
    look,
    most_frequent,
    note,
    several,
    styled,
    word_of,
)

BINS = 10  # of confidence
GRID = np.linspace(0, 1, 201)
LINES: tuple[Literal["-", "--", ":"], ...] = ("-", "--", ":")
PANELS: dict[Target, str] = {"hit": "share of hits", "soft": "mean of 1 - SOSPA"}


class Entry(NamedTuple):
    """One line of each panel: a class of a single method, or a method."""

    name: str
    colour: str
    marker: str
    found: Confidence
    class_name: str | None  # None for all classes


@styled
def confidence(
    results: Results | Confidence | Sequence[Results | Confidence],
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    style: Style = "paper",
    ax: GivenAxes = None,
) -> Figure:
    """Draw PLD, precision, recall and AP over the threshold on the confidence, and two reliability diagrams.

    The first panel has PLD with confidences rounded at the threshold (solid; a point marks the best threshold) and with
    predictions below it dropped (dashed). The second has precision (solid), recall (dashed) and the first AP of the
    results (dotted) of the predictions that are kept. The others have the share of predictions that hit their truth and
    the mean of 1 - SOSPA over the confidence, with the expected calibration error. The figure shows the classes of a
    single method, or the means over classes and all predictions of several methods.

    Args:
        results: From ``mapgauge.confidence``, or results with their data; one for each method.
        names: Names of the methods; None uses the file names.
        title: Title above the figure.
        style: ``"paper"`` or ``"slides"``, which is larger.
        ax: Axes to draw into, one for each of the four panels; None makes a new figure.
    """
    entries = entries_of(results, names)
    sheet = canvas(look().page, (2 * HEIGHT + 0.3) * look().room, 2 + len(PANELS), rows=2, ax=ax)
    first, second, *others = sheet.axes
    forms: list[Form] = ["rounded", "dropped"]
    shares = _shares(entries)
    for entry in entries:
        levels = _levels(entry)
        for form, line in zip(forms, LINES, strict=False):
            first.plot(GRID, _mean(levels, form, GRID), color=entry.colour, linewidth=1.1, linestyle=line)
        best = _best(entry)
        if best is not None:
            height = _mean(levels, "rounded", np.array([best]))
            first.plot([best], height, color=entry.colour, marker=entry.marker, markersize=4, linestyle="")
        for key, line in zip(shares, LINES, strict=False):
            second.plot(GRID, _mean_share(levels, key, GRID), color=entry.colour, linewidth=1.1, linestyle=line)
    cutoffs = ", ".join(f"{cutoff:g} m" for cutoff in dict.fromkeys(entry.found.cutoff for entry in entries))
    pooled = "\nmean over classes"
    if entries[0].class_name:
        pooled = ""
    dress(first, "threshold on the confidence", f"PLD ({cutoffs}){pooled}")
    dress(second, "threshold on the confidence", ", ".join(shares.values()))
    first.set_xlim(0, 1)
    second.set(xlim=(0, 1), ylim=(0, 1.02))
    draw_reliability(dict(zip(PANELS, others, strict=True)), entries)
    for axes, labels in ((first, forms), (second, list(shares.values()))):
        named = zip(LINES, labels, strict=False)
        lines = [Line2D([], [], color=INK, linewidth=1.1, linestyle=line, label=label) for line, label in named]
        axes.legend(handles=lines, fontsize=look().small, frameon=False, handlelength=2.2)  # where it hides least
    sheet.legend(_handles(entries), most=7)
    return sheet.finished(title)


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
    area of a point is proportional to the number of its predictions. A band is a 95 % interval of the share in each
    bin, from a bootstrap over scenes; fewer than five scenes have none. The figure shows the classes of a single
    method, or all predictions of each of several methods.

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
    count = check_whole("bins", bins, least=1)
    if metric == PLD.name:
        if threshold is not None:
            raise InvalidInput(f"threshold: {metric} has none, got {threshold!r}")
        return _of_assignment(methods, count, title, ax=ax)
    metric, panels = thresholds_of(methods, metric, threshold)
    (only, *more) = methods.values()
    lines: list[tuple[str, Results, list[int], str]]
    fewer: list[Line2D] = []
    if more:
        lines = [
            (name, method, list(labels_of(method, metric).values()), colour)
            for (name, method), colour in zip(methods.items(), cycle(COLOURS), strict=False)
        ]
    else:
        labelled = labels_of(only, metric)
        named = most_frequent(list(labelled), [only], DISTINCT)
        if len(named) < len(labelled):
            fewer = [note(fewer_classes(len(named), len(labelled)))]
        colours = colours_of(named)
        lines = [(word_of(name), only, [labelled[name]], colours[name]) for name in named]
    if len(panels) == 1:
        width = look().column
    else:
        width = look().page
    sheet = canvas(width, (HEIGHT + 0.3) * look().room, len(panels), ax=ax, share=True)
    drawn = bands_of(methods)
    first = next(iter(methods))  # lines are classes of a single method, or methods
    for axes, value in zip(sheet.axes, panels, strict=True):
        axes.plot([0, 1], [0, 1], color=PALE, linewidth=1.0, zorder=1)
        for (name, method, labels, colour), marker in zip(lines, cycle(MARKERS), strict=False):
            place = METRICS[metric].settings(method.protocol).index(value)
            confidence, hits = predictions_of(method, metric, labels, place=place)
            at, share, counts = _bins_of(confidence, hits, count)
            draw_band(
                axes,
                at,
                _band_of(method, metric, labels, place=place, bins=count, drawn=drawn.get(name) or drawn[first]),
                colour=colour,
            )
            axes.plot(at, share, color=colour, linewidth=0.8, zorder=2)
            sizes = 60 * look().pen ** 2 * counts / max(counts.max(initial=0), 1)
            axes.scatter(
                at, share, s=np.maximum(sizes, 4), color=colour, marker=marker, linewidth=0, zorder=3, label=name
            )
        dress(axes, "confidence", "share of hits" if axes is sheet.axes[0] else "")
        axes.set(xlim=(0, 1), ylim=(0, 1.02))
        axes.set_title(panel_title(metric, value), fontsize=look().normal, color=INK, pad=3)
    handles = [
        Line2D([], [], color=colour, linewidth=0.8, marker=marker, markersize=3, label=name)
        for (name, _, _, colour), marker in zip(lines, cycle(MARKERS), strict=False)
    ]
    sheet.legend([*handles, Line2D([], [], color=PALE, linewidth=1.0, label="calibrated"), band_note(drawn), *fewer])
    return sheet.finished(title)


def _band_of(results: Results, metric: str, labels: Sequence[int], place: int, *, bins: int, drawn: Drawn) -> CurveBand:
    """Return the band of the share of hits in the bins of confidence that are not empty."""
    confidence, hits = predictions_of(results, metric, labels, place=place)
    scores = results.scores
    counted = np.logical_or.reduce([scores.counted(label, results.protocol) for label in labels])
    unit = drawn.unit_of_frame[scores.frame[counted]]
    bin_of_each = bin_of(confidence, bins)
    band = mean_band(hits.astype(np.float64), bin_of_each, unit, weights=drawn.weights, bins=bins)
    filled = np.bincount(bin_of_each, minlength=bins) > 0
    return CurveBand(band.low[filled], band.high[filled])


def _bins_of(confidence: Floats, hits: NDArray[np.bool_], bins: int) -> tuple[Floats, Floats, Floats]:
    """Return mean confidence, share of hits and number of predictions of each bin of confidence that is not empty."""
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    number = np.bincount(place, minlength=bins).astype(np.float64)
    filled = number > 0
    mean = np.bincount(place, confidence, bins)[filled] / number[filled]
    share = np.bincount(place, hits, bins)[filled] / number[filled]
    return mean, share, number[filled]


def _of_assignment(methods: Mapping[str, Results], bins: int, title: str | None, ax: GivenAxes) -> Figure:
    """Return the two reliability diagrams of ``confidence`` alone."""
    measured = [measure(method, bins=bins) for method in methods.values()]
    entries = entries_of(measured, list(methods))
    sheet = canvas(look().page, (HEIGHT + 0.3) * look().room, len(PANELS), ax=ax)
    draw_reliability(dict(zip(PANELS, sheet.axes, strict=True)), entries)
    sheet.legend(_handles(entries))
    return sheet.finished(title)


def draw_reliability(panels: Mapping[Target, Axes], entries: Sequence[Entry]) -> None:
    """Draw the mean target of each bin over its mean confidence. The area of a point is its number of predictions."""
    for target, axes in panels.items():
        axes.plot([0, 1], [0, 1], color=PALE, linewidth=1.0, zorder=1)
        errors = []
        for entry in entries:
            reliability = entry.found.calibration.get(entry.class_name or ALL)
            if reliability is None:  # no predictions
                continue
            bins = reliability[target]
            filled = bins.number > 0
            at = bins.confidence[filled]
            share = bins.target[filled]
            number = bins.number[filled]
            draw_band(axes, at, CurveBand(bins.low[filled], bins.high[filled]), colour=entry.colour)
            axes.plot(at, share, color=entry.colour, linewidth=0.8, zorder=2)
            sizes = np.maximum(60 * look().pen ** 2 * number / number.max(), 4)
            axes.scatter(at, share, s=sizes, color=entry.colour, marker=entry.marker, linewidth=0, zorder=3)
            errors.append((entry, bins.error.value))
        dress(axes, "confidence", PANELS[target])
        axes.set(xlim=(0, 1), ylim=(0, 1.02))
        for k, (entry, error) in enumerate(errors):
            place: dict[str, Any] = {"transform": axes.transAxes, "va": "top", "fontsize": look().small}
            height = 0.97 - 0.075 * look().small / 6.5 * k / look().room
            axes.text(0.03, height, f"ECE {error:.3f}", color=entry.colour, **place)
        calibrated = Line2D([], [], color=PALE, linewidth=1.0, label="calibrated")
        axes.legend(handles=[calibrated], loc="lower right", fontsize=look().small, frameon=False)


def entries_of(
    results: Results | Confidence | Sequence[Results | Confidence], names: Sequence[str] | None
) -> list[Entry]:
    """Return the lines to draw: the classes of a single method, or the methods."""
    if isinstance(results, Results | Confidence):
        given = [results]
    else:
        given = list(results)
    for k, method in enumerate(given):
        if not isinstance(method, Results | Confidence):
            raise InvalidInput(
                f"results {k}: expected a Confidence from mapgauge.confidence(), got {type(method).__name__}"
            )
    if not given:
        raise InvalidInput("results: expected at least one, got none")
    measured = []
    for method in given:
        if isinstance(method, Results):
            measured.append(measure(method))
        else:
            measured.append(method)
    if not all(method.classes for method in measured):
        raise InvalidInput("these results have neither predictions nor truth")
    lines: list[tuple[str, str, Confidence, str | None]] = []
    if len(measured) == 1:
        (only,) = measured
        by_truth = sorted(only.classes, key=lambda name: -only.classes[name].truth)
        kept = set(by_truth[:DISTINCT])
        named = [name for name in only.classes if name in kept]
        colours = colours_of(named)
        lines = [(word_of(name), colours[name], only, name) for name in named]
        if names is not None and len(names) != 1:
            raise InvalidInput(f"names must be one string, got {names!r}")
    else:
        for name, method, colour in zip(_names_of(measured, names), measured, cycle(COLOURS), strict=False):
            if name.startswith("_"):
                name = f" {name}"  # matplotlib omits labels with a leading underscore
            lines.append((name, colour, method, None))
    return [
        Entry(name, colour, marker, found=method, class_name=class_name)
        for (name, colour, method, class_name), marker in zip(lines, cycle(MARKERS), strict=False)
    ]


def _names_of(methods: Sequence[Confidence], names: Sequence[str] | None) -> list[str]:
    """Return a different name for each method: the given one, or that of its file."""
    if names is not None:
        called = list(names)
    else:
        called = [Path(method.name).stem or f"method {k}" for k, method in enumerate(methods)]
        if len(set(called)) < len(called):
            called = [f"{name} {k}" for k, name in enumerate(called)]
    if len(called) != len(methods) or len(set(called)) < len(called):
        raise InvalidInput(f"names must be {len(methods)} different strings, got {names!r}")
    return called


def _handles(entries: Sequence[Entry]) -> list[Artist]:
    """Return the entries of the legend, which classes are drawn if some are not, and what bands are."""
    handles: list[Artist] = [_handle(entry) for entry in entries]
    classes = entries[0].found.classes
    if entries[0].class_name is not None and len(entries) < len(classes):
        handles.append(note(fewer_classes(len(entries), len(classes))))
    handles.append(band_entry(entries[0].found.unit, entries[0].found.units))
    return handles


def _handle(entry: Entry) -> Line2D:
    return Line2D([], [], color=entry.colour, linewidth=1.1, marker=entry.marker, markersize=3, label=entry.name)


def _levels(entry: Entry) -> list[Levels]:
    classes = entry.found.classes
    return [of_class.levels for name, of_class in classes.items() if entry.class_name in (None, name)]


def _mean(levels: Sequence[Levels], form: Form, thresholds: Floats) -> Floats:
    """Return the mean PLD over classes at some thresholds."""
    mean: Floats = np.mean([of_class.pld(form)[of_class.place(thresholds)] for of_class in levels], axis=0)
    return mean


def _shares(entries: Sequence[Entry]) -> dict[str, str]:
    """Return the names of values between 0 and 1 over the threshold, by key. All methods have the average precision."""
    known = [{key for levels in _levels(entry) for key in levels.ap} for entry in entries]
    plain = [key for key in METRICS if all(key in keys for keys in known)]
    return {"precision": "precision", "recall": "recall"} | {key: title_of(key) for key in plain[:1]}


def _mean_share(levels: Sequence[Levels], key: str, thresholds: Floats) -> Floats:
    """Return the mean of a value over the classes that have one, at some thresholds."""
    curves = []
    for of_class in levels:
        if key in ("precision", "recall"):
            column = getattr(of_class, key)
        else:
            column = of_class.ap.get(key)
        if column is None:
            curves.append(np.full(len(thresholds), np.nan))
        else:
            curves.append(np.asarray(column, float)[of_class.place(thresholds)])
    drawn = np.stack(curves)
    finite = np.isfinite(drawn)
    number = finite.sum(axis=0)
    mean: Floats = np.divide(
        np.where(finite, drawn, 0.0).sum(axis=0), number, out=np.full(len(number), np.nan), where=number > 0
    )
    return mean


def _best(entry: Entry) -> float | None:
    """Return the best threshold of a class, or the best common one of all classes."""
    if entry.class_name is None:
        if entry.found.common is None:
            return None
        return entry.found.common.threshold
    return entry.found.classes[entry.class_name].thresholds.get(CRITERIA[0])


def confidence_needs_data(results: Sequence[Results], options: Mapping[str, object]) -> bool:
    """Whether the figure ``confidence`` needs the evaluated files: always, as it measures at other thresholds."""
    return True


def calibration_needs_data(results: Sequence[Results], options: Mapping[str, object]) -> bool:
    """Whether the figure ``calibration`` needs the evaluated files: for PLD, whose hits results do not keep."""
    return options.get("metric") == PLD.name
