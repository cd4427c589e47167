"""``mapgauge why``: splits PLD by cause, and says what fixing one cause would bring."""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from mapgauge.cli import options as o
from mapgauge.cli.methods import Methods, with_data, with_data_if_there
from mapgauge.cli.output import Table, printable, progress, say, show_table, write_csv, write_json
from mapgauge.cli.parsing import form_of, refuse, without_effect
from mapgauge.cli.slices import each_slice, tags_of
from mapgauge.markup import number
from mapgauge.words import did_you_mean

if TYPE_CHECKING:
    from mapgauge.results.causes import Causes, Lengths
    from mapgauge.results.comparison import Differences
    from mapgauge.results.families import Correction, Tested
    from mapgauge.results.results import Results


def why(
    context: typer.Context,
    files: o.MethodsArgument,
    fixes: Annotated[
        bool,
        o.option("--fixes", o.COMPUTED, "Also say what fixing one cause alone would bring. It evaluates ten times."),
    ] = False,
    cause: Annotated[
        str | None, o.option("--cause NAME", o.WRITTEN, "Also list the frames with most of this cause.")
    ] = None,
    worst: Annotated[int, o.worst_option("the frames of --cause", 1)] = 10,
    by: o.ByOption = None,
    correction: o.CorrectionOption = "none",
    protocol: o.ProtocolOption = None,
    workers: o.WorkersOption = None,
    json: o.JsonOption = False,
    csv: o.CsvOption = False,
    quiet: o.QuietOption = False,
) -> None:
    """Split PLD by cause.

    The causes exclude each other and add up to PLD. From results, the metric `causes`, the geometry in the file or the
    evaluated files are used. With several methods, the last table splits the difference to the first, with intervals.
    """
    form = form_of(json=json, csv=csv)
    cause = _check(context, cause, csv=csv)
    sides = Methods.of(context, files)
    if len(sides.names) == 1 or by is not None or form == "csv":
        without_effect(context, ["correction"], "without differences: with one method, with --by and with --csv")
    names, methods = sides.names, _load(sides, fixes=fixes)
    if by is not None:  # every slice is a method of its own
        parts = each_slice(names, methods, by, tags_of(sides.files, by))
        names = [f"{name}, {called}" if len(names) > 1 else name for name in parts for called in names]
        methods = [part for some in parts.values() for part in some]

    from mapgauge import causes
    from mapgauge.protocols import full_name
    from mapgauge.results.families import Tested, correct_together, count_tests
    from mapgauge.results.intervals import LEVEL

    splits: dict[str, Causes] = {}
    for called, method in zip(names, methods, strict=True):
        with progress(f"splitting {called}") as advance:
            splits[called] = causes(method, fixes=fixes, workers=workers, progress=advance)
    pairs_of = [(names[0], name) for name in names[1:]] if form != "csv" and by is None else []
    by_cause = differences_by_cause(names, methods, pairs_of)
    tested = Tested(count_tests(by_cause.differences), cast("Correction", correction), LEVEL, "classes and causes")
    if correction == "holm":
        (corrected,) = correct_together(by_cause.differences)
        by_cause = by_cause._replace(differences=corrected)
    if form == "json":
        documents = _documents(splits, by_cause, cause, worst, tested=tested)
        write_json(documents[0] if len(documents) == 1 else documents)
    elif form == "csv":
        write_csv(
            [
                {"name": called, "protocol": full_name(split.protocol), "class": class_name}
                | {"pld": split.pld[class_name]}
                | costs
                for called, split in splits.items()
                for class_name, costs in [*split.classes.items(), ("mean", split.mean)]
            ]
        )
    else:
        for k, (called, split) in enumerate(splits.items()):
            _show(called if len(names) > 1 else "", split, cause, worst, gap=k > 0)
        for _, called in pairs_of:
            by_cause.show(names[0], called, "mean")
        if tested.count:
            say(str(tested))


