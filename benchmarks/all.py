"""Runs all benchmarks of docs/benchmarks.md, one after the other: ``make bench-all > bench.txt``.

The machine and the date are printed once, at the top. Each benchmark is a process of its own. If one fails, the others
run all the same, and the command ends with 1. ``python -m tools.benchmark_page bench.txt`` writes the tables into the
pages. Arguments are the names of some benchmarks: ``python -m benchmarks.all io view``.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from benchmarks.tables import MACHINE_IS_NAMED, heading, machine, row

# In the order of docs/benchmarks.md.
NAMES = (
    "command",
    "kernels",
    "io",
    "cold",
    "view",
    "page",
    "report",
    "error_map",
    "evaluate",
    "public",
    "confidence",
    "history",
    "slices",
    "causes",
    "splits",
    "global_map",
    "cluster",
    "tracks",
    "lanes",
    "lane_graph_pld",
    "graphs",
    "network_pld",
    "truth",
)
PACKAGES = ("mapgauge", "numpy", "numba", "scipy", "shapely", "pyarrow", "msgspec", "highspy", "distributed")
AS_INSTALLED = ("cold",)  # measures the first use, when work that is small is interpreted


def environment(name: str) -> dict[str, str]:
    """The variables for a benchmark. Bytecode is written, as by an installed package."""
    found = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    found[MACHINE_IS_NAMED] = "1"
    if name not in AS_INSTALLED:
        found["MAPGAUGE_INTERPRET"] = "0"
    return found


def run(name: str) -> int:
    """Run a benchmark in a process of its own, and return its exit code."""
    command = [sys.executable, "-m", f"benchmarks.bench_{name}"]
    return subprocess.run(command, env=environment(name), check=False).returncode


def main(names: Sequence[str], packages: Sequence[str] = PACKAGES, run: Callable[[str], int] = run) -> int:
    """Run the benchmarks, name the versions of some packages, and return 1 if a benchmark failed."""
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        raise SystemExit(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(NAMES)}")
    machine(*packages)
    minutes, failed = {}, []
    for name in names or NAMES:
        begin = time.perf_counter()
        code = run(name)
        minutes[name] = (time.perf_counter() - begin) / 60
        if code:
            failed.append(name)
        print(f"{name}: {minutes[name]:.1f} minutes", file=sys.stderr, flush=True)
    heading("Minutes of each benchmark", "benchmark", "minutes")
    for name, value in minutes.items():
        row(name, f"{value:.1f}" + (", failed" if name in failed else ""))
    row("all", f"{sum(minutes.values()):.0f}")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
