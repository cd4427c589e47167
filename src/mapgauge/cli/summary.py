"""Results as tables, sentences, JSON, CSV and LaTeX: a table per metric, or a table of several protocols."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mapgauge.cli import latex
from mapgauge.cli.emit import Line
from mapgauge.cli.latex import LatexColumn
from mapgauge.cli.output import Table
from mapgauge.markup import number
from mapgauge.words import counted

if TYPE_CHECKING:
    from mapgauge.metrics.metric import Metric
    from mapgauge.protocols import Protocol
    from mapgauge.results.results import Results
    from mapgauge.results.slices import Slices


def documents_of(
    results: Sequence["Results"],
    names: Sequence[str],
    *,
    sliced: "Sequence[Slices]" = (),
    more: Sequence[dict[str, Any]] = (),
) -> list[dict[str, Any]]:
    """Return the summary of each method for JSON, with its slices and what ``more`` says of it."""
    documents = [{"name": name} | method.to_dict() for name, method in zip(names, results, strict=True)]
    for document, of_method in zip(documents, sliced, strict=False):
        document["slices"] = of_method.to_dict()
    for document, further in zip(documents, more, strict=False):
        document.update(further)
    return documents


def csv_rows_of(
    results: Sequence["Results"], names: Sequence[str], *, sliced: "Sequence[Slices]" = ()
) -> list[dict[str, Any]]:
    """Return a row for each class and the means of each method, and of its slices, for CSV."""
    from mapgauge.protocols import full_name

    noted = list(dict.fromkeys(key for method in results for key in method.metadata))
    rows = [
        {"name": name, "protocol": full_name(method.protocol), "class": class_name}
        | {f"metadata:{key}": method.metadata.get(key) for key in noted}
        | values
        for name, method in zip(names, results, strict=True)
        for class_name, values in rows_of(method)
    ]
    rows += [
        {"name": name, "protocol": full_name(part.protocol), "slice": called, "class": class_name, **values}
        for name, of_method in zip(names, sliced, strict=False)
        for called, part in of_method.items()
        for class_name, values in rows_of(part)
    ]
    return rows


def latex_of(results: Sequence["Results"], names: Sequence[str], *, by_class: bool = False) -> str:
    """Return one LaTeX table of several methods with one protocol. With ``by_class``, it has a column per class."""
    from mapgauge.metrics.table import METRICS

    protocol = results[0].protocol
    values = [dict(rows_of(method)) for method in results]
    settings = [_title(METRICS[metric], protocol) for metric in results[0].metrics]
    columns = latex_columns(results[0], by_class)
    return latex.methods_table(names, values, columns, captions=[*settings, _evaluated(results)], protocol=protocol)


def _evaluated(results: Sequence["Results"]) -> str:
    """Return how many frames and scenes were evaluated, for the captions of a table."""
    counts: dict[str, None] = {}  # each once: usually all methods have the same frames
    for method in results:
        text = counted(method.totals.frames, "frame")
        if method.scenes is not None:
            text += f", {counted(len(set(method.scenes)), 'scene')}"
        counts[text] = None
    return f"Evaluated: {' or '.join(counts)}"


def tables_of(results: Sequence["Results"], names: Sequence[str]) -> list[Table]:
    """Return the full tables: one for each metric, with all its values."""
    return [table_of(metric, results, names) for metric in results[0].metrics]


def rows_of(results: "Results") -> list[tuple[str, dict[str, Any]]]:
    """Return the values of each class and the means, with their names."""
    return [*results.classes.items(), ("mean", results.mean)]


def table_of(metric: str, results: Sequence["Results"], names: Sequence[str]) -> Table:
    """Return a table with a row per method and class, and one for the mean."""
    from mapgauge.metrics.table import METRICS, column_title

    protocol = results[0].protocol
    keys = results[0].table_keys(metric)
    rows = []
    for name, method in zip(names, results, strict=True):
        for class_name, values in method.rows_of(metric):
            counts = [_count(values.get(key)) for key in ("predictions", "truth")]
            rows.append([name, class_name, *counts, *(number(values[key]) for key in keys)])
    titles = [column_title(key, protocol) for key in keys]
    header = ["name", "class", "predictions", "truth", *titles]
    title = _title(METRICS[metric], protocol)
    if len(results) > 1:
        return Table(title=title, header=header, rows=rows, fixed=2)
    return Table(title=title, header=header[1:], rows=[row[1:] for row in rows], fixed=1)


def _count(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}"


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


def digest_in_words(digest: str) -> str:
    """Return the digest of the truth, and that authors should print it."""
    from mapgauge.results.metadata import DIGEST_ADVICE

    if not digest:
        return "The digest of the truth is not known, because a part of it was skipped"
    return f"Digest of the truth: {digest}. {DIGEST_ADVICE}"


def frame_lines(results: Sequence["Results"], names: Sequence[str]) -> Iterator[Line]:
    """Yield how many frames of each method were evaluated, missing, without truth and ignored."""
    for k, (name, method) in enumerate(zip(names, results, strict=True)):
        if len(names) > 1:
            of = f"{name}: "
        else:
            of = ""
        yield Line(of + frames_in_words(method), indent="  ", gap=k == 0)


def latex_columns(results: "Results", by_class: bool) -> list[LatexColumn]:
    """Return the columns of a LaTeX table: main and headline values of the mean, or main values of all classes."""
    from mapgauge.metrics.table import METRICS

    metrics = [METRICS[name] for name in results.metrics]
    if by_class:
        return [LatexColumn(metric.main.key, name) for metric in metrics for name, _ in results.rows_of(metric.name)]
    return [LatexColumn(value.key, "mean") for metric in metrics for value in metric.with_role("main", "headline")]


_TITLE = "Means over classes"


def protocol_rows(
    results: Sequence["Results"], names: Sequence[str]
) -> tuple[list[str], list[tuple[list[str], "Results"]], list[str]]:
    """Return the first columns of a table of several protocols, its rows protocol by protocol, and the keys."""
    from mapgauge.protocols import full_name

    order = {name: k for k, name in enumerate(dict.fromkeys(full_name(method.protocol) for method in results))}
    pairs = sorted(zip(names, results, strict=True), key=lambda pair: order[full_name(pair[1].protocol)])
    several = len(set(names)) > 1
    columns = ["protocol", *["name"] * several]
    return (
        columns,
        [([full_name(method.protocol), *[name] * several], method) for name, method in pairs],
        _keys(results),
    )


def table_of_protocols(results: Sequence["Results"], names: Sequence[str]) -> Table:
    """Return one table with the means of several methods with several protocols."""
    from mapgauge.metrics.table import heading

    columns, pairs, keys = protocol_rows(results, names)
    rows = [[*head, *(number(method.mean.get(key)) for key in keys)] for head, method in pairs]
    titles = [heading(key, _named(key, results)) for key in keys]
    return Table(title=_TITLE, header=[*columns, *titles], rows=rows, fixed=len(columns))


def latex_of_protocols(results: Sequence["Results"], names: Sequence[str]) -> str:
    """Return one LaTeX table with the means of several methods with several protocols."""
    columns, pairs, keys = protocol_rows(results, names)
    rows = [list(map(latex.escaped, head)) for head, _ in pairs]
    protocols = list(dict.fromkeys(head[0] for head, _ in pairs))
    for key in keys:
        for protocol in protocols:  # values of different protocols are not compared
            same = [k for k, (head, _) in enumerate(pairs) if head[0] == protocol]
            for k, cell in zip(same, latex.cells(key, [pairs[k][1].mean.get(key) for k in same]), strict=True):
                rows[k].append(cell)
    titles = [*columns, *(latex.escaped(latex.titled(key, _named(key, results))) for key in keys)]
    return latex.tabular([titles], rows, [_TITLE, _evaluated(results)])


def _named(key: str, results: Sequence["Results"]) -> "Protocol | None":
    """Return a protocol whose cutoff the title of a column names; None if protocols differ in it."""
    from mapgauge.metrics.table import setting_of

    protocols = {setting_of(key, method.protocol): method.protocol for method in results if key in method.mean}
    if len(protocols) == 1:
        return next(iter(protocols.values()))
    return None


def _keys(results: Sequence["Results"]) -> list[str]:
    """Return the main and headline values of all metrics, in the order of the table of metrics."""
    from mapgauge.metrics.table import METRICS

    metrics = {metric for method in results for metric in method.metrics}
    rows = [row for name, row in METRICS.items() if name in metrics]
    keys = [value.key for row in rows for value in row.with_role("main", "headline")]
    return [key for key in keys if any(key in method.mean for method in results)]
