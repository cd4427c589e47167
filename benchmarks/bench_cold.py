"""Measures first commands with nothing compiled: as usual, without stored code, without processes, and all compiled.

Run it with ``python -m benchmarks.bench_cold [FRAMES]``. It prints a table in GitHub markdown. Each row has its own
cache, which is empty at first. The last columns are the processor time without the code that comes with the package, as
a multiple of the time with it, and the ratio of the first run to the run with everything compiled.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mapgauge as mg

LINE = "[[0, 0], [1, 0]]"


def seconds(command: list[str], cache: Path, **settings: str) -> tuple[float, float]:
    """Return the wall time and the processor time of a command, with all its processes."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)} | settings
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *command], env=environment, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(frames: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        predictions, truth = mg.demo.demo_world(frames)
        mg.write(predictions, folder / "predictions.json", "streammapnet")
        mg.write(truth, folder / "truth.geojson")
        evaluate = ["-m", "mapgauge", "evaluate", str(folder / "predictions.json"), str(folder / "truth.geojson")]
        commands = {
            f"`mapgauge evaluate`, {frames} frames": evaluate,
            f"`mapgauge evaluate --csv`, {frames} frames": [*evaluate, "--csv"],
            "`mg.sospa` of two small lines": ["-c", f"import mapgauge as mg; mg.sospa({LINE}, {LINE}, cutoff=1.0)"],
            "`mapgauge compile`": ["-m", "mapgauge", "compile"],
        }
        runs = ("first run", "without processes", "without stored code")
        columns = ["command", *(f"{run}, s | processor, s" for run in runs), "compiled, s", "stored code", "ratio"]
        print(f"| {' | '.join(columns)} |")
        print(f"| --- |{' ---: |' * 9}")
        for k, (called, command) in enumerate(commands.items()):
            alone, work = seconds(command, folder / f"{k}-alone", MAPGAUGE_COMPILERS="0")
            plain, more = seconds(command, folder / f"{k}-plain", MAPGAUGE_STORED="0")
            first, both = seconds(command, folder / f"{k}")
            again = min(seconds(command, folder / f"{k}")[0] for _ in range(3))
            cells = (first, both, alone, work, plain, more, again, more / both, first / again)
            print(f"| {called} | {' | '.join(f'{cell:.1f}' for cell in cells)} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 80)
