"""Pickles, read so that they can do nothing: numpy arrays, numbers, text and plain containers, and nothing else.

A pickle is a program. It may name any function of any installed package and have it called. So it is read in two steps:

1. ``kernels.pickle_scan`` walks over the opcodes: a file that is cut off or damaged, that would allocate far more than
   it holds, or that contains itself is refused before anything of it is loaded.
2. The unpickler of the standard library loads it, but what the pickle names comes from ``_ADMITTED``, never from a
   module. Those stand-ins check what they are given, and a pickle cannot change them.

An ``OrderedDict`` and a ``defaultdict`` become plain dictionaries: a reader that looks for a key that is not there must
not put it there. Arrays come as a subclass that cannot be written to; whatever is computed from them is a plain array.
"""

import io
import math
import pickle
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from mapgauge import kernels
from mapgauge.errors import UnreadableFile
from mapgauge.files.garbage import gc_paused as collector_paused

# Of a value, with everything in it counted as often as it is used: 67 million, more for large files. Six thousand
# frames that share one list of 75 polylines have 27 million.
_LIMIT, _LIMIT_PER_BYTE = 1 << 26, 16
_DEEPEST = 100  # containers in containers; the files of the field have 10
_EMPTY = 1 << 20  # product of the dimensions of an array without elements, apart from those that are 0

_DTYPE = re.compile(r"([<>|=]?)(b1|[iu][1248]|f[248]|[SU][0-9]{1,9}|O[48]?)")


class _RefusedError(Exception):
    """The pickle holds what it must not hold; the text says what."""


def unpickle(data: bytes, error: Callable[[str], UnreadableFile]) -> Any:
    """The value in a pickle.

    Args:
        data: The whole pickle.
        error: Makes the exception to raise from a message; it knows the file.
    """
    _check(data, error)
    # Buffered, so that the unpickler can look ahead; otherwise it asks for every few bytes.
    file = io.BufferedReader(io.BytesIO(data), 1 << 20)
    try:
        with collector_paused():
            return _Unpickler(file).load()
    except _RefusedError as refusal:
        raise error(str(refusal)) from None
    except Exception as fault:  # damaged pickles raise all there is
        raise error(f"broken pickle: {str(fault)[:200] or type(fault).__name__}") from fault


def _check(data: bytes, error: Callable[[str], UnreadableFile]) -> None:
    """Refuse a pickle that the unpickler should not even see."""
    scan = kernels.pickle_scan
    limit = _LIMIT + _LIMIT_PER_BYTE * len(data)
    table = scan.opcode_table()
    outcome, at = scan.scan(np.frombuffer(data, np.uint8), table, np.uint64(limit), np.uint64(_DEEPEST))
    if outcome == scan.SOUND:
        return
    if outcome == scan.ENDS:
        raise error(f"the pickle ends at byte {len(data)}, before its STOP: was it written and copied completely?")
    if outcome == scan.TRAILING:
        raise error(
            f"{len(data) - at} bytes follow the end of the pickle at byte {at}, expected one pickle and nothing else. "
            "torch.save in its old format writes several: save plain numpy arrays with pickle.dump instead"
        )
    if outcome == scan.REFUSED:
        name = scan.opcode_name(data[at])
        if name in ("DUP", "LONG4"):
            raise error(f"broken pickle: {name} at byte {at}, which no map needs")
        raise error(
            f"the pickle refers to objects outside of it ({name} at byte {at}), as those of torch.save do. "
            "Save plain numpy arrays with pickle.dump(document, file) and no further arguments instead"
        )
    if outcome == scan.GROWS:
        raise error(f"something in the pickle contains itself (seen at byte {at}), which no map does")
    if outcome == scan.HEAVY:
        raise error(
            f"the pickle repeats its values until there are more than {limit} of them (seen at byte {at}), "
            "which no map does"
        )
    if outcome == scan.DEEP:
        raise error(f"the pickle has more than {_DEEPEST} containers in each other (seen at byte {at})")
    reasons = {
        scan.UNKNOWN: f"{data[at]:#04x} is no opcode",
        scan.MISSING: "a value is fetched that was not stored",
        scan.INDEX: "a value is stored far beyond those before it",
        scan.AGAIN: "a value is stored twice",
        scan.UNDERFLOW: "a value is used that is not there",
    }
    raise error(f"broken pickle: {reasons[outcome]} at byte {at}")


