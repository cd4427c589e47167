"""``mapgauge compare``: prints results side by side, with confidence intervals of values and differences."""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from mapgauge.cli import options as o
from mapgauge.cli.latex import LatexColumn, methods_table
from mapgauge.cli.methods import check_one_protocol, each_results, load_all
from mapgauge.cli.output import Table, inform, printable, say, show_table, warn, write_csv, write_json
from mapgauge.cli.parsing import ALL, Form, Texts, file_names, form_of, listed, refuse, valid, without_effect
from mapgauge.cli.slices import each_slice, tags_of
from mapgauge.errors import InvalidInput
from mapgauge.words import counted, did_you_mean

if TYPE_CHECKING:
    from mapgauge.results.comparison import Comparison, Differences
    from mapgauge.results.families import Correction
    from mapgauge.results.gate import Verdict
    from mapgauge.results.intervals import Difference, Estimate

FAILED_GATE = 3  # the exit code of a failed gate, different from the codes of invalid input and of usage errors
MANY = 4  # files from which on all are compared with the first only: each two would be hundreds of tables
_ALL_PAIRS_HELP = f"Compare each two files. From {MANY} files on, the default is to compare with the first only."
_FAIL_IF_HELP = (
    f"Exit with code {FAILED_GATE} if a file after the first meets the condition: 'pld > +0.005' (worse than "
    "the first file by more than 0.005), 'ap_chamfer < 0.6' (a value). Can be repeated."
)


def compare(
    context: typer.Context,
    results: o.ResultsArgument,
    classes: Annotated[Texts, o.classes_option("the mean; `all` stands for all")] = None,
    samples: o.SamplesOption = 1000,
    level: o.LevelOption = 0.95,
    seed: o.SeedOption = 0,
    by: o.ByOption = None,
    correction: o.CorrectionOption = "none",
    all_pairs: Annotated[bool, o.option("--all-pairs", o.COMPUTED, _ALL_PAIRS_HELP)] = False,
    fail_if: Annotated[Texts, o.option("--fail-if CONDITION", o.WRITTEN, _FAIL_IF_HELP)] = None,
    json: o.JsonOption = False,
    csv: o.CsvOption = False,
    latex: o.LatexOption = False,
    quiet: o.QuietOption = False,
) -> None:
    """Compare results, with confidence intervals.

    The intervals of values and differences come from a bootstrap over scenes, or over frames if the scenes are unknown.
    If the metrics `completeness` and `causes` were evaluated, distances in metres and the causes of the difference in
    PLD are compared too.
    """
    form = form_of(json=json, csv=csv, latex=latex)
    if form in ("json", "csv") and listed(classes) != [ALL]:
        without_effect(context, ["classes"], f"with --{form}, which has all classes")
    results = each_results(results)
    names = file_names(results)
    if len(results) == 1:
        without_effect(context, ["correction"], "with one file: there are no differences to correct")
    if form == "latex" and not fail_if:
        without_effect(context, ["correction"], "with --latex, which has no differences, without --fail-if CONDITION")

    from mapgauge import compare as compare_results
    from mapgauge.cli.why import differences_by_cause
    from mapgauge.results import gate
    from mapgauge.results.comparison import with_errors

    if by is not None and (fail_if or form == "latex"):
        refuse("--by", "has no effect with --fail-if and --latex, which are about all frames")
    conditions = valid("--fail-if", gate.conditions_of, fail_if, len(results))
    methods = load_all(results, names)
    check_one_protocol(names, methods)
    draws: dict[str, Any] = {"samples": samples, "level": level, "seed": seed}
    settings = draws | {"names": names, "pairs": "all" if all_pairs or len(results) < MANY else "first"}
    if by is not None:
        parts = each_slice(names, methods, by, tags_of(results, by))
        compared = {name: compare_results(some, **settings) for name, some in parts.items()}
        frames = {name: len(some[0].tokens) for name, some in parts.items()}
        _show_slices(form, _slices_together(compared, correction), frames, listed(classes))
        return
    comparison = compare_results(methods, **settings)
    shown = _classes(str(results[0]), comparison, listed(classes))
    causes = differences_by_cause(names, methods, comparison.differences, **draws)
    comparison, causes = _together(comparison, causes, correction)
    wrong = with_errors(names, methods) if conditions else []
    verdicts = gate.judge([] if wrong else conditions, comparison, methods)
    show_comparison(form, comparison, shown, verdicts, causes)
    if wrong:
        raise InvalidInput(
            f"gate: could not be checked: there are errors among the findings of {', '.join(wrong)}",
            remedy="Correct what the findings say, and evaluate again",
        )
    if conditions and not _passes(verdicts, comparison):
        raise typer.Exit(FAILED_GATE)


