"""``mapgauge why``: splits PLD by cause, and says what fixing one cause would bring."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mapgauge.cli import options as o
from mapgauge.cli.methods import Methods, with_data
from mapgauge.cli.output import Table, exit_on, printable, progress, say, show_table, write_csv, write_json
from mapgauge.cli.parsing import form_of, refuse, without_effect
from mapgauge.markup import number

if TYPE_CHECKING:
    from mapgauge.features.causes.causes import Causes
    from mapgauge.results.comparison import Comparison, Differences
    from mapgauge.results.intervals import Difference
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
    protocol: o.ProtocolOption = None,
    workers: o.WorkersOption = None,
    json: o.JsonOption = False,
    csv: o.CsvOption = False,
    fail_on: o.FailOnOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Split PLD by cause.

    The causes exclude each other and add up to PLD. From results, the metric `causes`, the geometry in the file or the
    evaluated files are used. With several methods, the last table splits the difference to the first, with intervals.
    """
    form = form_of(json=json, csv=csv)
    cause = _check(context, cause, csv=csv)
    sides = Methods.of(context, files)
    names, methods = sides.names, _load(sides, fixes=fixes)

    from mapgauge import causes, compare_causes
    from mapgauge.protocols import full_name

    splits: dict[str, Causes] = {}
    for called, method in zip(names, methods, strict=True):
        with progress(f"splitting {called}") as advance:
            splits[called] = causes(method, fixes=fixes, workers=workers, progress=advance)
    if form == "json":
        documents = _documents(splits, methods, cause, worst)
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
        for called, method in zip(names[1:], methods[1:], strict=True):
            show_difference(names[0], called, compare_causes(methods[0], method)["mean"], "mean")
    exit_on(fail_on, [finding for method in methods for finding in method.findings])


def _check(context: typer.Context, cause: str | None, *, csv: bool) -> str | None:
    """Return the key of a cause, which may be given as tables show it. Refuse options that do not fit."""
    from mapgauge.features.causes.metric import CAUSES

    cause = cause and cause.strip().lower().replace(" ", "_").replace("-", "_")
    if cause is not None and cause not in CAUSES:
        refuse("--cause", f"must be one of {', '.join(CAUSES)}, got {cause!r}")
    if cause is None:
        without_effect(context, ["worst"], "without --cause NAME")
    if csv:
        without_effect(context, ["cause", "worst"], "with --csv, which has no frames. Text and --json have them")
        without_effect(context, ["fixes"], "with --csv, which has no fixes. Text and --json have them")
    return cause


def _load(sides: Methods, *, fixes: bool) -> list["Results"]:
    """Return results with the causes of PLD, or for fixes with the geometry."""
    from mapgauge.evaluation.evaluate import with_metrics
    from mapgauge.features.causes.instance_costs import check_settings
    from mapgauge.features.causes.metric import CAUSES_OF_PLD

    # Fixes need the causes of instances, and are also judged by the average precisions of the protocol.
    methods = sides.load(data=False, cutoff=True, metrics=None if fixes else ("pld", CAUSES_OF_PLD.name))
    if not sides.from_results:
        return methods
    methods = [
        method if CAUSES_OF_PLD.name in method.metrics and not fixes else with_data(method, path)
        for method, path in zip(methods, sides.files, strict=True)
    ]
    for method in methods:
        check_settings(method.protocol)
    return methods if fixes else [with_metrics(method, [CAUSES_OF_PLD.name], sides.workers) for method in methods]


def _documents(
    splits: "Mapping[str, Causes]", methods: Sequence["Results"], cause: str | None, worst: int
) -> list[dict[str, Any]]:
    """Return the causes of each method, its difference to the first, and the frames with most of a cause, for JSON."""
    from mapgauge import compare_causes

    documents = []
    for k, (called, split) in enumerate(splits.items()):
        document = {"name": called} | split.to_dict()
        if cause is not None:
            frames = [{"token": token, "cost": cost} for token, cost in split.frames(cause, count=worst)]
            document["frames"] = {cause: frames}
        if k > 0:
            classes = {
                class_name: {key: change._asdict() for key, change in changes.items()}
                for class_name, changes in compare_causes(methods[0], methods[k]).items()
            }
            document["difference"] = {"to": next(iter(splits)), "classes": classes}
        documents.append(document)
    return documents


