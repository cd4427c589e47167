"""Compiling kernels that only other kernels call, in half the time.

numba optimises every compiled function, emits machine code for it, and wraps it for calls from Python. A function that
is called by a compiled function goes through all of this on its own, and again as a part of its caller, and of the
caller's caller. Here the functions inside get as far as LLVM's intermediate code. They are optimised and emitted once,
in the function that Python calls. That halves the time to compile, and the machine code is as fast.

This uses classes of numba that are not part of its public interface. For versions of numba on which it was not tested,
this module is not imported, and kernels are compiled in the usual way.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import caching, codegen, compiler
from numba.core.bytecode import FunctionIdentity
from numba.core.untyped_passes import ExtractByteCode

from mapgauge.kernels import _stored
from mapgauge.kernels._folder import folder_of


class _WithoutEnvironments:
    """A code generator that ignores the environments of functions, which numba needs for exceptions and printing."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)

    def set_env(self, name: str, environment: object) -> None:
        pass


class _InnerLibrary(codegen.JITCodeLibrary):
    """The code of a function and of the functions it calls, without machine code, ready to be linked into a caller."""

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

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        self._ensure_finalized()
        return self.name, "bitcode", self._get_module_for_linking().as_bitcode()


def _library_of(generator: Any, name: str, module: Any) -> _InnerLibrary:
    library = _InnerLibrary(generator, name)
    library._final_module = module
    library._finalized = True
    return library


class _EntryCompiler(compiler.Compiler):
    stored_file = _stored.FILE

    def define_pipelines(self) -> Any:
        state = self.state
        if state.library is None:
            self._use_stored()
        return super().define_pipelines()

    def _use_stored(self) -> None:
        """Compile a call of the stored code of a kernel in its place, if there is some."""
        state = self.state
        function = self.state.func_id.func
        stored_code = _stored.find(function, state.args, self.stored_file)
        if stored_code is not None:
            stored, module = stored_code
            library = _library_of(state.targetctx.codegen(), stored.name, module)
            state.func_id = FunctionIdentity.from_function(_stored.caller_of(function, stored, library))
            ExtractByteCode().run_pass(state)
            state.typingctx.refresh()  # the call is a new function of numba


class WithoutMachineCode(compiler.Compiler):
    """Compiles functions that are linked into a caller."""

    def define_pipelines(self) -> Any:
        state = self.state
        state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


class _InnerCompiler(WithoutMachineCode, _EntryCompiler):
    pass


class _PrivateFolder:
    """Places compiled functions in the folder of this package. It need not be writable to load them.

    This has the methods of numba's own classes for places, whose names differ between versions.
    """

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file  # numba names it in warnings
        self._line = function.__code__.co_firstlineno
        self._path = folder_of(file)

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "_PrivateFolder":
        return cls(function, file)

    def get_cache_path(self) -> str:
        return str(self._path)

    def ensure_cache_path(self) -> None:
        self._path.mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        return ""  # ``_jit.py`` sets another

    def get_disambiguator(self) -> str:
        return str(self._line)


class _EntryFiles(caching.CompileResultCacheImpl):
    _locator_classes: Any = (_PrivateFolder,)


class _EntryCache(caching.Cache):
    _impl_class: Any = _EntryFiles


class _InnerFiles(_EntryFiles):
    """Stores intermediate code, beside the machine code of functions that Python calls."""

    def get_filename_base(self, fullname: str, abiflags: str) -> Any:
        return super().get_filename_base(f"inner.{fullname}", abiflags)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        (name, _, bitcode), fndesc, environment, signature, objectmode, lifted, annotation, init, environments = payload
        library = _library_of(target_context.codegen(), name, llvm.parse_bitcode(bitcode))
        return compiler.compile_result(
            target_context=target_context,
            typing_context=target_context.typing_context,
            library=library,
            environment=environment,
            entry_point=target_context.get_executable(library, fndesc, environment),
            fndesc=fndesc,
            type_annotation=annotation,
            signature=signature,
            objectmode=objectmode,
            lifted=lifted,
            reload_init=init,
            referenced_envs=environments,
        )


class _InnerCache(caching.Cache):
    _impl_class: Any = _InnerFiles


def compile_inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function that is called by compiled functions. It must never be called from Python."""
    return _decorator(_InnerCompiler, _InnerCache, **options, no_cpython_wrapper=True)


def compile_entry(*, file: Path = _stored.FILE, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function that is called from Python. A file has stored code of kernels."""
    if file == _stored.FILE:
        return _decorator(_EntryCompiler, _EntryCache, **options)
    pipeline = type("_CompilerWithFile", (_EntryCompiler,), {"stored_file": file})
    return _decorator(pipeline, _EntryCache, **options)


def _decorator(pipeline: type, files: type, *, cache: bool = False, **options: Any) -> Callable[..., Any]:
    def decorate(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(**options, pipeline_class=pipeline)(function)
        if cache:
            compiled._cache = files(function)
        return compiled

    return decorate
