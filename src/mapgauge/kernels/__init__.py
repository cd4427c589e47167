"""Compiled code that several parts of the package use. Kernels of one feature are in its folder.

Importing this folder is cheap. The first use of one of its modules imports numba.
"""

import importlib
from types import ModuleType

from mapgauge.kernels._settings import use_environment_alone

use_environment_alone()  # before anything imports numba


def __getattr__(name: str) -> ModuleType:
    module = f"{__name__}.{name}"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
