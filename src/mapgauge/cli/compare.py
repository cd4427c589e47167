"""``mapgauge compare``: prints results side by side, with confidence intervals of values and differences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from mapgauge.cli import options as o
from mapgauge.cli.by_cause import ByCause, differences_by_cause
from mapgauge.cli.command import command, without_effect
from mapgauge.cli.comparison import Compared, ComparedSlices
from mapgauge.cli.emit import Printing, emit
from mapgauge.cli.inputs import options_of
from mapgauge.cli.methods import check_one_protocol, each_results, load_all
from mapgauge.cli.output import inform, progress, warn
from mapgauge.cli.parsing import ALL, Texts, bounded, file_names, listed, refuse, valid
from mapgauge.cli.slices import each_slice, tags_of
from mapgauge.errors import InvalidInput
from mapgauge.words import counted, did_you_mean

if TYPE_CHECKING:
    from mapgauge.results.comparison import Comparison
    from mapgauge.results.families import Correction
    from mapgauge.results.gate import Condition, Verdict
    from mapgauge.results.results import Results

FAILED_GATE = 3  # the exit code of a failed gate, different from the codes of invalid input and of usage errors
MANY = 4  # files from which on all are compared with the first only: each two would be hundreds of tables
_ALL_PAIRS_HELP = f"Compare each two files. From {MANY} files on, the default is to compare with the first only."
_FAIL_IF_HELP = (
    f"Exit with code {FAILED_GATE} if a file after the first meets the condition: 'pld > +0.005' (its PLD is more than "
    "0.005 above that of the first file), 'ap_chamfer < 0.6' (a value). Can be repeated."
)


def _is_positive(value: float) -> bool:
    return 0 < value < math.inf


_MARGIN_HELP = (
    "Also print whether each method is better than the first, not worse by more than this loss, or worse, or whether "
    "this cannot be told."
)
_POWER_HELP = "Also print how many scenes are needed to decide a difference of this size, with a probability of 80 %."
_MARGIN = bounded("--margin", "above 0 and finite", _is_positive)
_POWER = bounded("--power", "above 0 and finite", _is_positive)


@dataclass(frozen=True, kw_only=True)
class CompareOptions(Printing):
    """The options of ``mapgauge compare``."""

    results: o.ResultsArgument
    classes: Annotated[Texts, o.classes_option("the mean; `all` stands for all")] = None
    samples: o.SamplesOption = 1000
    level: o.LevelOption = 0.95
    by: o.ByOption = None
    margin: Annotated[float | None, o.option("--margin LOSS", o.COMPUTED, _MARGIN_HELP, callback=_MARGIN)] = None
    power: Annotated[float | None, o.option("--power DIFFERENCE", o.COMPUTED, _POWER_HELP, callback=_POWER)] = None
    correction: o.CorrectionOption = "none"
    all_pairs: Annotated[bool, o.option("--all-pairs", o.RARE, _ALL_PAIRS_HELP)] = False
    fail_if: Annotated[Texts, o.option("--fail-if CONDITION", o.WRITTEN, _FAIL_IF_HELP)] = None
    json: o.JsonOption = False
    csv: o.CsvOption = False
    latex: o.LatexOption = False
    quiet: o.QuietOption = False


@command
def compare(options: CompareOptions) -> None:
    """Compare results, with confidence intervals.

    The intervals of values and differences come from a bootstrap over scenes, or over frames if the scenes are unknown.
    If the metrics `completeness` and `causes` were evaluated, distances in metres and the causes of the difference in
    PLD are compared too. Results that are given the same name (FILE,name=A) are runs of one method with several seeds:
    the intervals then cover other seeds too.
    """
    files = each_results(options.results)
    _check(options, files)
    if _has_runs(files):
        _compare_runs(options, files)
        return
    names = file_names(files)

    from mapgauge.results import gate

    conditions = valid("--fail-if", gate.conditions_of, options.fail_if, len(files))
    methods = load_all(files, names)
    check_one_protocol(names, methods)
    if options.by is not None:
        _compare_slices(options, files, names, methods=methods)
    else:
        _compare_all(options, names, methods, conditions=conditions, file=str(files[0]))


def _has_runs(files: Sequence[Path]) -> bool:
    """Whether two files were given the same name."""
    given = [name for file in files if (name := options_of(file).get("name")) is not None]
    return len(set(given)) < len(given)


def _compare_runs(options: CompareOptions, files: Sequence[Path]) -> None:
    """Print the comparison of methods with several runs."""
    unnamed = next((file for file in files if "name" not in options_of(file)), None)
    if unnamed is not None:
        refuse(
            f"{unnamed}",
            "two other files have the same name, so they are runs of one method. Then give every file the name of its "
            "method: FILE,name=B. Or give all files different names",
        )
    refused = [name for name in ("by", "fail_if", "all_pairs") if getattr(options, name)]
    if refused or options.form in ("latex", "csv"):
        wrong = [f"--{name.replace('_', '-')}" for name in refused] or [f"--{options.form}"]
        refuse(", ".join(wrong), "has no effect on methods with several runs, whose files have the same name")

    from mapgauge.cli.planning import PlanView
    from mapgauge.results.comparison_families import with_causes
    from mapgauge.results.runs import compare_runs

    labels = [f"{options_of(file)['name']} ({file})" for file in files]
    loaded = load_all(files, labels)
    check_one_protocol(labels, loaded)
    methods: dict[str, list[Results]] = {}
    for file, results in zip(files, loaded, strict=True):
        methods.setdefault(options_of(file)["name"], []).append(results)
    with progress("comparing the methods"):
        compared = compare_runs(methods, samples=options.samples, level=options.level)
    if len(methods) == 1:
        without_effect(options, ["margin", "power", "correction"], "with runs of one method: there are no differences")
    plans = PlanView(
        compared.comparison,
        power=options.power,
        margin=options.margin,
        runs=compared,
        corrected=options.correction != "none",
    )
    comparison, _ = with_causes(compared.comparison, {}, cast("Correction", options.correction))
    shown = _classes(str(files[0]), comparison, listed(options.classes))
    emit(options, Compared(comparison=comparison, classes=shown, plans=plans))


def _check(options: CompareOptions, files: Sequence[Path]) -> None:
    """Refuse options that have no effect."""
    form = options.form
    if form in ("json", "csv") and listed(options.classes) != [ALL]:
        without_effect(options, ["classes"], f"with --{form}, which has all classes")
    if len(files) == 1:
        without_effect(options, ["correction"], "with one file: there are no differences to correct")
    if form == "latex" and not options.fail_if:
        without_effect(options, ["correction"], "with --latex, which has no differences, without --fail-if CONDITION")
    if len(files) == 1:
        without_effect(options, ["margin", "power"], "with one file: there are no differences")
    if form in ("csv", "latex"):
        without_effect(options, ["margin", "power"], f"with --{form}. Text and --json have them")
    if options.by is not None:
        without_effect(options, ["margin", "power"], "with --by")
    if options.by is not None and (options.fail_if or form == "latex"):
        refuse("--by", "has no effect with --fail-if and --latex, which are about all frames")


def _compared(
    options: CompareOptions, names: Sequence[str], methods: Sequence["Results"], *, all_pairs: bool
) -> "Comparison":
    """Return the comparison of each two methods, or of all with the first. The differences are not corrected yet."""
    from mapgauge import compare as compare_results

    with progress("comparing the methods"):
        return compare_results(
            methods,
            names=names,
            samples=options.samples,
            level=options.level,
            pairs="all" if all_pairs else "first",
        )


def _compare_all(
    options: CompareOptions,
    names: Sequence[str],
    methods: Sequence["Results"],
    conditions: "Sequence[Condition]",
    file: str,
) -> None:
    """Print the comparison of methods on all frames, and check the conditions of the gate."""
    from mapgauge.answers.answer import tell
    from mapgauge.answers.pairs import MANY as MANY_IN_ANSWER
    from mapgauge.cli.planning import PlanView
    from mapgauge.results import gate
    from mapgauge.results.comparison import with_errors
    from mapgauge.results.comparison_families import with_causes

    has_answer = options.form in ("text", "json") and not options.quiet
    all_pairs = options.all_pairs or len(methods) < MANY
    # The answer is about each two methods, and differences cost little beside the samples.
    whole = _compared(options, names, methods, all_pairs=all_pairs or (has_answer and len(methods) < MANY_IN_ANSWER))
    comparison = whole if all_pairs else whole.with_first()
    # Ranks are corrected for themselves.
    plans = PlanView(comparison, power=options.power, margin=options.margin, corrected=options.correction != "none")
    shown = _classes(file, comparison, listed(options.classes))
    causes = differences_by_cause(names, methods, comparison.differences, samples=options.samples, level=options.level)
    correction = cast("Correction", options.correction)
    comparison, differences = with_causes(comparison, causes.differences, correction)
    if conditions:
        wrong = with_errors(names, methods)
    else:
        wrong = []
    verdicts = gate.judge([] if wrong else conditions, comparison, methods)
    answered = None
    if has_answer:
        with progress("explaining the difference"):
            answered = tell(methods, names, workers=None, comparison=whole)
    document = Compared(
        comparison=comparison,
        classes=shown,
        causes=ByCause(differences, causes.lengths),
        verdicts=verdicts,
        plans=plans,
        answer=answered,
        noted=[method.metadata for method in methods],
        made=[{"date": method.date, "digest": method.digest} for method in methods],
    )
    emit(options, document)
    if options.form in ("csv", "latex"):
        for note in comparison.notes:
            warn(note)
    if wrong:
        raise InvalidInput(
            f"gate: could not be checked: there are errors among the findings of {', '.join(wrong)}",
            remedy="Correct what the findings say, and evaluate again",
        )
    if conditions and not _passes(verdicts, comparison):
        raise typer.Exit(FAILED_GATE)


def _compare_slices(
    options: CompareOptions, files: Sequence[Path], names: Sequence[str], methods: Sequence["Results"]
) -> None:
    """Print the comparison of methods in each slice."""
    from mapgauge.results.comparison_families import of_slices

    parts = each_slice(names, methods, options.by or "", tags=tags_of(files, options.by))
    all_pairs = options.all_pairs or len(methods) < MANY
    compared = {name: _compared(options, names, some, all_pairs=all_pairs) for name, some in parts.items()}
    corrected = of_slices(compared, cast("Correction", options.correction))
    wanted = listed(options.classes)
    slices = {name: Compared(comparison=part, classes=_classes(name, part, wanted)) for name, part in corrected.items()}
    frames = {name: len(some[0].tokens) for name, some in parts.items()}
    emit(options, ComparedSlices(slices, frames))


def _classes(file: str, comparison: "Comparison", given: Sequence[str]) -> list[str]:
    """Return the classes to show: the given ones, all of them, or the mean."""
    known = [row for row in comparison.estimates[0] if all(row in estimates for estimates in comparison.estimates)]
    if given == [ALL]:
        return known
    unknown = [class_name for class_name in given if class_name not in known]
    if unknown:
        text = f"{file}: class {', '.join(unknown)} not found; available: {', '.join(known)}"
        raise InvalidInput(f"{text}{did_you_mean(unknown[0], known)}")
    return list(given) or ["mean"]


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
        if verdict.passes_undecided:
            change = verdict.value - (verdict.baseline or 0.0)
            warn(
                f"warning: gate: {verdict.name}: {verdict.condition.text!r} passes because it cannot be decided: the "
                f"difference is {change:+.4f}, and its interval contains 0. `--power {abs(verdict.condition.limit):g}` "
                "says how many scenes it needs"
            )
    failed = [verdict for verdict in verdicts if verdict.fails]
    for verdict in failed:
        warn(f"gate: {reason(verdict, comparison.names[0])}")
    if not failed:
        checked = dict.fromkeys(verdict.condition.text for verdict in verdicts)
        inform(f"gate passed: no condition was met ({'; '.join(checked)})")
        for verdict in verdicts:
            _tell_untold(verdict)
    return not failed


def _tell_untold(verdict: "Verdict") -> None:
    """Print that a condition passes on the measured difference, if a larger one is not excluded."""
    why = verdict.passes_untold
    if not why:
        return
    condition = verdict.condition
    text = (
        f"gate: {verdict.name}: {condition.text!r} passes on the measured difference of "
        f"{verdict.value - (verdict.baseline or 0.0):+.4f}, but {why}"
    )
    if condition.above:
        loses = condition.limit > 0
    else:
        loses = condition.limit < 0
    if loses and condition.has_margin:
        text += f". To fail then, write '{condition.key} not within {abs(condition.limit):g}'"
    inform(text)
