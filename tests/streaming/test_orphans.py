"""Workers end when their parent is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PATIENCE = 120  # seconds; it takes a fraction of one on an idle machine
PROC = Path("/proc")
SCRIPT = """
import sys, time
from pathlib import Path
from mapgauge.evaluation.engines import open_engine, run
from tests.streaming.deaths import note_and_sleep

if __name__ == "__main__":
    with open_engine(sys.argv[1], 2) as pool:
        for _ in run(pool, note_and_sleep, [Path(sys.argv[2])] * 8):
            pass
"""


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = PROC / str(process) / "stat"
    try:
        return not status.exists() or status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition: "object", seconds: float) -> bool:
    assert callable(condition)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return bool(condition())


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("engine", ["processes", "dask"])
@pytest.mark.parametrize("kill", ["SIGTERM", "SIGKILL"])  # Windows lacks the second
def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path, engine: str, kill: str) -> None:
    if engine == "dask":
        pytest.importorskip("distributed")
    script, notes = tmp_path / "script.py", tmp_path / "notes"
    script.write_text(SCRIPT, encoding="utf-8")
    notes.mkdir()
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    parent = subprocess.Popen([sys.executable, script, engine, notes], env=os.environ | {"PYTHONPATH": path})
    try:
        assert wait_for(lambda: len(list(notes.iterdir())) >= 2, 120)
    finally:
        parent.send_signal(getattr(signal, kill))
        parent.wait()
    workers = [int(file.name) for file in notes.iterdir()]
    try:
        assert wait_for(lambda: not any(map(alive, workers)), PATIENCE)
    finally:
        for worker in filter(alive, workers):
            os.kill(worker, signal.SIGKILL)
