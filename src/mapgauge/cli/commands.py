"""The table of commands, what features add to commands of the core, and what to write for an unknown option.

Features are known here only: by the places of functions, which are imported when they are needed.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from mapgauge.cli.inputs import FILE_KEYS


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


# What features add to commands of the core: the place of a function, which is imported when it is needed.
ADDITIONS = {
    "differences by cause": "features.causes.command:differences_by_cause",  # of compare
    "show differences by cause": "features.causes.command:show_difference",
    "causes in words": "features.causes.command:in_words",  # after the tables of evaluate
    "confidence in words": "features.confidence.command:in_words",
}


def addition(name: str) -> Any:
    """Import what a feature adds to a command of the core."""
    return Command(ADDITIONS[name], ("", "")).load()


_SIDES = ("show", "why", "confidence", "plot", "report", "paper")  # commands that evaluate by a protocol only


def evaluate_first(command: str, files: Sequence[Path | str], *more: str, then: Sequence[str] = ()) -> str:
    """Return two lines for the shell: one that evaluates files with some options, and one that looks at the results."""
    # A single file is a file of results, whose predictions and truth are to be named.
    given = [getattr(file, "given", str(file)) for file in files] if len(files) > 1 else ["PREDICTIONS", "TRUTH"]
    target = "results.mg" if len(given) <= 2 else "results"
    first = shlex.join(["mapgauge", "evaluate", *given, *more, "-o", target])
    figure, rest = then[:1] if command == "plot" else [], then[1:] if command == "plot" else then
    return f"{first} && {shlex.join(['mapgauge', command, *figure, target, *rest])}"


def advice(command: Any, arguments: Sequence[str], option: str) -> str:
    """Return a sentence about an unknown option, or ``""``.

    Args:
        command: The command, with its parameters.
        arguments: All that was given to it.
        option: The option as it was given.
    """
    key = option.lstrip("-")
    old = {"rename-truth": "rename", "truth-format": "format", "auto-axes": "rotate=auto"}.get(key, key)
    if key == "name" or (old.partition("=")[0] in FILE_KEYS and key != "format"):
        example = {"rename": "rename=OLD:NEW", "rotate": "rotate=-90"}.get(old, f"{old}=VALUE")
        example = old if "=" in old or FILE_KEYS.get(old) else example
        return f" How a file is read is said after its name: FILE,{example}"
    if command.name not in _SIDES:
        return ""
    import typer.main

    app = typer.Typer()
    app.command()(COMMANDS["evaluate"].load())
    able = {name: param for param in typer.main.get_command(app).params for name in param.opts}
    if option not in able:
        return ""
    known = {name: param for param in command.params for name in param.opts}
    files, more, then = list[str](), list[str](), list[str]()
    words = iter(arguments)
    for word in words:
        name, equals, _ = word.partition("=")
        param = known.get(name) or able.get(name)
        target = files if param is None and not word.startswith("-") else then if name in known else more
        target.append(word)
        if (
            param is not None
            and param.param_type_name == "option"
            and not getattr(param, "is_flag", False)
            and not equals
        ):
            target += [value for value in [next(words, None)] if value is not None]
    if command.name == "plot":
        files, then = files[1:], files[:1] + then
    line = evaluate_first(command.name, files, *more, then=then)
    return f" It is an option of evaluate. Evaluate first: {line}"
