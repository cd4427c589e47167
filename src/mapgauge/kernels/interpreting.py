"""Kernels that are interpreted while they have little to do, so that a first answer does not wait for the compiler.

Compiling a kernel takes seconds. For two small lines, its Python function takes a millisecond. ``call`` therefore runs
the Python function of a kernel that is not compiled yet, neither in memory nor on disk, if there is little to do. Once
this adds up to half a second, the kernel is compiled. A call that turns out to take longer is given up and compiled.

Results never depend on it. The Python functions compute the same bits, because kernels use only operations that
IEEE 754 defines to the last bit: sums, products, quotients and square roots. Powers are not among them, so SOSPA and
PLD of other orders than 1 are always compiled. What Python refuses and machine code does not, such as a division by 0,
is left to the compiled kernel.

A Python function that is interpreted must not call compiled kernels. So the functions of a module are made again with
other global names, in which kernels are Python functions. Nothing is switched, and threads do not see each other.
"""

import dis
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._jit import PENDING, Kernel
from mapgauge.kernels.lines import Lines

SWITCH = "MAPGAUGE_INTERPRET"  # 0 switches this off

BUDGET = 0.5  # seconds for which a kernel is interpreted in one process; compiling takes 0.3 to 12
VISIT = 5e-6  # seconds for a point, or for a call of a kernel by another, roughly
_CELLS = 20.0  # pairs of points that take as long as a point

_LEFT = threading.local()  # how many more calls the kernel that this thread interprets may make


class _TooLongError(Exception):
    """An interpreted kernel takes longer than expected."""


class Pairs(NamedTuple):
    """The pairs of lines that a kernel has to look at.

    In group g, a pair is one of the lines ``bounds[g][0] .. bounds[g][1]`` and one of ``bounds[g][1] .. bounds[g][2]``.
    """

    lines: Lines
    reach: float  # lines that are further apart take no time
    order: float = 1.0  # of the metric
    bounds: Iterable[Sequence[int]] | NDArray[np.int64] = ((0, 1, 2),)

    def visits(self) -> float:
        """Return the number of points of all pairs that are near; infinity if they must not be interpreted."""
        if self.order != 1.0:
            return math.inf
        lines, dimension = self.lines, len(self.lines.points)
        size = (lines.span[:, 1] - lines.span[:, 0]).astype(np.float64)
        low, high = lines.line_box[:dimension], lines.line_box[dimension:]
        visits = 0.0
        for first, middle, last in self.bounds:
            visits += 1.0 + float((middle - first) * (last - middle))
            if VISIT * visits > BUDGET:
                break
            x, y = slice(first, middle), slice(middle, last)
            with np.errstate(over="ignore"):
                gap = np.maximum(low[:, x, None] - high[:, None, y], low[:, None, y] - high[:, x, None])
            points = np.add.outer(size[x], size[y]) + np.multiply.outer(size[x], size[y] / _CELLS)
            visits += float(points[(gap < self.reach).all(axis=0)].sum())
        return visits


def call(kernel: Any, visits: Callable[[], float], *arguments: Any) -> Any:
    """Call a kernel. It is interpreted if it is not compiled and there is little to do.

    Args:
        kernel: The kernel.
        visits: Returns about how many points it has to visit, all pairs of lines together; infinity if it must be
            compiled. It is called only if it matters.
        arguments: The arguments of the kernel.
    """
    if kernel.entry.overloads or kernel.name in PENDING or os.environ.get(SWITCH) == "0":
        return kernel(*arguments)
    types = tuple(map(kernel.entry.typeof_pyval, arguments))
    left = BUDGET - kernel.interpreted[types]
    if VISIT * visits() > left or kernel.is_compiled(types):
        return kernel(*arguments)
    written = [one for one in arguments if isinstance(one, np.ndarray) and one.flags.writeable]
    before = [array.copy() for array in written]
    begun, _LEFT.calls = time.thread_time(), left / VISIT
    try:
        with np.errstate(all="ignore"):
            return _as_compiled(interpreted(kernel)(*arguments))
    except Exception:  # it takes too long, or Python refuses what machine code computes
        for array, content in zip(written, before, strict=True):
            array[...] = content
        return kernel(*arguments)
    finally:
        kernel.interpreted[types] += time.thread_time() - begun


@cache
def interpreted(kernel: Kernel) -> Callable[..., Any]:
    """Return the Python function of a kernel. It calls the Python functions of other kernels."""
    function: Callable[..., Any] = _names_in(kernel.__module__)[kernel.__name__]  # type: ignore[attr-defined]
    return function


@cache
def _names_in(module: str) -> dict[str, Any]:
    """Return the names of a module of kernels, in which kernels are Python functions."""
    names = dict(vars(sys.modules[module]))
    for name, value in names.items():
        if isinstance(value, Kernel):
            function: Any = value.__wrapped__  # type: ignore[attr-defined]
            if function.__module__ == module:
                names[name] = _with_limit(FunctionType(function.__code__, names))
            else:
                names[name] = _names_in(function.__module__)[function.__name__]
        else:
            names[name] = getattr(value, "plain", value)  # of instructions that are written for LLVM
    return names


def _with_limit(function: FunctionType) -> Callable[..., Any]:
    """Return a function that gives up if it is called too often. A function without a loop takes no time."""
    if not any("JUMP_BACKWARD" in one.opname for one in dis.get_instructions(function)):
        return function

    def limited(*arguments: Any) -> Any:
        _LEFT.calls -= 1
        if _LEFT.calls < 0:
            raise _TooLongError
        return function(*arguments)

    return limited


def _as_compiled(found: Any) -> Any:
    """Return numbers as a compiled kernel does, which returns those of Python."""
    if isinstance(found, np.generic):
        return found.item()
    return tuple(map(_as_compiled, found)) if type(found) is tuple else found
