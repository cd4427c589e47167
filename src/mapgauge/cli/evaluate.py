"""``mapgauge evaluate``: compares predictions with truth and prints a table per metric."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from mapgauge.cli import Attempts, parsing
from mapgauge.cli import options as o
from mapgauge.cli.compile import compile_for, is_compiling
from mapgauge.cli.inputs import Reading, check_classes, check_files, options_of, turned
from mapgauge.cli.inspect import tell_frames, tell_inputs
from mapgauge.cli.methods import keep_order
from mapgauge.cli.output import distrust, exit_on, exit_without_truth, inform, progress, show_findings, warn, warn_of
from mapgauge.cli.slices import are_slices, show_slices, slices_of, tags_of
from mapgauge.cli.summary import in_words, show_protocols, show_results, tell_each
from mapgauge.cli.targets import SUFFIX, check_geometry, check_page, check_targets, files_of_each, page_of

if TYPE_CHECKING:
    from mapgauge.cli.runs import InMemory, Run, RunPlan, Streamed
    from mapgauge.evaluation.streaming.run import OnError
    from mapgauge.frames.findings import Finding
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.results.results import Results
    from mapgauge.results.tags import Tags
_PAGE_HELP = "Also write a report (.html). With several protocols, one for each: FILE-PROTOCOL.html."
_WITH_GEOMETRY_HELP = "Also write predictions and truth to the file of -o. `report` and `show` then need no other file."
_BY_HELP = f"{o.BY} With --latex, `class` gives a column for each class."
_BRIEF_HELP = "Leave out the lines after the tables that say what the values mean."


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
    by: Annotated[str | None, o.option("--by COLUMN", o.COMPUTED, _BY_HELP)] = None,
    correction: o.CorrectionOption = "none",
    output: Annotated[
        str | None,  # a path loses the slash at its end, which says that it is a folder
        o.output_option(
            "FILE",
            "Results (.mg). With several predictions or protocols, it is a folder, as it is with a slash at its end.",
        ),
    ] = None,
    page: Annotated[Path | None, o.option("--report FILE", o.WRITTEN, _PAGE_HELP)] = None,
    title: o.TitleOption = None,
    with_geometry: Annotated[bool, o.option("--with-geometry", o.WRITTEN, _WITH_GEOMETRY_HELP)] = False,
    json: o.JsonOption = False,
    csv: o.CsvOption = False,
    latex: o.LatexOption = False,
    brief: Annotated[bool, o.option("--brief", o.WRITTEN, _BRIEF_HELP)] = False,
    fail_on: o.FailOnOption = None,
    quiet: o.QuietOption = False,
    tokens: o.TokensOption = None,
    prior: Annotated[Path | None, o.PRIOR] = None,
    ignore_unknown: o.IgnoreUnknownOption = False,
    workers: o.WorkersOption = None,
    engine: o.EngineOption = None,
    work: o.WorkOption = None,
    resume: o.ResumeOption = False,
    on_error: o.OnErrorOption = "stop",
) -> None:
    """Compare predictions with truth.

    Prints what was read, possible problems with it, and a table per metric; with --prior also the tables of `mapgauge
    changes`. If both sides are Parquet (a file, a
    folder or a URL), they are read in chunks, on this machine or on a Dask cluster.
    """
    form = parsing.form_of(json=json, csv=csv, latex=latex)
    given = list(dict.fromkeys(parsing.listed(protocol))) or ["paper-60x30"]
    tags = tags_of([truth, *predictions], by)
    protocols = [parsing.settings_of(name, cutoff=cutoff, classes=classes, changes=changes) for name in given]
    chosen = parsing.metrics_of_each(protocols, metrics)
    _check_options(context, form, given, list(chain.from_iterable(chosen)))
    if prior is not None and not protocols[0].cutoffs:
        parsing.refuse("--prior", "needs PLD, and the protocol has no cutoff. Give one with -c 1.5")

    from mapgauge.cli.runs import RunPlan, evaluate_runs, write_reports
    from mapgauge.io.files.places import is_folder_target
    from mapgauge.scoring.prepare import check_rings

    plan = RunPlan(
        names=parsing.file_names(predictions),
        protocols=protocols,
        metrics=chosen,
        rings=parsing.valid("--ranges", check_rings, parsing.numbers("--ranges", ranges)),
        unknown="ignore" if ignore_unknown else "error",
        workers=workers,
    )
    into_folder = output is not None and output != "" and is_folder_target(output)
    written = None if output is None else Path(output)
    targets = files_of_each(written, plan.labels, SUFFIX, into_folder=into_folder)
    folders = files_of_each(work, plan.labels)
    pages = [page and page_of(page, name if len(given) > 1 else "") for name in given]
    new_folder = written if into_folder or len(plan.labels) > 1 else None
    inputs = [*predictions, truth, *(tokens or ()), prior]
    check_targets([*targets, *pages], inputs, folders=folders, new_folder=new_folder)
    check_page("--report", page)
    check_geometry(written, wanted=with_geometry)
    plan = replace(plan, targets=targets, folders=folders)
    keep = page is not None or prior is not None
    watch = _Printer(silent=quiet or form != "text", brief=brief, workers=workers, page=page, runs=len(targets))
    sides = _sides(context, [*predictions, truth], watch, list(chain.from_iterable(chosen)))
    results = evaluate_runs(plan, sides, watch, geometry="original" if with_geometry else None, keep=keep)
    with watch.attempt():
        _show(context, form, plan, results, tags)
        watch.tell_lines(plan.titles, results[-1])
    watch.end_of_tables()
    with watch.attempt():
        keep_order(targets)
        keep_order(folders)
    write_reports(plan, results, pages, watch, title=title, by=None if by == "class" else by, tags=tags)
    watch.outputs.end()
    exit_on(fail_on, watch.told)
    exit_without_truth(watch.told)


def _show(
    context: typer.Context, form: parsing.Form, plan: "RunPlan", results: "Sequence[Results]", tags: "Tags | None"
) -> None:
    """Print the tables, and the values of subsets of the frames."""
    by, lists = context.params["by"], context.params["tokens"] or ()
    sliced = slices_of(results, None if by == "class" else by, lists, tags, context.params["correction"])
    names = [run.name for run in plan.runs()]
    # Files of results have no date, so that the same inputs give the same bytes. The printed document has one.
    date = datetime.now(UTC).date().isoformat()
    if context.params["prior"] is not None:
        from mapgauge.hooks import prior_tables

        tables = prior_tables()
        if tables is None:
            parsing.refuse("--prior", "no feature that compares with a prior is installed")
        changes = tables.measure(results, names, context.params["prior"], workers=plan.workers)
        more = [{"date": date, "changes": each.to_dict()} for each in changes.values()]
        show_results(form, results, names, sliced=sliced, more=more)
        if form == "text":
            tables.show(changes, gap=True)
    else:
        show = show_results if len(plan.protocols) == 1 else show_protocols
        show(form, results, names, by_class=by == "class", sliced=sliced, more=[{"date": date}] * len(results))
    if form == "text":
        show_slices(plan.titles, sliced)


def _check_options(
    context: typer.Context, form: parsing.Form, protocols: Sequence[str], metrics: Sequence[str]
) -> None:
    """Refuse options that contradict each other or have no effect."""
    given = context.params
    if given["by"] == "class" and (form != "latex" or len(protocols) > 1):
        parsing.refuse("--by", "class needs --latex and one protocol")
    if given["by"] not in (None, "class") and form == "latex":
        parsing.refuse("--by", "--latex has no other subsets than class")
    if given["by"] in (None, "class") and not are_slices(given["tokens"] or ()):
        parsing.without_effect(context, ["correction"], "without --by COLUMN or several --tokens FILE")
    if form in ("csv", "latex"):
        parsing.without_effect(context, ["correction"], f"with --{form}, which has no differences")
    parsing.check_settings_used(metrics, cutoff=given["cutoff"], changes=given["changes"])
    if given["page"] is None:
        parsing.without_effect(context, ["title"], "without --report FILE")
    if "://" in (given["engine"] or ""):
        parsing.without_effect(context, ["workers"], "with the address of a cluster, which has its own workers")
    if given["prior"] is not None and (form not in ("text", "json") or len(protocols) > 1):
        parsing.refuse("--prior", "needs one protocol, and no --csv or --latex. `mapgauge changes` writes CSV")
    if given["resume"] and given["work"] is None:
        parsing.refuse("--resume", "needs the folder of the interrupted run: --work FOLDER")


def _sides(
    context: typer.Context, files: Sequence[Path], watch: "_Printer", metrics: Sequence[str]
) -> "InMemory | Streamed":
    """Return how the files are read, predictions first and then the truth, and begin to compile kernels for them."""
    from mapgauge.cli.runs import InMemory, Streamed

    given, (*predictions, truth) = context.params, files
    check_files(*files, *([given["prior"]] if given["prior"] else []))
    streamed = _streams(context, files)
    needed = ["read", *metrics, *(["report"] if given["page"] else [])]
    if "pld" in metrics and not (watch.silent or watch.brief):
        needed.append("words")
    prepare = partial(compile_for, needed, [] if given["page"] else files)
    if not streamed:
        reading = Reading(workers=given["workers"])
        ahead = reading.predictions_ahead(predictions[0], prepare)
        read: list[Callable[[], MapFrames]] = [ahead, *(partial(reading.predictions, path) for path in predictions[1:])]
        readers = [
            partial(_checked, path, load, given["classes"], bool(given["tokens"]))
            for path, load in zip(predictions, read, strict=True)
        ]
        return InMemory(partial(_chosen_truth, reading, truth, given["tokens"] or ()), readers)
    prepare()
    watch.streamed = True
    if given["classes"]:
        from mapgauge.io.dataset import open_dataset

        known = open_dataset(parsing.place(truth)).classes
        for path in predictions:
            check_classes(given["classes"], str(parsing.place(path)), open_dataset(parsing.place(path)).classes, known)
    return Streamed(
        truth=parsing.place(truth),
        predictions=[parsing.place(path) for path in predictions],
        engine=given["engine"],
        resume=given["resume"],
        on_error=cast("OnError", given["on_error"]),
        degenerate=options_of(truth).get("degenerate", "strict"),
    )


def _chosen_truth(reading: Reading, path: Path, lists: Sequence[Path]) -> "MapFrames":
    """Read the truth, or the frames of it that lists of tokens name."""
    from mapgauge.io.files.source import read_tokens

    truth = reading.truth(path)
    return truth.of_tokens([token for file in lists for token in read_tokens(file)]) if lists else truth


def _checked(
    path: Path, read: "Callable[[], MapFrames]", classes: parsing.Texts, chosen: bool, truth: "MapFrames"
) -> "MapFrames":
    """Read predictions, turn them to the axes of the truth, and check the classes."""
    predictions = turned(path, read(), truth)
    if chosen:  # predictions of other frames are left out, as they are not in this truth
        shared = [token for token in truth.tokens if token in predictions]
        predictions = predictions.of_tokens(shared) if shared else predictions.at([])
    check_classes(classes, predictions.name, truth.classes, predictions.classes)
    return predictions


def _streams(context: typer.Context, paths: Sequence[Path]) -> bool:
    """Whether all files are Parquet, and nothing needs them in memory as a whole."""
    from mapgauge.io.files.places import streams

    given = context.params
    dropped = {options_of(path).get("degenerate", "strict") for path in paths}
    changed = bool(given["tokens"] or given["prior"]) or len(dropped) > 1
    changed = changed or any("corridor" in text for text in given["changes"] or ())  # paths need whole scenes
    changed = changed or any(set(options_of(path)) - {"name", "degenerate", "tags"} for path in paths)
    parquet, whole = all(streams(parsing.place(path)) for path in paths), given["page"] is not None
    wanted = given["engine"] is not None or given["work"] is not None or given["on_error"] != "stop"
    if wanted and (changed or whole or not parquet):
        names = {"engine": "--engine", "work": "--work", "resume": "--resume", "on_error": "--on-error"}
        chosen = [name for key, name in names.items() if given[key] not in (None, False, "stop")]
        parsing.refuse(
            ", ".join(chosen),
            f"{'needs' if len(chosen) == 1 else 'need'} Parquet on both sides, without options after the names, "
            "--tokens and --prior. Convert the files first: mapgauge convert IN,rotate=-90,scenes=FILE OUT/"
            + (". A report needs all data in memory: make it from a part of the data" if whole and parquet else ""),
        )
    return parquet and not changed and not whole


class _Printer:
    """Prints what happens during an evaluation. It is a ``Watch``, which says what the methods are."""

    def __init__(self, *, silent: bool, brief: bool, workers: int | None, page: Path | None, runs: int) -> None:
        self.silent = silent  # stdout has the document only
        self.brief = brief
        self.workers = workers
        self.reports = page is not None
        self.alone = runs == 1 and not self.reports
        self.streamed = False
        self.later = False  # whether the tables do not wait for the kernels of the lines after them
        self.told: set[Finding] = set()
        self.lines: list[list[str]] = []
        self.saved: list[Path] = []
        self.outputs = Attempts()
        self.attempt = self.outputs.attempt

    def read(self, side: str, frames: "MapFrames") -> None:
        if not self.silent:
            tell_frames(side, f"{frames.name} ({frames.format})", frames)
        if side == "predictions":
            self.later = self.alone and is_compiling()

    def extra(self, run: "Run") -> tuple[str, ...]:
        """Return the metrics that explain PLD, if lines after the tables or a report need them."""
        from mapgauge.metrics.explaining import explaining

        wanted = self.reports or not (self.silent or self.brief or self.later)
        return explaining(run.protocol, run.metrics) if wanted else ()

    def read_in_chunks(self, results: "Results") -> None:
        if not self.silent:
            tell_inputs(results)

    def new_findings(self, findings: "Sequence[Finding]") -> None:
        self.told.update(findings)
        (warn_of if self.silent else show_findings)(findings)

    def evaluated(self, run: "Run", results: "Results") -> None:
        """Compute the lines after the tables. A run with wrong numbers has none, and keeps its place among the runs."""
        if self.later:
            return
        if not self._in_full(results):
            self.lines.append([])
            return
        self.lines.append(in_words(results, self.workers, streamed=self.streamed))

    def _in_full(self, results: "Results") -> bool:
        wrong = any(finding.level == "error" for finding in results.findings)
        return not (self.silent or self.brief or wrong)

    def tell_lines(self, titles: Sequence[str], last: "Results") -> None:
        """Print the lines after the tables."""
        if self.later and self._in_full(last):
            sys.stdout.flush()
            self.lines.append(in_words(last, self.workers))
        tell_each(titles, self.lines)

    def end_of_tables(self) -> None:
        """Say whether to trust the numbers, and where the results are."""
        if not self.silent:
            distrust(self.told)
        for target in self.saved:
            inform(f"results in {target}")

    def wrote(self, what: str, path: Path) -> None:
        """Name a file. Results are named after the tables."""
        if what == "results":
            self.saved.append(path)
        else:
            inform(f"{what} in {path}")

    @contextmanager
    def progress(self, what: str, unit: str = "frames") -> "Iterator[Callable[[int, int], None] | None]":
        """Show progress. An interrupted streamed evaluation says how it is continued."""
        try:
            with progress(what, unit) as advance:
                yield advance
        except KeyboardInterrupt as error:
            if not self.streamed:
                raise
            warn(f"interrupted: {error}" if error.args else "interrupted")
            raise typer.Exit(130) from error
