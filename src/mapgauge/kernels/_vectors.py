"""Instructions of LLVM that numba does not write: smallest and largest numbers, and distances of eight points.

``least`` and ``most`` are the smaller and the larger of two numbers that are not NaN. A loop for the smallest of many
numbers vectorises only if numbers may be compared in any order. The result is the same in any order, but LLVM must be
told that no number is NaN and that zeros have no sign. numba's ``fastmath`` does not do so for comparisons.

The other functions compute distances of eight consecutive points side by side. Ranges of points are short, a few dozen.
LLVM vectorises a loop over such a range, but most of the time is then spent before and after the vectors. Here the
eight points are the vector. Only the first two coordinates count. Arrays of points are contiguous and must have the
eight points.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
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


WIDTH = 8
_BYTE, _INT, _LONG = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_EIGHT = ir.VectorType(ir.DoubleType(), WIDTH)
_NOTHING = ir.Constant(_EIGHT, ir.Undefined)
_SAME = ir.Constant(ir.VectorType(_INT, WIDTH), [0] * WIDTH)


def _rows(context: Any, builder: Any, kind: Any, points: Any) -> list[Any]:
    """The addresses of the two rows of coordinates."""
    array = context.make_array(kind)(context, builder, points)
    return [array.data, builder.gep(array.data, [cgutils.unpack_tuple(builder, array.shape)[1]])]


def _place(context: Any, builder: Any, kind: Any, array: Any, i: Any, vector: Any) -> Any:
    """The address of the eight numbers from ``i`` on."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [i]), vector.as_pointer())


def _eight_from(builder: Any, rows: list[Any], i: Any) -> list[Any]:
    """The coordinates of the points ``i .. i + 8``."""
    loaded = [builder.load(builder.bitcast(builder.gep(row, [i]), _EIGHT.as_pointer())) for row in rows]
    for vector in loaded:
        vector.align = 8
    return loaded


def _eight_times(builder: Any, number: Any) -> Any:
    return builder.shuffle_vector(builder.insert_element(_NOTHING, number, _INT(0)), _NOTHING, _SAME)


def _squares(builder: Any, rows: list[Any], mine: list[Any], j: Any) -> Any:
    """The squared distances of eight points to point ``j``."""
    others = [_eight_times(builder, builder.load(builder.gep(row, [j]))) for row in rows]
    apart = [builder.fsub(own, other) for own, other in zip(mine, others, strict=True)]
    return builder.fadd(*(builder.fmul(gap, gap) for gap in apart))


def _least(context: Any, builder: Any, kind: Any, points: Any, i: Any, first: Any, last: Any) -> Any:
    """The smallest squared distances of the points ``i .. i + 8`` to the points ``first .. last``."""
    rows = _rows(context, builder, kind, points)
    mine = _eight_from(builder, rows, i)
    smallest = cgutils.alloca_once_value(builder, ir.Constant(_EIGHT, [float("inf")] * WIDTH))
    with cgutils.for_range_slice(builder, first, last, _LONG(1), inc=True) as (j, _):
        square, before = _squares(builder, rows, mine, j), builder.load(smallest)
        builder.store(builder.select(builder.fcmp_ordered("<", square, before), square, before), smallest)
    return builder.load(smallest)


def _write_least(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    points, i, first, last, out = arguments
    found = _least(context, builder, signature.args[0], points, i, first, last)
    builder.store(found, _place(context, builder, signature.args[4], out, _LONG(0), _EIGHT)).align = 8
    return context.get_dummy_value()


def _write_closer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    points, i, first, last, limit, out = arguments
    found = _least(context, builder, signature.args[0], points, i, first, last)
    closer = builder.fcmp_ordered("<", found, _eight_times(builder, limit))
    flags = ir.VectorType(_BYTE, WIDTH)
    place = _place(context, builder, signature.args[5], out, i, flags)
    builder.store(builder.zext(closer, flags), place).align = 1
    return builder.zext(builder.ctpop(builder.bitcast(closer, _BYTE)), _LONG)


def _ends(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    points, i, first, last, limit = arguments
    rows, far = _rows(context, builder, signature.args[0], points), _eight_times(builder, limit)
    low, high = cgutils.alloca_once_value(builder, last), cgutils.alloca_once_value(builder, first)
    with cgutils.for_range_slice(builder, first, last, _LONG(WIDTH), inc=True) as (j, _):
        closer = builder.fcmp_ordered("<", _squares(builder, rows, _eight_from(builder, rows, j), i), far)
        rest = builder.sub(last, j)
        there = builder.sub(builder.shl(_LONG(1), rest), _LONG(1))
        there = builder.select(builder.icmp_unsigned("<", rest, _LONG(WIDTH)), there, _LONG(2**WIDTH - 1))
        bits = builder.and_(builder.zext(builder.bitcast(closer, _BYTE), _LONG), there)
        some = builder.icmp_unsigned("!=", bits, _LONG(0))
        lowest = builder.add(j, builder.cttz(bits, ir.Constant(ir.IntType(1), 0)))
        behind = builder.sub(builder.add(j, _LONG(64)), builder.ctlz(bits, ir.Constant(ir.IntType(1), 0)))
        known = builder.icmp_unsigned("<", builder.load(low), last)
        builder.store(builder.select(known, builder.load(low), builder.select(some, lowest, last)), low)
        builder.store(builder.select(some, behind, builder.load(high)), high)
    return context.make_tuple(builder, signature.return_type, [builder.load(low), builder.load(high)])


@intrinsic
def least_of_eight(
    context: Any, points: Any, i: Any, first: Any, last: Any, out: Any
) -> tuple[Any, Callable[..., Any]]:
    """Write the smallest squared distances of the points ``i .. i + 8`` to the points ``first .. last``.

    They are infinity if there are no points in the range. ``out`` has eight places.
    """
    return types.void(points, *[types.uint64] * 3, out), _write_least


@intrinsic
def closer_of_eight(
    context: Any, points: Any, i: Any, first: Any, last: Any, limit: Any, out: Any
) -> tuple[Any, Callable[..., Any]]:
    """Write at ``i .. i + 8`` whether these points have one of the points ``first .. last`` closer than the limit.

    Limits are squared distances. Returns the number of points that have one.
    """
    return types.uint64(points, *[types.uint64] * 3, types.float64, out), _write_closer


@intrinsic
def ends_of_closer(
    context: Any, points: Any, i: Any, first: Any, last: Any, limit: Any
) -> tuple[Any, Callable[..., Any]]:
    """The first of the points ``first .. last`` that is closer to point ``i`` than the limit, and one past the last.

    They are ``last`` and ``first`` if none is. Points after ``last`` are read, so the array needs seven more.
    """
    return types.UniTuple(types.uint64, 2)(points, *[types.uint64] * 3, types.float64), _ends
