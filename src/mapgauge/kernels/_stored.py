"""Kernels as LLVM's intermediate code, which comes with the package. LLVM optimises it for the processor.

numba takes half of the time to compile a kernel before LLVM begins. The code that numba has made by then depends
neither on the processor nor on the version of Python. So it is stored, for the kernels that usual commands call, in
``stored.zip``. ``python -m tools.stored_kernels`` writes this file. In the place of such a kernel, numba compiles a
function that calls the stored code, and LLVM optimises both for this processor. The values are the same to the last
bit, because the code is the same.

Stored code is used only with the version of numba and the platform that it was made with, and only if no file changed
from which it was made (``_cache.py``). Otherwise kernels are compiled as usual. ``MAPGAUGE_STORED=0`` switches it off.
"""

import importlib
import inspect
import json
import os
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numba
from numba.core import cgutils, config
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from mapgauge.kernels._cache import name_of, stamp

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
        inner = [type_from(word) for word in inside.split("; ") if word]
        if not owner:
            return types.Tuple.from_types(inner)
        module, _, name = owner.partition(":")
        made = getattr(importlib.import_module(module), name)
        return types.BaseTuple.from_types(inner, made)
    words = text.split()
    if len(words) > 1:
        return types.Array(getattr(types, words[0]), int(words[1]), words[2], readonly=len(words) > 3)
    return getattr(types, text)


FILE = Path(__file__).with_name("stored.zip")
SWITCH = "MAPGAUGE_STORED"
INDEX = "index.json"


class Stored(NamedTuple):
    """A row of the index: the code of a kernel for arguments of some types."""

    name: str  # of the function, and of its code in the file
    stamp: str  # of the files that it was made from
    returns: str


def key_of(kernel: str, types: tuple[Any, ...]) -> str:
    """Return the key of a kernel in the index."""
    return "; ".join((kernel, *map(in_words, types)))


def made_for() -> list[str]:
    """Return what must be the same where the file is made and where it is used."""
    return [".".join(map(str, numba.version_info.short)), llvm.get_process_triple()]


@cache
def index(file: Path = FILE) -> dict[str, Stored]:
    """Return the stored kernels that suit this version of numba and this platform."""
    try:
        with zipfile.ZipFile(file) as opened:
            content = json.loads(opened.read(INDEX))
        if content["made_for"] == made_for():
            return {key: Stored(*row) for key, row in content["kernels"].items()}
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):  # there is none, or not a whole one
        pass
    return {}


def find(function: Callable[..., Any], types: tuple[Any, ...], file: Path = FILE) -> tuple[Stored, Any] | None:
    """Return the stored code of a kernel for arguments of these types, if it is current, and its LLVM module."""
    if os.environ.get(SWITCH) == "0" or vars(config).get("BOUNDSCHECK"):  # somebody wants code with other checks
        return None
    stored = index(file).get(key_of(name_of(function), types))
    if stored is None or stored.stamp != stamp(Path(function.__code__.co_filename)):
        return None
    try:
        with zipfile.ZipFile(file) as opened:
            return stored, llvm.parse_bitcode(opened.read(stored.name))
    except (OSError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error):
        return None


def caller_of(function: Callable[..., Any], stored: Stored, library: Any) -> Any:
    """Return a function with the name and arguments of a kernel that calls its stored code, a library of numba."""
    names = list(inspect.signature(function).parameters)

    def definition(_: Any, *arguments: Any) -> tuple[Any, Any]:
        return signature(type_from(stored.returns), *arguments), call

    def call(context: Any, builder: Any, types: Any, arguments: Any) -> Any:
        context.active_code_library.add_linking_library(library)
        kind = context.call_conv.get_function_type(types.return_type, types.args)
        called = cgutils.get_or_insert_function(builder.module, kind, stored.name)
        status, value = context.call_conv.call_function(builder, called, types.return_type, types.args, arguments)
        with cgutils.if_unlikely(builder, status.is_error):  # no memory
            context.call_conv.return_status_propagate(builder, status)
        return value

    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("_", *names)]
    definition.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    listed = ", ".join(names)
    caller: Any = eval(f"lambda {listed}: call({listed})", {"call": intrinsic(definition)})  # numba needs their number
    for name in ("__module__", "__name__", "__qualname__"):
        setattr(caller, name, getattr(function, name))
    return caller
