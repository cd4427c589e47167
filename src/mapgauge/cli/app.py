"""The application: all commands of ``mapgauge``."""

from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer

from mapgauge.cli.compile import show_compiling
from mapgauge.cli.output import set_quiet
from mapgauge.version import __version__

_LISTS = ("formats", "protocols")  # commands that share a module
COMMANDS = (
    *("evaluate", "compare", "why", "sweep", "show", "plot", "report", "paper", "confidence", "track", "consistency"),
    *("inspect", "convert", *_LISTS, "compile", "demo", "truth"),
)


def application(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """Return the application with some commands. Their modules are imported, which takes most of the time."""
    # Help is plain text. Importing rich would take longer than everything else together.
    made = typer.Typer(
        name="mapgauge",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(about)
    for name in commands:
        command = getattr(import_module(f"mapgauge.cli.{'lists' if name in _LISTS else name}"), name)
        if isinstance(command, typer.Typer):
            made.add_typer(command)
        else:
            made.command()(command)
    return made


def application_for(arguments: list[str]) -> typer.Typer:
    """Return the application for some arguments: with the command they name, or with all of them for help and hints."""
    return application(arguments[:1]) if arguments[:1] and arguments[0] in COMMANDS else application()


def __getattr__(name: str) -> typer.Typer:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = made = application()
    return made


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mapgauge {__version__}")
        raise typer.Exit


def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Evaluate online HD maps: compare predicted polylines with the truth."""
    set_quiet(False)
    show_compiling()
