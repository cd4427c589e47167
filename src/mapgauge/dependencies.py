"""Imports optional packages on first use. The error for a missing package names the extra to install."""

import errno
from functools import cache
from importlib import import_module
from typing import Any

from mapgauge.errors import MissingDependency

# Where packages take settings from that can keep them from being imported.
_SETTINGS = {"matplotlib": "Look at MPLBACKEND in the environment, and at the file matplotlibrc in the current folder"}


def require(module: str, purpose: str, extra: str) -> Any:
    """Import an optional module, which an extra of mapgauge installs. The error names the purpose.

    >>> require("no_such_package", "this example", "example")
    Traceback (most recent call last):
        ...
    mapgauge.errors.MissingDependency: this example needs no_such_package. Install it with: pip install
    'mapgauge[example]'
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        if lacks_memory(error):
            raise MemoryError(f"{module} cannot be loaded") from error
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == package:
            raise missing(module, purpose, extra) from error
        raise _does_not_work(purpose, module, error) from error
    except (ValueError, OSError) as error:  # a setting of the environment, or a file of settings that is damaged
        raise _does_not_work(purpose, module, error) from error


def matplotlib_module() -> Any:
    """Return ``matplotlib``. It is asked for before the modules of figures, which import it, are imported."""
    return require("matplotlib", "drawing figures", "plot")


def missing(module: str, purpose: str, extra: str) -> MissingDependency:
    """Return the error for an optional module that is not there."""
    package = module.partition(".")[0]
    return MissingDependency(f"{purpose} needs {package}", remedy=_install(extra))


# What the loader of libraries says if there is no memory for them, on Linux and on macOS.
_NO_MEMORY = ("failed to map segment from shared object", "cannot allocate memory", "not enough memory")


def lacks_memory(error: BaseException | None) -> bool:
    """Whether an error is due to too little memory: the error itself, or one that it was raised from.

    >>> lacks_memory(ImportError("libarrow.so: failed to map segment from shared object")), lacks_memory(ValueError())
    (True, False)
    """
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        if isinstance(error, ImportError | OSError) and any(words in str(error).lower() for words in _NO_MEMORY):
            return True
        seen.append(error)
        error = error.__cause__ or error.__context__
    return False


@cache  # it is asked for often
def pyarrow_modules() -> tuple[Any, Any]:
    """Return ``pyarrow`` and ``pyarrow.parquet``. Importing them takes a quarter of a second."""
    require("pyarrow.compute", "Parquet", "parquet")
    return require("pyarrow", "Parquet", "parquet"), require("pyarrow.parquet", "Parquet", "parquet")


def fsspec_module() -> Any:
    """Return ``fsspec``, which opens URLs."""
    return require("fsspec", "reading from a URL", "dask")


def zstd_module() -> Any:
    """Return the zstd module of the standard library (Python 3.14) or its backport."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ImportError:
            continue
    raise MissingDependency("zstd files need backports.zstd on Python below 3.14", remedy=_install("zstd"))


def _does_not_work(purpose: str, module: str, error: Exception) -> MissingDependency:
    """Return the error for a package that is there and fails, such as one that was built for another numpy."""
    why = " ".join(str(error).split())
    remedy = _SETTINGS.get(module)
    if isinstance(error, ImportError):
        remedy = "Upgrade it, or install it again"
    return MissingDependency(f"{purpose} needs {module}, which cannot be imported: {why}", remedy=remedy)


def _install(extra: str) -> str:
    return f"Install it with: pip install 'mapgauge[{extra}]'"
