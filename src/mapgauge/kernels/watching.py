"""Who wants to know that kernels are being compiled: the command line, which shows a line meanwhile.

This module does not import numba, so that it costs nothing to ask.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

Show = Callable[[int, int | None, float], None]


@dataclass(slots=True)
class Watch:
    """Counts compiled kernels and reports them."""

    show: Show | None = None  # takes the number of finished kernels, of all if it is known, and the seconds so far
    clear: Callable[[], None] = lambda: None
    done: int = 0
    begun: float = 0.0
    interrupted: bool = False  # threads then stop waiting for kernels

    def report(self, done: int, of: int | None, begun: float) -> None:
        """Report a number of kernels and the time since ``begun``."""
        if self.show is not None:
            self.show(done, of, time.monotonic() - begun)

    def started(self) -> None:
        """Report that this process compiles a kernel."""
        self.begun = self.begun or time.monotonic()
        self.report(self.done, None, self.begun)
        self.done += 1


WATCH = Watch()