def _check(context: typer.Context, cause: str | None, *, csv: bool) -> str | None:
    """Return the key of a cause, which may be given as tables show it. Refuse options that do not fit."""
    from mapgauge.metrics.causes import CAUSES, label_of

    cause = cause and cause.strip().lower().replace(" ", "_").replace("-", "_")
    cause = next((key for key in CAUSES if label_of(key).replace(" ", "_").replace("-", "_") == cause), cause)
    if cause is not None and cause not in CAUSES:
        refuse("--cause", f"must be one of {', '.join(CAUSES)}, got {cause!r}{did_you_mean(cause, CAUSES)}")
    if cause is None:
        without_effect(context, ["worst"], "without --cause NAME")
    if csv:
        without_effect(context, ["cause", "worst"], "with --csv, which has no frames. Text and --json have them")
        without_effect(context, ["fixes"], "with --csv, which has no fixes. Text and --json have them")
    return cause


def _load(sides: Methods, *, fixes: bool) -> list["Results"]:
    """Return results with the causes of PLD, completeness if there are several, and for fixes the geometry."""
    from mapgauge.evaluation.evaluate import with_metrics
    from mapgauge.metrics.causes import CAUSES_OF_PLD
    from mapgauge.results.instance_costs import check_settings

    wanted = [CAUSES_OF_PLD.name, *(["completeness"] if len(sides.names) > 1 else [])]
    # Fixes need the causes of instances, and are also judged by the average precisions of the protocol.
    methods = sides.load(data=False, cutoff=True, metrics=None if fixes else ("pld", *wanted))
    for method in methods:
        check_settings(method.protocol)
    if sides.from_results:
        needed = [fixes or CAUSES_OF_PLD.name not in method.metrics for method in methods]
        methods = [
            method
            if set(wanted) <= set(method.metrics) and not need
            else (with_data if need else with_data_if_there)(method, path)
            for method, path, need in zip(methods, sides.files, needed, strict=True)
        ]
    return [method if method.geometry is None else with_metrics(method, wanted, sides.workers) for method in methods]


def _documents(
    splits: "Mapping[str, Causes]", by_cause: "ByCause", cause: str | None, worst: int, *, tested: "Tested"
) -> list[dict[str, Any]]:
    """Return the causes of each method, its difference to the first, and the frames with most of a cause, for JSON."""
    documents = []
    first = next(iter(splits))
    for called, split in splits.items():
        document = {"name": called} | split.to_dict() | {"lengths": by_cause.to_dict()[called]}
        if cause is not None:
            frames = [{"token": token, "cost": cost} for token, cost in split.frames(cause, count=worst)]
            document["frames"] = {cause: frames}
        if (first, called) in by_cause.differences:
            classes = {
                class_name: {key: change._asdict() for key, change in changes.items()}
                for class_name, changes in by_cause.differences[first, called].items()
            }
            document["difference"] = {
                "to": first,
                "correction": tested.correction,
                "tested": tested.count,
                "classes": classes,
            }
        documents.append(document)
    return documents


def _show(called: str, split: "Causes", cause: str | None, worst: int, *, gap: bool) -> None:
    """Print the causes of one method, its fixes, and the frames with most of a cause."""
    from mapgauge.metrics.causes import label_of
    from mapgauge.protocols import full_name

    of = f" of {called}" if called else ""
    (header, rows), *fixes = split.tables(about=True)
    show_table(Table(f"{split.title}{of} by cause ({full_name(split.protocol)})", header, rows, 2), gap=gap)
    say(split.sentence())
    if split.mean["localisation"] > 0:
        say(
            "Localisation is not Loc of `mapgauge evaluate`. It also has unmatched points beside the true line, and "
            f"missing confidence of matches that do not fit (normalised SOSPA from {split.thresholds.worth:g})"
        )
    for header, rows in fixes:
        title = f"What fixing one cause alone would bring{of}: changes of means over classes"
        show_table(Table(title, header, rows, 2))
        say(
            "A fix of several causes repairs all of them. Other errors stay as they are, but ideal confidences also "
            "remove false predictions of every cause. Fixes do not add up"
        )
    if cause is not None:
        body = [[token, f"{cost:.3f}"] for token, cost in split.frames(cause, count=worst)]
        title = f"Frames{of} with most of the cause {label_of(cause)}"
        show_table(Table(title, ["token", "cost (a missed line = 0.5)"], body))


