"""Runs commands in one process in which optional packages cannot be imported, and prints what became of each as JSON.

``python -m tests.without_extras FOLDER`` reads the commands from stdin, one a line.
"""

import importlib.abc
import importlib.machinery
import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
# The names of modules that differ from those of their packages.
MODULES = {"backports.zstd": "backports", "mlflow-skinny": "mlflow", "rerun-sdk": "rerun"}
MORE = ("PIL", "compression.zstd", "dask", "scipy")  # come with them, with Python 3.14, or with tests


def optional_modules() -> set[str]:
    """The modules of all extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {package for packages in project["optional-dependencies"].values() for package in packages}
    names = {re.split(r"[\[>=;]", package)[0] for package in needed} - {"mapgauge"}
    return {MODULES.get(name, name) for name in names} | set(MORE)


class Blocker(importlib.abc.MetaPathFinder):
    """Finds all modules but those of some packages, as if these were not installed. It replaces Python's own finder."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname in self.names or fullname.partition(".")[0] in self.names:
            return None
        return importlib.machinery.PathFinder.find_spec(fullname, path, target)


def take_away(names: set[str]) -> None:
    """Let modules of some packages not be found in this process."""
    sys.meta_path[:] = [
        Blocker(names) if finder is importlib.machinery.PathFinder else finder for finder in sys.meta_path
    ]


def run(command: str) -> tuple[str, int, str]:
    """Run a command, and return it with its exit code and what it printed on stderr."""
    from mapgauge.cli import main

    sys.argv = ["mapgauge", *shlex.split(command)]
    code: object = 0
    with StringIO() as errors, redirect_stdout(StringIO()), redirect_stderr(errors):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        return command, code if isinstance(code, int) else 0, errors.getvalue()


if __name__ == "__main__":
    take_away(optional_modules())
    os.chdir(sys.argv[1])
    commands = sys.stdin.read().splitlines()
    print(json.dumps([run(command) for command in commands]))
