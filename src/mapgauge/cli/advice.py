"""What to write instead of an option that a command does not have."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mapgauge.cli.inputs import FILE_KEYS

_SIDES = ("show", "why", "confidence", "plot", "report", "paper")  # commands that evaluate by a protocol only


def evaluate_first(command: str, files: Sequence[Path | str], *more: str, then: Sequence[str] = ()) -> str:
    """Return two lines for the shell: one that evaluates files with some options, and one that looks at the results."""
    given = [getattr(file, "given", str(file)) for file in files]
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

    from mapgauge.cli.commands import COMMANDS

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
