"""Prints results as text, JSON, CSV or LaTeX: a table per metric, or a table of several protocols."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mapgauge.cli import latex
from mapgauge.cli.latex import LatexColumn
from mapgauge.cli.output import Table, is_quiet, say, show_table, write_csv, write_json
from mapgauge.cli.parsing import Form
from mapgauge.markup import number
from mapgauge.words import counted

if TYPE_CHECKING:
    from mapgauge.metrics.metric import Metric
    from mapgauge.protocols import Protocol
    from mapgauge.results.results import Results
    from mapgauge.results.slices import Slices


LATER = "`mapgauge why` and `mapgauge confidence` say what the values mean"


def show_results(
    form: Form,
    results: Sequence["Results"],
    names: Sequence[str],
    *,
    by_class: bool = False,
    sliced: "Sequence[Slices]" = (),
    more: Sequence[dict[str, Any]] = (),
) -> None:
    """Print the summary of one or several methods. With ``by_class``, the LaTeX table has a column per class.

    JSON and CSV also have the slices of each method, if there are any. JSON has what ``more`` says of each method.
    """
    from mapgauge.protocols import full_name

    if form == "json":
        documents = [{"name": name} | method.to_dict() for name, method in zip(names, results, strict=True)]
        for document, of_method in zip(documents, sliced, strict=False):
            document["slices"] = of_method.to_dict()
        for document, further in zip(documents, more, strict=False):
            document.update(further)
        write_json(documents[0] if len(documents) == 1 else documents)
    elif form == "csv":
        write_csv(
            [
                {"name": name, "protocol": full_name(method.protocol), "class": class_name} | values
                for name, method in zip(names, results, strict=True)
                for class_name, values in rows_of(method)
            ]
            + [
                {"name": name, "protocol": full_name(part.protocol), "slice": called, "class": class_name, **values}
                for name, of_method in zip(names, sliced, strict=False)
                for called, part in of_method.items()
                for class_name, values in rows_of(part)
            ]
        )
    elif form == "latex":
        from mapgauge.metrics.table import METRICS

        protocol, values = results[0].protocol, [dict(rows_of(method)) for method in results]
        settings = [_title(METRICS[metric], protocol) for metric in results[0].metrics]
        columns = latex_columns(results[0], by_class)
        sys.stdout.write(latex.methods_table(names, values, columns, settings, protocol=protocol))
    else:
        for k, metric in enumerate(results[0].metrics):
            show_table(table_of(metric, results, names), gap=k > 0 or not is_quiet())
        say()
        tell_each(names, [[frames_in_words(method)] for method in results])


def rows_of(results: "Results") -> list[tuple[str, dict[str, Any]]]:
    """Return the values of each class and the means, with their names."""
    return [*results.classes.items(), ("mean", results.mean)]


def table_of(metric: str, results: Sequence["Results"], names: Sequence[str]) -> Table:
    """Return a table with a row per method and class, and one for the mean."""
    from mapgauge.metrics.table import METRICS, column_title

    keys, protocol = results[0].table_keys(metric), results[0].protocol
    several = len(results) > 1
    rows = [
        [
            *[name] * several,
            class_name,
            *("" if (count := values.get(key)) is None else f"{count:.0f}" for key in ("predictions", "truth")),
            *(number(values[key]) for key in keys),
        ]
        for name, method in zip(names, results, strict=True)
        for class_name, values in method.rows_of(metric)
    ]
    titles = [column_title(key, protocol) for key in keys]
    header = [*["name"] * several, "class", "predictions", "truth", *titles]
    return Table(_title(METRICS[metric], protocol), header, rows, 1 + several)


def _title(metric: "Metric", protocol: "Protocol") -> str:
    """Return the title of a table: the metric, the direction that is better, and the settings."""
    from mapgauge.protocols import full_name

    settings = ", ".join(filter(None, [metric.stated(protocol), protocol.sampling_in_words]))
    return f"{metric.title}, {metric.better} ({full_name(protocol)}; {settings})"


def frames_in_words(results: "Results") -> str:
    """Return how many frames were evaluated, missing, without truth and ignored."""
    frames = results.frame_counts
    return (
        f"{counted(frames['evaluated'], 'frame')} evaluated; "
        f"{frames['missing']} missing from the predictions (counted as empty), "
        f"{frames['without_truth']} without truth, {counted(frames['ignored'], 'predicted frame')} ignored"
    )


def latex_columns(results: "Results", by_class: bool) -> list[LatexColumn]:
    """Return the columns of a LaTeX table: main and headline values of the mean, or main values of all classes."""
    from mapgauge.metrics.table import METRICS

    metrics = [METRICS[name] for name in results.metrics]
    if by_class:
        return [LatexColumn(metric.main.key, name) for metric in metrics for name, _ in results.rows_of(metric.name)]
    return [LatexColumn(value.key, "mean") for metric in metrics for value in metric.with_role("main", "headline")]


def in_words(results: "Results", workers: int | None = None, *, streamed: bool = False) -> list[str]:
    """Return lines that say what the values mean.

    If a streamed evaluation was begun without the metrics that explain PLD, one line names commands that say it.
    """
    from mapgauge.cli.why import in_words as causes_in_words
    from mapgauge.hooks import sentences, tells_pld
    from mapgauge.metrics.explaining import explaining

    if tells_pld(results) and streamed and not results.has_scored(explaining(results.protocol, results.metrics)):
        return [LATER]
    said = [causes_in_words(results, workers)]
    for sentence in sentences():
        statement = sentence(results, workers)
        if statement is not None:
            said.append(statement.text)
    return [line for line in said if line]


def tell_each(names: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print the lines of each method, with its name if there are several. ``LATER`` is printed once."""
    if any(LATER in of_method for of_method in lines):
        say(LATER)
        lines = [[line for line in of_method if line != LATER] for of_method in lines]
    for name, of_method in zip(names, lines, strict=False):
        for line in of_method:
            say((f"{name}: " if len(names) > 1 else "") + line, indent="  ")


