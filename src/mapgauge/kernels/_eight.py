"""The smallest squared distances of eight consecutive points to a range of points, computed side by side.

Ranges are short, a few dozen points. LLVM vectorises a loop over such a range, but most of the time is then spent before
and after the vectors. Here the eight points are the vector. numba has no types for vectors, so the instructions are
written here.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_INT, _LONG = ir.IntType(32), ir.IntType(64)
_EIGHT = ir.VectorType(ir.DoubleType(), 8)
_NOTHING = ir.Constant(_EIGHT, ir.Undefined)
_SAME = ir.Constant(ir.VectorType(_INT, 8), [0] * 8)


def _least(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    points, i, first, last, out = (
        context.make_array(kind)(context, builder, value) if isinstance(kind, types.Array) else value
        for kind, value in zip(signature.args, arguments, strict=True)
    )
    rows = [points.data, builder.gep(points.data, [cgutils.unpack_tuple(builder, points.shape)[1]])]

    def eight_from(row: Any) -> Any:
        loaded = builder.load(builder.bitcast(builder.gep(row, [i]), _EIGHT.as_pointer()))
        loaded.align = 8
        return loaded

    def eight_times(number: Any) -> Any:
        return builder.shuffle_vector(builder.insert_element(_NOTHING, number, _INT(0)), _NOTHING, _SAME)

    mine = [eight_from(row) for row in rows]
    smallest = cgutils.alloca_once_value(builder, ir.Constant(_EIGHT, [float("inf")] * 8))
    with cgutils.for_range_slice(builder, first, last, _LONG(1), inc=True) as (j, _):
        others = [eight_times(builder.load(builder.gep(row, [j]))) for row in rows]
        apart = [builder.fsub(own, other) for own, other in zip(mine, others, strict=True)]
        square = builder.fadd(*(builder.fmul(gap, gap) for gap in apart))
        before = builder.load(smallest)
        builder.store(builder.select(builder.fcmp_ordered("<", square, before), square, before), smallest)
    builder.store(builder.load(smallest), builder.bitcast(out.data, _EIGHT.as_pointer())).align = 8
    return context.get_dummy_value()


@intrinsic
def least_of_eight(
    context: Any, points: Any, i: Any, first: Any, last: Any, out: Any
) -> tuple[Any, Callable[..., Any]]:
    """Write the smallest squared distances of the points ``i .. i + 8`` to the points ``first .. last``.

    Only the first two coordinates count. ``points`` is contiguous and has the eight points. Without points in the
    range, the distances are infinity.
    """
    index = types.uint64
    return types.void(points, index, index, index, out), _least
