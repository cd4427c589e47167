"""Interprets kernels while they have little to do, so that a first result does not wait for the compiler.

Compiling a kernel takes seconds. For two small lines, its Python function takes a millisecond. A kernel that is
decorated with ``interpreted_while_small`` and not compiled yet, neither in memory nor on disk, therefore runs as its
Python function if there is little to do. Once this adds up to half a second, the kernel is compiled. So is a kernel
that is called some hundred times, because a program that calls it in a loop will do so again: the compiled kernel is
stored on disk, and the next process has it at once. Where it cannot be stored, only the time counts.

Results never depend on it. The Python functions compute the same bits, because kernels use only operations that
IEEE 754 defines to the last bit: sums, products, quotients and square roots. Powers are not among them, so SOSPA and
PLD of other orders than 1 are always compiled. What Python refuses and machine code does not, such as a division by 0,
is left to the compiled kernel.

A Python function that is interpreted must not call compiled kernels. So the functions of a module are made again with
other global names, in which kernels are Python functions. Nothing is switched, and threads do not see each other.
"""

import inspect
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from mapgauge.kernels._jit import PENDING, Kernel
from mapgauge.kernels.progress import WATCH

F = TypeVar("F", bound=Callable[..., object])

SWITCH = "MAPGAUGE_INTERPRET"  # 0 switches this off
BUDGET = 0.5  # seconds for which a kernel is interpreted in one process; compiling takes 0.3 to 12
# Calls that are interpreted in one process. ``mg.resample`` takes 0.28 ms interpreted and 0.03 ms compiled: this many
# calls take 0.1 s, a fifth of the time to compile it.
CALLS = 400
_CALLED: Counter[str] = Counter()  # interpreted calls, by the name of the kernel


def numbers_in(*values: Any) -> int:
    """Return how many numbers the arrays in some values have."""
    return sum(numbers_in(*value) if isinstance(value, tuple) else np.size(value) for value in values)


def interpreted_while_small(most: int = 600, size: Callable[..., float] = numbers_in) -> Callable[[F], F]:
    """Decorate a kernel that is interpreted if it is not compiled and its ``size`` is at most ``most``."""

    def decorate(kernel: F) -> F:
        chosen: Any = kernel
        chosen.most = most
        chosen.size = size
        chosen.call_uncompiled = _call
        return kernel

    return decorate


def is_small(kernel: Kernel, arguments: tuple[Any, ...]) -> bool:
    """Whether a kernel may be interpreted with these arguments. Powers may not."""
    order = inspect.signature(kernel.entry.py_func).bind(*arguments).arguments.get("order")
    exact = not isinstance(order, float) or order == 1.0
    return exact and kernel.size is not None and kernel.size(*arguments) <= kernel.most


def _call(kernel: Kernel, arguments: tuple[Any, ...]) -> Any:
    """Call a kernel that is not in memory."""
    begun = time.thread_time()
    if kernel.name in PENDING or _is_worn(kernel) or os.environ.get(SWITCH) == "0":
        return kernel.call_compiled(arguments)
    types = tuple(map(kernel.entry.typeof_pyval, arguments))
    if not is_small(kernel, arguments) or kernel.is_compiled(types):
        return kernel.call_compiled(arguments)
    written = [array for array in arguments if isinstance(array, np.ndarray) and array.flags.writeable]
    before = [array.copy() for array in written]
    try:
        with np.errstate(all="ignore"):
            return _as_compiled(python_function(kernel)(*arguments))
    except Exception:  # Python refuses what machine code computes
        for array, content in zip(written, before, strict=True):
            array[...] = content
        return kernel.call_compiled(arguments)
    finally:
        _CALLED[kernel.name] += 1
        kernel.seconds += time.thread_time() - begun  # with the time that it took to decide


def _is_worn(kernel: Kernel) -> bool:
    """Whether a kernel was interpreted so long or so often that it is compiled."""
    often = _CALLED[kernel.name] >= CALLS and not WATCH.unstored
    return often or kernel.seconds > BUDGET


def python_function(kernel: Kernel) -> Callable[..., Any]:
    """Return the Python function of a kernel. It calls the Python functions of other kernels."""
    function: Callable[..., Any] = _names_in(kernel.__module__)[kernel.__name__]  # type: ignore[attr-defined]
    return function


@cache
def _names_in(module: str) -> dict[str, Any]:
    """Return the names of a module of kernels, in which kernels are Python functions."""
    names = dict(vars(sys.modules[module]))
    for name, value in names.items():
        if isinstance(value, Kernel):
            function = value.entry.py_func
            is_own = function.__module__ == module
            python = FunctionType(function.__code__, names)
            if is_own:
                names[name] = python
            else:
                names[name] = _names_in(function.__module__)[function.__name__]
        else:
            names[name] = getattr(value, "plain", value)  # of instructions that are written for LLVM
    return names


def _as_compiled(value: Any) -> Any:
    """Return numbers as a compiled kernel does: as Python numbers."""
    if isinstance(value, np.generic):
        return value.item()
    if type(value) is tuple:
        return tuple(map(_as_compiled, value))
    return value
