"""The decorators that compile kernels, the unsigned integers that they count with, and two instructions of LLVM."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import event
from numba.extending import intrinsic, typeof_impl

from mapgauge.kernels._cache import IS_TESTED, name_of, stamp, use_cache
from mapgauge.kernels._folder import Unusable, folder
from mapgauge.kernels.progress import WATCH

config: Any = numba.config
if config.DISABLE_JIT:  # numba's own functions are not compiled either, so no kernel could be
    raise ImportError("NUMBA_DISABLE_JIT is set, and mapgauge must compile its kernels. Unset it", name="numba")

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

# Private options of numba. With "_nrt", kernels count references. Without "no_cfunc_wrapper", they compile slower.
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
        self.seconds = 0.0  # of interpretation; see ``interpreting.py``
        self.size: Callable[..., float] | None = None  # how much a call has to do, if it may be interpreted
        self.most = 0.0  # the largest size of a call that is interpreted
        self.call_uncompiled: Callable[[Kernel, tuple[Any, ...]], Any] = Kernel.call_compiled

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if self.size is not None and not self.entry.overloads:
            if named:
                arguments = self.by_position(arguments, named)
            return self.call_uncompiled(self, arguments)
        # As ``call_compiled`` does. A call less pays for the dictionary that every call makes.
        if PENDING and (wait := PENDING.get(self.name)) is not None:
            wait(self.name)
        if named:  # numba orders keywords, in a fifth of the time that it takes here
            return self.entry(*arguments, **named)
        return self.entry(*arguments)

    def by_position(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments in the order of the parameters, in which the types of compiled kernels are listed."""
        bound = signature(self.entry.py_func).bind(*arguments, **named)
        bound.apply_defaults()
        return bound.args

    def call_compiled(self, arguments: tuple[Any, ...]) -> Any:
        """Call the compiled function, and compile it before if that is necessary."""
        if PENDING and (wait := PENDING.get(self.name)) is not None:
            wait(self.name)
        return self.entry(*arguments)

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
    """Reports kernels that this process compiles."""

    def __init__(self) -> None:
        self.depth = 0  # of kernels inside kernels; numba compiles in one thread at a time

    def on_start(self, event: Any) -> None:
        if self.depth or event.data["dispatcher"].py_func.__module__.startswith("mapgauge."):
            self.depth += 1
            WATCH.report_unstored()
            WATCH.started()

    def on_end(self, event: Any) -> None:
        if self.depth == 1:
            WATCH.clear()
        self.depth = max(self.depth - 1, 0)


event.register("numba:compile", _Listener())


def _cached(decorator: Callable[..., Any], function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Decorate a function. Its compiled form is stored on disk if that is possible."""
    try:
        with _stored_in(folder()):
            compiled = decorator(**_OPTIONS, **options)(function)
        if not Path(compiled._cache.cache_path).is_relative_to(folder()):
            raise Unusable("numba chose another folder than mapgauge's")
        compiled._cache._cache_file._source_stamp = stamp(Path(function.__code__.co_filename))
        use_cache(compiled)
    except (Unusable, RuntimeError) as error:  # as in a read-only image: compile in each process
        WATCH.unstored = str(error)
        compiled = decorator(**(_OPTIONS | {"cache": False}), **options)(function)
    return compiled


@contextmanager
def _stored_in(path: Path) -> Iterator[None]:
    """Let numba store what is decorated meanwhile in a folder. ``_inner.py`` does not need it."""
    before = config.CACHE_DIR
    config.CACHE_DIR = str(path)
    try:
        yield
    finally:
        config.CACHE_DIR = before


def jit(function: F) -> F:
    """Compile ``function``: cached on disk, releasing the GIL, IEEE arithmetic throughout, no allocation.

    Without allocation there are no references to count, and a call that passes a dozen arrays costs nothing. With
    reference counts it takes 0.1 to 0.2 us, as long as a pair of lines that are far apart.
    """
    return cast("F", Kernel(function, {"_nrt": False}))


def jit_allocating(function: F) -> F:
    """Compile as ``jit`` does, for the few functions that allocate arrays."""
    return cast("F", Kernel(function, {}))


def _of_two(instruction: str, plain: Callable[..., float]) -> Any:
    def chosen(context: Any, builder: Any, signature: Any, numbers: Any) -> Any:
        double = ir.DoubleType()
        function = builder.module.declare_intrinsic(instruction, [double], ir.FunctionType(double, [double, double]))
        return builder.call(function, numbers, fastmath=("nnan", "nsz"))

    def typed(context: Any, a: Any, b: Any) -> tuple[Any, Callable[..., Any]]:
        return numba.float64(numba.float64, numba.float64), chosen

    made: Any = intrinsic(typed)
    made.plain = plain  # what an interpreted kernel calls
    return made


# The smaller and the larger of two numbers that are not NaN. A loop for the smallest of many numbers vectorises only if
# numbers may be compared in any order. The result is the same in any order, but LLVM must be told that no number is NaN
# and that zeros have no sign. numba's ``fastmath`` does not do so for comparisons.
least = _of_two("llvm.minnum", min)
most = _of_two("llvm.maxnum", max)
