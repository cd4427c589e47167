"""``mapgauge diff``, ``mapgauge list published`` and ``mapgauge cite``."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mapgauge.cli import options as o
from mapgauge.cli.command import command
from mapgauge.cli.emit import Document, Line, Piece, Printing, emit
from mapgauge.cli.methods import each_results, load_all, moved_files, one_results
from mapgauge.cli.output import Table, progress, settle
from mapgauge.cli.parsing import file_names, refuse
from mapgauge.markup import number

if TYPE_CHECKING:
    from mapgauge.features.provenance.explain import Explanation
    from mapgauge.features.provenance.published import Published
    from mapgauge.results.differences import Mismatch
    from mapgauge.results.results import Results

_EXPLAIN = "Walk from the first to the second, one difference at a time, and print what each step adds."
_LIKE = "Results to compare with. Rows that may be compared come first; the others say why not."
LACKING = "the results have no "  # how the reason begins that a metric is lacking
_IF_CUT = "may be compared, if the truth is cut to the same region by the same rules"


@dataclass(frozen=True, kw_only=True)
class DiffOptions(Printing):
    """The options of ``mapgauge diff``."""

    results: o.ResultsArgument
    explain: Annotated[bool, o.option("--explain", o.COMPUTED, _EXPLAIN)] = False
    workers: o.WorkersOption = None
    json: o.JsonOption = False
    quiet: o.QuietOption = False


@command
def diff(options: DiffOptions) -> None:
    """Say why two results differ.

    It lists settings, frames, truth, predictions, readings of files and versions that differ, and then the values.
    """
    paths = each_results(options.results)
    if len(paths) != 2:
        refuse("RESULTS", f"give two files of results, got {len(paths)}")
    names = file_names(paths)

    from mapgauge import differences
    from mapgauge import explain as walk

    first, second = load_all(paths, names)

    def walked() -> "Explanation":
        with progress(f"walking from {names[0]} to {names[1]}", "steps") as advance:
            inputs = [moved_files(path) for path in paths]
            return walk(first, second, inputs=inputs, workers=options.workers, progress=advance)

    apart = differences(first, second)
    values = _values(first, second)
    emit(options, DifferencesOfResults(names, apart, values, walk=walked if options.explain else None))


@dataclass(frozen=True)
class DifferencesOfResults(Document):
    """Why two results differ."""

    names: Sequence[str]
    apart: "Sequence[Mismatch]"
    values: Sequence[dict[str, Any]]
    walk: "Callable[[], Explanation] | None" = None  # takes long, and is called when the rest is printed

    def text(self) -> Iterator[Piece]:
        """Return what differs, the values, and what each step adds."""
        if self.apart:
            rows = [[row.name, row.first, row.second] for row in self.apart]
            yield Table(title="What differs", header=["", *self.names], rows=rows, fixed=3)
        else:
            yield Line("The results have the same settings, inputs and version")
        if self.values:
            rows = [[row["key"], row["class"], number(row["first"]), number(row["second"])] for row in self.values]
            yield Table(title="Values", header=["value", "class", *self.names], rows=rows, fixed=2)
        else:
            yield Line("The results have no metric in common")
        if self.walk is not None:
            yield from _steps(self.names, self.walk())

    def to_dict(self) -> dict[str, Any]:
        """Return all differences and values."""
        document: dict[str, Any] = {
            "names": self.names,
            "differences": [row._asdict() for row in self.apart],
            "values": self.values,
        }
        if self.walk is not None:
            document["explanation"] = self.walk().to_dict()
        return document


def _values(first: "Results", second: "Results") -> list[dict[str, Any]]:
    """Return the main value of each metric that both results have, for the classes that both have, and the means."""
    from mapgauge.metrics.table import METRICS

    one, two = (method.classes | {"mean": method.mean} for method in (first, second))
    keys = [METRICS[name].main.key for name in first.metrics if name in second.metrics]
    rows = []
    for key, name in product(keys, one):
        if name in two and key in one[name] and key in two[name]:
            rows.append({"key": key, "class": name, "first": one[name][key], "second": two[name][key]})
    return rows


def _steps(names: Sequence[str], walk: "Explanation") -> Iterator[Piece]:
    """Return what each step adds to each value, between the values of both results."""
    from mapgauge.features.provenance.explain import DIGITS

    added = [walk.added(key) for key in walk.begin]
    first, last = ([number(value, DIGITS) for value in values.values()] for values in (walk.begin, walk.end))
    steps = [[*step[:3], *(f"{column[k]:+}" for column in added)] for k, step in enumerate(walk.steps)]
    rows = [[names[0], "", "", *first], *steps, [names[1], "", "", *last]]
    yield Table(title="Step by step, mean over classes", header=["step", "from", "to", *walk.begin], rows=rows, fixed=3)
    if walk.left_out:
        yield Line(f"Without a value on the way: {', '.join(walk.left_out)}")
    yield Line("The steps add up to the difference. What a step adds depends on the steps before it")


@dataclass(frozen=True, kw_only=True)
class PublishedOptions(Printing):
    """The options of ``mapgauge list published``."""

    like: Annotated[Path | None, o.option("--like RESULTS", o.COMPUTED, _LIKE, parser=o.input_file)] = None
    json: o.JsonOption = False


@command
def published(options: PublishedOptions) -> None:
    """List published values, with their sources."""
    from mapgauge import published as published_values
    from mapgauge.features.provenance.origin import origin_of

    if options.like is None:
        emit(options, PublishedValues(published_values(None)))
        return
    like = one_results("--like", options.like)
    results = load_all([like], file_names([like]))[0]
    emit(options, PublishedValues(published_values(results), f"{like}: {origin_of(results)}"))


@dataclass(frozen=True)
class PublishedValues(Document):
    """Published values, also beside those of results."""

    values: "Sequence[Published]"
    beside: str = ""  # the results, and what they were made of

    def text(self) -> Iterator[Piece]:
        """Return the values; beside results, those that may be compared, and why the others may not."""
        if not self.beside:
            yield _published_table("", self.values)
            return
        yield Line(self.beside)
        able = [row for row in self.values if not row.reasons]
        if able:
            yield _published_table(f"{len(able)} values {_IF_CUT}", able, own=True)
        else:
            yield Line("No published value may be compared with these results")
        others = [row for row in self.values if row.reasons]
        header = ["values", "metrics", "methods", "because of"]
        yield Table(title=f"{len(others)} may not", header=header, rows=_grouped(others), fixed=4)
        yield Line("`mapgauge list published --json --like RESULTS` has the reasons of each value")

    def to_dict(self) -> Any:
        """Return a mapping for each value."""
        return [vars(row) for row in self.values]


def _grouped(rows: "Sequence[Published]") -> list[list[str]]:
    """Return a row for all values that may not be compared for the same reasons: those with few reasons first."""
    groups: dict[str, list[Published]] = {}
    for row in rows:
        groups.setdefault("; ".join(map(_without_metric, row.reasons)), []).append(row)
    cells = []
    for reasons, alike in groups.items():
        metrics = dict.fromkeys(row.metric for row in alike)
        methods = dict.fromkeys(row.method for row in alike)
        cells.append([str(len(alike)), ", ".join(metrics), ", ".join(methods), reasons])
    return cells


def _without_metric(reason: str) -> str:
    """Return a reason, without the name of a metric that the results lack."""
    if reason.startswith(LACKING):
        return "the results have no such metric"
    return reason


def _published_table(title: str, rows: "Sequence[Published]", *, own: bool = False) -> Table:
    header = ["method", "variant", "data", "split", "region", "rules", "thresholds", "metric", "value"]
    if own:
        header.append("own")
    header += ["note", "source"]
    body = []
    for row in rows:
        if row.rate is None:
            split = row.split
        else:
            split = f"{row.split}, {row.rate:g} Hz"
        thresholds = " ".join(f"{threshold:g}" for threshold in row.thresholds)
        settings = [row.dataset, split, row.region, _rules_in_words(row), thresholds, row.metric]
        values = [number(row.value, digits=1)]
        if own:
            values.append(number(row.own, digits=1))
        body.append([row.method, row.variant, *settings, *values, row.note, row.source])
    return Table(title=title, header=header, rows=body, fixed=len(header))


def _rules_in_words(row: "Published") -> str:
    """Return the rules of a value, with a sampling that is not theirs."""
    if row.spacing is not None:
        return f"{row.rules}, spacing {row.spacing:g}"
    if row.count is not None:
        return f"{row.rules}, count {row.count}"
    return row.rules


@dataclass(frozen=True, kw_only=True)
class CiteOptions:
    """The options of ``mapgauge cite``."""

    results: Annotated[Path, o.files_argument("RESULTS", "A file written by `mapgauge evaluate -o`.")]


@command
def cite(options: CiteOptions) -> None:
    """Print BibTeX of the metrics, rules and data of results."""
    from mapgauge import cite as citations

    file = one_results("RESULTS", options.results)
    text = citations(load_all([file], file_names([file]))[0])
    settle()
    sys.stdout.write(text)
