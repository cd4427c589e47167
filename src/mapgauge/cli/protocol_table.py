"""Prints results of several protocols: one table with a row per protocol and method."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mapgauge.cli import latex
from mapgauge.cli.documents import Form, write_csv, write_json
from mapgauge.cli.output import Table, is_quiet, say, show_table
from mapgauge.cli.summary import csv_rows, frames_in_words
from mapgauge.markup import number

if TYPE_CHECKING:
    from mapgauge.protocols import Protocol
    from mapgauge.results.results import Results

_TITLE = "Means over classes"


def show_protocols(form: Form, results: Sequence["Results"], names: Sequence[str], *, by_class: bool = False) -> None:
    """Print the means of several methods with several protocols. JSON and CSV have the values of all classes, too.

    Args:
        form: The form of the output.
        results: Those of the first method with each protocol, then those of the second, and so on.
        names: The name of the method of each result.
        by_class: Not for several protocols.
    """
    if form == "json":
        write_json([{"name": name} | one.to_dict() for name, one in zip(names, results, strict=True)])
        return
    if form == "csv":
        write_csv(csv_rows(results, names))
        return

    from mapgauge.metrics.table import heading
    from mapgauge.protocols import full_name

    keys = _keys(results)
    order = {name: k for k, name in enumerate(dict.fromkeys(full_name(one.protocol) for one in results))}
    pairs = sorted(zip(names, results, strict=True), key=lambda pair: order[full_name(pair[1].protocol)])
    several = len(set(names)) > 1
    header = ["protocol", *(["name"] if several else []), *(heading(key, _named(key, results)) for key in keys)]
    if form == "latex":
        rows = [
            [latex.escaped(text) for text in (full_name(one.protocol), *([name] if several else []))]
            for name, one in pairs
        ]
        for key in keys:
            for protocol in order:  # values of different protocols are not compared
                same = [k for k, (_, one) in enumerate(pairs) if full_name(one.protocol) == protocol]
                for k, cell in zip(same, latex.cells(key, [pairs[k][1].mean.get(key) for k in same]), strict=True):
                    rows[k].append(cell)
        titles = [*header[: -len(keys)], *(latex.escaped(latex.titled(key, _named(key, results))) for key in keys)]
        sys.stdout.write(latex.tabular([titles], rows, [_TITLE]))
        return
    rows = [
        [
            full_name(one.protocol),
            *([name] if several else []),
            *("-" if (value := one.mean.get(key)) is None else number(value) for key in keys),
        ]
        for name, one in pairs
    ]
    show_table(Table(_TITLE, header, rows, len(header) - len(keys)), gap=not is_quiet())
    say()
    for name, one in zip(dict.fromkeys(names), results[:: len(order)], strict=True):
        say((f"{name}: " if several else "") + frames_in_words(one), indent="  ")


def _named(key: str, results: Sequence["Results"]) -> "Protocol | None":
    """Return a protocol whose cutoff the title of a column names; None if protocols differ in it."""
    from mapgauge.metrics.table import setting_of

    found = {setting_of(key, one.protocol): one.protocol for one in results if key in one.mean}
    return next(iter(found.values())) if len(found) == 1 else None


def _keys(results: Sequence["Results"]) -> list[str]:
    """Return the main and headline values of all metrics, in the order of the table of metrics."""
    from mapgauge.metrics.table import METRICS

    there = {metric for one in results for metric in one.metrics}
    found = [value.key for name, row in METRICS.items() if name in there for value in row.with_role("main", "headline")]
    return [key for key in found if any(key in one.mean for one in results)]