class ByCause(NamedTuple):
    """The differences of all pairs of methods by class and cause, and lengths of each method by class."""

    differences: "Differences"
    lengths: "dict[str, dict[str, Lengths]]"

    def to_dict(self) -> dict[str, Any]:
        """Return the lengths of each method and class as plain values."""
        return {
            called: {class_name: lengths._asdict() for class_name, lengths in by_class.items()}
            for called, by_class in self.lengths.items()
        }

    def show(self, first: str, second: str, class_name: str) -> None:
        """Print the difference in PLD between two methods by cause, the largest first. ``"pld"`` is the sum."""
        from mapgauge.metrics.causes import label_of
        from mapgauge.results.comparison import verdict_of

        names = printable(first), printable(second)
        changes = self.differences[first, second][class_name]
        both = [by_class[class_name] for name in (first, second) if class_name in (by_class := self.lengths[name])]
        causes = sorted((key for key in changes if key != "pld"), key=lambda key: -abs(changes[key].value))
        rows = [
            [
                "PLD" if key == "pld" else label_of(key),
                changes[key].numbers,
                verdict_of(changes[key], "pld" if key == "pld" else f"due_to_{key}", *names),
                *(number(sum(of.per_km.values()) if key == "pld" else of.per_km[key]) for of in both),
            ]
            for key in [*causes, "pld"]
            if abs(changes[key].value) > 0 or key == "pld"
        ]
        per_km = [f"{name} per km" for name in names] if both else []
        title = f"{names[1]} minus {names[0]}, {printable(class_name)}: causes of the difference in PLD"
        show_table(Table(title, ["cause", "difference", "", *per_km], rows))
        if not both:
            say("Evaluate with the metric completeness to see costs per km of truth, offsets and completeness")
            return
        say(
            "All parts of PLD are divided by the same number, which grows with every cost. So a part can fall although "
            "its cost is the same. Costs per km of truth do not have this effect (a missed line = 0.5)"
        )
        for name, (offset, completeness, _) in zip(names, both, strict=True):
            words = [
                *([] if isnan(offset) else [f"matched points lie {offset:.2f} m beside the true line (median)"]),
                *([] if isnan(completeness) else [f"{100 * completeness:.0f} % of the true length found"]),
            ]
            say(f"{name}: {', '.join(words) or 'nothing to compare'}")


def differences_by_cause(
    names: Sequence[str], methods: Sequence["Results"], pairs: Iterable[tuple[str, str]], **settings: Any
) -> ByCause:
    """Return the differences of pairs of methods by class and cause; none if the causes were not evaluated."""
    from mapgauge.metrics.causes import CAUSES_OF_PLD
    from mapgauge.results.causes import compare_causes, lengths_of

    if CAUSES_OF_PLD.name not in methods[0].metrics:
        return ByCause({}, {})
    of = dict(zip(names, methods, strict=True))
    differences = {pair: compare_causes(of[pair[0]], of[pair[1]], **settings) for pair in pairs}
    return ByCause(differences, {name: lengths_of(method) for name, method in of.items()})


def in_words(results: "Results", workers: int | None) -> str:
    """Return how far off a method is, how much it finds, and the largest causes of PLD."""
    from mapgauge.evaluation.evaluate import with_metrics
    from mapgauge.hooks import tells_pld
    from mapgauge.metrics.causes import CAUSES
    from mapgauge.metrics.completeness import COMPLETENESS
    from mapgauge.metrics.completeness import in_words as completeness_in_words
    from mapgauge.metrics.explaining import explaining
    from mapgauge.results.causes import largest_causes

    metrics = explaining(results.protocol, results.metrics)
    if not metrics or not tells_pld(results):
        return ""
    more = with_metrics(results, metrics, workers)
    sums = more.totals.sums[COMPLETENESS.name].sums[0].sum(axis=0)
    largest = largest_causes({cause: more.mean[f"due_to_{cause}"] or 0.0 for cause in CAUSES})
    return f"{completeness_in_words(sums, results.protocol)}; {largest.replace('Largest', 'largest')}"