def _together(comparison: "Comparison", causes: Any, correction: str) -> "tuple[Comparison, Any]":
    """Return a comparison and its differences by cause, with one count of tests and one correction over both."""
    from mapgauge.results.families import Tested, correct_together, count_tests

    by_cause = causes.differences if causes else {}
    over = "classes, values and causes" if by_cause else "classes and values"
    count = count_tests(comparison.differences, by_cause)
    chosen = cast("Correction", correction)
    family = Tested(count, chosen, comparison.level, over)
    differences = comparison.differences
    if chosen == "holm":
        differences, by_cause = correct_together(differences, by_cause, level=comparison.level)
    if causes:
        causes = causes._replace(differences=by_cause)
    return replace(comparison, differences=differences, correction=chosen, family=family), causes


def _slices_together(compared: "Mapping[str, Comparison]", correction: str) -> "dict[str, Comparison]":
    """Return the comparisons of slices, with one count of tests and one correction over all of them."""
    from mapgauge.results.families import Tested, correct_together, count_tests
    from mapgauge.results.slices import OVER

    tables = {name: comparison.differences for name, comparison in compared.items()}
    chosen = cast("Correction", correction)
    level = next(iter(compared.values())).level
    family = Tested(count_tests(tables), chosen, level, OVER)
    if chosen == "holm":
        (tables,) = correct_together(tables, level=level)
    return {
        name: _without_few(replace(comparison, differences=tables[name], correction=chosen, family=family))
        for name, comparison in compared.items()
    }


def _without_few(comparison: "Comparison") -> "Comparison":
    """Return the comparison of a slice without the intervals of too few scenes, as tables of slices have none."""
    from mapgauge.results.intervals import FEWEST

    def difference(of: "Difference") -> "Difference":
        return of if of.told_apart is not None else of._replace(low=math.nan, high=math.nan, p=math.nan)

    differences = {
        pair: {name: {key: difference(of) for key, of in by_key.items()} for name, by_key in by_class.items()}
        for pair, by_class in comparison.differences.items()
    }
    estimates = comparison.estimates
    if comparison.units < FEWEST:
        estimates = tuple(
            {
                name: {key: of._replace(low=math.nan, high=math.nan) for key, of in by_key.items()}
                for name, by_key in by_class.items()
            }
            for by_class in estimates
        )
    return replace(comparison, differences=differences, estimates=estimates)


def _show_slices(
    form: Form, compared: "Mapping[str, Comparison]", frames: Mapping[str, int], classes: list[str]
) -> None:
    """Print the comparison of the methods in each slice, and once how many differences were tested."""
    if form == "json":
        write_json({"slices": {name: _document(comparison) for name, comparison in compared.items()}})
    elif form == "csv":
        write_csv([{"slice": name} | row for name, comparison in compared.items() for row in rows_of(comparison)])
    else:
        for k, (name, comparison) in enumerate(compared.items()):
            say(f"{chr(10) if k else ''}{printable(name)}: {counted(frames[name], 'frame')}")
            show_comparison(form, comparison, _classes(name, comparison, classes), tests=False)
        tests = next(iter(compared.values())).tests
        if tests:
            say()
            say(tests)


