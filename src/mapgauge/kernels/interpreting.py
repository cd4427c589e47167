"""Kernels that are interpreted while they have little to do, so that a first answer does not wait for the compiler.

Compiling a kernel takes seconds. For two small lines, its Python function takes a millisecond. ``call`` therefore runs
the Python function of a kernel that is not compiled yet, neither in memory nor on disk, if there is little to do. Once
this adds up to about half of the time that compiling takes, the kernel is compiled.

Results never depend on it. The Python functions compute the same bits, because kernels use only operations that
IEEE 754 defines to the last bit: sums, products, quotients and square roots. Powers are not among them, so SOSPA and
PLD of other orders than 1 are always compiled. What Python refuses and machine code does not, such as a division by 0,
is left to the compiled kernel.

A Python function that is interpreted must not call compiled kernels. So the functions of a module are made again with
other global names, in which kernels are Python functions. Nothing is switched, and threads do not see each other.
"""

import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._extremes import least, most
from mapgauge.kernels._jit import PENDING, Kernel
from mapgauge.kernels.lines import Lines

SWITCH = "MAPGAUGE_INTERPRET"  # 0 switches this off

BUDGET = 0.5  # seconds for which a kernel is interpreted in one process; the smaller ones take twice as long to compile
STEP = 4e-6  # seconds for two points or one sample; less if points are far apart
_PAIR = 100.0  # steps for two lines, however few points they have


class Pairs(NamedTuple):
    """The pairs of lines that a kernel has to look at."""

    lines: Lines
    closed: NDArray[np.bool_]  # of each line
    reach: float  # lines that are further apart take no time
    order: float = 1.0  # of the metric
    bounds: Iterable[Sequence[int]] | NDArray[np.int64] = ((0, 1, 2),)  # as ``pld_of_groups`` takes them

    def steps(self) -> float:
        """Return the number of pairs of points; infinity if they must not be interpreted.

        Each cut of a closed line may have to be tried.
        """
        if self.order != 1.0:
            return math.inf
        size, dimension = (self.lines.span[:, 1] - self.lines.span[:, 0]).astype(np.float64), len(self.lines.points)
        low, high = self.lines.line_box[:dimension], self.lines.line_box[dimension:]
        steps = 0.0
        for first, middle, last in self.bounds:
            steps += (middle - first) * (last - middle)  # pairs of lines
            if steps * STEP > BUDGET:
                break
            x, y = slice(first, middle), slice(middle, last)
            with np.errstate(over="ignore"):
                gap = np.maximum(low[:, x, None] - high[:, None, y], low[:, None, y] - high[:, x, None])
            near = (gap < self.reach).all(axis=0)
            cyclic = np.logical_or.outer(self.closed[x], self.closed[y])
            cuts = np.where(cyclic, np.maximum.outer(size[x], size[y]), 1.0)
            steps += float(((np.multiply.outer(size[x], size[y]) + _PAIR) * cuts)[near].sum())
        return steps


def call(kernel: Any, steps: Callable[[], float], *arguments: Any) -> Any:
    """Call a kernel. It is interpreted if it is not compiled and there is little to do.

    Args:
        kernel: The kernel.
        steps: Returns how many pairs of points, or points, it has to look at; infinity if it must be compiled.
        arguments: The arguments of the kernel.
    """
    if kernel.entry.overloads or not _is_worth_it(kernel, steps, arguments):
        return kernel(*arguments)
    begun = time.thread_time()
    try:
        with np.errstate(all="ignore"):
            return _as_compiled(interpreted(kernel)(*arguments))
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return kernel(*arguments)
    finally:
        kernel.interpreted += time.thread_time() - begun


def _is_worth_it(kernel: Kernel, steps: Callable[[], float], arguments: tuple[Any, ...]) -> bool:
    if kernel.name in PENDING or os.environ.get(SWITCH) == "0":
        return False
    if kernel.interpreted + STEP * steps() > BUDGET:
        return False
    return not kernel.is_compiled(tuple(map(kernel.entry.typeof_pyval, arguments)))


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
                names[name] = FunctionType(function.__code__, names)
            else:
                names[name] = _names_in(function.__module__)[function.__name__]
        elif value is least:
            names[name] = min
        elif value is most:
            names[name] = max
    return names


def _as_compiled(found: Any) -> Any:
    """Return numbers as a compiled kernel does, which returns those of Python."""
    if isinstance(found, np.generic):
        return found.item()
    return tuple(map(_as_compiled, found)) if type(found) is tuple else found
