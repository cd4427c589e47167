"""Types of numba as text, for tables on disk."""

import importlib
from typing import Any

import numba

types: Any = numba.types


def in_words(given: Any) -> str:
    """Return a type of numba as text, from which ``type_from`` makes it again.

    >>> import numba
    >>> in_words(numba.float64[:, ::1]), in_words(numba.types.UniTuple(numba.int64, 2)), in_words(numba.types.none)
    ('float64 2 C', '(int64; int64)', 'none')
    """
    if isinstance(given, types.Array):
        return f"{given.dtype} {given.ndim} {given.layout}{'' if given.mutable else ' constant'}"
    if isinstance(given, types.BaseNamedTuple):
        owner = given.instance_class
        return f"{owner.__module__}:{owner.__qualname__}({'; '.join(map(in_words, given))})"
    if isinstance(given, types.BaseTuple):
        return f"({'; '.join(map(in_words, given))})"
    return str(given)


def type_from(text: str) -> Any:
    """Return the type of numba that a text describes."""
    if text.endswith(")"):
        owner, _, inside = text[:-1].partition("(")
        inner = [type_from(one) for one in inside.split("; ") if one]
        if not owner:
            return types.Tuple.from_types(inner)
        module, _, name = owner.partition(":")
        made = getattr(importlib.import_module(module), name)
        return types.BaseTuple.from_types(inner, made)
    words = text.split()
    if len(words) > 1:
        return types.Array(getattr(types, words[0]), int(words[1]), words[2], readonly=len(words) > 3)
    return getattr(types, text)