def member(value: Any, key: str, where: str, error: Callable[[str], UnreadableFile]) -> Any:
    """What a dictionary in the pickle has under a key that must be there."""
    if not isinstance(value, dict):
        raise error(f"{where} is a {type(value).__name__}, expected a dictionary with {key!r}")
    if key not in value:
        raise error(f"{where} has no {key!r}")
    return value[key]


def sequence(value: Any, where: str, error: Callable[[str], UnreadableFile]) -> Sequence[Any]:
    """A list, a tuple, or an array with rows."""
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        return value  # type: ignore[return-value]  # an array has what is needed: a length, and rows in order
    raise error(f"{where} is a {type(value).__name__}, expected a list")


class _Unpickler(pickle.Unpickler):
    """Finds stand-ins only."""

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if full not in _ADMITTED:
            raise _RefusedError(_refusal(module, full))
        return _ADMITTED[full]


def _refusal(module: str, full: str) -> str:
    """Why something is not admitted, and what to do."""
    shown = full.encode("unicode_escape").decode("ascii")
    shown = shown if len(shown) <= 100 else shown[:97] + "..."
    package = module.partition(".")[0]
    if package == "torch":
        return (
            f"{shown}: the pickle holds torch tensors, which need torch to load. "
            "Convert them with .cpu().numpy() before saving, or load the file with torch and save it again so"
        )
    how = {
        "pandas": "Save frame.to_dict('list') or frame.to_numpy() instead",
        "numpy": "Save plain arrays, as numpy.asarray makes them, instead",
    }
    return (
        f"{shown}: a pickle may hold numpy arrays, numbers, text and plain containers only. Nothing was run. "
        + how.get(
            package, "If you trust the file, load it where it was made and save plain dictionaries and lists instead"
        )
    )


class _Name:
    """Something that a pickle may name and hand to a function, but not call or change."""

    __slots__ = ()

    def __setstate__(self, state: Any) -> NoReturn:
        raise _RefusedError("broken pickle: it tries to change what it names")


class _Function(_Name):
    """Something that a pickle may call."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)


class _Dtype:
    """A type of numbers. Not numpy's own: those are shared by all arrays, and a pickle could change them."""

    __slots__ = ("value",)

    def __init__(self, name: Any, align: Any = False, copy: Any = True) -> None:
        found = _DTYPE.fullmatch(name) if isinstance(name, str) else None
        if found is None:
            shown = name[:40] if isinstance(name, str) else type(name).__name__
            raise _RefusedError(
                f"an array of the numpy type {shown!r}, expected numbers, truth values, text or objects"
            )
        self.value = np.dtype(found[1] + ("O" if found[2].startswith("O") else found[2]))

    def __setstate__(self, state: Any) -> None:
        version, order, *parts = state
        plain = version == 3 and len(parts) == 6 and parts[:3] == [None, None, None] and isinstance(order, str)
        if not plain or order not in tuple("<>|=") or parts[3] not in (-1, self.value.itemsize):
            raise _RefusedError(
                "an array of a numpy type with fields, subarrays or metadata. Save plain arrays instead"
            )
        if order != "|":
            self.value = self.value.newbyteorder(order)


