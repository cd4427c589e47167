"""With a version of numba on which nobody has tried the private interfaces, the numbers are the same.

``docs/explanation/numba.md`` names the interfaces. A job of the workflow runs more tests without stored code.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

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
values = [mg.chamfer(x, y)]
print(json.dumps(dict(tested=_cache.IS_TESTED, stored=len(_stored.index()), values=values)))
"""


def run(folder: Path, *, untested: bool) -> dict[str, object]:
    """Compute some distances with kernels that are compiled now."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder), "MAPGAUGE_INTERPRET": "0", "MAPGAUGE_COMPILERS": "0"}
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(untested=untested)],
        env=environment,
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    found: dict[str, object] = json.loads(ended.stdout)
    return found


def test_with_an_untested_version_of_numba_the_numbers_are_the_same(tmp_path: Path) -> None:
    usual = run(tmp_path / "usual", untested=False)
    assert usual["tested"] is True
    found = run(tmp_path / "untested", untested=True)
    assert found["tested"] is False
    assert found["stored"] == 0, "stored code belongs to another version"
    assert found["values"] == usual["values"]
    assert any((tmp_path / "untested").rglob("*.nbi")), "compiled kernels are kept on disk"
