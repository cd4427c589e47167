"""Runs one command and prints its time, its processor time and its peak memory: ``python -m benchmarks.launch WORDS``.

A process of its own, and a small one: the peak memory of a child that Linux reports is at least that of its parent.
"""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple


class Launched(NamedTuple):
    """What a command took, and what it printed."""

    seconds: float
    processor: float  # seconds, with those of its own children
    peak: float  # MB, of its largest process
    output: str


def launched(*words: str) -> Launched:
    """Run a command of mapgauge from a small process, and return what it took."""
    command = [sys.executable, "-m", "benchmarks.launch", sys.executable, "-m", "mapgauge", *words]
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8")
    return Launched(*json.loads(ended.stdout))


def main(words: Sequence[str]) -> None:
    """Run the command and print the measurements."""
    import resource  # Windows has no such module

    begin = time.perf_counter()
    ended = subprocess.run(words, check=True, capture_output=True, encoding="utf-8")
    seconds, used = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps([seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, ended.stdout]))


if __name__ == "__main__":
    main(sys.argv[1:])
