"""How long a thread keeps the interpreter lock while another one waits for it.

Kernels run without the lock. A thread that returns from a kernel waits for it, and Python lets another thread keep it
for 5 ms otherwise, as long as a kernel runs. This module does not import numba.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

SECONDS = 1e-4
_CHANGING = Lock()
_before: list[float] = []  # the interval of Python, for each use of the shorter one


@contextmanager
def short_turns() -> Iterator[None]:
    """Let threads that return from kernels wait for a short time only.

    Uses may overlap: the last one that ends restores the interval of Python.
    """
    with _CHANGING:
        _before.append(_before[0] if _before else sys.getswitchinterval())
        sys.setswitchinterval(min(_before[0], SECONDS))
    try:
        yield
    finally:
        with _CHANGING:
            interval = _before.pop()
            if not _before:
                sys.setswitchinterval(interval)
