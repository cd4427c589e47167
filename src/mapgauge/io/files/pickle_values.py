"""Replacements for the functions and classes that a pickle may name.

Each replacement checks its arguments. None of them leads to the function that it replaces, and a pickle cannot change
them.
"""

import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

_EMPTY = 1 << 20  # most elements that the dimensions other than 0 of an empty array may give
_LARGEST_SET = 10_000  # of pickle protocols below 4; later ones do not call a function for a set
_DTYPE = re.compile(r"([<>|=]?)(b1|[iu][1248]|f[248]|[SU][0-9]{1,9}|O[48]?)")
_PLAIN = "Save plain arrays, as numpy.asarray makes them, instead"


class Refused(Exception):
    """The pickle holds a value that is not admitted."""

    def __init__(self, message: str, remedy: str | None = None) -> None:
        """Keep the message and the remedy apart."""
        super().__init__(message)
        self.remedy = remedy


class _Name:
    """An object that a pickle may name and pass to a function, but not call or change."""

    __slots__ = ()

    def __setstate__(self, state: Any) -> NoReturn:
        raise Refused("broken pickle: it tries to change what it names")


class _Function(_Name):
    """A function that a pickle may call."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)


class _Dtype:
    """A numpy type. It is not numpy's own object, which all arrays share and which a pickle could change."""

    __slots__ = ("value",)

    def __init__(self, name: Any, align: Any = False, copy: Any = True) -> None:
        match = _DTYPE.fullmatch(name) if isinstance(name, str) else None
        if match is None:
            shown = name[:40] if isinstance(name, str) else type(name).__name__
            raise Refused(f"an array of the numpy type {shown!r}, expected numbers, booleans, text or objects")
        self.value = np.dtype(match[1] + ("O" if match[2].startswith("O") else match[2]))

    def __setstate__(self, state: Any) -> None:
        version, order, *parts = state
        plain = version == 3 and len(parts) == 6 and parts[:3] == [None, None, None] and isinstance(order, str)
        if not plain or order not in tuple("<>|=") or parts[3] not in (-1, self.value.itemsize):
            raise Refused("an array of a numpy type with fields, subarrays or metadata", _PLAIN)
        if order != "|":
            self.value = self.value.newbyteorder(order)


class _Array(np.ndarray[Any, Any]):
    """A read-only array that checks its content when it is filled."""

    __slots__ = ()

    def __setstate__(self, state: Any) -> None:
        if not self.flags.writeable:
            raise Refused("broken pickle: an array is filled twice")
        _, shape, dtype, fortran, content = state
        value = _fitting(shape, dtype, content)
        super().__setstate__((1, shape, value, bool(fortran), content))  # type: ignore[arg-type]  # numpy says np.bool
        self.flags.writeable = False

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Results are plain arrays and scalars."""
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain


_Array.__name__ = "ndarray"  # for error messages


def _fitting(shape: Any, dtype: Any, content: Any) -> np.dtype[Any]:
    """Return the numpy type of an array, after checking that the content has the size that shape and type give."""
    if not isinstance(dtype, _Dtype) or not isinstance(shape, tuple) or len(shape) > 32:
        raise Refused("broken pickle: an array without type or shape")
    if not all(type(n) is int and n >= 0 for n in shape):
        raise Refused("broken pickle: an array whose shape holds something other than whole numbers")
    value, count = dtype.value, math.prod(shape)
    if value.kind == "O":
        fits = type(content) is list and len(content) == count
    else:
        fits = isinstance(content, bytes | bytearray) and len(content) == count * value.itemsize
    if not fits or (not content and math.prod(n for n in shape if n) > _EMPTY):
        raise Refused(f"broken pickle: an array of shape {str(shape)[:60]} with another number of values")
    if value.kind == "U" and content:
        letters = np.frombuffer(content, np.dtype(np.uint32).newbyteorder(value.byteorder))
        if letters.max() > 0x10FFFF:
            raise Refused("broken pickle: an array of text with invalid characters")
    return value


def _empty_array(kind: Any, shape: Any, code: Any) -> _Array:
    """Return an array for the pickle to fill: ``numpy.core.multiarray._reconstruct``."""
    if kind is not _NDARRAY or shape != (0,) or code not in (b"b", "b"):
        raise Refused("an array of a numpy subclass", _PLAIN)
    return _Array((0,), np.int8)


def _array_of(content: Any, dtype: Any, shape: Any, order: Any, axes: Any = None) -> _Array:
    """Return an array that uses the given bytes: ``numpy.core.numeric._frombuffer``, which protocol 5 calls."""
    value = _fitting(shape, dtype, content)
    if value.kind == "O" or order not in ("C", "F", "K"):
        raise Refused("broken pickle: an array of objects from bytes, or in an unknown order")
    array = _Array(shape, value, content, order="F" if order == "F" else "C")
    array.flags.writeable = False
    return array if axes is None else array.transpose(axes)


def _scalar(dtype: Any, content: Any) -> Any:
    """Return a numpy scalar: ``numpy.core.multiarray.scalar``."""
    value = _fitting((), dtype, content)
    if value.kind == "O":
        raise Refused("broken pickle: a numpy scalar that is an object")
    return np.ndarray((), value, content)[()]


def _encode(text: Any, encoding: Any) -> bytes:
    """Return bytes, which protocols 0 to 2 write as text: ``_codecs.encode``."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise Refused("broken pickle: bytes in an encoding other than latin1")
    return text.encode("latin1")


