"""Shortcuts through numba while it compiles kernels. They save a third of the time before LLVM, and a quarter in it.

numba asks the same questions again and again: which function adds two numbers, how large is a type. It computes which
variables are alive after each of its passes, which only generators need. It counts the time of each call of LLVM in
all functions that wait for the one being compiled. None of this has an effect on the compiled code.

LLVM unrolls loops, and lets several vectors of a loop overlap. Loops in kernels visit a dozen points, so they end
before this is of use. Without it there is less code to optimise and to emit, and kernels are as fast.

The shortcuts hold only while a kernel is compiled. numba compiles in one thread at a time, so other code that uses
numba does not see them. They replace functions of numba that are not part of its public interface. For versions of
numba on which they were not tested, this module is not imported.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import binding as llvm
from llvmlite import ir
from numba.core import codegen, compiler, postproc, transforms, types
from numba.core.typing.context import BaseContext

_resolve = BaseContext.resolve_function_type
_run = postproc.PostProcessor.run
_abi_size = ir.Type.get_abi_size
_reduce = compiler.CompileResult._reduce


def _process(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Do what numba does after each pass, without the variables that are alive where a block begins."""
    code = self.func_ir
    if code.is_generator:
        _run(self, emit_dels, extend_lifetimes)
        return
    code.blocks = transforms.canonicalize_cfg(code.blocks)
    code.variable_lifetime = postproc.VariableLifetime(code.blocks)
    code.generator_info = None
    if emit_dels:
        self._insert_var_dels(extend_lifetimes=extend_lifetimes)


def _reduce_plain(self: Any) -> Any:
    """Return what is stored on disk, without the source code and its types in words."""
    return _reduce(self._replace(type_annotation=""))


def _pass_builder(target: Any, opt: int = 2, loop_vectorize: bool = False, slp_vectorize: bool = False) -> Any:
    """Return what numba optimises code with, without unrolled loops and without vectors that overlap."""
    options = llvm.create_pipeline_tuning_options()
    options.speed_level, options.loop_vectorization, options.slp_vectorization = opt, loop_vectorize, slp_vectorize
    options.loop_unrolling = False
    return llvm.create_pass_builder(target, options)


def _resolve_once() -> Callable[..., Any]:
    """Return a function that finds the type of a call, and finds it once for each operation on numbers."""
    known: dict[Any, Any] = {}

    def resolve(self: Any, function: Any, arguments: Any, named: Any) -> Any:
        if named or type(function) is not types.Function or not arguments:
            return _resolve(self, function, arguments, named)
        if not all(isinstance(one, types.Number | types.Boolean) for one in arguments):
            return _resolve(self, function, arguments, named)
        key = function, tuple(arguments)
        if key not in known:
            known[key] = _resolve(self, function, arguments, named)
        return known[key]

    return resolve


def _size_once() -> Callable[..., Any]:
    """Return a function that asks LLVM for the size of a type, and asks once for each type."""
    known: dict[Any, Any] = {}

    def size(self: Any, target: Any, context: Any = None) -> Any:
        key = str(self), id(target)
        if key not in known:
            known[key] = _abi_size(self, target, context=context)
        return known[key]

    return size


class _Shortcuts:
    """Replaces functions of numba, and puts them back."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def take(self) -> None:
        """Replace the functions."""
        self._replace(postproc.PostProcessor, "run", _process)
        self._replace(compiler.CompileResult, "_reduce", _reduce_plain)
        self._replace(BaseContext, "resolve_function_type", _resolve_once())
        self._replace(ir.Type, "get_abi_size", _size_once())
        if hasattr(codegen, "create_pass_builder"):  # numba 0.61 does not have it
            self._replace(codegen, "create_pass_builder", _pass_builder)
        lock = getattr(llvm.ffi.lib, "_lock", None)
        if hasattr(lock, "_cblist"):
            self._replace(lock, "_cblist", [])  # what is called before and after each call of LLVM

    def leave(self) -> None:
        """Put the functions of numba back."""
        while self._before:
            owner, name, function = self._before.pop()
            setattr(owner, name, function)

    def _replace(self, owner: Any, name: str, function: Any) -> None:
        self._before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, function)


SHORTCUTS = _Shortcuts()
