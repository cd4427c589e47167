"""Runs a script in two processes that talk by gloo over the loopback."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def run_two(script: Path, folder: Path) -> list[Any]:
    """Return what each process found. The arguments of the script are its rank, a store to meet at, and its output."""
    environment = os.environ | {
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }
    processes = [
        subprocess.Popen(
            [sys.executable, script, str(rank), folder / "store", folder / f"{rank}.json"],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        for rank in range(2)
    ]
    try:
        errors = [process.communicate(timeout=300)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()  # one waits for ever if the other has failed
    assert [process.returncode for process in processes] == [0, 0], errors
    return [json.loads((folder / f"{rank}.json").read_text(encoding="utf-8")) for rank in range(2)]
