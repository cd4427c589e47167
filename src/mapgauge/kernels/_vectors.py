"""``least`` and ``most``: the smaller and the larger of two numbers that are not NaN, as instructions of LLVM.

A loop for the smallest of many numbers vectorises only if numbers may be compared in any order. The result is the same
in any order, but LLVM must be told that no number is NaN and that zeros have no sign. numba's ``fastmath`` does not do
so for comparisons.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _of_two(instruction: str, plain: Callable[..., float]) -> Any:
    def chosen(context: Any, builder: Any, signature: Any, numbers: Any) -> Any:
        double = ir.DoubleType()
        function = builder.module.declare_intrinsic(instruction, [double], ir.FunctionType(double, [double, double]))
        return builder.call(function, numbers, fastmath=("nnan", "nsz"))

    def typed(context: Any, a: Any, b: Any) -> tuple[Any, Callable[..., Any]]:
        return types.float64(types.float64, types.float64), chosen

    made: Any = intrinsic(typed)
    made.plain = plain  # what an interpreted kernel calls
    return made


least = _of_two("llvm.minnum", min)
most = _of_two("llvm.maxnum", max)
