"""``mapgauge diff``, ``mapgauge list published`` and ``mapgauge cite``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mapgauge.cli import options as o
from mapgauge.cli.methods import each_results, load_all, moved_files, one_results
from mapgauge.cli.output import Table, progress, say, show_table, write_json
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


def diff(
    results: o.ResultsArgument,
    explain: Annotated[bool, o.option("--explain", o.COMPUTED, _EXPLAIN)] = False,
    workers: o.WorkersOption = None,
    json: o.JsonOption = False,
    quiet: o.QuietOption = False,
) -> None:
    """Say why two results differ.

    It lists settings, frames, truth, predictions, readings of files and versions that differ, and then the values.
    """
    paths = each_results(results)
    if len(paths) != 2:
        refuse("RESULTS", f"give two files of results, got {len(paths)}")
    names = file_names(paths)

    from mapgauge import differences
    from mapgauge import explain as walk

    first, second = load_all(paths, names)
    apart = differences(first, second)
    values = _values(first, second)
    walked = None
    if not json:
        _show_differences(names, apart, values)
    if explain:
        with progress(f"walking from {names[0]} to {names[1]}", "steps") as advance:
            inputs = [moved_files(path) for path in paths]
            walked = walk(first, second, inputs=inputs, workers=workers, progress=advance)
    if json:
        document = {"names": names, "differences": [row._asdict() for row in apart], "values": values}
        write_json(document | ({"explanation": walked.to_dict()} if walked else {}))
    elif walked:
        _show_walk(names, walked)


def _show_differences(names: list[str], apart: "list[Mismatch]", values: list[dict[str, Any]]) -> None:
    if apart:
        rows = [[row.name, row.first, row.second] for row in apart]
        show_table(Table("What differs", ["", *names], rows, fixed=3), gap=False)
    else:
        say("The results have the same settings, inputs and version")
    if values:
        rows = [[row["key"], row["class"], number(row["first"]), number(row["second"])] for row in values]
        show_table(Table("Values", ["value", "class", *names], rows, fixed=2))
    else:
        say("The results have no metric in common")


def _values(first: "Results", second: "Results") -> list[dict[str, Any]]:
    """Return the main value of each metric that both results have, for the classes that both have, and the means."""
    from mapgauge.metrics.table import METRICS

    one, two = (method.classes | {"mean": method.mean} for method in (first, second))
    return [
        {"key": key, "class": name, "first": one[name][key], "second": two[name][key]}
        for key in (METRICS[name].main.key for name in first.metrics if name in second.metrics)
        for name in one
        if name in two and key in one[name] and key in two[name]
    ]


def _show_walk(names: list[str], walk: "Explanation") -> None:
    """Print what each step adds to each value, between the values of both results."""
    from mapgauge.features.provenance.explain import DIGITS

    added = [walk.added(key) for key in walk.begin]
    first, last = ([number(value, DIGITS) for value in values.values()] for values in (walk.begin, walk.end))
    steps = [[*step[:3], *(f"{column[k]:+}" for column in added)] for k, step in enumerate(walk.steps)]
    rows = [[names[0], "", "", *first], *steps, [names[1], "", "", *last]]
    show_table(Table("Step by step, mean over classes", ["step", "from", "to", *walk.begin], rows, fixed=3))
    if walk.left_out:
        say(f"Without a value on the way: {', '.join(walk.left_out)}")
    say("The steps add up to the difference. What a step adds depends on the steps before it")


def published(
    like: Annotated[Path | None, o.option("--like RESULTS", o.COMPUTED, _LIKE, parser=o.input_file)] = None,
    json: o.JsonOption = False,
) -> None:
    """List published values, with their sources."""
    from mapgauge import published as published_values
    from mapgauge.features.provenance.origin import origin_of

    if like is not None:
        like = one_results("--like", like)
    results = None
    if like is not None:
        results = load_all([like], file_names([like]))[0]
    rows = published_values(results)
    if json:
        write_json([vars(row) for row in rows])
        return
    if results is None:
        _show_published("", rows)
        return
    say(f"{like}: {origin_of(results)}")
    able = [row for row in rows if not row.reasons]
    if able:
        _show_published(f"{len(able)} values {_IF_CUT}", able, own=True)
    else:
        say("No published value may be compared with these results")
    others = [row for row in rows if row.reasons]
    show_table(
        Table(f"{len(others)} may not", ["values", "metrics", "methods", "because of"], _grouped(others), fixed=4)
    )
    say("`mapgauge list published --json --like RESULTS` has the reasons of each value")


def _grouped(rows: "list[Published]") -> list[list[str]]:
    """Return a row for all values that may not be compared for the same reasons: those with few reasons first."""
    groups: dict[tuple[str, ...], list[Published]] = {}
    for row in rows:
        reasons = (LACKING if reason.startswith(LACKING) else reason for reason in row.reasons)
        groups.setdefault(tuple(reasons), []).append(row)
    return [
        [
            str(len(alike)),
            ", ".join(dict.fromkeys(row.metric for row in alike)),
            ", ".join(dict.fromkeys(row.method for row in alike)),
            "; ".join("the results have no such metric" if reason == LACKING else reason for reason in reasons),
        ]
        for reasons, alike in groups.items()
    ]


def _show_published(title: str, rows: "list[Published]", *, own: bool = False) -> None:
    header = ["method", "variant", "data", "split", "region", "rules", "thresholds", "metric", "value"]
    header += [*(["own"] if own else []), "note", "source"]
    body = []
    for row in rows:
        if row.rate is None:
            split = row.split
        else:
            split = f"{row.split}, {row.rate:g} Hz"
        thresholds = " ".join(f"{threshold:g}" for threshold in row.thresholds)
        settings = [row.dataset, split, row.region, _rules_in_words(row), thresholds, row.metric]
        values = [number(value, digits=1) for value in ([row.value, row.own] if own else [row.value])]
        body.append([row.method, row.variant, *settings, *values, row.note, row.source])
    show_table(Table(title, header, body, fixed=len(header)), gap=bool(title))


def _rules_in_words(row: "Published") -> str:
    """Return the rules of a value, with a sampling that is not theirs."""
    if row.spacing is not None:
        return f"{row.rules}, spacing {row.spacing:g}"
    if row.count is not None:
        return f"{row.rules}, count {row.count}"
    return row.rules


def cite(results: Annotated[Path, o.files_argument("RESULTS", "A file written by `mapgauge evaluate -o`.")]) -> None:
    """Print BibTeX of the metrics, rules and data of results."""
    from mapgauge import cite as citations

    file = one_results("RESULTS", results)
    sys.stdout.write(citations(load_all([file], file_names([file]))[0]))
