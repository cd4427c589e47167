"""How long a thread keeps the interpreter lock while another one waits for it.

Kernels run without the lock. A thread that returns from a kernel waits for it, and Python lets another thread keep it
for 5 ms otherwise, as long as a kernel runs. This module does not import numba.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 1e-4


@contextmanager
def short_turns() -> Iterator[None]:
    """Let threads that return from kernels wait for a short time only."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(min(interval, SECONDS))
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