_TITLE = "Means over classes"


def show_protocols(
    form: Form,
    results: Sequence["Results"],
    names: Sequence[str],
    *,
    by_class: bool = False,
    sliced: "Sequence[Slices]" = (),
    more: Sequence[dict[str, Any]] = (),
) -> None:
    """Print the means of several methods with several protocols. JSON and CSV have the values of all classes, too.

    The results begin with the first method with each protocol, then the second method with each protocol, and so on.
    Each has the name of its method. No table of several protocols has columns of classes.
    """
    if form in ("json", "csv"):
        show_results(form, results, names, sliced=sliced, more=more)
        return

    from mapgauge.metrics.table import heading
    from mapgauge.protocols import full_name

    keys = _keys(results)
    order = {name: k for k, name in enumerate(dict.fromkeys(full_name(method.protocol) for method in results))}
    pairs = sorted(zip(names, results, strict=True), key=lambda pair: order[full_name(pair[1].protocol)])
    several = len(set(names)) > 1
    heads = [[full_name(method.protocol), *[name] * several] for name, method in pairs]
    columns = ["protocol", *["name"] * several]
    if form == "latex":
        rows = [list(map(latex.escaped, head)) for head in heads]
        for key in keys:
            for protocol in order:  # values of different protocols are not compared
                same = [k for k, (_, method) in enumerate(pairs) if full_name(method.protocol) == protocol]
                for k, cell in zip(same, latex.cells(key, [pairs[k][1].mean.get(key) for k in same]), strict=True):
                    rows[k].append(cell)
        titles = [*columns, *(latex.escaped(latex.titled(key, _named(key, results))) for key in keys)]
        sys.stdout.write(latex.tabular([titles], rows, [_TITLE]))
        return
    rows = [
        [*head, *(number(method.mean.get(key)) for key in keys)] for head, (_, method) in zip(heads, pairs, strict=True)
    ]
    titles = [heading(key, _named(key, results)) for key in keys]
    show_table(Table(_TITLE, [*columns, *titles], rows, len(columns)), gap=not is_quiet())
    say()
    tell_each(list(dict.fromkeys(names)), [[frames_in_words(method)] for method in results[:: len(order)]])


def _named(key: str, results: Sequence["Results"]) -> "Protocol | None":
    """Return a protocol whose cutoff the title of a column names; None if protocols differ in it."""
    from mapgauge.metrics.table import setting_of

    protocols = {setting_of(key, method.protocol): method.protocol for method in results if key in method.mean}
    return next(iter(protocols.values())) if len(protocols) == 1 else None


def _keys(results: Sequence["Results"]) -> list[str]:
    """Return the main and headline values of all metrics, in the order of the table of metrics."""
    from mapgauge.metrics.table import METRICS

    metrics = {metric for method in results for metric in method.metrics}
    rows = [row for name, row in METRICS.items() if name in metrics]
    keys = [value.key for row in rows for value in row.with_role("main", "headline")]
    return [key for key in keys if any(key in method.mean for method in results)]
