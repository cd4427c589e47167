"""Safe unpickling: numpy arrays, numbers, text and plain containers are loaded, and no code runs.

A pickle is a program. It can name any function of any installed package and have it called. ``unpickle`` therefore
works in two steps:

1. ``scan_kernels`` walks over the opcodes. It refuses a file that is truncated or damaged, that would allocate
   far more memory than its own size, or that contains itself. Nothing has been loaded at that point.
2. The unpickler of the standard library loads the pickle. Every name in it is looked up in ``ADMITTED``, never in a
   module. The replacements in that table check their arguments. None of them leads to the function that it replaces,
   and a pickle cannot change them.

``OrderedDict`` and ``defaultdict`` become plain dictionaries, because looking up a missing key must not add it. Arrays
are instances of a read-only subclass; everything computed from them is a plain array.
"""

import io
import math
import pickle
import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from mapgauge.io.files.json_documents import MakeError, gc_paused
from mapgauge.io.pickles import opcodes as op

_EMPTY = 1 << 20  # most elements that the dimensions other than 0 of an empty array may give
_LARGEST_SET = 10_000  # of pickle protocols below 4; later ones do not call a function for a set
_DTYPE = re.compile(r"([<>|=]?)(b1|[iu][1248]|f[248]|[SU][0-9]{1,9}|O[48]?)")
NO_TENSORS = "Convert them with .cpu().numpy() before saving, or load the file with torch, convert and save it again"
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


class SteppedOver(_Name):
    """Stands for a value of a package that is not loaded, such as a tensor of torch. Calling it does nothing."""

    __slots__ = ()

    def __call__(self, *arguments: Any) -> "SteppedOver":
        """Stand for the result of a call as well."""
        return self

    def __setstate__(self, state: Any) -> None:  # type: ignore[override]  # where a name refuses it
        """Ignore the state."""


class _Dtype:
    """A numpy type. It is not numpy's own object, which all arrays share and which a pickle could change."""

    __slots__ = ("value",)

    def __init__(self, name: Any, align: Any = False, copy: Any = True) -> None:
        match = None
        if isinstance(name, str):
            match = _DTYPE.fullmatch(name)
        if match is None:
            if isinstance(name, str):
                shown = name[:40]
            else:
                shown = type(name).__name__
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
        if return_scalar:
            return plain[()]
        return plain


_Array.__name__ = "ndarray"  # for error messages


def _fitting(shape: Any, dtype: Any, content: Any) -> np.dtype[Any]:
    """Return the numpy type of an array, after checking that the content has the size that shape and type give."""
    if not isinstance(dtype, _Dtype) or not isinstance(shape, tuple) or len(shape) > 32:
        raise Refused("broken pickle: an array without type or shape")
    if not all(type(n) is int and n >= 0 for n in shape):
        raise Refused("broken pickle: an array whose shape holds something other than whole numbers")
    value = dtype.value
    count = math.prod(shape)
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
    if axes is None:
        return array
    return array.transpose(axes)


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

# The limit on the number of values, where a value counts each time it is used. A file that shares no values has at most
# two for each byte. Six thousand frames that share one list of 75 polylines have 46 million in 255 kB.
_LIMIT = 1 << 20
_LIMIT_PER_BYTE = 16
_SHARED = 1 << 26
_SHARED_PER_BYTE = 192
_DEEPEST = 100  # nested containers; the files of public projects have 10
# The limit on comparisons of keys whose hashes their writer could choose to be equal: half a second, and about a second
# for each megabyte. Ten thousand keys in one dictionary need 50 million.
_COMPARISONS = 50_000_000
_COMPARISONS_PER_BYTE = 64


def most_values(size: int) -> int:
    """Return the limit on the number of values in a pickle of a number of bytes."""
    return _LIMIT + _LIMIT_PER_BYTE * size + min(_SHARED, _SHARED_PER_BYTE * size)


def unpickle(data: bytes, error: MakeError, *, without: str = "") -> Any:
    """Return the value in a pickle. ``error`` creates the exception to raise.

    Values of the package ``without`` become ``SteppedOver``. Nothing that they name is looked up or called.
    """
    _scan(data, error)
    # Buffered, so that the unpickler can look ahead; otherwise it asks for a few bytes at a time.
    file = io.BufferedReader(io.BytesIO(data), 1 << 20)
    try:
        with gc_paused():
            return _Unpickler(file, without).load()
    except Refused as refusal:
        raise error(str(refusal), remedy=refusal.remedy) from None
    except Exception as fault:  # a damaged pickle can raise any exception
        raise error(f"broken pickle: {str(fault)[:200] or type(fault).__name__}") from fault


