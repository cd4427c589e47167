"""Loading compiled kernels from disk, without the parts of numba that only compiling needs.

Before it looks for a compiled function on disk, numba imports and registers all that it could compile, and scipy if it
is installed. This takes as long as importing numba. Here it is left out. If a kernel is not on disk, numba catches up
before it compiles it.

This uses methods of numba that are not part of its public interface. For versions of numba on which it was not tested,
kernels are loaded in the usual way.
"""

from typing import Any

import numba

# From the oldest to the newest version of numba on which this, ``_inner.py`` and ``_shortcuts.py`` were tested.
IS_TESTED = (0, 61) <= numba.version_info.short <= (0, 68)


def load_lean(compiled: Any) -> None:
    """Make a compiled function load from disk without the rest of numba."""
    if not IS_TESTED:
        return
    from numba.core.runtime.nrt import rtsys  # other versions may not have it

    cache = compiled._cache

    def load_overload(signature: Any, target: Any) -> Any:
        rtsys.initialize(target)  # memory of arrays
        with cache._guard_against_spurious_io_errors():
            return cache._load_overload(signature, target)

    cache.load_overload = load_overload
