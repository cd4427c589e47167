"""The application: all commands of ``mapgauge``, and how their help and usage errors look."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from mapgauge.cli.commands import COMMANDS
from mapgauge.cli.compile import show_compiling
from mapgauge.cli.output import set_quiet
from mapgauge.version import __version__


class _Command(TyperCommand):
    """A command. Its help has a section per panel of options, and its usage errors say what to write instead."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments. The parser takes a single file for the truth, because the predictions are a list."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            truth: Any = next((param for param in self.params if param.name == "truth" and param.required), None)
            if truth is not None and not error.message and getattr(error.param, "name", "") == "predictions":
                error.param = truth
                error.message = f"Give it after the predictions: {ctx.command_path} PREDICTIONS... TRUTH"
            raise
        except Exception as error:
            if type(error).__name__ == "NoSuchOption":
                from mapgauge.cli.commands import advice

                error.message += advice(self, given, error.option_name)  # type: ignore[attr-defined]
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options of each panel, in the order of the command."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if param.param_type_name == "argument" else "Options"
                panels.setdefault(getattr(param, "rich_help_panel", None) or usual, []).append(record)
        for panel, records in panels.items():
            with formatter.section(panel):
                formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, one per line."""
        if self.epilog:
            with formatter.section("Examples"):
                for line in self.epilog.splitlines():
                    formatter.write(f"{' ' * formatter.current_indent}{line}\n")


def application(commands: Iterable[str] = tuple(COMMANDS)) -> typer.Typer:
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
        command = COMMANDS[name].load()
        lines = "\n".join(f"mapgauge {name} {example}".strip() for example in COMMANDS[name].examples)
        if isinstance(command, typer.Typer):
            for registered in command.registered_commands:
                registered.cls, registered.epilog = _Command, registered.epilog or lines
            made.add_typer(command)
        else:
            made.command(name, cls=_Command, epilog=lines)(command)
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
            help="Also use the metrics, formats and protocols of this module. Can be repeated, also after the command.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Evaluate online HD maps: compare predicted polylines with the truth."""
    set_quiet(False)
    show_compiling()
