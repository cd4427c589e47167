"""The application: the table of all commands of ``mapgauge``, and how their help and usage errors look."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from mapgauge.cli.compile import show_compiling
from mapgauge.cli.output import set_quiet
from mapgauge.version import __version__


@dataclass(frozen=True, slots=True)
class Command:
    """A command: where its function is, and two examples of its use."""

    place: str  # module and function, or a Typer with commands of its own
    examples: tuple[str, str]

    def load(self) -> Any:
        """Import the function."""
        module, _, name = self.place.partition(":")
        return getattr(import_module(f"mapgauge.{module}"), name)


COMMANDS = {
    "evaluate": Command(
        "cli.evaluate:evaluate",
        ("predictions.json truth.pkl -o results.mg", "A.json B.json,rotate=-90,name=B truth.pkl --report report.html"),
    ),
    "compare": Command("cli.compare:compare", ("A.mg B.mg", 'main.mg change.mg --fail-if "pld > +0.005"')),
    "why": Command("features.causes.command:why", ("results.mg", "predictions.json truth.pkl --cause missed")),
    "sweep": Command(
        "cli.sweep:sweep",
        ("predictions.json truth.pkl -c 0.5,1.0,1.5", "predictions.json truth.pkl --vary spacing=0.25,0.5"),
    ),
    "show": Command(
        "cli.show:show", ("results.mg -o frame.png", "predictions.json truth.pkl --frame best -o best.png")
    ),
    "plot": Command("cli.plot:plot", ("parts A.mg B.mg -o parts.pdf", "pr results.mg --threshold 0.5 -o pr.svg")),
    "report": Command("cli.report:report", ("results.mg -o report.html", "A.mg B.mg --frames 50 -o report.html")),
    "paper": Command("cli.paper:paper", ("A.mg B.mg -o paper", "results --samples 10000 -o paper")),
    "confidence": Command(
        "features.confidence.command:confidence",
        ("results.mg --figure confidence.png", "predictions.json truth.pkl --thresholds thresholds.json"),
    ),
    "track": Command(
        "features.tracks.track_command:track",
        (
            "predictions.json --poses truth.geojson -o tracked.parquet",
            "A.parquet --method maptracker -o tracked.parquet",
        ),
    ),
    "consistency": Command(
        "features.tracks.consistency_command:consistency",
        ("predictions.json --poses truth.geojson", "A.parquet B.parquet --lags 1,10 --figure flicker.png"),
    ),
    "inspect": Command("cli.inspect:inspect", ("predictions.json truth.pkl", "results.mg --json")),
    "convert": Command(
        "cli.convert:convert", ("results.json predictions.parquet", "part-1.json part-2.json predictions/")
    ),
    "formats": Command("cli.lists:formats", ("", "--json")),
    "protocols": Command("cli.lists:protocols", ("", "--json")),
    "metrics": Command("cli.lists:metrics", ("", "--json")),
    "compile": Command("cli.compile:compile", ("", "--metrics pld,ap_chamfer")),
    "demo": Command("cli.demo:demo", ("", "--size 20 -o demo-small")),
    "truth": Command(
        "cli.truth:truth", ("nuscenes DATAROOT -o truth.parquet", "av2 DATAROOT --split test -o test.parquet")
    ),
}


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
                from mapgauge.cli.advice import advice

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
) -> None:
    """Evaluate online HD maps: compare predicted polylines with the truth."""
    set_quiet(False)
    show_compiling()
