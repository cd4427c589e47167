"""Measures first commands with nothing compiled, without the code that comes with the package, and with all compiled.

Run it with ``make bench-cold``. It prints a table in GitHub markdown. Each row has its own cache, which is empty at
first. Each command is a process of its own, with the start of Python.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.tables import heading, machine, row

import mapgauge as mg

LINE = "[[0, 0], [1, 0]]"
ROUNDS = 3  # of the compiled command; the first use is measured once


def seconds(command: list[str], cache: Path, **settings: str) -> tuple[float, float]:
    """Return the wall time and the processor time of a command, with all its processes."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)} | settings
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *command], env=environment, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(folder: Path, frames: int) -> dict[str, list[str]]:
    """Write the files, and return the commands by their titles."""
    predictions, truth = mg.demo.demo_world(frames)
    mg.write(predictions, folder / "predictions.json", "streammapnet")
    mg.write(truth, folder / "truth.geojson")
    evaluate = ["-m", "mapgauge", "evaluate", str(folder / "predictions.json"), str(folder / "truth.geojson")]
    return {
        "`import mapgauge`": ["-c", "import mapgauge"],
        "`mapgauge --help`": ["-m", "mapgauge", "--help"],
        "`mg.sospa` of two small lines": ["-c", f"import mapgauge as mg; mg.sospa({LINE}, {LINE}, cutoff=1.0)"],
        f"`mapgauge evaluate --csv`, {frames} frames": [*evaluate, "--csv"],
        f"`mapgauge evaluate`, {frames} frames": evaluate,
        "`mapgauge demo`, with its report and figures": ["-m", "mapgauge", "demo", "-o", str(folder / "demo")],
        "`mapgauge compile`": ["-m", "mapgauge", "compile"],
    }


def main(frames: int) -> None:
    """Print the table."""
    machine("numba", "llvmlite", "mapgauge")
    heading(
        "First use",
        "command",
        *("nothing compiled yet", "processor time", "without stored code", "processor time", "all compiled"),
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for k, (title, command) in enumerate(commands(folder, frames).items()):
            plain = seconds(command, folder / f"{k}-plain", MAPGAUGE_STORED="0")
            first = seconds(command, folder / f"{k}")
            again = min(seconds(command, folder / f"{k}")[0] for _ in range(ROUNDS))
            row(title, *(f"{value:.2f} s" for value in (*first, *plain, again)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 80)
