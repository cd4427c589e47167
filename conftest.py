"""Modules for packages that are not installed are not searched for doctests. Tests compile all kernels they call."""

import gc
import os
from importlib.util import find_spec

from tests.pages import PAGES_WITH_FILES

_NEEDS = {
    "docs/figures.py": ("playwright",),
    "docs/rerun_picture.py": ("rerun",),
    "src/mapgauge/features/rerun/recording.py": ("rerun",),
    "src/mapgauge/features/tracks/torch_metrics.py": ("torch", "torchmetrics"),
    "src/mapgauge/mmengine.py": ("torch", "mmengine"),
    "src/mapgauge/torch.py": ("torch",),
    "src/mapgauge/training/mmengine.py": ("torch", "mmengine"),
    "src/mapgauge/training/torch": ("torch",),
    "src/mapgauge/training/torch/fast.py": ("torch", "triton"),
    "src/mapgauge/training/torch/fast_l1.py": ("torch", "triton"),
    "src/mapgauge/training/torch/metrics.py": ("torch", "torchmetrics"),
    "tests/report/test_first.py": ("playwright",),
}
collect_ignore = [path for path, names in _NEEDS.items() if not all(map(find_spec, names))]
collect_ignore += [f"docs/{page}.md" for page in PAGES_WITH_FILES]

# Several processes run tests, so each computes in one thread. More would wait for each other in loops.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MAPGAUGE_COMPILERS", "0")
os.environ.setdefault("MAPGAUGE_INTERPRET", "0")
# Results of the same inputs are the same bytes if their date is the same.
os.environ.setdefault("SOURCE_DATE_EPOCH", "1795000000")

gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage from now on, and never among what was collected, which lives until the end."""
    gc.freeze()
    gc.enable()
