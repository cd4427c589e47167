"""``mapgauge report``: writes results as one HTML page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mapgauge.cli import options as o
from mapgauge.cli.inputs import input_file, options_of
from mapgauge.cli.output import inform, progress, warn
from mapgauge.cli.parsing import file_names, path_or_url, place, refuse
from mapgauge.cli.reading import Reading
from mapgauge.cli.results_files import check_one_protocol, each_results, load_all
from mapgauge.cli.targets import check_page, check_targets
from mapgauge.errors import MapgaugeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mapgauge.results.results import Results


def report(
    context: typer.Context,
    results: o.ResultsArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="File to write (.html).", show_default=False)
    ],
    predictions: Annotated[
        list[Path] | None,
        typer.Option(
            "--predictions",
            metavar="FILE",
            help="File that was evaluated, once per RESULTS. Default: the file that RESULTS name.",
            parser=input_file,
            show_default=False,
        ),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(
            "--truth",
            metavar="FILE",
            help="File of the truth. Default: the file that RESULTS name.",
            parser=input_file,
            show_default=False,
        ),
    ] = None,
    frames: o.FramesOption = 200,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Title of the page.", show_default=False)
    ] = None,
    causes: Annotated[
        bool | None,
        typer.Option(
            "--causes/--no-causes",
            help="Whether to show the causes of PLD, and completeness. They need the geometry. Default: the causes, if "
            "there are at most 1,200,000 instances.",
            show_default=False,
        ),
    ] = None,
    format: o.FormatOption = None,
    truth_format: o.TruthFormatOption = None,
    rotate: o.RotateOption = 0.0,
    rename: o.RenameOption = None,
    rename_truth: o.RenameTruthOption = None,
    planar: o.PlanarOption = False,
    certain: o.CertainOption = False,
    degenerate: o.DegenerateOption = "strict",
    name: o.NamesOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Write results as an HTML page.

    The page draws frames if the results have the geometry (`evaluate --with-geometry`), if the evaluated files still
    exist, or if they are given. The results say how the files were read.
    """
    results = each_results(results)
    if predictions and len(predictions) != len(results):
        refuse("--predictions", f"must be given once per RESULTS, {len(results)} times, got {len(predictions)}")
    reading = Reading.of(context)
    names = file_names(results, name)
    check_targets([output], [*results, *(predictions or ()), truth])
    check_page("--output", output, frames)

    from mapgauge.report import write_report

    given: Sequence[Path | None] = predictions or [None] * len(results)
    loaded = load_all(results, names)
    methods = [_with_data(one, path, reading, x, truth) for one, path, x in zip(loaded, results, given, strict=True)]
    check_one_protocol(names, methods)
    with progress("writing the report") as advance:
        write_report(methods, output, names=names, frames=frames, title=title, causes=causes, progress=advance)
    inform(f"report in {output}")


def _with_data(
    results: "Results", path: Path, reading: Reading, predictions: Path | None, truth: Path | None
) -> "Results":
    """Return results with the geometry that they were computed from.

    The results say how their files were read. Options of this command replace that. Files given as options must be the
    evaluated ones. Files that the results name may be missing or may have changed: then there is a warning, and the
    results have no geometry.
    """
    try:
        if reading == Reading() and not any(options_of(one) for one in (predictions, truth) if one is not None):
            return results.with_data(*(None if one is None else place(one) for one in (predictions, truth)))
        x, y = (
            path_or_url(recorded.name) if given is None else given
            for given, recorded in zip((predictions, truth), results.inputs, strict=True)
        )
        return results.with_data(reading.predictions(x), reading.truth(y))
    except MapgaugeError as error:
        if predictions is not None or truth is not None:
            raise
        warn(f"{path}: frames are not drawn: {error.for_shell()}")
        return results.without_data()