def _show(called: str, split: "Causes", cause: str | None, worst: int, *, gap: bool) -> None:
    """Print the causes of one method, its fixes, and the frames with most of a cause."""
    from mapgauge.features.causes.metric import CAUSES
    from mapgauge.protocols import full_name

    of = f" of {called}" if called else ""
    names, total = [*split.classes, "mean"], split.pld["mean"]
    columns = [*split.classes.values(), split.mean]
    rows = [
        [name.replace("_", " "), about, *(number(column[name]) for column in columns), _share(split.mean[name], total)]
        for name, about in CAUSES.items()
    ]
    rows.append([split.title, "", *(number(split.pld[name]) for name in names), _share(total, total)])
    show_table(
        Table(
            f"{split.title}{of} by cause ({full_name(split.protocol)})",
            ["cause", "what it is", *names, "share"],
            rows,
            2,
        ),
        gap=gap,
    )
    say(split.sentence())
    if split.fixes:
        from mapgauge.metrics.table import title_of

        keys = list(split.fixes[0].gain)
        body = [[fix.name.replace("_", " "), *(f"{fix.gain[key]:+.3f}" for key in keys)] for fix in split.fixes]
        title = f"What fixing one cause alone would bring{of}: changes of means over classes"
        show_table(Table(title, ["fix", *(title_of(key, protocol=split.protocol) for key in keys)], body))
    if cause is not None:
        body = [[token, f"{cost:.3f}"] for token, cost in split.frames(cause, count=worst)]
        show_table(Table(f"Frames{of} with most {cause.replace('_', ' ')}", ["token", "cost"], body))


def _share(part: float, total: float) -> str:
    return f"{part / total:.0%}" if total > 0 else "-"


def differences_by_cause(comparison: "Comparison", methods: Sequence["Results"], seed: int) -> "Differences":
    """Return the differences of all pairs of methods by class and cause, on the draws of a comparison.

    There are none if the causes were not evaluated.
    """
    from mapgauge import compare_causes
    from mapgauge.features.causes.metric import CAUSES_OF_PLD

    if CAUSES_OF_PLD.name not in methods[0].metrics:
        return {}
    of = dict(zip(comparison.names, methods, strict=True))
    settings: dict[str, Any] = {"samples": comparison.samples, "level": comparison.level, "seed": seed}
    return {
        (first, second): compare_causes(of[first], of[second], **settings) for first, second in comparison.differences
    }


def in_words(results: "Results", workers: int | None) -> str:
    """Return how far off a method is, how much it finds, and the largest causes of PLD."""
    from mapgauge import causes
    from mapgauge.evaluation.evaluate import with_metrics
    from mapgauge.features.causes.metric import CAUSES_OF_PLD
    from mapgauge.metrics.completeness import COMPLETENESS
    from mapgauge.metrics.completeness import in_words as completeness_in_words

    if results.protocol.order != 1:
        return ""
    more = with_metrics(results, (COMPLETENESS.name, CAUSES_OF_PLD.name), workers)
    sums = more.scores.sums[COMPLETENESS.name][0].sum(axis=(0, 1))
    return f"{completeness_in_words(sums, results.protocol)}; {causes(more).sentence()}"


def show_difference(first: str, second: str, changes: "Mapping[str, Difference]", class_name: str) -> None:
    """Print the difference in PLD between two methods by cause, the largest first. ``"pld"`` is the sum."""
    causes = sorted((key for key in changes if key != "pld"), key=lambda key: -abs(changes[key].value))
    rows = [
        ["PLD" if key == "pld" else key.replace("_", " "), changes[key].numbers, changes[key].verdict]
        for key in [*causes, "pld"]
        if abs(changes[key].value) > 0 or key == "pld"
    ]
    title = f"{printable(second)} minus {printable(first)}, {printable(class_name)}: causes of the difference in PLD"
    show_table(Table(title, ["cause", "difference", ""], rows))
