"""The application: commands from the manifests, and how help and usage errors look."""

import re
import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperCommand

from mapgauge.cli.compiling import show_compiling
from mapgauge.cli.helps import HELP, HELP_ALL, VERSION, CommandGroup, painted_help
from mapgauge.cli.inputs import FILE_KEYS, RESULTS_KEYS
from mapgauge.cli.options import METHODS, RARE, RESULTS, WORK
from mapgauge.cli.output import set_quiet
from mapgauge.cli.parsing import as_given
from mapgauge.manifest import GROUPS, Command, Manifest, load_if_possible, mapping, own
from mapgauge.version import __version__


def commands_of(*, plug_ins: bool) -> dict[str, tuple[Manifest, Command]]:
    """Return the commands by name, in the order of the help, each with the manifest that names it."""
    found = mapping("commands", among=None if plug_ins else own())
    order = lambda name: (GROUPS.index(found[name][1].group), found[name][1].order, name)
    return {name: found[name] for name in sorted(found, key=order)}


SCREEN = 40  # lines of a help that is not shortened
SELDOM = (WORK, RARE)  # the panels that a short help leaves out
_OF_ALL = "Options"  # the panel of those that every command has
_BRIEF = "brief"  # a key of the context, while a short help is written
_DEFAULT = re.compile(r"\s+(\[[^]]*\])$")  # what Typer adds to the help of an option


def first_sentence(about: str) -> str:
    """Return the first sentence of the help of an option, with its default.

    >>> first_sentence("Seed of the draws. The same seed gives the same intervals.  [default: 0]")
    'Seed of the draws.  [default: 0]'
    """
    ending = _DEFAULT.search(about)
    if ending:
        text = about[: ending.start()]
    else:
        text = about
    sentence, end, _ = text.partition(". ")
    brief = sentence + end.strip()
    if ending:
        return f"{brief}  {ending[1]}"
    return brief