def _classes(file: str, comparison: "Comparison", given: list[str]) -> list[str]:
    """Return the classes to show: the given ones, all of them, or the mean."""
    known = [row for row in comparison.estimates[0] if all(row in estimates for estimates in comparison.estimates)]
    unknown = [class_name for class_name in given if class_name not in known]
    if unknown and given != ["all"]:
        text = f"{file}: class {', '.join(unknown)} not found; available: {', '.join(known)}"
        raise InvalidInput(f"{text}{did_you_mean(unknown[0], known)}")
    return known if given == ["all"] else given or ["mean"]


def show_comparison(
    form: Form,
    comparison: "Comparison",
    classes: list[str],
    verdicts: "Sequence[Verdict]" = (),
    causes: Any = None,
    *,
    tests: bool = True,
) -> None:
    """Print a comparison. JSON includes the verdicts of a gate, and text the causes of differences to the first.

    ``causes`` is what ``differences_by_cause`` returns. With ``tests``, text says how many were tested.
    """
    by_cause = causes.differences if causes else {}
    if form == "json":
        document = _document(comparison)
        if causes and by_cause:
            document |= {"causes": _pairs(by_cause), "lengths": causes.to_dict()}
        write_json(document | ({"gate": [verdict.to_dict() for verdict in verdicts]} if verdicts else {}))
    elif form == "csv":
        write_csv(rows_of(comparison, by_cause))
    elif form == "latex":
        sys.stdout.write(latex_of(comparison, classes))
    else:
        from mapgauge.metrics.table import heading, title_of
        from mapgauge.results.comparison import plain_keys, verdict_of

        for k, class_name in enumerate(classes):
            keys = plain_keys(comparison.estimates[0][class_name])
            rows = [
                [name, *(str(estimates[class_name][key]) for key in keys)]
                for name, estimates in zip(comparison.names, comparison.estimates, strict=True)
            ]
            header = ["name", *(heading(key, comparison.protocol) for key in keys)]
            show_table(Table(_title(comparison, [class_name]), header, rows), gap=k > 0)
            for (first, second), changes in comparison.differences.items():
                rows = [
                    [
                        title_of(key, protocol=comparison.protocol),
                        difference.numbers,
                        verdict_of(difference, key, first, second),
                    ]
                    for key in keys
                    if (difference := changes[class_name].get(key)) is not None
                ]
                show_table(Table(f"{second} minus {first}, {class_name}", ["", "difference", ""], rows))
        for (first, second), changes in by_cause.items():
            for class_name in classes:
                if causes and first == comparison.names[0] and class_name in changes:
                    causes.show(first, second, class_name)
        for note in filter(None, (comparison.tests if tests else "", *comparison.notes)):
            say(note)
    if form in ("csv", "latex"):
        for note in comparison.notes:
            warn(note)


def _passes(verdicts: "Sequence[Verdict]", comparison: "Comparison") -> bool:
    """Print on stderr which conditions fail or cannot fail, one line each. Return whether the gate passes."""
    from mapgauge.results.gate import reason
    from mapgauge.results.intervals import FEWEST

    units = f"{counted(comparison.units, comparison.drawn)}"
    for verdict in verdicts:
        if verdict.undecided:
            warn(
                f"warning: gate: {verdict.name}: {verdict.condition.text!r} cannot fail: too few scenes to decide "
                f"({units}; at least {FEWEST} with this class are needed)"
            )
    failed = [verdict for verdict in verdicts if verdict.fails]
    for verdict in failed:
        warn(f"gate: {reason(verdict, comparison.names[0])}")
    if not failed:
        checked = dict.fromkeys(verdict.condition.text for verdict in verdicts)
        inform(f"gate passed: no condition was met ({'; '.join(checked)})")
    return not failed


def _title(comparison: "Comparison", classes: Sequence[str]) -> str:
    """Return the title of a table: classes, protocol and intervals."""
    from mapgauge.protocols import full_name

    return f"{', '.join(classes)} ({full_name(comparison.protocol)}), with {intervals_in_words(comparison)}"


