"""Deletes features, in a copy of the package, and tries what is left: ``python -m tools.without_features [NAME ...]``.

Without names, each feature is deleted in turn, with the features that need it, and then all of them. What is left must
import, list its tables, and evaluate, compare, draw and report the demo. It prints a line for each case, and its exit
code is 1 if something failed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from mapgauge import manifest

PACKAGE = Path(manifest.__file__).parent
COMMANDS = (
    "--help",
    "list metrics",
    "list protocols",
    "list formats",
    "demo --size 4 -o demo",
    "evaluate demo/good.json demo/truth.geojson -o results.mg --report report.html",
    "evaluate demo/poor.json demo/truth.geojson -o poor.mg",
    "compare results.mg poor.mg",
    "why results.mg",
    "frames results.mg",
    "show results.mg -o frame.svg",
    "plot parts results.mg -o parts.svg",
    "report results.mg poor.mg -o both.html",
    "inspect demo/good.json demo/truth.geojson",
    "convert demo/good.json predictions.parquet",
)
NAMES = "import mapgauge as mg; [getattr(mg, name) for name in dir(mg) if name != 'loggers']; print(len(dir(mg)))"


def deleted_with(name: str) -> set[str]:
    """Return a feature and the features that need it."""
    needs = {one.name: one.feature.needs for one in manifest.own()}
    return {name, *(other for other, needed in needs.items() if name in needed)}


def fault_without(names: set[str]) -> str:
    """Delete features in a copy, and return what fails, or ""."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "mapgauge"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("*.nbi", "*.nbc", "*.pyc"))
        for name in names:
            shutil.rmtree(copy / "features" / name)
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONWARNINGS": "error"}
        runs = [["-c", NAMES], *(["-m", "mapgauge", *command.split()] for command in COMMANDS)]
        for arguments in runs:
            done = subprocess.run(
                [sys.executable, *arguments],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                encoding="utf-8",
                check=False,
            )
            if done.returncode:
                return f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr.strip()[-400:]}"
    return ""


def main() -> None:
    """Try all cases, or those that are named."""
    features = [one.name for one in manifest.own() if one.module != manifest.CORE]
    cases = [deleted_with(name) for name in sys.argv[1:] or features]
    if not sys.argv[1:]:
        cases.append(set(features))
    faults = 0
    for case in cases:
        fault = fault_without(case)
        faults += bool(fault)
        called = "all features" if len(case) == len(features) else ", ".join(sorted(case))
        sys.stdout.write(f"without {called}: {fault or 'works'}\n")
        sys.stdout.flush()
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
