"""``mapgauge evaluate``: compares predictions with truth and prints a table per metric."""

import sys
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mapgauge.cli import options as o
from mapgauge.cli.compile import compile_for, is_compiling
from mapgauge.cli.contents import tell_frames, tell_inputs
from mapgauge.cli.documents import form_of
from mapgauge.cli.failures import Attempts
from mapgauge.cli.inputs import options_of
from mapgauge.cli.output import distrust, exit_on, inform, progress, show_findings, warn_of
from mapgauge.cli.parsing import (
    check_settings_used,
    file_names,
    listed,
    metrics_of_each,
    numbers,
    refuse,
    settings_of,
    valid,
    without_effect,
)
from mapgauge.cli.protocol_table import show_protocols
from mapgauge.cli.reading import Reading, check_classes, check_files, turned
from mapgauge.cli.results_files import keep_order
from mapgauge.cli.streaming import Streaming
from mapgauge.cli.summary import in_words, metrics_in_words, show_results, tell_each
from mapgauge.cli.targets import check_geometry, check_page, check_targets, page_of, result_files, work_folders

if TYPE_CHECKING:
    from mapgauge.frames.findings import Finding
    from mapgauge.results.results import Results


def evaluate(
    context: typer.Context,
    predictions: o.PredictionsArgument,
    truth: o.TruthArgument,
    protocol: o.ProtocolOption = None,
    metrics: o.MetricsOption = None,
    cutoff: o.CutoffOption = None,
    classes: o.ClassesOption = None,
    changes: o.SetOption = None,
    ranges: o.RangesOption = None,
    output: Annotated[
        Path | None,
        o.output_option("FILE", "Results (.mg). With several predictions or protocols, it is a folder."),
    ] = None,
    page: Annotated[
        Path | None,
        o.option(
            "--report",
            "FILE",
            o.WRITTEN,
            "Also write a report (.html). With several protocols, one for each: FILE-PROTOCOL.html.",
        ),
    ] = None,
    frames: o.FramesOption = 200,
    with_geometry: Annotated[
        bool,
        o.flag(
            "--with-geometry",
            o.WRITTEN,
            "Also write predictions and truth to the file of -o. `report` and `show` then need no other file.",
        ),
    ] = False,
    json: o.JsonOption = False,
    csv: o.CsvOption = False,
    latex: o.LatexOption = False,
    by_class: Annotated[
        bool, o.flag("--by-class", o.WRITTEN, "With --latex, a column for each class instead of the means only.")
    ] = False,
    brief: Annotated[
        bool, o.flag("--brief", o.WRITTEN, "Leave out the lines after the tables that say what the values mean.")
    ] = False,
    fail_on: o.FailOnOption = None,
    quiet: o.QuietOption = False,
    format: o.FormatOption = None,
    ignore_unknown: o.IgnoreUnknownOption = False,
    workers: o.WorkersOption = None,
    engine: o.EngineOption = None,
    work: o.WorkOption = None,
    resume: o.ResumeOption = False,
    on_error: o.OnErrorOption = "stop",
) -> None:
    """Compare predictions with truth.

    Prints what was read, possible problems with it, and a table per metric. If both sides are Parquet (a file, a
    folder or a URL), they are read in chunks, on this machine or on a Dask cluster.
    """
    form = form_of(json=json, csv=csv, latex=latex)
    given = listed(protocol) or ["paper-60x30"]
    if by_class and (form != "latex" or len(given) > 1):
        refuse("--by-class", "needs --latex and one protocol")
    if len(set(given)) < len(given):
        refuse("--protocol", f"must be different names, got {', '.join(given)}")
    protocols = [settings_of(one, cutoff=cutoff, classes=classes, changes=changes) for one in given]
    chosen = metrics_of_each(protocols, metrics)
    check_settings_used(context, list(chain.from_iterable(chosen)))
    if page is None:
        without_effect(context, ["frames"], "without --report FILE")
    if quiet or form != "text":
        without_effect(context, ["brief"], f"with --{'quiet' if form == 'text' else form}, which has no such lines")
    if engine is not None and "://" in engine:
        without_effect(context, ["workers"], "with the address of a cluster, which has its own workers")

    from mapgauge.evaluation.prepare import check_rings, has_rings

    rings = valid("--ranges", check_rings, numbers("--ranges", ranges))
    reading = Reading(format, workers)
    names = file_names(predictions)
    runs = list(product(names, given))
    labels = names if len(given) == 1 else [f"{called}-{one}" for called, one in runs]
    targets = result_files(output, labels)
    folders = work_folders(work, labels)
    pages = [page and page_of(page, one if len(given) > 1 else "") for one in given]
    check_targets(
        [*targets, *pages],
        [*predictions, truth],
        folders=folders,
        new_folder=output if len(labels) > 1 else None,
    )
    check_page("--report", page, frames)
    if with_geometry:
        check_geometry(output)
    unknown: Literal["error", "ignore"] = "ignore" if ignore_unknown else "error"
    silent = quiet or form != "text"  # stdout then has the document only
    check_files(*predictions, truth)
    streaming = Streaming.of(engine, work, resume, on_error)
    streamed = streaming.suit(format, [*predictions, truth], whole=page is not None)

    needed = ["read", *chain.from_iterable(chosen)]
    if "pld" in needed and not (silent or brief or streamed):
        needed.append("words")
    prepare = partial(compile_for, [*needed, *(["report"] if page else [])], [] if page else [*predictions, truth])
    if streamed:
        prepare()
    ahead = None if streamed else reading.predictions_ahead(predictions[0], prepare)

    from mapgauge import evaluate as evaluate_frames
    from mapgauge.evaluation.more_metrics import only_metrics
    from mapgauge.features.causes.metric import PLD_BY_CAUSE
    from mapgauge.protocols import full_name

    y = None if streamed else reading.truth(truth)
    if y is not None and not silent:
        tell_frames("truth", f"{y.name} ({y.format})", y)
    results: list[Results] = []
    of_pages: list[Results] = []  # with the causes of the lines after the tables, which the report shows too
    lines: list[list[str]] = []
    first_run = False  # then the tables do not wait for the kernels of the lines after them
    told: set[Finding] = set()
    outputs = Attempts()
    saved: list[Path] = []
    x = None
    for path, (k, settings) in product(predictions, enumerate(protocols)):
        target, folder = targets[len(results)], folders[len(results)]
        label = labels[len(results)] + (f" ({len(results) + 1} of {len(labels)})" if len(labels) > 1 else "")
        in_rings = rings if len(given) == 1 or has_rings(chosen[k]) else ()
        common: dict[str, Any] = {"metrics": chosen[k], "unknown": unknown, "workers": workers, "ranges": in_rings}
        if y is None:
            found = streaming.evaluate(
                *(path, truth, label if len(labels) > 1 else "", folder, settings),
                **common,
                degenerate=options_of(truth).get("degenerate", "strict"),
                classes=classes,
            )
            if not silent and k == 0:
                tell_inputs(found)
        else:
            if x is None or k == 0:
                x = turned(path, ahead() if ahead is not None else reading.predictions(path), y)
                ahead = None
                check_classes(classes, x.name, y.classes, x.classes)
                if not silent:
                    tell_frames("predictions", f"{x.name} ({x.format})", x)
            first_run = len(runs) == 1 and page is None and is_compiling()
            if not (silent or brief or first_run):
                common["metrics"] += metrics_in_words(settings, chosen[k], len(x.polylines))
            with progress(f"evaluating {label}") as advance:
                found = evaluate_frames(x, y, settings, **common, progress=advance)
        new = [finding for finding in found.findings if finding not in told]
        told.update(new)
        with outputs.attempt():
            (warn_of if silent else show_findings)(new)
        kept = found if streamed else only_metrics(found, chosen[k])
        if target is not None:
            with outputs.attempt():
                kept.save(target, geometry="original" if with_geometry else None)
                saved.append(target)
        wrong = any(finding.level == "error" for finding in found.findings)
        in_full = not (silent or brief or wrong)
        if in_full and not first_run:
            lines.append(in_words(found, workers, streamed=streamed))
        last = len(results) == len(runs) - 1  # the data of others take memory for nothing
        results.append(kept if page or streamed or last else kept.without_data())
        if page:
            of_pages.append(only_metrics(found, (*chosen[k], PLD_BY_CAUSE.name)))
    with outputs.attempt():
        if len(given) == 1:
            show_results(form, results, names, by_class=by_class)
        else:
            show_protocols(form, results, [called for called, _ in runs])
        if in_full and first_run:
            sys.stdout.flush()
            lines.append(in_words(found, workers))
        spoken = [f"{called}, {full_name(settings)}" for called, settings in product(names, protocols)]
        tell_each(names if len(given) == 1 else spoken, lines)
    if not silent:
        distrust(told)
    with outputs.attempt():
        keep_order(targets)
        keep_order(folders)
    for target in saved:
        inform(f"results in {target}")
    for k, written in enumerate(pages):
        if written is not None:
            from mapgauge.report import write_report

            mine = of_pages[k :: len(given)]
            if any(one.metrics != mine[0].metrics for one in mine):
                mine = results[k :: len(given)]
            with outputs.attempt():
                with progress("writing the report") as advance:
                    write_report(mine, written, names=names, frames=frames, progress=advance)
                inform(f"report in {written}")
    outputs.end()
    exit_on(fail_on, told)
