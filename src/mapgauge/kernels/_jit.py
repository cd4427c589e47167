"""How every kernel is compiled, and the unsigned integers they count with."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., object])

# Unsigned indices are what makes the loops vectorise: for a signed index numba must allow for -1 meaning
# "the last", and that test in the inner loop costs a factor of three (KERNELS: see README.md beside this file).
# An unsigned and a signed integer add up to a float in numba, so the constants have to be unsigned too.
U = np.uint64
ZERO, ONE, TWO, THREE = U(0), U(1), U(2), U(3)


# numba looks only at a kernel's own file to see whether its compiled form on disk is stale, not at the kernels it calls
# and has compiled in. The stamp of all kernel files together is what makes an edit or an upgrade take effect.
_STAMP = tuple((f.name, f.stat().st_mtime_ns, f.stat().st_size) for f in sorted(Path(__file__).parent.glob("*.py")))


def _compile(function: F, **options: object) -> F:
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    compiled._cache._cache_file._source_stamp = _STAMP
    return cast("F", compiled)


def jit(function: F) -> F:
    """Compile ``function``: cached on disk, releasing the GIL, IEEE arithmetic throughout."""
    return _compile(function, _nrt=False)


def jit_allocating(function: F) -> F:
    """As ``jit``, for the few functions that make arrays."""
    return _compile(function)


def jit_maximum(function: F) -> F:
    """As ``jit``, for loops that only take maxima of numbers that are not NaN: their order does not matter."""
    return _compile(function, fastmath={"nnan", "nsz"}, _nrt=False)
