"""Tasks that kill their worker. They are in their own module so that workers can import them."""

import os
import signal
import time
from pathlib import Path


def double(task: int) -> int:
    return 2 * task


def die_at_three(task: int) -> int:
    if task == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * task


def die_once(mark: Path, task: int) -> int:
    """Kill the worker at the first attempt."""
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * task


def note_and_sleep(notes: Path) -> None:
    """Write the process id of the worker as the name of a file, and take longer than any test."""
    (notes / str(os.getpid())).touch()
    time.sleep(600)
