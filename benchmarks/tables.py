"""Tables in GitHub markdown, and the measurements in them. Quote a table together with the machine at the top."""

import os
import platform
import subprocess
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path

MACHINE_IS_NAMED = "BENCHMARKS_MACHINE_IS_NAMED"  # set by ``benchmarks.all``, which names it once for all
ROOT = Path(__file__).parents[1]


def heading(title: str, *columns: str) -> None:
    """Print the title and the header of a table."""
    print(f"\n### {title}\n")
    print("| " + " | ".join(columns) + " |")
    print("| ---" + " | ---:" * (len(columns) - 1) + " |", flush=True)


def row(*cells: str) -> None:
    """Print one row of a table immediately."""
    print("| " + " | ".join(cells) + " |", flush=True)


def at_least(value: float, target: float, text: str) -> str:
    """A number as text beside its target."""
    return f"{text} (at least {target:,g}: {'ok' if value >= target else 'MISSED'})"


def at_most(value: float, target: float, text: str) -> str:
    """A number as text beside its target."""
    return f"{text} (at most {target:,g}: {'ok' if value <= target else 'MISSED'})"


def race(*jobs: Callable[[], object], rounds: int, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Run the jobs in turn and return the best time of each in seconds. Other load on the machine only adds time."""
    best = [float("inf")] * len(jobs)
    for _ in range(rounds):
        for k, job in enumerate(jobs):
            begin = clock()
            job()
            best[k] = min(best[k], clock() - begin)
    return best


def machine(*packages: str) -> None:
    """Print the machine and the versions that the numbers depend on."""
    if MACHINE_IS_NAMED in os.environ:
        return
    heading("Machine", "what", "value")
    row("processor", _processor())
    row("cores", str(os.cpu_count()))
    row("Python", platform.python_version())
    for package in packages:
        row(package, version(package))
    row("commit", _commit())
    row("date", date.today().isoformat())
    row("load before the run", f"{os.getloadavg()[0]:.1f}")


def _commit() -> str:
    """The commit of the working tree, with a plus if files differ from it."""
    said = []
    for arguments in (["rev-parse", "--short=8", "HEAD"], ["status", "--porcelain", "--untracked-files=no"]):
        ended = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False, encoding="utf-8")
        if ended.returncode:
            return "unknown"
        said.append(ended.stdout.strip())
    return said[0] + ("+" if said[1] else "")


def _processor() -> str:
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text(encoding="utf-8").splitlines() if cpus.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def peak_memory() -> float:
    """The largest resident memory of this process so far, in MB.

    On Linux ``getrusage`` is not used, because it includes the memory of the parent at the start of this process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
        return float(line.split()[1]) / 1024
    import resource  # Windows has no such module

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
