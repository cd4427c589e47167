"""Imports point one way, importing is cheap, and an edited kernel is not mistaken for its compiled form."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import mapgauge

PACKAGE = Path(mapgauge.__file__).parent

# A module may import from its own row and from rows above.
LAYERS = [
    {"engines", "errors", "exact", "tables", "typing", "version"},
    {"checks", "findings"},
    {"polylines"},
    {"kernels"},
    {"buffers", "crop", "resample", "distances"},
    {"frames", "metrics", "protocols"},
    {"align", "batches", "colours", "io", "join", "score"},
    {"check", "matches", "totals", "truth"},
    {"evaluate", "flat", "results", "store", "stream"},
    {"accumulate", "compare", "demo", "sweep"},
    {"mmengine", "plot", "report", "torch"},
    {"__init__"},
    {"cli"},
    {"__main__"},
]


def imported(tree: ast.Module) -> set[str]:
    """Parts of the package that a module imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    parts = {name.split(".")[1] for name in found if name.startswith("mapgauge.")}
    known = {path.name.removesuffix(".py") for path in PACKAGE.iterdir()}
    return {part if part in known else "__init__" for part in parts}  # a public name comes from the package itself


def test_imports_point_one_way() -> None:
    layer = {part: i for i, parts in enumerate(LAYERS) for part in parts}
    for path in PACKAGE.rglob("*.py"):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for other in imported(ast.parse(path.read_text())):
            assert layer[other] <= layer[part], f"{path.relative_to(PACKAGE)} imports {other}"
            assert part != "kernels" or other == "kernels", f"{path.relative_to(PACKAGE)}: kernels stand alone"


def loaded_after(code: str) -> set[str]:
    """The packages that some code imports, in a process of its own."""
    full = f"import sys\n{code}\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", full], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


SLOW = {
    "numba",
    "scipy",
    "pyarrow",
    "matplotlib",
    "torch",
    "torchmetrics",
    "mmengine",
    "shapely",
    "pandas",
    "distributed",
}


def test_importing_the_package_imports_next_to_nothing() -> None:
    assert not (SLOW | {"numpy", "msgspec"}) & loaded_after("import mapgauge")


def test_naming_everything_imports_nothing_slow() -> None:
    loaded = loaded_after("import mapgauge\nfor name in dir(mapgauge): getattr(mapgauge, name)")
    assert not SLOW & loaded
    assert "numpy" in loaded


def test_editing_one_kernel_recompiles_those_that_use_it(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "mapgauge", ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import numpy as np; from mapgauge.kernels.assignment import assign;"
        "assign(np.zeros((1, 1))); print(sum(assign.stats.cache_hits.values()))"
    )

    def cache_hits() -> int:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        return int(run.stdout)

    assert [cache_hits(), cache_hits()] == [0, 1]
    other = tmp_path / "mapgauge" / "kernels" / "chain.py"
    other.write_text(other.read_text() + "\n")
    assert cache_hits() == 0


def test_kernels_work_where_nothing_can_be_written() -> None:
    code = (
        "from numba.core import caching; caching.CacheImpl._locator_classes = [];"
        "import numpy as np; from mapgauge.kernels.assignment import assign; print(assign(np.ones((1, 1))))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[0]"
