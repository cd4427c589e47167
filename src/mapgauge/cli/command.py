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
from typing import Any, TypeVar

from mapgauge.cli.parsing import refuse

T = TypeVar("T")


def command(run: Callable[[T], None]) -> Callable[..., None]:
    """Return the function of a command for Typer: its parameters are the fields of the options that ``run`` takes."""
    kind: Any = inspect.get_annotations(run, eval_str=True)["options"]

    def parsed(**values: Any) -> None:
        run(kind(**values))

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


def without_effect(options: Any, names: Sequence[str], when: str) -> None:
    """Refuse options that were given but have no effect, and say why: ``"without --cause NAME"``.

    An option with its default value asks for what happens anyway, and is accepted.
    """
    defaults = {field.name: field.default for field in fields(options)}
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) != defaults[name]]
    if given:
        refuse(", ".join(given), f"{'has' if len(given) == 1 else 'have'} no effect {when}")
