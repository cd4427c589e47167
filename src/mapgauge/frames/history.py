"""The history of frames: how they were read from a file and changed since. Results record it to read them again.

``STEPS`` is the table of all steps. A step is recorded, saved and replayed only if its arguments have the types of its
row. Frames that other changes were made to, or that never were in a file, have no history.
"""

import os
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Annotated, Any, Concatenate, NamedTuple, ParamSpec, TypeAlias, TypeVar

import msgspec
import numpy as np

from mapgauge.decoding import decode_json, decoder_of
from mapgauge.errors import InvalidInput
from mapgauge.typing import Degenerate, Forward, Sampling

_Names: TypeAlias = dict[str, str]
F = TypeVar("F")  # MapFrames, which this module cannot import
P = ParamSpec("P")

READ = "read"
_MOST_STEPS = 100
_MOST_BYTES = 4_000_000  # of the arguments of a step, as JSON
_FEW = 16  # most values of an array that is recorded


class Step(NamedTuple):
    """A step of a history: a row of ``STEPS``, and the arguments by name, as plain JSON values."""

    name: str
    arguments: dict[str, Any]


History: TypeAlias = tuple[Step, ...] | None  # begins with the reading; None if the frames cannot be read again


def _row(name: str, **arguments: Any) -> type[msgspec.Struct]:
    return msgspec.defstruct(name, list(arguments.items()), forbid_unknown_fields=True)


# The arguments of each step and their types. Every step but the reading is a method of MapFrames with ``@recorded``.
# The limits stop a hostile file of results from asking for more memory than the frames need.
STEPS: Mapping[str, type[msgspec.Struct]] = {
    row.__name__: row
    for row in (
        _row(READ, path=str, format=str | None, classes=_Names | None, degenerate=Degenerate, options=dict[str, Any]),
        _row("rename", names=_Names),
        _row("of_tokens", tokens=tuple[str, ...]),
        _row("select", classes=tuple[str, ...]),
        _row("as_classes", classes=tuple[str, ...]),
        _row("rotate", degrees=float),
        _row("planar"),
        _row("with_forward", forward=Forward | None),
        _row("with_confidence", confidence=float | None),
        _row("filter", confidence=float | dict[str, float]),
        _row("crop", region=tuple[float, ...]),
        _row(
            "resample",
            spacing=Annotated[float, msgspec.Meta(ge=0.01)] | None,
            count=Annotated[int, msgspec.Meta(le=10_000)] | None,
            sampling=Sampling,
        ),
    )
}


def read_history(
    path: str | os.PathLike[str],
    format: str | None,
    classes: Mapping[int, str] | None,
    degenerate: str,
    options: Mapping[str, Any],
) -> History:
    """Return the history of frames that were just read from a file. The path is recorded as it was given."""
    if classes is None:
        names = None
    else:
        names = {str(number): name for number, name in classes.items()}
    arguments = {"path": path, "format": format, "classes": names, "degenerate": degenerate, "options": dict(options)}
    return _after((), READ, arguments)


def read_with(history: History, **options: Any) -> History:
    """Return a history whose reading has further options."""
    if history is None:
        return None
    first, *others = history
    given = first.arguments | {"options": first.arguments["options"] | options}
    return (first._replace(arguments=given), *others)


def recorded(method: Callable[Concatenate[F, P], F]) -> Callable[Concatenate[F, P], F]:
    """Record the calls of a method of ``MapFrames`` in the history of its result. ``STEPS`` must have its name.

    The result has no history if the arguments do not have the types of the row.
    """
    parameters = signature(method)

    @wraps(method)
    def call(frames: F, /, *arguments: P.args, **keywords: P.kwargs) -> F:
        result = method(frames, *arguments, **keywords)
        before: History = getattr(frames, "history", None)
        if result is not frames and before is not None:
            bound = parameters.bind(frames, *arguments, **keywords)
            bound.apply_defaults()
            given = dict(list(bound.arguments.items())[1:])
            object.__setattr__(result, "history", _after(before, method.__name__, given))  # the result is new
        return result

    return call


def _after(before: tuple[Step, ...], name: str, arguments: dict[str, Any]) -> History:
    """Return a history with one more step, or None if the step cannot be recorded."""
    try:
        text = msgspec.json.encode(arguments, enc_hook=_plain)
        decode_json(text, STEPS[name])
    except (TypeError, ValueError, OverflowError, NotImplementedError, RecursionError):
        return None  # for example an array, or a number that is not finite
    if len(before) >= _MOST_STEPS or len(text) > _MOST_BYTES:
        return None
    return (*before, Step(name, msgspec.json.decode(text)))


def _plain(value: Any) -> Any:
    """Return a path, a number of numpy or a short array as a plain value."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.size <= _FEW):
        return value.tolist()
    raise NotImplementedError


def arguments_of(step: Step) -> dict[str, Any]:
    """Return the arguments of a step. The step must be known, and the arguments must have the types of its row."""
    if step.name not in STEPS:
        unknown = f"the step {step.name[:40]!r} is unknown. Known: {', '.join(STEPS)}"
        raise InvalidInput(unknown, remedy="Update mapgauge")
    try:
        decoder_of(STEPS[step.name])  # msgspec knows the class then
        values = msgspec.convert(step.arguments, STEPS[step.name])
    except msgspec.ValidationError as error:
        raise InvalidInput(f"the step {step.name} has other arguments than it takes: {error}") from error
    return {name: getattr(values, name) for name in values.__struct_fields__}


def replay(frames: F, steps: tuple[Step, ...]) -> F:
    """Apply the steps after the reading to frames that were read."""
    if len(steps) > _MOST_STEPS:
        raise InvalidInput(f"a history of {len(steps)} steps, expected at most {_MOST_STEPS}")
    for step in steps:
        arguments = arguments_of(step)
        if step.name == READ:
            raise InvalidInput("a history reads a file in the middle, expected only at its beginning")
        frames = getattr(frames, step.name)(**arguments)
    return frames
