"""Measures how much of the package has types that a checker of its users knows: at least 98 % of the names.

``make public-types`` installs pyright and runs this. All extras, torch and mmengine must be installed, because types of
packages that are absent are unknown::

    python -m tools.public_types           # prints the share; fails below 98 %
    python -m tools.public_types --list    # prints also the names without a known type

Kernels are among the names. numba infers the types of their arguments, so most of them have none.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LEAST = 0.98


def measured() -> dict[str, Any]:
    """Return what pyright says of the package that is installed with this Python."""
    # pyright finds the packages of the environment that is active, and asks the first Python of PATH where they are.
    programs = Path(sys.executable).parent
    environment = os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
        "VIRTUAL_ENV": str(programs.parent),
    }
    command = [sys.executable, "-m", "pyright", "--verifytypes", "mapgauge", "--ignoreexternal", "--outputjson"]
    # Exit code 1 means that a type is unknown somewhere.
    ended = subprocess.run(command, env=environment, stdout=subprocess.PIPE, encoding="utf-8", check=False)
    if not ended.stdout.startswith("{"):
        sys.exit(f"pyright ended with exit code {ended.returncode}. Install it with: pip install --group public-types")
    report: dict[str, Any] = json.loads(ended.stdout)["typeCompleteness"]
    return report


def share(report: dict[str, Any]) -> float:
    """Return the share of names whose type is known. It is 0 if pyright has not found the package."""
    return float(report["completenessScore"])


def without_type(report: dict[str, Any]) -> Iterator[str]:
    """Yield the names without a known type, each with the first reason."""
    for symbol in report["symbols"]:
        if not symbol["isExported"] or (symbol["isTypeKnown"] and not symbol["isTypeAmbiguous"]):
            continue
        reasons = [diagnostic["message"].splitlines()[0] for diagnostic in symbol["diagnostics"]]
        yield ": ".join([symbol["name"], *reasons[:1]])


def main() -> None:
    """Print the share, and the names without a known type if asked for. Exit with 1 if the share is too low."""
    report = measured()
    found = share(report)
    if "--list" in sys.argv[1:]:
        for line in without_type(report):
            print(line)
    print(f"types of {found:.2%} of the names are known, expected at least {LEAST:.0%}")
    if found < LEAST:
        sys.exit(1)


if __name__ == "__main__":
    main()
