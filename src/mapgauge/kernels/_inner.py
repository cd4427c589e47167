"""Compiling kernels that only other kernels call, in half the time.

numba optimises every compiled function, emits machine code for it, and wraps it for calls from Python. A function that
is called by a compiled function goes through all of this on its own, and again as a part of its caller, and of the
caller's caller. Here the functions inside get as far as LLVM's intermediate code. They are optimised and emitted once,
in the function that Python calls. That halves the time to compile, and the machine code is as fast.

This uses two classes of numba that are not part of its public interface. For versions of numba on which it was not
tested, ``INNER`` is None, and kernels are compiled in the usual way.
"""

from typing import Any

import numba
from numba.core import codegen, compiler

TESTED = ((0, 61), (0, 68))  # the oldest and the newest version of numba


class _WithoutEnvironments:
    """A code generator that ignores the environments of functions, which numba needs for exceptions and printing."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)

    def set_env(self, name: str, environment: object) -> None:
        pass


class _InnerLibrary(codegen.JITCodeLibrary):
    """The code of a function and of the functions it calls, ready to be linked into a caller."""

    @property
    def codegen(self) -> Any:
        return _WithoutEnvironments(self._codegen)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0  # there is no machine code


class _InnerCompiler(compiler.Compiler):
    def define_pipelines(self) -> Any:
        state = self.state
        state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


# Options for ``numba.njit``. The result must never be called from Python.
INNER: dict[str, Any] | None = (
    {"pipeline_class": _InnerCompiler, "no_cpython_wrapper": True, "cache": False}
    if TESTED[0] <= numba.version_info.short <= TESTED[1]
    else None
)
