"""Training in two processes gives the gradient of one process with all lines."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)

from tests.torch import ddp_process

ROOT = Path(__file__).parents[2]


def test_two_processes_have_the_gradient_of_one(tmp_path: Path) -> None:
    environment = os.environ | {
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }
    processes = [
        subprocess.Popen(
            [sys.executable, ddp_process.__file__, str(rank), tmp_path / "store", tmp_path / f"{rank}.json"],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        errors = [process.communicate(timeout=120)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()  # one waits for ever if the other has failed
    assert [process.returncode for process in processes] == [0, 0], errors
    found = [json.loads((tmp_path / f"{rank}.json").read_text(encoding="utf-8")) for rank in range(2)]
    assert found[0] == found[1]
    assert found[0] == pytest.approx(ddp_process.gradient(*ddp_process.model_and_data()), rel=1e-12)
