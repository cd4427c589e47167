"""``mapgauge report``: writes results as an HTML page."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mapgauge.cli import options as o
from mapgauge.cli.command import command
from mapgauge.cli.frames import frames_of, pointing
from mapgauge.cli.methods import Methods, with_data_if_there
from mapgauge.cli.output import inform, progress
from mapgauge.cli.slices import tags_of
from mapgauge.cli.targets import check_figure, check_page, check_targets

_CAUSES_HELP = "Whether to show the causes of PLD, and completeness. They need the geometry. Default: the causes."
_CARD_HELP = (
    "Write the first screen as one picture too (.png, .svg or .pdf): 1200 x 630 pixels, for a pull request or a chat. "
    "It needs the extra plot, and no browser."
)
_PATHS_HELP = "Name the inputs by their whole paths. By default, the page has the names of the files only."


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options of ``mapgauge report``."""

    files: o.MethodsArgument
    output: Annotated[Path, o.output_option("FILE", "A page (.html).")]
    frames: o.FramesOption = None
    title: o.TitleOption = None
    causes: Annotated[bool | None, o.option("--causes/--no-causes", o.RARE, _CAUSES_HELP, show_default=False)] = None
    by: o.ByOption = None
    with_paths: Annotated[bool, o.option("--with-paths", o.RARE, _PATHS_HELP)] = False
    card: Annotated[Path | None, o.option("--card FILE", o.RARE, _CARD_HELP)] = None
    protocol: o.ProtocolOption = None
    quiet: o.QuietOption = False


@command
def report(options: ReportOptions) -> None:
    """Write results as an HTML page.

    The page draws frames if the results have the geometry (`evaluate --with-geometry`) or if the evaluated files still
    exist. Files that were moved are given with the results: RESULTS,predictions=FILE,truth=FILE.
    """
    output = options.output
    card = options.card
    targets = [output]
    if card is not None:
        targets.append(card)
    drawn = frames_of(options.frames)
    check_targets(targets, options.files)
    check_page("--output", output)
    check_figure(card)
    sides = Methods.of("report", options.files, protocol=options.protocol)
    check_targets(targets, sides.files)

    from mapgauge.report import write_report

    tags = tags_of(sides.files, options.by)
    methods = sides.load(data=False)
    if sides.from_results:
        methods = [with_data_if_there(method, path) for method, path in zip(methods, sides.files, strict=True)]
    with pointing("--frames"), progress("writing the report") as advance:
        write_report(
            methods,
            output,
            names=sides.names,
            frames=drawn,
            title=options.title,
            causes=options.causes,
            by=options.by,
            tags=tags,
            with_paths=options.with_paths,
            card=card,
            progress=advance,
        )
    inform(f"report in {output}")
    if card is not None:
        inform(f"card in {card}")
