"""Imports the package with some features only, again and again: ``python tests/some_features.py NAME,NAME ...``.

Each argument has the features that are there. For each, the program makes all tables from the manifests, loads every
place that they name, imports all commands and all modules of the features, and prints what fails, or "". Slow packages
are imported once: every case is a fork.
"""

import importlib
import json
import os
import pkgutil
import sys
import traceback
from importlib.abc import MetaPathFinder
from typing import Any

SLOW = ("numpy", "numba", "msgspec", "typer", "scipy.sparse", "pyarrow.parquet", "matplotlib.figure", "shapely")
PREFIX = "mapgauge.features."


class Hidden(MetaPathFinder):
    """Hides features as if their folders were deleted."""

    def __init__(self, kept: set[str]) -> None:
        self.kept = kept

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        feature = name.removeprefix(PREFIX).split(".")[0]
        if name.startswith(PREFIX) and feature not in self.kept:
            raise ModuleNotFoundError(f"No module named {name!r}: the feature {feature} was deleted", name=name)


def load_all(kept: set[str]) -> None:
    """Import the package with some features."""
    sys.meta_path.insert(0, Hidden(kept))
    modules_in = pkgutil.iter_modules

    def modules(path: Any = None, prefix: str = "") -> Any:
        of_features = path is not None and any(str(folder).endswith("features") for folder in path)
        return [one for one in modules_in(path, prefix) if not of_features or one.name in kept]

    pkgutil.iter_modules = modules
    import mapgauge
    from mapgauge import manifest
    from mapgauge.cli.app import application
    from mapgauge.frames.columns import COLUMNS
    from mapgauge.hooks import prior_tables, sentences, similar
    from mapgauge.io import FORMATS
    from mapgauge.metrics.table import METRICS
    from mapgauge.protocols.names import PROTOCOLS
    from mapgauge.views.report.sections import sections

    found = {one.name for one in manifest.own()}
    assert found == {"core", *kept}, found
    for table in (COLUMNS, FORMATS, METRICS, PROTOCOLS):
        assert len(table) > 0
    for make in (sections, sentences, similar, prior_tables, application):
        make()
    for name in set(dir(mapgauge)) - {"loggers", "torch", "mmengine"}:
        getattr(mapgauge, name)
    for feature in kept:
        package = importlib.import_module(f"{PREFIX}{feature}")
        for module in modules_in(package.__path__):
            if module.name != "torch_metrics":
                importlib.import_module(f"{PREFIX}{feature}.{module.name}")


def fault_of(kept: set[str]) -> str:
    """Import the package in a fork, and return what fails."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        fault = ""
        try:
            load_all(kept)
        except BaseException:
            fault = traceback.format_exc()[-2000:]
        os.write(writing, fault.encode("utf-8"))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        fault = pipe.read()
    os.waitpid(child, 0)
    return fault


def main() -> None:
    for name in SLOW:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    """Try each case, and print what fails as JSON."""
    cases = [set(filter(None, names.split(","))) for names in sys.argv[1:]]
    sys.stdout.write(json.dumps([fault_of(case) for case in cases]))


if __name__ == "__main__":
    main()