class _PanelCommand(TyperCommand):
    """A command. Its help has a section per panel of options, and its usage errors say what to write instead."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments. The parser takes a single file for the truth, because the predictions are a list."""
        if HELP_ALL in args:
            ctx.meta[HELP_ALL] = True
            args = [HELP]
        # ``-,format=NAME`` is the standard input, and would be an option.
        args = [f"/dev/stdin{text[1:]}" if text.startswith("-,") else text for text in args]
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            arguments: dict[str, Any] = {one.name: one for one in self.params if one.param_type_name == "argument"}
            truth = arguments.get("truth")
            is_missing = not error.message and error.param is not None and error.param is arguments.get("predictions")
            if is_missing and truth is not None and truth.required:
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

    def get_help(self, ctx: Any) -> str:
        """Return the help: the whole, or its daily part if the whole is longer than a screen."""
        whole = super().get_help(ctx)
        if ctx.meta.get(HELP_ALL) or whole.count("\n") < SCREEN:
            return painted_help(whole)
        ctx.meta[_BRIEF] = True
        more = f"  All options, and more about each: {ctx.command_path} {HELP_ALL}"
        return painted_help(f"{super().get_help(ctx)}\n\n{more}")

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the pieces of the line of usage. Typer encloses arguments that are required in braces."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write what the command does; in brief only the first paragraph."""
        if ctx.meta.get(_BRIEF):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(self.get_short_help_str(_SHORT))
            return
        super().format_help_text(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options of each panel, in the order of the command."""
        brief = ctx.meta.get(_BRIEF)
        panels: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if param.param_type_name == "argument":
                usual = "Arguments"
            else:
                usual = _OF_ALL
            panel = getattr(param, "rich_help_panel", None) or usual
            if record is None or (brief and (panel in SELDOM or panel == _OF_ALL)):
                continue
            names, about = record
            if param.param_type_name == "argument":
                names = names.partition(" <")[0]  # Typer adds the type in Python
            panels.setdefault(panel, []).append((names, first_sentence(about) if brief else about))
        last = (RARE, _OF_ALL)
        for panel in sorted(panels, key=lambda panel: last.index(panel) if panel in last else -1):
            with formatter.section(panel):
                formatter.write_dl(panels[panel])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, one per line."""
        if self.epilog:
            with formatter.section("Examples"):
                for line in self.epilog.splitlines():
                    formatter.write(f"{' ' * formatter.current_indent}{line}\n")


_WIDEST = 100  # columns of a help, also in a wider terminal
_SHORT = 200  # characters of the sentence about a command; longer ones would be cut


_FEW = ("install_completion", "show_completion", "plugin")  # options that few users need, or once
_NAMED = "More"  # the group of which a short help has the names only, so that it fits a screen


def daily() -> list[str]:
    """Return the commands that `mapgauge` alone lists."""
    return [name for name, (_, command) in commands_of(plug_ins=False).items() if command.daily]


class _Commands(CommandGroup):
    """All commands. The help lists them in the groups of their manifests."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order in which the commands were added."""
        return list(self.commands)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Print a few lines if nothing is asked for."""
        if HELP_ALL in args[:1]:
            ctx.meta[HELP_ALL] = True
        if not args and not ctx.resilient_parsing:
            typer.echo(self._welcome(ctx))
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def _welcome(self, ctx: Any) -> str:
        """Return what to do first, and the commands of every day."""
        formatter = ctx.make_formatter()
        say = formatter.write_text
        say(f"mapgauge {__version__}: how good are online HD maps?")
        say("Evaluate first: mapgauge evaluate PREDICTIONS... TRUTH -o results.mg")
        say("All commands: mapgauge --help. To try them without data: mapgauge demo")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_dl([(name, self.commands[name].get_short_help_str(_SHORT)) for name in daily()])
        text: str = formatter.getvalue()
        return text.rstrip("\n")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, and then the commands. Options that few need are in the whole help only."""
        rows = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None or (param.name in _FEW and not ctx.meta.get(HELP_ALL)):
                continue
            rows.append(record)
        with formatter.section(_OF_ALL):
            formatter.write_dl(rows)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group, without empty lines, so that all commands fit a screen."""
        rows = commands_of(plug_ins=True)
        formatter.write_paragraph()
        for group in GROUPS:
            names = [name for name, (_, row) in rows.items() if row.group == group and name in self.commands]
            if group == _NAMED and not ctx.meta.get(HELP_ALL):
                formatter.write_text(f"{group}, with {HELP_ALL}: {', '.join(names)}")
            elif names:
                formatter.write_heading(group)
                with formatter.indentation():
                    formatter.write_dl([(name, self.commands[name].get_short_help_str(_SHORT)) for name in names])


_MORE = {  # about options of a file
    "confidence": " or FILE,confidence=CLASS:VALUE",
    "project": ", such as PREDICTIONS,project=auto TRUTH,project=auto",
    "tags": ", for the truth or the first results",
}
_NEAR = 0.8  # the least similarity of an option of the same command, which is advised before those of others
_OWNERS = 3  # an option of more commands is not explained by their names


def evaluate_first(command: str, files: Sequence[Path | str], *options: str) -> str:
    """Return two lines for the shell: one that evaluates files with some options, and one that looks at the results."""
    # A single file is a file of results, whose predictions and truth are to be named.
    if len(files) > 1:
        given = [as_given(file) for file in files]
    else:
        given = ["PREDICTIONS", "TRUTH"]
    if len(given) <= 2:
        target = "results.mg"
    else:
        target = "results"
    second = ["mapgauge", command, *(["FIGURE"] if command == "plot" else []), target]
    return f"{shlex.join(['mapgauge', 'evaluate', *given, *options, '-o', target])} && {shlex.join(second)}"


def advice(command: str | None, option: str) -> str:
    """Return a sentence about an option that a command does not have, or ``""``."""
    from mapgauge.protocols.protocol import Protocol

    key = option.lstrip("-").removeprefix("min-").replace("-", "_")
    known = _parameters()
    parameters = known.get(command or "", {})
    if key in FILE_KEYS:
        item = f"FILE,{key}"
        if not FILE_KEYS[key]:
            item += "=VALUE"
        item += _MORE.get(key, "")
        if RESULTS & {parameters.get("result"), parameters.get("results")} and key not in RESULTS_KEYS:
            return f"The files of results were read by evaluate. Evaluate again with {item}"
        return f"How a file is read is said after its name: {item}"
    # Such commands take results, or evaluate files by a protocol without other settings.
    if command is not None and parameters.get("files") == METHODS and "--protocol" in parameters:
        if option in known["evaluate"]:
            line = evaluate_first(command, [], option, *filter(None, [known["evaluate"][option]]))
            return f"It is an option of evaluate. Evaluate first: {line}"
        if key in Protocol.__dataclass_fields__:
            return f"It is a setting. Evaluate first: {evaluate_first(command, [], '--set', f'{key}=VALUE')}"
    if command in ("evaluate", "sweep") and key in Protocol.__dataclass_fields__:
        return f"Write --set {key}=VALUE"
    own = [name.lstrip("-") for name in parameters if name.startswith("--")]
    if get_close_matches(option.lstrip("-"), own, 1, _NEAR):
        return ""  # the parser names it
    owners = [name for name, options in known.items() if option in options]
    if 0 < len(owners) <= _OWNERS:
        return f"It is an option of {' and '.join(owners)}"
    return ""


def _parameters() -> dict[str, dict[str, str | None]]:
    """Return the metavariables of the options and arguments of each command, by ``--name`` and by ``name``."""
    found: dict[str, dict[str, str | None]] = {}

    def walk(command: Any, name: str) -> None:
        for called, inner in getattr(command, "commands", {}).items():
            walk(inner, f"{name} {called}".strip())
        found[name] = {option: one.metavar for one in command.params for option in one.opts}

    walk(typer.main.get_command(application()), "")
    return found


def application(names: Sequence[str] | None = None) -> typer.Typer:
    """Return the application with some commands, or with all. Their modules are imported, which takes most time."""
    # Help is plain text. Importing rich would take longer than everything else together.
    made = typer.Typer(
        name="mapgauge",
        cls=_Commands,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", HELP], "max_content_width": _WIDEST},
    )
    made.callback()(about)
    if names is not None and not names:
        return made  # no manifest is needed
    commands = commands_of(plug_ins=names is None)
    for name in commands if names is None else names:
        manifest, command = commands[name]
        function = load_if_possible(manifest, command.place)
        if function is None:
            continue
        lines = [f"mapgauge {name} {example}".strip() for example in command.examples]
        if isinstance(function, typer.Typer):
            for registered in function.registered_commands:
                registered.cls = _PanelCommand
                inner = [line for line in lines if line.split()[2:3] == [registered.name]]
                registered.epilog = registered.epilog or "\n".join(inner or lines)
            made.add_typer(function)
        else:
            made.command(name, cls=_PanelCommand, epilog="\n".join(lines))(function)
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
        bool, typer.Option(VERSION, callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            "--plugin",
            metavar="MODULE",
            help="Use a module that adds metrics, commands and more. Can be repeated.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Evaluate online HD maps: compare predicted polylines with the truth."""
    set_quiet(quiet=False)
    show_compiling()
