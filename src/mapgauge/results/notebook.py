"""Results, comparisons and assignments in a notebook: tables with small drawings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mapgauge.markup import (
    Html,
    Stroke,
    bars,
    block,
    drawing,
    element,
    interval,
    legend,
    line,
    note,
    number,
    stroke_width,
    table,
)
from mapgauge.metrics.colours import FOUND, MISSED
from mapgauge.metrics.metric import Metric
from mapgauge.metrics.table import METRICS, colours_of, heading, part_colours, setting_of, title_of
from mapgauge.protocols import full_name
from mapgauge.results.marks import far_colour, levels_of, runs_of
from mapgauge.results.values import COUNTS, Summary, Values, count_text

if TYPE_CHECKING:
    from mapgauge.frames.instances import Instance
    from mapgauge.results.assignment import Assignment
    from mapgauge.results.comparison import Comparison

MOST_NAMES = 4  # methods that a repr names


def summary_html(summary: Summary, said: Sequence[str] = (), remark: str = "") -> Html:
    """Return what is said, and the main values of each class, with the parts of the error as bars, and a remark."""
    metrics = [METRICS[name] for name in summary.metrics]
    split = next((metric for metric in metrics if _has_parts(metric, summary.mean)), None)
    keys = [value.key for metric in metrics for value in metric.with_role("main", "headline")]
    shown = [key for key in keys if summary.mean.get(key) is not None]
    header = [
        "class",
        *COUNTS,
        *(heading(key, summary.protocol) for key in shown),
        *([f"parts of {split.title}"] if split else []),
    ]
    rows = []
    for name, values in [*summary.classes.items(), ("mean", summary.mean)]:
        counts = [count_text(values.get(key)) for key in COUNTS]
        if split is None:
            bar = []
        else:
            bar = [_bar(split, values)]
        rows.append([name, *counts, *(number(values[key]) for key in shown), *bar])
    sides = " against ".join(
        side.name or kind for side, kind in zip(summary.inputs, ("predictions", "truth"), strict=True)
    )
    pieces: list[str] = [
        line(f"Results {full_name(summary.protocol)}: {summary.totals.frames:,} frames"),
        line(sides),
        *(element("div", text) for text in said),
        table(header, rows),
    ]
    if split is not None:
        pieces.append(legend({title_of(key, full=True): colour for key, colour in part_colours(split).items()}))
    worrying = sum(finding.level != "note" for finding in summary.findings)
    if worrying:
        pieces.append(note(f"{worrying} warnings or errors about the input: see results.findings"))
    if remark:
        pieces.append(note(remark))
    return block(*pieces)


def _has_parts(metric: Metric, values: Values) -> bool:
    parts = metric.with_role("part")
    return bool(parts) and all(values.get(part.key) is not None for part in parts)


def _bar(metric: Metric, values: Values) -> Html:
    if not _has_parts(metric, values):
        return Html("")
    return bars([(float(values[key] or 0.0), colour) for key, colour in part_colours(metric).items()])


def comparison_text(comparison: "Comparison") -> str:
    """Return a comparison in one line: its methods, and the mean of the first value of each."""
    estimates = [by_class["mean"] for by_class in comparison.estimates]
    key = next(iter(estimates[0]), None)
    shown = [
        name if key is None or key not in by_key else f"{name} {by_key[key].value:.3f}"
        for name, by_key in zip(comparison.names, estimates, strict=True)
    ][:MOST_NAMES]
    more = len(comparison.names) - len(shown)
    names = ", ".join([*shown, *([f"and {more} more"] if more else [])])
    if key is None:
        value = ""
    else:
        value = f"{key}{setting_of(key, comparison.protocol)} "
    return f"{value}{names} over {comparison.units} {comparison.drawn}s"


def comparison_html(comparison: "Comparison", keys: list[str]) -> Html:
    """Return the means over classes with intervals, the differences, and a drawing of the first value."""
    means = [by_class["mean"] for by_class in comparison.estimates]
    if keys:
        first = keys[0]
    else:
        first = None
    bounds = np.array([means[k][first] for k in range(len(means))] if first else [[0.0, 0.0, 1.0]], np.float64)
    span = float(np.nanmin(bounds)), float(np.nanmax(bounds))
    rows = [
        [name, *(str(by_key[key]) for key in keys), *([interval(*by_key[first], span)] if first else [])]
        for name, by_key in zip(comparison.names, means, strict=True)
    ]
    if first:
        drawn = [heading(first, comparison.protocol)]
    else:
        drawn = []
    about = f"{comparison.level:.0%} of {comparison.samples:,} draws of {comparison.units:,} {comparison.drawn}s"
    pieces: list[str] = [
        line(f"Comparison {full_name(comparison.protocol)}"),
        line(f"mean over classes, {about}"),
        table(["method", *(heading(key, comparison.protocol) for key in keys), *drawn], rows),
    ]
    if comparison.differences:
        body = [
            [f"{second} minus {subtracted}", *(str(apart["mean"][key]) for key in keys)]
            for (subtracted, second), apart in comparison.differences.items()
        ]
        pieces.append(table(["difference", *(title_of(key, protocol=comparison.protocol) for key in keys)], body))
    return block(*pieces, *map(note, filter(None, [comparison.tests, *comparison.notes])))


def assignment_html(assignment: "Assignment") -> str:
    """Return the counts of each class, and a drawing of truth, predictions and which of them are unmatched."""
    sides = assignment.predictions, assignment.truth
    matched = {match.prediction for match in assignment.matches}, {match.truth for match in assignment.matches}
    names = list(dict.fromkeys(instance.class_name for side in sides for instance in side))
    colours = colours_of(names)
    rows = []
    for name in names:
        numbers = [sum(instance.class_name == name for instance in side) for side in sides]
        pairs = [match for match in assignment.matches if match.class_name == name]
        if pairs:
            mean = f"{np.mean([match.distance for match in pairs]):.3f}"
        else:
            mean = number(None)
        counts = (*numbers, len(pairs), numbers[1] - len(pairs), numbers[0] - len(pairs))
        rows.append([name, *map(str, counts), mean])
    return block(
        line(f"Assignment of frame {assignment.token}"),
        table(["class", *COUNTS, "matched", "missed", "false", "mean distance"], rows),
        drawing([*_true(assignment, matched[1]), *_predicted(assignment, colours, matched[0])], "one frame"),
        legend(colours),
        note(
            "Grey: truth that was found. Red: missed truth. Thin: predictions, the wider the higher their confidence; "
            "orange to red: far from the truth; dashed: false. x to the right, y upwards."
        ),
    )


def _true(assignment: "Assignment", found: set[int]) -> list[Stroke]:
    """Return the truth as wide strokes: grey if it was found, red and dashed if it was missed."""
    flags = [*assignment.truth_closed, *[False] * len(assignment.truth)]
    return [
        Stroke(instance.points, FOUND if j in found else MISSED, width=4.5, dashed=j not in found, closed=flags[j])
        for j, instance in enumerate(assignment.truth)
    ]


def _predicted(assignment: "Assignment", colours: dict[str, str], matched: set[int]) -> list[Stroke]:
    """Return the predictions as thin strokes, a stroke for pieces of one colour, the surest last."""
    flags = [*assignment.predictions_closed, *[False] * len(assignment.predictions)]
    levels = levels_of(assignment)
    strokes = []
    for i in sorted(range(len(levels)), key=lambda i: _sure(assignment.predictions[i])):
        instance = assignment.predictions[i]
        width = 0.8 * stroke_width(instance.confidence)
        for run in runs_of(instance.points, levels[i], closed=flags[i]):
            colour = far_colour(run.level) or colours[instance.class_name]
            strokes.append(Stroke(run.points, colour, width, dashed=i not in matched))
    return strokes


def _sure(instance: "Instance") -> float:
    if instance.confidence is None:
        return 1.0
    return instance.confidence
