"""Training in two processes gives the gradient of one process with all lines."""

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)

from tests.torch import ddp_process
from tests.two_processes import run_two


def test_two_processes_have_the_gradient_of_one(tmp_path: Path) -> None:
    found = run_two(Path(ddp_process.__file__), tmp_path)
    assert found[0] == found[1]
    assert found[0] == pytest.approx(ddp_process.gradient(*ddp_process.model_and_data()), rel=1e-12)
