"""How every kernel is compiled, and the unsigned integers they count with."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., object])

# Unsigned indices are what makes the loops vectorise: for a signed index numba must allow for -1 meaning "the last",
# and that test in the inner loop costs a factor of three. An unsigned and a signed integer add up to a float in
# numba, so the constants have to be unsigned too.
U = np.uint64
ZERO, ONE, TWO, THREE = U(0), U(1), U(2), U(3)


# numba looks only at the date of a kernel's own file to see whether its compiled form on disk is stale, not at the
# kernels that it calls and has compiled in. What all kernel files hold is the stamp that makes an edit or an upgrade
# take effect.
_STAMP = hashlib.blake2b(b"".join(f.read_bytes() for f in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()


# Private options of numba. Without the first, kernels count references; without the second, they only compile slower.
_LEAN: dict[str, Any] = {"_nrt": False}
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def _compile(function: F, **options: Any) -> F:
    try:
        compiled: Any = numba.njit(**_OPTIONS, **options)(function)
        compiled._cache._cache_file._source_stamp = _STAMP
    except RuntimeError:  # no folder to write to, as in a read-only image: compiled again in each process, but it works
        compiled = numba.njit(**(_OPTIONS | {"cache": False}), **options)(function)
    return cast("F", compiled)


def jit(function: F) -> F:
    """Compile ``function``: cached on disk, releasing the GIL, IEEE arithmetic throughout, no allocation.

    Without allocation there are no references to count, and a call that passes a dozen arrays costs nothing. With
    them it costs 0.1 to 0.2 us, as much as a far pair of lines.
    """
    return _compile(function, **_LEAN)


def jit_allocating(function: F) -> F:
    """As ``jit``, for the few functions that make arrays."""
    return _compile(function)


def jit_maximum(function: F) -> F:
    """As ``jit``, for loops that only take maxima of numbers that are not NaN: their order does not matter."""
    return _compile(function, fastmath={"nnan", "nsz"}, **_LEAN)
