"""``mapgauge evaluate``: compares predictions with truth, and says what comes out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

from mapgauge.cli import options as o
from mapgauge.cli import parsing
from mapgauge.cli.command import command, without_effect
from mapgauge.cli.compiling import compile_for
from mapgauge.cli.emit import Piece, Printing, emit
from mapgauge.cli.inputs import InputReader, check_classes, check_files, check_not_poses, options_of, turned
from mapgauge.cli.methods import keep_order
from mapgauge.cli.output import announce, exit_on, exit_without_truth
from mapgauge.cli.slices import are_slices, slice_pieces, slices_of, tags_of
from mapgauge.cli.targets import (
    SUFFIX,
    check_geometry,
    check_page,
    check_results,
    check_targets,
    files_of_each,
    page_of,
)
from mapgauge.cli.watching import EvaluationWatch
from mapgauge.hooks import prior_tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from mapgauge.answers.answer import Answer
    from mapgauge.cli.runs import InMemory, RunPlan, Streamed
    from mapgauge.evaluation.streaming.run import OnError
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.hooks import Documented
    from mapgauge.protocols import Protocol
    from mapgauge.results.results import Results
    from mapgauge.results.tags import Tags
_PAGE_HELP = "Also write a report (.html). With several protocols, one for each: FILE-PROTOCOL.html."
_WITH_GEOMETRY_HELP = "Also write predictions and truth to the file of -o. `report` and `show` then need no other file."
_PROTOCOL_HELP = " With several, files are read once, and one table has all values."
_BY_HELP = f"{o.BY} With --latex, `class` gives a column for each class."
_TABLES_HELP = "Also print a table of all values of each metric, by class."
_METADATA_HELP = "Keep a note with the results, such as commit=4f2a. Can be repeated."
_NOTES_HELP = "Also print notes about the input, and the digest of the truth. Warnings are printed in any case."
_OUTPUT_HELP = "Results (.mg); with several predictions or protocols, a folder. So is a name with a slash at its end."


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(Printing):
    """The options of ``mapgauge evaluate``."""

    predictions: o.PredictionsArgument
    truth: o.TruthArgument
    protocol: Annotated[parsing.Texts, o.protocol_option(_PROTOCOL_HELP)] = None
    metrics: o.MetricsOption = None
    cutoff: o.CutoffOption = None
    classes: o.ClassesOption = None
    changes: o.SetOption = None
    ranges: o.RangesOption = None
    by: Annotated[str | None, o.option("--by COLUMN", o.COMPUTED, _BY_HELP)] = None
    correction: o.CorrectionOption = "none"
    metadata: Annotated[parsing.Texts, o.option("--metadata KEY=VALUE", o.WRITTEN, _METADATA_HELP)] = None
    # A path would lose the slash at its end, which says that it is a folder.
    output: Annotated[str | None, o.output_option("FILE", _OUTPUT_HELP)] = None
    page: Annotated[Path | None, o.option("--report FILE", o.WRITTEN, _PAGE_HELP)] = None
    title: o.TitleOption = None
    with_geometry: Annotated[bool, o.option("--with-geometry", o.WRITTEN, _WITH_GEOMETRY_HELP)] = False
    tables: Annotated[bool, o.option("--tables", o.WRITTEN, _TABLES_HELP)] = False
    notes: Annotated[bool, o.option("--notes", o.WRITTEN, _NOTES_HELP)] = False
    json: o.JsonOption = False
    csv: o.CsvOption = False
    latex: o.LatexOption = False
    fail_on: o.FailOnOption = None
    quiet: o.QuietOption = False
    tokens: o.TokensOption = None
    prior: Annotated[Path | None, o.PRIOR] = None
    ignore_unknown: o.IgnoreUnknownOption = False
    workers: o.WorkersOption = None
    engine: o.EngineOption = None
    work: o.WorkOption = None
    resume: o.ResumeOption = False
    on_error: o.OnErrorOption = "stop"

    @property
    def names_of_protocols(self) -> list[str]:
        """The protocols, each once."""
        return list(dict.fromkeys(parsing.listed(self.protocol))) or [parsing.PROTOCOL]

    @property
    def slice_by(self) -> str | None:
        """The column of --by; None without it, and for ``class``, which is a form of the LaTeX table."""
        if self.by == "class":
            return None
        return self.by

    @property
    def lists(self) -> Sequence[Path]:
        """The files of --tokens."""
        return self.tokens or ()


@command
def evaluate(options: EvaluateOptions) -> None:
    """Compare predictions with truth.

    Prints what was compared, the answer in a few sentences, a table, the worst frame, and possible problems with
    the input; with --prior also what the methods make of a prior map. If both sides are Parquet (a file, a folder or a
    URL), they are read in chunks, on this machine or on a Dask cluster.
    """
    watch = EvaluationWatch(
        is_text=options.form == "text" and not options.quiet,
        explains=options.form in ("text", "json"),
        has_report=options.page is not None,
        keeps_data=options.page is not None or options.prior is not None,
        workers=options.workers,
    )
    with watch.interrupts():
        announce([*options.predictions, options.truth])  # at once: imports take a part of a second
        _evaluate(options, watch)


def _evaluate(options: EvaluateOptions, watch: EvaluationWatch) -> None:
    """Check the options, and do all work."""
    tags = tags_of([options.truth, *options.predictions], options.by)
    protocols = [
        parsing.settings_of(name, cutoff=options.cutoff, classes=options.classes, changes=options.changes)
        for name in options.names_of_protocols
    ]
    chosen = parsing.metrics_of_each(protocols, options.metrics)
    metrics = list(chain.from_iterable(chosen))
    _check_options(options, metrics)
    if options.prior is not None and prior_tables() is None:
        parsing.refuse("--prior", "no feature that compares with a prior map is installed")
    if options.prior is not None and not protocols[0].cutoffs:
        parsing.refuse("--prior", "needs PLD, and the protocol has no cutoff. Give one with -c 1.5")
    plan, pages = _plan(options, protocols, chosen)
    check_files(*options.predictions, options.truth, *([options.prior] if options.prior else []))
    watch.is_streamed = _streams(options, protocols)
    prepare = partial(_prepare, options, protocols, chosen)
    if watch.is_streamed:
        sides: InMemory | Streamed = _streamed(options, prepare)
    else:
        sides = _in_memory(options, prepare)
    _run(options, plan, pages, sides=sides, watch=watch, tags=tags)


def _plan(
    options: EvaluateOptions, protocols: "Sequence[Protocol]", metrics: Sequence[tuple[str, ...]]
) -> "tuple[RunPlan, list[Path | None]]":
    """Return all runs with the files that they write, and the report of each protocol, after checks of these files."""
    from mapgauge.cli.runs import RunPlan
    from mapgauge.io.files.places import is_folder_target
    from mapgauge.scoring.prepare import check_rings

    plan = RunPlan(
        names=parsing.file_names(options.predictions),
        protocols=protocols,
        metrics=metrics,
        rings=parsing.valid("--ranges", check_rings, parsing.numbers("--ranges", options.ranges)),
        unknown="ignore" if options.ignore_unknown else "error",
        workers=options.workers,
        noted=parsing.metadata_of(options.metadata),
    )
    written = None
    into_folder = False
    if options.output is not None:
        written = Path(options.output)
        into_folder = bool(options.output) and is_folder_target(options.output)
    targets = files_of_each(written, plan.labels, SUFFIX, into_folder=into_folder)
    folders = files_of_each(options.work, plan.labels)
    pages = _pages(options)
    new_folder = None
    if into_folder or len(plan.labels) > 1:
        new_folder = written
    inputs = [*options.predictions, options.truth, *options.lists, options.prior]
    check_targets([*targets, *pages], inputs, folders=folders, new_folder=new_folder)
    if new_folder is None:
        check_results("--output", written)
    check_page("--report", options.page)
    check_geometry(written, wanted=options.with_geometry)
    return replace(plan, targets=targets, folders=folders), pages


def _pages(options: EvaluateOptions) -> "list[Path | None]":
    """Return the report of each protocol. Only with several protocols, its name has that of the protocol."""
    names = options.names_of_protocols
    if options.page is None:
        return [None] * len(names)
    if len(names) == 1:
        return [page_of(options.page, "")]
    return [page_of(options.page, name) for name in names]


def _run(
    options: EvaluateOptions,
    plan: "RunPlan",
    pages: "Sequence[Path | None]",
    sides: "InMemory | Streamed",
    watch: EvaluationWatch,
    tags: "Tags | None",
) -> None:
    """Evaluate all methods by all protocols, print what comes out, and write results and reports."""
    from mapgauge.cli.runs import evaluate_runs, write_reports

    geometry: Literal["original"] | None = None
    if options.with_geometry:
        geometry = "original"
    results = evaluate_runs(plan, sides, watch, geometry=geometry, keep=watch.keeps_data)
    answers: list[Answer] = []
    with watch.attempt():
        answers = _answers(plan, watch)
        _print(options, plan, results, watch=watch, answers=answers, tags=tags)
    watch.end_of_text()
    with watch.attempt():
        keep_order(plan.targets)
        keep_order(plan.folders)
    write_reports(
        plan, results, pages, watch=watch, answers=answers, title=options.title, by=options.slice_by, tags=tags
    )
    watch.outputs.end()
    exit_on(options.fail_on, watch.findings)
    exit_without_truth(watch.findings)


def _print(
    options: EvaluateOptions,
    plan: "RunPlan",
    results: "Sequence[Results]",
    watch: EvaluationWatch,
    answers: "Sequence[Answer]",
    tags: "Tags | None",
) -> None:
    """Print what comes out, with the tables of a prior and of subsets."""
    from mapgauge.cli.evaluated import Evaluated

    of_prior: dict[str, Sequence[Documented]] = {}
    text_of_prior: Iterable[Piece] = ()
    prior = None
    if options.prior is not None:
        prior = prior_tables()
    if options.prior is not None and prior is not None:
        measured = prior.measure(results, plan.names, options.prior, workers=options.workers)
        of_prior = {prior.key: list(measured.values())}
        text_of_prior = prior.text(measured)
    sliced = slices_of(results, options.slice_by, options.lists, tags=tags, correction=options.correction)
    document = Evaluated(
        names=plan.names,
        results=results,
        answers=answers,
        files=[*options.predictions, options.truth],
        targets=[target if target in watch.saved else None for target in plan.targets],
        findings=watch.findings,
        slices=sliced,
        of_prior=of_prior,
        more=chain(text_of_prior, slice_pieces(plan.titles, sliced)),
        by_class=options.by == "class",
        has_lists=bool(options.lists),
        with_tables=options.tables,
        with_notes=options.notes,
        is_quiet=options.quiet,
    )
    emit(options, document)


def _answers(plan: "RunPlan", watch: EvaluationWatch) -> "list[Answer]":
    """Return what is said of the methods by each protocol; nothing if the document has no answer."""
    if not watch.explains:
        return []

    from mapgauge.answers.answer import combined

    count = len(plan.protocols)
    with watch.progress("comparing the methods"):
        return [combined(watch.told[k::count]) for k in range(count)]


def _prepare(options: EvaluateOptions, protocols: "Sequence[Protocol]", metrics: "Sequence[tuple[str, ...]]") -> None:
    """Begin to compile kernels. Small files do not need them, but a report does."""
    from mapgauge.metrics.explaining import explaining

    needed = ["read", *chain.from_iterable(metrics)]
    if options.page is not None:
        needed.append("report")
    is_explained = any(map(explaining, protocols, metrics))
    if is_explained and options.form in ("text", "json"):
        needed.append("words")
    compile_for(needed, [] if options.page is not None else [*options.predictions, options.truth])


def _check_options(options: EvaluateOptions, metrics: Sequence[str]) -> None:
    """Refuse options that contradict each other or have no effect."""
    several = len(options.names_of_protocols) > 1
    if options.by == "class" and (options.form != "latex" or several):
        parsing.refuse("--by", "class needs --latex and one protocol")
    if options.slice_by is not None and options.form == "latex":
        parsing.refuse("--by", "--latex has no other subsets than class")
    if options.slice_by is None and not are_slices(options.lists):
        without_effect(options, ["correction"], "without --by COLUMN or several --tokens FILE")
    if options.form in ("csv", "latex"):
        without_effect(options, ["correction"], f"with --{options.form}, which has no differences")
    parsing.check_settings_used(metrics, cutoff=options.cutoff, changes=options.changes)
    if options.page is None:
        without_effect(options, ["title"], "without --report FILE")
    if "://" in (options.engine or ""):
        without_effect(options, ["workers"], "with the address of a cluster, which has its own workers")
    if options.prior is not None and (options.form not in ("text", "json") or several):
        parsing.refuse("--prior", "needs one protocol, and no --csv or --latex")
    if options.resume and options.work is None:
        parsing.refuse("--resume", "needs the folder of the interrupted run: --work FOLDER")


def _in_memory(options: EvaluateOptions, prepare: "Callable[[], None]") -> "InMemory":
    """Return how both sides are read as a whole. ``prepare`` is done while the first bytes are read."""
    from mapgauge.cli.runs import InMemory

    reading = InputReader(workers=options.workers)
    first, *others = options.predictions
    read: list[Callable[[], MapFrames]] = [reading.predictions_ahead(first, prepare)]
    read += [partial(reading.predictions, path) for path in others]
    readers = [
        partial(_checked, path, load, options.classes, bool(options.lists))
        for path, load in zip(options.predictions, read, strict=True)
    ]
    return InMemory(partial(_chosen_truth, reading, options), readers)


def _streamed(options: EvaluateOptions, prepare: "Callable[[], None]") -> "Streamed":
    """Return how both sides are read in chunks."""
    from mapgauge.cli.runs import Streamed
    from mapgauge.io.dataset import open_dataset

    prepare()
    if options.classes:
        known = open_dataset(parsing.place(options.truth)).classes
        for path in options.predictions:
            place = parsing.place(path)
            check_classes(options.classes, str(place), open_dataset(place).classes, known)
    return Streamed(
        truth=parsing.place(options.truth),
        predictions=[parsing.place(path) for path in options.predictions],
        engine=options.engine,
        resume=options.resume,
        on_error=cast("OnError", options.on_error),
        degenerate=options_of(options.truth).get("degenerate", "strict"),
    )


def _chosen_truth(reading: InputReader, options: EvaluateOptions) -> "MapFrames":
    """Read the truth, or the frames of it that lists of tokens name."""
    from mapgauge.io.files.source import read_tokens

    truth = reading.truth(options.truth)
    check_not_poses(options.predictions, options.truth, truth)
    if not options.lists:
        return truth
    return truth.of_tokens([token for file in options.lists for token in read_tokens(file)])


def _checked(
    path: Path, read: "Callable[[], MapFrames]", classes: parsing.Texts, chosen: bool, truth: "MapFrames"
) -> "MapFrames":
    """Read predictions, turn them to the axes of the truth, and check the classes."""
    predictions = turned(path, read(), truth)
    if chosen:  # predictions of other frames are left out, as they are not in this truth
        shared = [token for token in truth.tokens if token in predictions]
        if shared:
            predictions = predictions.of_tokens(shared)
        else:
            predictions = predictions.at([])
    check_classes(classes, predictions.name, truth.classes, predictions.classes)
    return predictions


def _streams(options: EvaluateOptions, protocols: "Sequence[Protocol]") -> bool:
    """Whether all files are Parquet, and nothing needs them in memory as a whole."""
    from mapgauge.geometry.cropping import corridor_radius
    from mapgauge.io.files.places import streams

    paths = [*options.predictions, options.truth]
    is_parquet = all(streams(parsing.place(path)) for path in paths)
    has_corridor = any(corridor_radius(protocol.window) is not None for protocol in protocols)
    is_changed = has_corridor or _is_changed(options, paths)
    needs_all = options.page is not None
    chosen = _options_of_chunks(options)
    if chosen and (is_changed or needs_all or not is_parquet):
        more = ""
        if needs_all and is_parquet:
            more = ". A report needs all data in memory: make it from a part of the data"
        if has_corridor:
            more = ". A corridor leads through frames of other chunks"
        parsing.refuse(
            ", ".join(chosen),
            f"{'needs' if len(chosen) == 1 else 'need'} Parquet on both sides, without options after the names, "
            f"--tokens and --prior. Convert the files first: mapgauge convert IN,rotate=-90,scenes=FILE OUT/{more}",
        )
    return is_parquet and not is_changed and not needs_all


def _is_changed(options: EvaluateOptions, paths: Sequence[Path]) -> bool:
    """Whether files are changed after they are read, or whole scenes are needed."""
    degenerate = {options_of(path).get("degenerate", "strict") for path in paths}
    if options.lists or options.prior is not None or len(degenerate) > 1:
        return True
    return any(set(options_of(path)) - {"name", "degenerate", "tags"} for path in paths)


def _options_of_chunks(options: EvaluateOptions) -> list[str]:
    """Return the options that were given and are about chunks. --resume needs --work."""
    given = {
        "--engine": options.engine is not None,
        "--work": options.work is not None,
        "--resume": options.resume,
        "--on-error": options.on_error != "stop",
    }
    return [name for name, is_given in given.items() if is_given]