def _bytes(*nothing: Any) -> bytes:
    if nothing:
        raise Refused("broken pickle: bytes() with arguments")
    return b""


def _bytearray(*content: Any) -> bytearray:
    if len(content) > 1 or not all(isinstance(part, bytes) for part in content):
        raise Refused("broken pickle: a bytearray of something other than bytes")
    return bytearray(*content)


def _set(*items: Any) -> set[Any]:
    if len(items) > 1 or not all(isinstance(part, list) for part in items):
        raise Refused("broken pickle: a set of something other than a list")
    if any(len(part) > _LARGEST_SET for part in items):  # values of equal hash would take quadratic time
        raise Refused(f"a set of more than {_LARGEST_SET} values", "Save a list instead, or use pickle protocol 4")
    return set(*items)


def _dictionary(*factory: Any) -> dict[Any, Any]:
    if len(factory) > 1 or not all(part is None or isinstance(part, _Name) for part in factory):
        raise Refused("broken pickle: a dictionary with arguments")
    return {}


_NDARRAY = _Name()
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "numpy.dtype": _Dtype,
    "numpy.core.multiarray._reconstruct": _empty_array,
    "numpy.core.multiarray.scalar": _scalar,
    "numpy.core.numeric._frombuffer": _array_of,
    "_codecs.encode": _encode,
    "collections.OrderedDict": _dictionary,
    "collections.defaultdict": _dictionary,
    "builtins.bytes": _bytes,
    "builtins.bytearray": _bytearray,
    "builtins.set": _set,
    "builtins.frozenset": lambda *items: frozenset(_set(*items)),
}
_FACTORIES = ("list", "dict", "tuple", "int", "float", "str", "bool")  # of a defaultdict


def _admitted() -> dict[str, _Name]:
    """Return all replacements by name, with the names of all versions of Python and numpy."""
    named: dict[str, _Name] = {name: _Function(call) for name, call in _FUNCTIONS.items()}
    named |= {f"builtins.{name}": _Name() for name in _FACTORIES} | {"numpy.ndarray": _NDARRAY}
    moved = (("numpy.core.", "numpy._core."), ("builtins.", "__builtin__."))
    return named | {
        new + name.removeprefix(old): value
        for old, new in moved
        for name, value in named.items()
        if name.startswith(old)
    }


ADMITTED = _admitted()
