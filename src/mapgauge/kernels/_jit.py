"""The decorators that compile kernels, and the unsigned integers that kernels count with."""

import gc
from collections.abc import Callable
from functools import update_wrapper
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event
from numba.extending import typeof_impl

from mapgauge.kernels._cache import IS_TESTED, name_of, stamp, use_cache
from mapgauge.kernels.progress import WATCH

if IS_TESTED:
    from mapgauge.kernels._inner import compile_entry, compile_inner
else:  # another version of numba may not have what they import
    compile_entry, compile_inner = numba.njit, None  # type: ignore[assignment]

F = TypeVar("F", bound=Callable[..., object])

# Loops vectorise only with unsigned indices. A signed index may be -1, which means "the last", and numba must test for
# it. In an inner loop this test costs a factor of three. The sum of an unsigned and a signed integer is a float in
# numba, so the constants must be unsigned too.
U = np.uint64
ZERO, ONE, TWO, THREE = U(0), U(1), U(2), U(3)

# Private options of numba. Without "_nrt", kernels count references. Without "no_cfunc_wrapper", they compile slower.
_LEAN: dict[str, Any] = {"_nrt": False}
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


# Kernels that other processes compile at the moment, by name, and the function that waits for them.
PENDING: dict[str, Callable[[str], None]] = {}


class Kernel:
    """A compiled function. It is called from Python and by other kernels, and compiled for both separately."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.name = name_of(function)
        self.entry = _cached(compile_entry, function, options)
        self.inner = self.entry if compile_inner is None else _cached(compile_inner, function, options)
        self.seconds: dict[Any, float] = {}  # of interpretation, by types of arguments; see ``interpreting.py``
        self.visits: Callable[..., float] | None = None  # estimates the work of a call that may be interpreted
        self.call_uncompiled: Callable[[Kernel, tuple[Any, ...]], Any] = Kernel.call_compiled

    def __call__(self, *arguments: Any) -> Any:
        if self.visits is not None and not self.entry.overloads:
            return self.call_uncompiled(self, arguments)
        return self.call_compiled(arguments)

    def call_compiled(self, arguments: tuple[Any, ...]) -> Any:
        """Call the compiled function, and compile it before if that is necessary."""
        if PENDING and (wait := PENDING.get(self.name)) is not None:
            wait(self.name)
        return self.entry(*arguments)

    def compiled(self, types: tuple[Any, ...]) -> Any:
        """Return the compiled form for arguments of these types, from this process, another one, or the cache."""
        if PENDING and (wait := PENDING.get(self.name)) is not None:
            wait(self.name)
        self.entry.compile(types)
        return self.entry.overloads[types]

    def is_compiled(self, types: tuple[Any, ...]) -> bool:
        """Whether it is in memory, or in the cache on disk for this processor. This may be wrong, and costs little."""
        if types in self.entry.overloads:
            return True
        files = getattr(self.entry._cache, "_cache_file", None)  # None without a folder to write to
        try:
            stored = {} if files is None else files._load_index()
        except Exception:  # a damaged file, which ``use_cache`` discards
            return False
        return bool(stored) and self.entry._cache._index_key(types, self.entry.targetctx.codegen()) in stored

    def __reduce__(self) -> str:
        return self.__qualname__  # type: ignore[no-any-return, attr-defined]


@typeof_impl.register(Kernel)
def _type_of_kernel(kernel: Kernel, _: object) -> Any:
    """Tell numba what other kernels call."""
    return numba.types.Dispatcher(kernel.inner)


class _Listener(event.Listener):
    """Reports kernels that this process compiles. Garbage is collected after them, which saves a tenth of the time."""

    def __init__(self) -> None:
        self.depth = 0  # of kernels inside kernels; numba compiles in one thread at a time
        self.collects = True

    def on_start(self, event: Any) -> None:
        if self.depth == 0 and not _is_kernel(event):
            return
        if self.depth == 0:
            self.collects = gc.isenabled()
            gc.disable()
            WATCH.report_unstored()
        self.depth += 1
        WATCH.started()

    def on_end(self, event: Any) -> None:
        if self.depth == 0:  # a function of someone else, which may call kernels
            return
        self.depth -= 1
        if self.depth == 0:
            WATCH.clear()
            if self.collects:
                gc.enable()


def _is_kernel(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("mapgauge.")


event.register("numba:compile", _Listener())


def _cached(decorator: Callable[..., Any], function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Decorate a function. Its compiled form is stored on disk if that is possible."""
    try:
        compiled = decorator(**_OPTIONS, **options)(function)
        compiled._cache._cache_file._source_stamp = stamp(Path(function.__code__.co_filename))
        use_cache(compiled)
    except RuntimeError:  # no folder to write to, as in a read-only image: compile in each process
        WATCH.unstored = "no folder can be written"
        compiled = decorator(**(_OPTIONS | {"cache": False}), **options)(function)
    return compiled


def _compile(function: F, **options: Any) -> F:
    return cast("F", Kernel(function, options))


def jit(function: F) -> F:
    """Compile ``function``: cached on disk, releasing the GIL, IEEE arithmetic throughout, no allocation.

    Without allocation there are no references to count, and a call that passes a dozen arrays costs nothing. With
    reference counts it takes 0.1 to 0.2 us, as long as a pair of lines that are far apart.
    """
    return _compile(function, **_LEAN)


def jit_allocating(function: F) -> F:
    """Compile as ``jit`` does, for the few functions that allocate arrays."""
    return _compile(function)
