"""The application: the table of commands, what features add to them, and how help and usage errors look.

Features are known here only: by the places of functions, which are imported when they are needed.
"""

import shlex
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperCommand

from mapgauge.cli.compile import show_compiling
from mapgauge.cli.inputs import FILE_KEYS, RESULTS_KEYS
from mapgauge.cli.output import set_quiet
from mapgauge.version import __version__


def load(place: str) -> Any:
    """Import a function."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"mapgauge.{module}"), name)


# For each command: the place of its function, or of a Typer with commands of its own, and two examples of its use.
COMMANDS = {
    "evaluate": (
        "cli.evaluate:evaluate",
        "predictions.json truth.pkl -o results.mg",
        "A.json B.json,rotate=-90,name=B truth.pkl --report report.html",
    ),
    "compare": ("cli.compare:compare", "A.mg B.mg", 'main.mg change.mg --fail-if "pld > +0.005"'),
    "frames": ("cli.frames:frames", "results.mg --worst 20", 'results.mg --where "pld > 0.8 and missed > 2" --tokens'),
    "diff": ("features.provenance.command:diff", "A.mg B.mg", "A.mg B.mg --explain"),
    "why": ("features.causes.command:why", "results.mg", "predictions.json truth.pkl --cause missed"),
    "sweep": (
        "cli.sweep:sweep",
        "predictions.json truth.pkl -c 0.5,1.0,1.5",
        "predictions.json truth.pkl --vary spacing=0.25,0.5",
    ),
    "show": ("cli.plot:show", "results.mg -o frame.png", "predictions.json truth.pkl --frame best -o best.png"),
    "plot": ("cli.plot:plot", "parts A.mg B.mg -o parts.pdf", "pr results.mg --threshold 0.5 -o pr.svg"),
    "report": ("cli.plot:report", "results.mg -o report.html", "A.mg B.mg --frames 50 -o report.html"),
    "view": ("features.view.command:view", "results.mg", "A.mg B.mg --no-browser --port 8000"),
    "export": (
        "features.rerun.command:export",
        "results.mg -o drive.rrd",
        "results.mg --scene scene-0001 --images DATAROOT -o drive.rrd",
    ),
    "paper": ("cli.paper:paper", "A.mg B.mg -o paper", "results --samples 10000 -o paper"),
    "confidence": (
        "features.confidence.command:confidence",
        "results.mg --figure confidence.png",
        "predictions.json truth.pkl --thresholds thresholds.json",
    ),
    "changes": (
        "features.priors.command:changes",
        "results.mg --prior prior.geojson",
        "predictions.json truth.pkl --prior prior.parquet --same 0.3",
    ),
    "masks": (
        "features.raster.command:masks",
        "submission_vector.json truth.pkl -p maptracker-iou-60x30",
        "submission_vector.json truth.pkl -p maptracker-iou-100x50 --json",
    ),
    "track": (
        "features.tracks.command:track",
        "predictions.json --poses truth.geojson -o tracked.parquet",
        "A.parquet --method maptracker -o tracked.parquet",
    ),
    "consistency": (
        "features.tracks.command:consistency",
        "predictions.json --poses truth.geojson",
        "A.parquet B.parquet --lags 1,10 --figure flicker.png",
    ),
    "global": (
        "features.global_map.command:global_map",
        "model_maps.json av2_all_gt.json",
        "tracked.parquet truth.parquet --rule median --over-time --figure map.png",
    ),
    "splits": (
        "features.splits.command:splits",
        "train.parquet val.parquet results.mg",
        "propose truth.parquet -o new-splits",
    ),
    "inspect": ("cli.inspect:inspect", "predictions.json truth.pkl", "results.mg --json"),
    "convert": ("cli.convert:convert", "results.json predictions.parquet", "part-1.json part-2.json predictions/"),
    "formats": ("cli.lists:formats", "", "--json"),
    "protocols": ("cli.lists:protocols", "", "--json"),
    "metrics": ("cli.lists:metrics", "", "--json"),
    "published": ("features.provenance.command:published", "", "--like results.mg"),
    "cite": ("features.provenance.command:cite", "results.mg", "runs/MapTR.mg"),
    "compile": ("cli.compile:compile", "", "--metrics pld,ap_chamfer"),
    "demo": ("cli.demo:demo", "", "--size 20 -o demo-small"),
    "truth": ("cli.truth:truth", "nuscenes DATAROOT -o truth.parquet", "map FILE --poses poses.json -o own.parquet"),
}


# What features add to commands of the core: the place of a function, which is imported when it is needed.
ADDITIONS = {
    "differences by cause": "features.causes.command:differences_by_cause",  # of compare
    "causes in words": "features.causes.command:in_words",  # after the tables of evaluate
    "network in words": "features.network.lengths:in_words",  # in place of causes, if a protocol assigns points
    "confidence in words": "features.confidence.command:in_words",
    "changes since a prior": "features.priors.command:since_prior",  # of evaluate
    "tables of changes": "features.priors.command:show",
    "columns of similar frames": "features.splits.command:similar_frames",  # of frames
}


def addition(name: str) -> Any:
    """Import what a feature adds to a command of the core."""
    return load(ADDITIONS[name])


class _Command(TyperCommand):
    """A command. Its help has a section per panel of options, and its usage errors say what to write instead."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments. The parser takes a single file for the truth, because the predictions are a list."""
        # ``-,format=NAME`` is the standard input, and would be an option.
        args = [f"/dev/stdin{text[1:]}" if text.startswith("-,") else text for text in args]
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
                told = advice(self.name, error.option_name)  # type: ignore[attr-defined]
                if told:
                    error.message += f". {told}"  # type: ignore[attr-defined]
                    error.possibilities = []  # type: ignore[attr-defined]
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


