"""With a version of numba on which nobody has tried the private interfaces, the numbers are the same.

``docs/explanation/numba.md`` names the interfaces. A job of the workflow runs more tests without stored code. Only
there AP and PLD are compared, too: the kernels of PLD take 20 s to compile in this way.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import mapgauge as mg

ROOT = Path(__file__).parents[2]

METRICS = ["ap_chamfer", "pld"] if os.environ.get("MAPGAUGE_STORED") == "0" else []

# The version is replaced before mapgauge is imported.
PROGRAM = """
import json, sys
import numba

numba.version_info = numba.version_info._replace(short=(0, 999))
for name in ("mapgauge.kernels._inner", "numba.core.runtime.nrt"):
    sys.modules[name] = None  # such a version may not have what they import
from mapgauge.kernels import _cache, _stored
from mapgauge.kernels.sospa import align_lines, saturation
from tests.kernels.test_fallback import compute

usual = all(kernel.inner is kernel.entry for kernel in (saturation, align_lines))
print(json.dumps(dict(tested=_cache.IS_TESTED, stored=len(_stored.index()), usual=usual, values=compute())))
"""


def compute() -> dict[str, float | None]:
    """Compute a distance, and evaluate a frame with the metrics."""
    x = [[0.0, 0.0], [4.0, 0.5], [9.0, 0.0]]
    y = [[0.0, 0.4], [5.0, 0.1], [9.5, 0.3]]
    values: dict[str, float | None] = {"chamfer": mg.chamfer(x, y)}
    if METRICS:
        predicted = {"a": {"divider": [x, [[0.0, 4.0], [9.0, 5.0]]]}}
        predictions = mg.MapFrames.of(predicted, confidence={"a": {"divider": [0.4, 0.9]}})
        truth = mg.MapFrames.of({"a": {"divider": [y]}})
        values |= mg.evaluate(predictions, truth, metrics=METRICS).mean
    return values


def run(folder: Path) -> dict[str, Any]:
    """Compute the same in a process with an untested version of numba, where all kernels are compiled now."""
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(folder),
        "MAPGAUGE_INTERPRET": "0",
        "MAPGAUGE_COMPILERS": "0",
        "MAPGAUGE_STORED": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def test_with_an_untested_version_of_numba_the_numbers_are_the_same(tmp_path: Path) -> None:
    found = run(tmp_path)
    assert found["tested"] is False
    assert found["stored"] == 0, "stored code belongs to another version"
    assert found["usual"] is True, "kernels are compiled as numba does it"
    assert found["values"] == compute()
    assert found["values"].keys() >= {"chamfer", *METRICS}
    assert all(0 < found["values"][name] < 1 for name in ("chamfer", *METRICS))
    assert any(tmp_path.rglob("*.nbi")), "compiled kernels are kept on disk"
