"""Tells the command line that kernels are being compiled or cannot be stored. The command line prints a line.

This module does not import numba, so that it costs nothing to ask.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Watch:
    """Counts compiled kernels and reports them."""

    # Takes the number of finished kernels, of all if it is known, and the seconds so far.
    show: Callable[[int, int | None, float], None] | None = None
    clear: Callable[[], None] = lambda: None
    done: int = 0
    begun: float = 0.0
    interrupted: bool = False  # threads then stop waiting for kernels
    unstored: str = ""  # why compiled kernels cannot be stored; "" if they can
    tell: Callable[[str], None] = lambda text: warnings.warn(text, RuntimeWarning, stacklevel=4)
    told: bool = False

    def report(self, done: int, of: int | None, begun: float) -> None:
        """Report a number of kernels and the time since ``begun``."""
        if self.show is not None:
            self.show(done, of, time.monotonic() - begun)

    def started(self) -> None:
        """Report that this process compiles a kernel."""
        self.begun = self.begun or time.monotonic()
        self.report(self.done, None, self.begun)
        self.done += 1

    def report_unstored(self) -> None:
        """Report once that compiled kernels cannot be stored. Worker processes do not report it again."""
        if not self.unstored or self.told:
            return
        from multiprocessing import parent_process

        if parent_process() is None:
            self.told = True
            self.clear()
            self.tell(
                f"compiled kernels cannot be stored ({self.unstored}). They are compiled again in every run. "
                "Set the environment variable NUMBA_CACHE_DIR to a folder that only you can write to"
            )


WATCH = Watch()
