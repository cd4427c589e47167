"""Kernels with machine code of their own that other kernels call, such as the alignment of two lines.

Usually all that a kernel calls is compiled into it. A large function that several kernels call would be compiled in
each of them. A *unit* is compiled once, at the same time as the kernels that call it, or in another process.

A call reads the address of the unit from a slot in memory. The name of the slot is in the compiled kernel and in its
file on disk. The slot is filled after the kernel was loaded or compiled, before it is called.

This uses parts of numba that are not public. For versions of numba on which it was not tested, units are ordinary
kernels.
"""

import ctypes
import hashlib
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core.registry import cpu_target
from numba.core.types import unliteral
from numba.core.typing.templates import signature
from numba.extending import intrinsic


class Unit(NamedTuple):
    """A unit for arguments of some types. The kernels that call it carry it in their files, and numba calls it."""

    kernel: str
    types: tuple[Any, ...]

    @property
    def slot(self) -> str:
        """The name of the place of its address."""
        return f"mapgauge.{self.kernel}.{hashlib.blake2b(str(self.types).encode(), digest_size=8).hexdigest()}"

    def __call__(self) -> None:
        UNITS.fill(self)


class _Units:
    """The units that the kernels in memory call."""

    def __init__(self) -> None:
        self.compilers: dict[str, Callable[[tuple[Any, ...]], Any]] = {}
        self.slots: dict[Unit, ctypes.c_void_p] = {}
        self.are_called = True  # not in processes that only compile

    def reserve(self, unit: Unit) -> None:
        """Make the place of the address of a unit known to LLVM."""
        if unit not in self.slots:
            self.slots[unit] = ctypes.c_void_p(0)
            llvm.add_symbol(unit.slot, ctypes.addressof(self.slots[unit]))

    def fill(self, unit: Unit) -> None:
        """Load or compile a unit and store its address."""
        self.reserve(unit)
        if self.are_called and not self.slots[unit].value:
            compiled = self.compilers[unit.kernel](unit.types)
            self.slots[unit].value = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)

    def fill_all(self) -> None:
        """Fill the slots that are empty."""
        for unit in list(self.slots):
            self.fill(unit)


UNITS = _Units()


def caller_of(name: str, function: Callable[..., Any], returns: Any) -> Any:
    """Return what numba compiles in the place of a call of a unit, which returns a value of this type."""

    def definition(_: Any, *arguments: Any) -> tuple[Any, Any]:
        return signature(returns, *map(unliteral, arguments)), _call

    def _call(context: Any, builder: Any, types: Any, arguments: Any) -> Any:
        unit = Unit(name, tuple(types.args))
        UNITS.reserve(unit)
        # numba calls them when it loads the code from disk. Functions that are not kernels have no such list.
        units = getattr(context.active_code_library, "units", [])
        if unit not in units:
            units.append(unit)
        pointer = builder.module.globals.get(unit.slot)
        if pointer is None:
            pointer = ir.GlobalVariable(builder.module, ir.IntType(8).as_pointer(), unit.slot)
        kind = context.call_conv.get_function_type(types.return_type, types.args)
        address = builder.bitcast(builder.load(pointer), kind.as_pointer())
        _, value = context.call_conv.call_function(builder, address, types.return_type, types.args, arguments)
        return value

    own = inspect.signature(function)
    first = inspect.Parameter("_", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    definition.__signature__ = own.replace(parameters=[first, *own.parameters.values()])  # type: ignore[attr-defined]
    return intrinsic(definition)


def type_of(caller: Any) -> Any:
    """Return the type that a call of a unit has for numba."""
    return cpu_target.typing_context.resolve_value_type(caller)