class _Array(np.ndarray[Any, Any]):
    """An array that checks what it is made of, once."""

    __slots__ = ()

    def __setstate__(self, state: Any) -> None:
        if not self.flags.writeable:
            raise _RefusedError("broken pickle: an array is filled twice")
        _, shape, dtype, fortran, content = state
        value = _fitting(shape, dtype, content)
        super().__setstate__((1, shape, value, bool(fortran), content))  # type: ignore[arg-type]  # numpy says np.bool
        self.flags.writeable = False

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Results are plain arrays and scalars."""
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain


_Array.__name__ = "ndarray"  # as messages call it


def _fitting(shape: Any, dtype: Any, content: Any) -> np.dtype[Any]:
    """The numpy type of an array, if its content is exactly as much as shape and type say."""
    if not isinstance(dtype, _Dtype) or not isinstance(shape, tuple) or len(shape) > 32:
        raise _RefusedError("broken pickle: an array without type or shape")
    if not all(type(n) is int and n >= 0 for n in shape):
        raise _RefusedError("broken pickle: an array whose shape is not made of whole numbers")
    value, count = dtype.value, math.prod(shape)
    if value.kind == "O":
        fits = type(content) is list and len(content) == count
    else:
        fits = isinstance(content, bytes | bytearray) and len(content) == count * value.itemsize
    if not fits or (not content and math.prod(n for n in shape if n) > _EMPTY):
        raise _RefusedError(f"broken pickle: an array of shape {str(shape)[:60]} with another number of values")
    if value.kind == "U" and content:
        letters = np.frombuffer(content, np.dtype(np.uint32).newbyteorder(value.byteorder))
        if letters.max() > 0x10FFFF:
            raise _RefusedError("broken pickle: an array of text with characters that there are not")
    return value


def _empty_array(kind: Any, shape: Any, code: Any) -> _Array:
    """The array that a pickle fills afterwards: ``numpy.core.multiarray._reconstruct``."""
    if kind is not _NDARRAY or shape != (0,) or code not in (b"b", "b"):
        raise _RefusedError("an array of a numpy subclass. Save plain arrays, as numpy.asarray makes them, instead")
    return _Array((0,), np.int8)


def _array_of(content: Any, dtype: Any, shape: Any, order: Any, axes: Any = None) -> _Array:
    """An array around its bytes: ``numpy.core.numeric._frombuffer``, which protocol 5 uses."""
    value = _fitting(shape, dtype, content)
    if value.kind == "O" or order not in ("C", "F", "K"):
        raise _RefusedError("broken pickle: an array of objects from bytes, or in no known order")
    array = _Array(shape, value, content, order="F" if order == "F" else "C")
    array.flags.writeable = False
    return array if axes is None else array.transpose(axes)


def _scalar(dtype: Any, content: Any) -> Any:
    """One number or text of numpy's: ``numpy.core.multiarray.scalar``."""
    value = _fitting((), dtype, content)
    if value.kind == "O":
        raise _RefusedError("broken pickle: a numpy scalar that is an object")
    return np.ndarray((), value, content)[()]


def _encode(text: Any, encoding: Any) -> bytes:
    """Bytes in protocols 0 to 2, which have text only: ``_codecs.encode``."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise _RefusedError("broken pickle: bytes in another encoding than latin1")
    return text.encode("latin1")


def _bytes(*nothing: Any) -> bytes:
    if nothing:
        raise _RefusedError("broken pickle: bytes of something")
    return b""


def _bytearray(*content: Any) -> bytearray:
    if len(content) > 1 or not all(isinstance(part, bytes) for part in content):
        raise _RefusedError("broken pickle: a bytearray of something else than bytes")
    return bytearray(*content)


def _set(*items: Any) -> set[Any]:
    if len(items) > 1 or not all(isinstance(part, list) for part in items):
        raise _RefusedError("broken pickle: a set of something else than a list")
    return set(*items)


def _dictionary(*factory: Any) -> dict[Any, Any]:
    if len(factory) > 1 or not all(part is None or isinstance(part, _Name) for part in factory):
        raise _RefusedError("broken pickle: a dictionary made of something")
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
    """Everything that a pickle may name, under the names of all versions of Python and numpy."""
    named: dict[str, _Name] = {name: _Function(call) for name, call in _FUNCTIONS.items()}
    named |= {f"builtins.{name}": _Name() for name in _FACTORIES} | {"numpy.ndarray": _NDARRAY}
    moved = (("numpy.core.", "numpy._core."), ("builtins.", "__builtin__."))
    return named | {
        new + name.removeprefix(old): value
        for old, new in moved
        for name, value in named.items()
        if name.startswith(old)
    }


_ADMITTED = _admitted()