def intervals_in_words(comparison: "Comparison") -> str:
    """Return the level of the intervals, and what they were drawn from."""
    if comparison.units == 1:
        return f"no intervals (one {comparison.drawn})"
    bounds = [of.low for by_class in comparison.estimates for by_key in by_class.values() for of in by_key.values()]
    if all(map(math.isnan, bounds)):
        return f"no intervals ({comparison.units} {comparison.drawn}s)"
    return (
        f"intervals of {comparison.level:.0%} from {comparison.samples} draws of {comparison.units} {comparison.drawn}s"
    )


def latex_of(comparison: "Comparison", classes: Sequence[str], captions: Sequence[str] = ()) -> str:
    """Return one LaTeX table of all methods, with intervals beside the values."""
    from mapgauge.results.comparison import plain_keys

    keys = plain_keys(comparison.estimates[0][classes[0]])

    def by_class(part: "Callable[[Estimate], Any]") -> list[dict[str, dict[str, Any]]]:
        return [
            {name: {key: part(value) for key, value in estimates[name].items()} for name in classes}
            for estimates in comparison.estimates
        ]

    values = by_class(lambda value: _finite(value.value))
    bounds = by_class(lambda value: (value.low, value.high) if math.isfinite(value.low + value.high) else None)
    columns = [LatexColumn(key, name) for key in keys for name in classes]
    title = _title(comparison, classes)
    return methods_table(comparison.names, values, columns, [title, *captions], bounds, protocol=comparison.protocol)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _document(comparison: "Comparison") -> dict[str, Any]:
    from mapgauge.protocols import full_name

    return {
        "names": comparison.names,
        "protocol": full_name(comparison.protocol),
        **{
            key: getattr(comparison, key)
            for key in ("drawn", "units", "samples", "level", "correction", "tested", "notes")
        },
        "estimates": {
            name: _plain(estimates) for name, estimates in zip(comparison.names, comparison.estimates, strict=True)
        },
        "differences": _pairs(comparison.differences),
    }


def _pairs(differences: "Differences") -> list[dict[str, Any]]:
    """Return the differences between two methods each, for JSON."""
    return [
        {"first": first, "second": second, "classes": _plain(changes)}
        for (first, second), changes in differences.items()
    ]


def _plain(classes: "Mapping[str, Mapping[str, Estimate | Difference]]") -> dict[str, Any]:
    """Return the numbers of values or differences by class and key. Those that do not exist are None."""
    return {
        class_name: {
            key: {part: None if number is None else _finite(number) for part, number in value._asdict().items()}
            for key, value in values.items()
        }
        for class_name, values in classes.items()
    }


def rows_of(comparison: "Comparison", causes: "Differences | None" = None) -> list[dict[str, Any]]:
    """Return a row per method, class and value, then one per difference and cause, for CSV. Each has the protocol."""
    from mapgauge.protocols import full_name

    protocol, differences = full_name(comparison.protocol), comparison.differences.items()
    of_causes = {  # by the keys of the metric of causes, without PLD itself
        pair: {
            class_name: {f"due_to_{cause}": value for cause, value in values.items() if cause != "pld"}
            for class_name, values in changes.items()
        }
        for pair, changes in (causes or {}).items()
    }
    named: list[tuple[str, str, Mapping[str, Mapping[str, Estimate | Difference]]]] = [
        *((name, "", estimates) for name, estimates in zip(comparison.names, comparison.estimates, strict=True)),
        *((second, first, changes) for (first, second), changes in differences),
        *((second, first, changes) for (first, second), changes in of_causes.items()),
    ]
    return [
        {"name": name, "protocol": protocol, "minus": minus, "class": class_name, "key": key} | numbers
        for name, minus, classes in named
        for class_name, values in _plain(classes).items()
        for key, numbers in values.items()
    ]
