"""Tables in GitHub markdown, to be quoted together with the machine at their head."""

import os
import platform
import resource
from datetime import date
from importlib.metadata import version
from pathlib import Path


def heading(title: str, *columns: str) -> None:
    """Title and header of a table."""
    print(f"\n### {title}\n")
    print("| " + " | ".join(columns) + " |")
    print("|---" + "|---:" * (len(columns) - 1) + "|")


def row(*cells: str) -> None:
    """One row of a table, shown at once."""
    print("| " + " | ".join(cells) + " |", flush=True)


def machine(*packages: str) -> None:
    """What the numbers depend on."""
    heading("Machine", "what", "value")
    row("processor", _processor())
    row("cores", str(os.cpu_count()))
    row("Python", platform.python_version())
    for package in packages:
        row(package, version(package))
    row("date", date.today().isoformat())


def _processor() -> str:
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text().splitlines() if cpus.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def peak_memory() -> float:
    """The largest resident memory of this process so far, MB.

    On Linux not from ``getrusage``, which also counts what the parent had when it started this process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return float(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
