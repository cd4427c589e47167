"""Imports numba with the settings of the environment alone.

numba also reads ``.numba_config.yaml`` in the current folder, when it is imported and whenever it compiles. Such a file
may come with data of others. It names, among other things, a folder of pickles that numba loads, and files that it
writes. There is no setting that stops this. numba cannot read the file where ``yaml`` is not installed, and to its
module of settings, and to no other module, ``yaml`` is not installed.

This module does not import numba. If a program has imported numba before, then its settings are the program's.
"""

import builtins
import os
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_PACKAGE = "numba"
_SETTINGS = "numba.core.config"


class _Finder(MetaPathFinder):
    """Finds numba as usual, and changes how two of its modules are executed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if fullname not in (_PACKAGE, _SETTINGS):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None  # another finder may know it
        if fullname == _PACKAGE:
            changed = _execute_package
        else:
            changed = _execute_settings
        spec.loader.exec_module = partial(changed, spec.loader.exec_module)  # type: ignore[method-assign]
        return spec


def _execute_package(execute: Any, module: ModuleType) -> None:
    """Import numba. The error of a setting that numba refuses names the settings."""
    try:
        execute(module)
    except ImportError:
        raise
    except Exception as error:
        given = " ".join(f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("NUMBA_"))
        text = f"numba cannot be imported with {given or 'its default settings'}: {error}"
        raise ImportError(text, name=_PACKAGE) from error


def _execute_settings(execute: Any, module: ModuleType) -> None:
    """Execute the module of settings. What it imports is found as usual, except ``yaml``."""
    module.__dict__["__builtins__"] = vars(builtins) | {"__import__": _import_without_yaml}
    # numba says so in each folder with such a file.
    warnings.filterwarnings("ignore", "A Numba config file is found but YAML parsing")
    execute(module)


def _import_without_yaml(name: str, *given: Any, **named: Any) -> ModuleType:
    if name == "yaml":
        raise ImportError("mapgauge lets numba read no settings from the current folder", name=name)
    return builtins.__import__(name, *given, **named)


def use_environment_alone() -> None:
    """Let numba take its settings from the environment alone, if it is not imported yet."""
    if _SETTINGS not in sys.modules and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
