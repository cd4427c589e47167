"""The application: all commands of ``mapgauge``."""

from typing import Annotated

import typer

from mapgauge.cli.compare import compare
from mapgauge.cli.compile import compile, show_compiling
from mapgauge.cli.confidence import confidence
from mapgauge.cli.consistency import consistency
from mapgauge.cli.convert import convert
from mapgauge.cli.demo import demo
from mapgauge.cli.evaluate import evaluate
from mapgauge.cli.inspect import inspect
from mapgauge.cli.lists import formats, protocols
from mapgauge.cli.output import set_quiet
from mapgauge.cli.paper import paper
from mapgauge.cli.plot import plot
from mapgauge.cli.report import report
from mapgauge.cli.show import show
from mapgauge.cli.sweep import sweep
from mapgauge.cli.track import track
from mapgauge.cli.truth import truth
from mapgauge.cli.why import why
from mapgauge.version import __version__

# Help is plain text. Importing rich would take longer than everything else together.
app = typer.Typer(
    name="mapgauge",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mapgauge {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Evaluate online HD maps: compare predicted polylines with the truth."""
    set_quiet(False)
    show_compiling()


for _command in (
    *(evaluate, compare, why, sweep, show, plot, report, paper, confidence, track, consistency),
    *(inspect, convert, formats, protocols, compile, demo),
):
    app.command()(_command)
app.add_typer(truth)
