"""Makes commands from functions of one argument: the options of the command, which are a frozen dataclass.

A field is declared as Typer declares a parameter, in the order of the help::

    @dataclass(frozen=True, kw_only=True)
    class CiteOptions:
        results: Annotated[Path, files_argument("RESULTS", "...")]
        json: JsonOption = False

    @command
    def cite(options: CiteOptions) -> None:
        '''Print BibTeX of the metrics, rules and data of results.'''
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from functools import update_wrapper
from pathlib import Path
from typing import Any, TypeVar

from mapgauge.cli.output import announce, interrupted, settle, warn
from mapgauge.cli.parsing import refuse

T = TypeVar("T")
_READ = ("files", "predictions", "results", "result", "truth", "train", "validation")  # fields with files to read
_LARGE = 1.0  # megabytes of files that are named while they are read


def command(run: Callable[[T], None]) -> Callable[..., None]:
    """Return the function of a command for Typer: its parameters are the fields of the options that ``run`` takes."""
    kind: Any = inspect.get_annotations(run, eval_str=True)["options"]

    def parsed(**values: Any) -> None:
        options = kind(**values)
        announce(_files_in(options), least=_LARGE)
        try:
            run(options)
        except KeyboardInterrupt:
            warn(interrupted())
            raise
        finally:
            settle()

    update_wrapper(parsed, run)
    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=field.type,
        )
        for field in fields(kind)
    ]
    parsed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    parsed.__annotations__ = {field.name: field.type for field in fields(kind)}
    return parsed


def _files_in(options: Any) -> list[Path]:
    """Return the files that a command reads."""
    files: list[Path] = []
    for name in _READ:
        value = getattr(options, name, None)
        if isinstance(value, Path):
            files.append(value)
        elif isinstance(value, list):
            files += [file for file in value if isinstance(file, Path)]
    return files


def without_effect(options: Any, names: Sequence[str], when: str) -> None:
    """Refuse options that were given but have no effect, and say why: ``"without --cause NAME"``.

    An option with its default value asks for what happens anyway, and is accepted.
    """
    defaults = {field.name: field.default for field in fields(options)}
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) != defaults[name]]
    if given:
        refuse(", ".join(given), f"{'has' if len(given) == 1 else 'have'} no effect {when}")