class _Unpickler(pickle.Unpickler):
    """Looks names up in ``ADMITTED`` only."""

    def __init__(self, file: Any, without: str) -> None:
        super().__init__(file)
        self._without = without

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if full not in ADMITTED:
            if self._without and module.partition(".")[0] == self._without:
                return SteppedOver()
            raise _refused_name(module, full)
        return ADMITTED[full]


def _refused_name(module: str, full: str) -> Refused:
    """Return the error for a name that is not admitted."""
    shown = full.encode("unicode_escape").decode("ascii")
    if not (len(shown) <= 100):
        shown = shown[:97] + "..."
    package = module.partition(".")[0]
    if package == "torch":
        return Refused(f"{shown}: the pickle holds torch tensors, which need torch to load", NO_TENSORS)
    remedies = {
        "pandas": "Save frame.to_dict('list') or frame.to_numpy() instead",
        "numpy": "Save plain arrays, as numpy.asarray makes them, instead",
        "networkx": "Load the graphs where they were made and save them as JSON: "
        "document = {token: mapgauge.Graph.of(graph).to_dict() for token, graph in graphs.items()}; "
        'json.dump(document, open("graphs.json", "w"))',
    }
    otherwise = "If you trust the file, load it where it was made and save plain dictionaries and lists instead"
    return Refused(
        f"{shown}: a pickle may hold numpy arrays, numbers, text and plain containers only. Nothing was run",
        remedies.get(package, otherwise),
    )


def _scan(data: bytes, error: MakeError) -> None:
    """Refuse a pickle that the unpickler must not load."""
    from mapgauge.io.pickles.scan_kernels import scan

    size = len(data)
    limit = most_values(size)
    comparisons = _COMPARISONS + _COMPARISONS_PER_BYTE * size
    limits = (np.uint64(value) for value in (limit, _DEEPEST, comparisons))
    outcome, at = scan(np.frombuffer(data, np.uint8), op.opcode_table(), *limits)
    if outcome != op.SOUND:
        message, remedy = _explained(outcome, data, int(at), limit=limit)
        raise error(message, remedy=remedy)


def _explained(outcome: int, data: bytes, at: int, limit: int) -> tuple[str, str | None]:
    """Return the message and the remedy for a pickle that the scan refused at a byte."""
    name = ""
    if outcome == op.REFUSED:
        name = op.opcode_name(data[at])
    if name in ("DUP", "LONG4"):
        return f"broken pickle: unexpected {name} at byte {at}", None
    seen = f"(seen at byte {at})"
    explanations: dict[int, tuple[str, str | None]] = {
        op.ENDS: (
            f"the pickle ends at byte {len(data)}, before its STOP",
            "Check that it was written and copied completely",
        ),
        op.TRAILING: (
            f"{len(data) - at} bytes follow the end of the pickle at byte {at}, expected a single pickle",
            "torch.save in its old format writes several. Save plain numpy arrays with pickle.dump instead",
        ),
        op.REFUSED: (
            f"the pickle refers to objects outside of it ({name} at byte {at}), as pickles of torch.save do",
            "Save plain numpy arrays with pickle.dump(document, file) and no further arguments instead",
        ),
        op.COLLIDES: (
            f"the pickle has too many keys that are large whole numbers or tuples of numbers {seen}",
            "Save texts or small whole numbers as keys instead",
        ),
        op.GROWS: (f"a value in the pickle contains itself {seen}, expected plain data", None),
        op.HEAVY: (f"the pickle repeats its values until there are more than {limit} of them {seen}", None),
        op.DEEP: (f"the pickle has more than {_DEEPEST} containers nested in each other {seen}", None),
        op.UNKNOWN: (f"broken pickle: 0x{data[at : at + 1].hex()} at byte {at} is not an opcode", None),
        op.MISSING: (f"broken pickle: a value is fetched that was not stored at byte {at}", None),
        op.INDEX: (f"broken pickle: a value is stored far beyond those before it at byte {at}", None),
        op.AGAIN: (f"broken pickle: a value is stored twice at byte {at}", None),
        op.UNDERFLOW: (f"broken pickle: a value is used that is not on the stack at byte {at}", None),
    }
    return explanations[outcome]
