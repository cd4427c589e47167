"""The application: all commands of ``mapgauge``."""

from collections.abc import Iterable
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from mapgauge.cli.compile import show_compiling
from mapgauge.cli.output import set_quiet
from mapgauge.version import __version__

# The module of each command. Features bring their own.
COMMANDS = {
    "evaluate": "cli.evaluate",
    "compare": "cli.compare",
    "why": "features.causes.command",
    "sweep": "cli.sweep",
    "show": "cli.show",
    "plot": "cli.plot",
    "report": "cli.report",
    "paper": "cli.paper",
    "confidence": "features.confidence.command",
    "track": "features.tracks.track_command",
    "consistency": "features.tracks.consistency_command",
    "inspect": "cli.inspect",
    "convert": "cli.convert",
    "formats": "cli.lists",
    "protocols": "cli.lists",
    "compile": "cli.compile",
    "demo": "cli.demo",
    "truth": "cli.truth",
}


class _Command(TyperCommand):
    """A command. With a single file, one that takes predictions and truth says that the truth is missing."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments. The parser takes a single file for the truth, because the predictions are a list."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            truth: Any = next((one for one in self.params if one.name == "truth" and one.required), None)
            if truth is not None and not error.message and getattr(error.param, "name", "") == "predictions":
                error.param = truth
                error.message = f"Give it after the predictions: {ctx.command_path} PREDICTIONS... TRUTH"
            raise


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
        command = getattr(import_module(f"mapgauge.{COMMANDS[name]}"), name)
        if isinstance(command, typer.Typer):
            made.add_typer(command)
        else:
            made.command(cls=_Command)(command)
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
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            "--plugin",
            metavar="MODULE",
            help="A Python module with a further metric, format or protocol. It may also stand after the command, and "
            "more than once.",
        ),
    ] = None,
) -> None:
    """Evaluate online HD maps: compare predicted polylines with the truth."""
    set_quiet(False)
    show_compiling()
