"""With a version of numba on which nobody has tried the private interfaces, the numbers are the same.

``docs/explanation/numba.md`` names the interfaces. A job of the workflow runs more tests without stored code. Only
there PLD is compared, too: its kernels take 20 s to compile in this way, those of AP 5 s.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

METRICS = ["ap_chamfer"]
if os.environ.get("MAPGAUGE_STORED") == "0":
    METRICS.append("pld")

# The version is replaced before mapgauge is imported.
PROGRAM = """
import json
import numba

if {untested}:
    numba.version_info = numba.version_info._replace(short=(0, 999))
import mapgauge as mg
from mapgauge.kernels import _cache, _stored

x = [[0.0, 0.0], [4.0, 0.5], [9.0, 0.0]]
y = [[0.0, 0.4], [5.0, 0.1], [9.5, 0.3]]
values = dict(chamfer=mg.chamfer(x, y))
predicted = {{"a": {{"divider": [x, [[0.0, 4.0], [9.0, 5.0]]]}}}}
predictions = mg.MapFrames.of(predicted, confidence={{"a": {{"divider": [0.4, 0.9]}}}})
truth = mg.MapFrames.of({{"a": {{"divider": [y]}}}})
values |= mg.evaluate(predictions, truth, metrics={metrics}).mean
print(json.dumps(dict(tested=_cache.IS_TESTED, stored=len(_stored.index()), values=values)))
"""


def run(folder: Path, *, untested: bool) -> dict[str, Any]:
    """Compute a distance and evaluate a frame with kernels that are compiled now."""
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(folder),
        "MAPGAUGE_INTERPRET": "0",
        "MAPGAUGE_COMPILERS": "0",
        "MAPGAUGE_STORED": "1",
    }
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(untested=untested, metrics=METRICS)],
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
    usual = run(tmp_path / "usual", untested=False)
    assert usual["tested"] is True
    found = run(tmp_path / "untested", untested=True)
    assert found["tested"] is False
    assert found["stored"] == 0, "stored code belongs to another version"
    assert found["values"] == usual["values"]
    assert usual["values"].keys() >= {"chamfer", *METRICS}
    assert 0 < usual["values"]["ap_chamfer"] < 1
    assert any((tmp_path / "untested").rglob("*.nbi")), "compiled kernels are kept on disk"
