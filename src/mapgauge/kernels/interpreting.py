"""Kernels that are interpreted while they have little to do, so that a first answer does not wait for the compiler.

Compiling a kernel takes seconds. For two small lines, its Python function takes a millisecond. A kernel that is
decorated with ``interpreted_while_small`` and not compiled yet, neither in memory nor on disk, therefore runs as its
Python function if there is little to do. Once this adds up to half a second, the kernel is compiled. A call that turns
out to take longer is given up and compiled.

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
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._jit import PENDING, Kernel

if TYPE_CHECKING:
    from mapgauge.kernels.lines import Lines

F = TypeVar("F", bound=Callable[..., object])

SWITCH = "MAPGAUGE_INTERPRET"  # 0 switches this off

BUDGET = 0.5  # seconds for which a kernel is interpreted in one process; compiling takes 0.3 to 12
VISIT = 5e-6  # seconds for a point, or for a call of a kernel by another, roughly
_CELLS = 20.0  # pairs of points that take as long as a point

_LEFT = threading.local()  # how many more calls the kernel that this thread interprets may make


class _TooLongError(Exception):
    """An interpreted kernel takes longer than expected."""


def visits_of_groups(
    lines: "Lines",
    reach: float,
    order: float = 1.0,
    bounds: Iterable[Sequence[int]] | NDArray[np.int64] = ((0, 1, 2),),
) -> float:
    """Return the number of points of all pairs of lines that are near; infinity if they must not be interpreted.

    Lines further apart than ``reach`` take no time. In group g, a pair is one of the lines ``bounds[g][0] ..
    bounds[g][1]`` and one of ``bounds[g][1] .. bounds[g][2]``.
    """
    if order != 1.0:
        return math.inf
    size, low, high = _sizes_and_boxes(lines)
    visits = 0.0
    for first, middle, last in bounds:
        visits += 1.0 + float((middle - first) * (last - middle))
        if VISIT * visits > BUDGET:
            break
        x, y = slice(first, middle), slice(middle, last)
        with np.errstate(over="ignore"):
            gap = np.maximum(low[:, x, None] - high[:, None, y], low[:, None, y] - high[:, x, None])
        points = np.add.outer(size[x], size[y]) + np.multiply.outer(size[x], size[y] / _CELLS)
        visits += float(points[(gap < reach).all(axis=0)].sum())
    return visits


def visits_of_pairs(lines: "Lines", x: NDArray[Any], y: NDArray[Any], reach: float, order: float) -> float:
    """Return the number of points of some pairs of lines, as ``visits_of_groups`` does for all pairs of groups."""
    if order != 1.0:
        return math.inf
    if VISIT * len(x) > BUDGET:
        return float(len(x))
    size, low, high = _sizes_and_boxes(lines)
    with np.errstate(over="ignore"):
        gap = np.maximum(low[:, x] - high[:, y], low[:, y] - high[:, x])
    points = size[x] + size[y] + size[x] * size[y] / _CELLS
    return len(x) + float(points[(gap < reach).all(axis=0)].sum())


def _sizes_and_boxes(lines: "Lines") -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the number of points of each line, and the lower and upper corners of the boxes around lines."""
    dimension = len(lines.points)
    size = (lines.span[:, 1] - lines.span[:, 0]).astype(np.float64)
    return size, lines.line_box[:dimension], lines.line_box[dimension:]


def interpreted_while_small(visits: Callable[..., float]) -> Callable[[F], F]:
    """Decorate a kernel that is interpreted if it is not compiled and there is little to do.

    ``visits`` takes the arguments of the kernel, and returns about how many points it has to visit; infinity if it must
    be compiled. It is called only if it matters.
    """

    def decorate(kernel: F) -> F:
        chosen: Any = kernel
        chosen.visits, chosen.call_uncompiled = visits, _call
        return kernel

    return decorate


def _call(kernel: Kernel, arguments: tuple[Any, ...]) -> Any:
    """Call a kernel that is not in memory."""
    if kernel.visits is None or kernel.name in PENDING or os.environ.get(SWITCH) == "0":
        return kernel.call_compiled(arguments)
    types = tuple(map(kernel.entry.typeof_pyval, arguments))
    left = BUDGET - kernel.seconds.get(types, 0.0)
    if VISIT * kernel.visits(*arguments) > left or kernel.is_compiled(types):
        return kernel.call_compiled(arguments)
    written = [array for array in arguments if isinstance(array, np.ndarray) and array.flags.writeable]
    before = [array.copy() for array in written]
    begun, _LEFT.calls = time.thread_time(), left / VISIT
    try:
        with np.errstate(all="ignore"):
            return _as_compiled(python_function(kernel)(*arguments))
    except Exception:  # it takes too long, or Python refuses what machine code computes
        for array, content in zip(written, before, strict=True):
            array[...] = content
        return kernel.call_compiled(arguments)
    finally:
        kernel.seconds[types] = kernel.seconds.get(types, 0.0) + time.thread_time() - begun


@cache
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


def _as_compiled(value: Any) -> Any:
    """Return numbers as a compiled kernel does, which returns those of Python."""
    if isinstance(value, np.generic):
        return value.item()
    return tuple(map(_as_compiled, value)) if type(value) is tuple else value
