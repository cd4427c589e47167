"""JSON as plain objects. A key that occurs twice in one object is an error: JSON leaves open which of them counts."""

import gc
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import msgspec

from mapgauge.errors import Remedy, UnreadableFile

_LARGE = 1 << 28  # bytes of a text whose plain objects would take gigabytes


class MakeError(Protocol):
    """Creates an error whose message begins with the path of the file, such as ``Content.error``."""

    def __call__(self, message: str, *, remedy: Remedy | str | None = None) -> UnreadableFile:
        """Create the error; the caller raises it."""


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the garbage collector. It would scan the growing heap repeatedly and find no garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def parse_json(text: bytes, error: MakeError) -> Any:
    """Return the value in a JSON text without a byte order mark. ``error`` creates the exception to raise."""
    doubled: list[tuple[dict[str, Any], str]] = []  # objects with a key that occurs twice, and the key

    def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            doubled.append((made, Counter(key for key, _ in pairs).most_common(1)[0][0]))
        return made

    try:
        document = json.loads(text, object_pairs_hook=as_object)
    except UnicodeDecodeError as cause:
        raise error(f"not JSON: not UTF-8 text ({cause.reason} at byte {cause.start})") from cause
    except json.JSONDecodeError as cause:
        ends = cause.pos >= len(text) - 1
        raise error(
            f"not JSON: {cause.msg} at line {cause.lineno}, column {cause.colno}"
            + (", where the file ends" if ends else ""),
            remedy="Check that it was written or copied completely" if ends else None,
        ) from cause
    except RecursionError as cause:
        raise error("the JSON is nested too deeply for a map") from cause
    except ValueError as cause:  # a whole number of thousands of digits
        raise error(f"not JSON that can be read: {str(cause)[:100]}") from cause
    if doubled:
        made, key = doubled[0]
        raise error(
            f"{_place(document, made)}: the key {_shown(key)} occurs twice, expected once",
            remedy="Remove or rename one of them",
        )
    return document


def refuse_doubled_keys(text: bytes, error: MakeError) -> None:
    """Refuse a JSON text in which an object has a key twice."""
    if not keys_are_unique(text):
        parse_json(text, error)


def keys_are_unique(text: bytes) -> bool:
    """Whether no object in a sound JSON text has a key twice.

    Decoded and encoded again, the text has as many colons as before, unless a key that occurs twice was lost. A colon
    follows each key. Texts keep their colons, unless these are written as escapes.
    """
    if len(text) <= _LARGE and b"\\u003" not in text:
        with gc_paused(), suppress(msgspec.MsgspecError, UnicodeError, RecursionError, ValueError):
            if msgspec.json.encode(msgspec.json.decode(text)).count(b":") == text.count(b":"):
                return True
    return not has_doubled_keys(text)


def has_doubled_keys(text: bytes) -> bool:
    """Whether an object in a JSON text has a key twice, or the text is damaged where msgspec did not look."""

    def check(pairs: list[tuple[str, Any]]) -> None:
        if len({key for key, _ in pairs}) < len(pairs):
            raise _Doubled

    try:
        json.loads(text, object_pairs_hook=check, parse_int=len, parse_float=len)
    except (_Doubled, RecursionError, ValueError):
        return True
    return False


class _Doubled(Exception):
    """Ends the search for a key that occurs twice."""


def _place(document: Any, sought: dict[str, Any]) -> str:
    """Return the path of an object in a document; without a path if it is part of a value that another one replaced."""
    todo = [("$", document)]
    while todo:
        path, value = todo.pop()
        if value is sought:
            return path
        if isinstance(value, dict):
            todo += [
                (f"{path}.{key}" if key.isidentifier() else f"{path}[{_shown(key)}]", inner)
                for key, inner in value.items()
                if isinstance(inner, dict | list)
            ]
        elif isinstance(value, list):
            todo += [(f"{path}[{i}]", inner) for i, inner in enumerate(value) if isinstance(inner, dict | list)]
    return "an object"


def _shown(key: str) -> str:
    """Return a key as messages show it."""
    text = json.dumps(key)
    if len(text) <= 60:
        return text
    return text[:57] + '..."'
