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
from mapgauge.cli.reading import Reading, check_classes, read_scenes
from mapgauge.cli.results_files import keep_order
from mapgauge.cli.streaming import EngineOption, OnErrorOption, ResumeOption, SchedulerOption, Streaming, WorkOption
from mapgauge.cli.summary import in_words, show_results, tell_each
from mapgauge.cli.targets import check_geometry, check_page, check_targets, page_of, result_files, work_folders

if TYPE_CHECKING:
    from mapgauge.frames.findings import Finding
    from mapgauge.results.results import Results


def evaluate(
    context: typer.Context,
    predictions: o.PredictionsArgument,
    truth: o.TruthArgument,
    protocol: o.ProtocolsOption = None,
    metrics: o.MetricsOption = None,
    cutoff: o.CutoffOption = None,
    chamfer: o.ChamferOption = None,
    frechet: o.FrechetOption = None,
    sospa: o.SospaOption = None,
    switch_cost: o.SwitchCostOption = None,
    link_cost: o.LinkCostOption = None,
    break_cost: o.BreakCostOption = None,
    spacing: o.SpacingOption = None,
    count: o.CountOption = None,
    classes: o.ClassesOption = None,
    ranges: o.RangesOption = None,
    crop: o.CropOption = False,
    format: o.FormatOption = None,
    truth_format: o.TruthFormatOption = None,
    rotate: o.RotateOption = 0.0,
    auto_axes: o.AutoAxesOption = False,
    rename: o.RenameOption = None,
    rename_truth: o.RenameTruthOption = None,
    planar: o.PlanarOption = False,
    certain: o.CertainOption = False,
    unshrink: o.UnshrinkOption = False,
    properties: o.PropertiesOption = None,
    degenerate: o.DegenerateOption = "strict",
    ignore_unknown: o.IgnoreUnknownOption = False,
    scenes: Annotated[
        Path | None,
        typer.Option(
            "--scenes",
            metavar="FILE",
            help="JSON file with the scene of each token, if the truth has no scenes.",
            show_default=False,
        ),
    ] = None,
    name: o.NamesOption = None,
    workers: o.WorkersOption = None,
    engine: EngineOption = None,
    scheduler: SchedulerOption = None,
    work: WorkOption = None,
    resume: ResumeOption = False,
    on_error: OnErrorOption = "stop",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the results to this file (.mg). With several predictions or protocols, it is a folder.",
            show_default=False,
        ),
    ] = None,
    with_geometry: Annotated[
        bool,
        typer.Option(
            "--with-geometry",
            help="Also write predictions and truth to the file of -o. `report` and `show` then need no other file.",
        ),
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Also write a report (.html). With several protocols, one for each: FILE-PROTOCOL.html.",
            show_default=False,
        ),
    ] = None,
    frames: o.FramesOption = 200,
    json: o.JsonOption = False,
    csv: o.CsvOption = False,
    latex: o.LatexOption = False,
    by_class: Annotated[
        bool, typer.Option("--by-class", help="With --latex, a column for each class instead of the means only.")
    ] = False,
    brief: Annotated[
        bool, typer.Option("--brief", help="Leave out the lines after the tables that say what the values mean.")
    ] = False,
    fail_on: o.FailOnOption = None,
    quiet: o.QuietOption = False,
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
    thresholds = {"cutoff": cutoff, "chamfer": chamfer, "frechet": frechet, "sospa": sospa}
    protocols = [
        settings_of(
            one,
            **thresholds,
            switch_cost=switch_cost,
            link_cost=link_cost,
            break_cost=break_cost,
            spacing=spacing,
            count=count,
            classes=classes,
            crop=crop,
        )
        for one in given
    ]
    chosen = metrics_of_each(protocols, metrics)
    check_settings_used(context, list(chain.from_iterable(chosen)))
    if page is None:
        without_effect(context, ["frames"], "without --report FILE")
    if quiet or form != "text":
        without_effect(context, ["brief"], f"with --{'quiet' if form == 'text' else form}, which has no such lines")
    if scheduler is not None:
        without_effect(context, ["workers"], "with --scheduler: the cluster has its own workers")

    from mapgauge.evaluation.prepare import check_rings, has_rings

    rings = valid("--ranges", check_rings, numbers("--ranges", ranges))
    reading = Reading.of(context)
    names = file_names(predictions, name)
    runs = list(product(names, given))
    labels = names if len(given) == 1 else [f"{called}-{one}" for called, one in runs]
    targets = result_files(output, labels)
    folders = work_folders(work, labels)
    pages = [page and page_of(page, one if len(given) > 1 else "") for one in given]
    check_targets(
        [*targets, *pages],
        [*predictions, truth, scenes],
        folders=folders,
        new_folder=output if len(labels) > 1 else None,
    )
    check_page("--report", page, frames)
    if with_geometry:
        check_geometry(output)
    scene_of = None if scenes is None else read_scenes(scenes)
    unknown: Literal["error", "ignore"] = "ignore" if ignore_unknown else "error"
    silent = quiet or form != "text"  # stdout then has the document only
    reading.check(*predictions, truth)
    streaming = Streaming.of(engine, scheduler, work, resume, on_error)
    streamed = streaming.suit(reading, [*predictions, truth], whole=scenes is not None or page is not None)

    needed = ["read", *chain.from_iterable(chosen)]
    if "pld" in needed and not (silent or brief or streamed):
        needed.append("words")
    prepare = partial(compile_for, [*needed, *(["report"] if page else [])], [] if page else [*predictions, truth])
    if streamed:
        prepare()
    ahead = None if streamed else reading.predictions_ahead(predictions[0], prepare)

    from mapgauge.evaluation.evaluate import evaluate_frames
    from mapgauge.protocols import full_name

    y = None if streamed else reading.truth(truth)
    if y is not None and not silent:
        tell_frames("truth", f"{y.name} ({y.format})", y)
    results: list[Results] = []
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
        common: dict[str, Any] = {"metrics": chosen[k], "unknown": unknown, "workers": workers}
        if y is None:
            found = streaming.evaluate(
                *(path, truth, label if len(labels) > 1 else "", folder, settings),
                **common,
                ranges=in_rings,
                degenerate=degenerate,
                classes=classes,
            )
            if not silent and k == 0:
                tell_inputs(found)
        else:
            if x is None or k == 0:
                x = reading.beside(ahead() if ahead is not None else reading.predictions(path), y)
                ahead = None
                check_classes(classes, x.name, y.classes, x.classes)
                if not silent:
                    tell_frames("predictions", f"{x.name} ({x.format})", x)
            first_run = len(runs) == 1 and page is None and is_compiling()
            valid("--ranges", check_rings, in_rings, chosen[k])
            # The lines after the tables and the report use the same groups.
            keep = len(runs) == 1 and (page is not None or not (silent or brief))
            with progress(f"evaluating {label}") as advance:
                found = evaluate_frames(
                    x, y, settings, **common, rings=in_rings, scenes=scene_of, progress=advance, keep=keep
                )
        new = [finding for finding in found.findings if finding not in told]
        told.update(new)
        with outputs.attempt():
            (warn_of if silent else show_findings)(new)
        if target is not None:
            with outputs.attempt():
                found.save(target, geometry="original" if with_geometry else None)
                saved.append(target)
        wrong = any(finding.level == "error" for finding in found.findings)
        in_full = not (silent or brief or wrong)
        if in_full and not first_run:
            lines.append(in_words(found, workers, streamed=streamed))
        last = len(results) == len(runs) - 1  # the data of others take memory for nothing
        results.append(found if page or streamed or last else found.without_data())
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

            of_page = results[k :: len(given)]
            with outputs.attempt():
                with progress("writing the report") as advance:
                    write_report(of_page, written, names=names, frames=frames, progress=advance)
                inform(f"report in {written}")
    outputs.end()
    exit_on(fail_on, told)
