"""Memory does not grow with the data. The data set is three times as large as the memory that the test allows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.streaming.worlds import copies, write_parts

from mapgauge.demo import demo_world

NUMBER = 34  # copies of a block of frames
BOUND = 32 << 20  # bytes that the evaluation may use in addition to a small one

# Peak memory of a process that first evaluates a few frames, to compile and load everything, and then a data set.
EVALUATE = """
import resource, sys
import mapgauge as mg
from mapgauge.evaluation.streaming import plan
plan.ROWS = 4096
peaks = []
for name in ("small", "large"):
    results = mg.evaluate(f"{sys.argv[1]}/{name}/x", f"{sys.argv[1]}/{name}/y", metrics=["pld"], workers=2)
    results.mean
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
print(peaks[1] - peaks[0], results.totals.frames)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is measured in the units of Linux")
def test_memory_does_not_grow_with_the_data(tmp_path: Path) -> None:
    block = demo_world(120, seed=5)
    size = 0
    for name, number in (("small", 4), ("large", NUMBER)):
        for side, frames in zip("xy", block, strict=True):
            write_parts((copies(frames, k) for k in range(number)), tmp_path / name / side, group_rows=2048)
            size = number * sum(part.polylines.coords.nbytes for part in block)
    assert size > 3 * BOUND
    done = subprocess.run(
        [sys.executable, "-c", EVALUATE, str(tmp_path)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        env=os.environ | {"MALLOC_ARENA_MAX": "2"},  # fewer heaps make the measurement less noisy
    )
    grown, evaluated = map(int, done.stdout.split())
    assert evaluated == NUMBER * 120
    assert grown < BOUND
