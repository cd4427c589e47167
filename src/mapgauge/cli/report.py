"""``mapgauge report``: writes results as one HTML page."""

from pathlib import Path
from typing import Annotated

import typer

from mapgauge.cli import options as o
from mapgauge.cli.methods import Methods, with_data_if_there
from mapgauge.cli.output import inform, progress
from mapgauge.cli.targets import check_page, check_targets


def report(
    context: typer.Context,
    files: o.MethodsArgument,
    output: Annotated[Path, o.output_option("FILE", "A page (.html).")],
    frames: o.FramesOption = 200,
    title: o.TitleOption = None,
    causes: Annotated[
        bool | None,
        o.flag(
            "--causes/--no-causes",
            o.COMPUTED,
            "Whether to show the causes of PLD, and completeness. They need the geometry. Default: the causes, if "
            "there are at most 1,200,000 instances.",
            show_default=False,
        ),
    ] = None,
    protocol: o.ProtocolOption = None,
    workers: o.WorkersOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Write results as an HTML page.

    The page draws frames if the results have the geometry (`evaluate --with-geometry`) or if the evaluated files still
    exist. Files that were moved are given with the results: RESULTS,predictions=FILE,truth=FILE.
    """
    check_targets([output], files)
    check_page("--output", output)
    sides = Methods.of(context, files)
    check_targets([output], sides.files)

    from mapgauge.report import write_report

    methods = sides.load(data=False)
    if sides.from_results:
        methods = [with_data_if_there(one, path) for one, path in zip(methods, sides.files, strict=True)]
    with progress("writing the report") as advance:
        write_report(methods, output, names=sides.names, frames=frames, title=title, causes=causes, progress=advance)
    inform(f"report in {output}")
