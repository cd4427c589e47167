"""Prints results as text, JSON, CSV or LaTeX: text has one table per metric, LaTeX one for all."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mapgauge.cli.documents import Form, write_csv, write_json
from mapgauge.cli.latex import Column, methods_table
from mapgauge.cli.output import Table, is_quiet, say, show_table
from mapgauge.markup import number

if TYPE_CHECKING:
    from mapgauge.metrics.metric import Metric
    from mapgauge.protocols import Protocol
    from mapgauge.results.results import Results

IN_WORDS = ("completeness", "causes")  # metrics of the lines after the tables
# Predictions up to which the lines after the tables are computed. They take about 0.6 of the time of the evaluation: at
# this number a fifth of the time of the whole command with 450,000 predictions.
MOST = 100_000
LATER = "`mapgauge why` and `mapgauge confidence` say what the values mean"


def show_results(form: Form, results: Sequence["Results"], names: Sequence[str], *, by_class: bool = False) -> None:
    """Print the summary of one or several methods. With ``by_class``, the LaTeX table has a column per class."""
    if form == "json":
        documents = [{"name": name} | one.to_dict() for name, one in zip(names, results, strict=True)]
        write_json(documents[0] if len(documents) == 1 else documents)
    elif form == "csv":
        write_csv(csv_rows(results, names))
    elif form == "latex":
        write_latex(results, names, by_class=by_class)
    else:
        for k, metric in enumerate(results[0].metrics):
            show_table(_table(metric, results, names), gap=k > 0 or not is_quiet())
        say()
        for name, one in zip(names, results, strict=True):
            say((f"{name}: " if len(names) > 1 else "") + frames_in_words(one), indent="  ")


def csv_rows(results: Sequence["Results"], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row per method, protocol and class, and one for the mean."""
    from mapgauge.protocols import full_name

    return [
        {"name": name, "protocol": full_name(one.protocol), "class": class_name} | values
        for name, one in zip(names, results, strict=True)
        for class_name, values in rows_of(one)
    ]


def rows_of(results: "Results") -> list[tuple[str, dict[str, Any]]]:
    """Return the values of each class and the means, with their names."""
    return [*results.classes.items(), ("mean", results.mean)]


def _table(metric: str, results: Sequence["Results"], names: Sequence[str]) -> Table:
    """Return a table with a row per method and class, and one for the mean."""
    from mapgauge.metrics.table import METRICS, column_title

    keys, protocol = results[0].summary.keys(metric), results[0].protocol
    several = len(results) > 1
    rows = [
        [
            *([name] if several else []),
            class_name,
            *(_count(values.get(key)) for key in ("predictions", "truth")),
            *(number(values[key]) for key in keys),
        ]
        for name, one in zip(names, results, strict=True)
        for class_name, values in one.summary.rows_of(metric)
    ]
    header = [
        *(["name"] if several else []),
        "class",
        "predictions",
        "truth",
        *(column_title(key, protocol) for key in keys),
    ]
    return Table(_title(METRICS[metric], protocol), header, rows, 2 if several else 1)


def _title(metric: "Metric", protocol: "Protocol") -> str:
    """Return the title of a table: the metric, the direction that is better, and the settings."""
    from mapgauge.protocols import full_name

    settings = ", ".join(filter(None, [metric.stated(protocol), protocol.sampling]))
    return f"{metric.title}, {metric.better} ({full_name(protocol)}; {settings})"


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def frames_in_words(results: "Results") -> str:
    """Return how many frames were evaluated, missing, without truth and ignored."""
    frames = results.summary.frames
    return (
        f"{frames['evaluated']} frames evaluated; {frames['missing']} missing from the predictions (counted as empty), "
        f"{frames['without_truth']} without truth, {frames['ignored']} predicted frames ignored"
    )


def write_latex(results: Sequence["Results"], names: Sequence[str], *, by_class: bool = False) -> None:
    """Write one LaTeX table with a row per method: means over classes, or a column per class and the mean."""
    from mapgauge.metrics.table import METRICS

    one = results[0]
    settings = [_title(METRICS[metric], one.protocol) for metric in one.metrics]
    values = [dict(rows_of(one)) for one in results]
    sys.stdout.write(methods_table(names, values, columns_of(one, by_class), settings, protocol=one.protocol))


def columns_of(results: "Results", by_class: bool) -> list[Column]:
    """Return the columns of a LaTeX table: main and headline values of the mean, or main values of all classes."""
    from mapgauge.metrics.table import METRICS

    metrics = [METRICS[name] for name in results.metrics]
    if by_class:
        return [Column(metric.main.key, name) for metric in metrics for name, _ in results.summary.rows_of(metric.name)]
    return [Column(value.key, "mean") for metric in metrics for value in metric.with_role("main", "headline")]


def metrics_in_words(protocol: "Protocol", metrics: Sequence[str], predictions: int) -> tuple[str, ...]:
    """Return the metrics that ``in_words`` needs and that are not computed anyway. They are cheapest in the same pass.

    Args:
        protocol: All settings.
        metrics: Names of the metrics that are computed.
        predictions: Their number.
    """
    if "pld" not in metrics or not protocol.cutoffs or protocol.order != 1 or predictions > MOST:
        return ()
    return tuple(name for name in IN_WORDS if name not in metrics)


def in_words(results: "Results", workers: int | None = None, *, streamed: bool = False) -> list[str]:
    """Return lines that say what the values mean. There are none without PLD.

    Args:
        results: The results.
        workers: Number of threads. If None, the number of processors.
        streamed: Whether the geometry is not in memory. Then, and if the lines would take many seconds, one line names
            the commands that print them.
    """
    protocol = results.protocol
    if "pld" not in results.metrics or not protocol.cutoffs or results.mean["pld"] is None:
        return []
    if streamed or len(results.scores.confidence) > MOST:
        return [LATER]
    return [line for line in (_why(results, workers), _rounding(results, workers)) if line]


def _rounding(results: "Results", workers: int | None) -> str:
    """Return what rounding the confidences would bring."""
    from mapgauge.features.confidence.confidence import best_rounding

    found = None if results.data is None else best_rounding(results, workers=workers)
    return "" if found is None else found.in_words()


def _why(results: "Results", workers: int | None) -> str:
    """Return how far off a method is, how much it finds, and the largest causes of PLD."""
    from mapgauge import causes
    from mapgauge.evaluation.more_metrics import felt, with_metrics

    if results.protocol.order != 1:
        return ""
    more = with_metrics(results, IN_WORDS, workers)
    return f"{felt(more)}; {causes(more).sentence()}"


def tell_each(names: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print the lines of each method, with its name if there are several. ``LATER`` is printed once."""
    if any(LATER in of_method for of_method in lines):
        say(LATER)
        lines = [[line for line in of_method if line != LATER] for of_method in lines]
    for name, of_method in zip(names, lines, strict=False):
        for line in of_method:
            say((f"{name}: " if len(names) > 1 else "") + line, indent="  ")