_MORE = {  # about options of a file
    "confidence": " or FILE,confidence=CLASS:VALUE",
    "project": ", such as PREDICTIONS,project=auto TRUTH,project=auto",
    "tags": ", for the truth or the first results",
}
_OWNERS = 3  # an option of more commands is not explained by their names
_RESULTS = ("compare", "diff", "frames", "export")  # commands that read results only
_SIDES = ("show", "why", "confidence", "plot", "report", "paper")  # commands that evaluate by a protocol only


def evaluate_first(command: str, files: Sequence[Path | str], *options: str) -> str:
    """Return two lines for the shell: one that evaluates files with some options, and one that looks at the results."""
    # A single file is a file of results, whose predictions and truth are to be named.
    given = [getattr(file, "given", str(file)) for file in files] if len(files) > 1 else ["PREDICTIONS", "TRUTH"]
    target = "results.mg" if len(given) <= 2 else "results"
    second = ["mapgauge", command, *(["FIGURE"] if command == "plot" else []), target]
    return f"{shlex.join(['mapgauge', 'evaluate', *given, *options, '-o', target])} && {shlex.join(second)}"


def advice(command: str | None, option: str) -> str:
    """Return a sentence about an option that a command does not have, or ``""``."""
    key = option.lstrip("-").removeprefix("min-").replace("-", "_")
    if key in FILE_KEYS:
        item = f"FILE,{key}{'' if FILE_KEYS[key] else '=VALUE'}"
        if command in _RESULTS and key not in RESULTS_KEYS:
            return f"The files of results were read by evaluate. Evaluate again with {item}{_MORE.get(key, '')}"
        return f"How a file is read is said after its name: {item}{_MORE.get(key, '')}"
    from mapgauge.protocols.protocol import Protocol

    known = _options()
    if command in _SIDES and option in known["evaluate"]:
        line = evaluate_first(command, [], option, *filter(None, [known["evaluate"][option]]))
        return f"It is an option of evaluate. Evaluate first: {line}"
    if command in _SIDES and key in Protocol.__dataclass_fields__:
        return f"It is a setting. Evaluate first: {evaluate_first(command, [], '--set', f'{key}=VALUE')}"
    if command in ("evaluate", "sweep") and key in Protocol.__dataclass_fields__:
        return f"Write --set {key}=VALUE"
    owners = [name for name, options in known.items() if option in options]
    return f"It is an option of {' and '.join(owners)}" if 0 < len(owners) <= _OWNERS else ""


def _options() -> dict[str, dict[str, str | None]]:
    """Return the options of each command, and the metavariable of each option."""
    found: dict[str, dict[str, str | None]] = {}

    def walk(command: Any, name: str) -> None:
        for called, inner in getattr(command, "commands", {}).items():
            walk(inner, f"{name} {called}".strip())
        found[name] = {option: one.metavar for one in command.params for option in one.opts}

    walk(typer.main.get_command(application()), "")
    return found


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
        place, *examples = COMMANDS[name]
        command, lines = load(place), "\n".join(f"mapgauge {name} {example}".strip() for example in examples)
        if isinstance(command, typer.Typer):
            for registered in command.registered_commands:
                registered.cls, registered.epilog = _Command, registered.epilog or lines
            made.add_typer(command)
        else:
            made.command(name, cls=_Command, epilog=lines)(command)
    return made


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
