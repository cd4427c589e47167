"""Imports optional packages on first use. The error for a missing package names the extra to install."""

from functools import cache
from importlib import import_module
from typing import Any

from mapgauge.errors import MissingDependency


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
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise _does_not_work(purpose, package, error) from error
        raise MissingDependency(f"{purpose} needs {package}", remedy=_install(extra)) from error
    except ImportError as error:
        raise _does_not_work(purpose, package, error) from error


def matplotlib_module() -> Any:
    """Return ``matplotlib``. It is asked for before the modules of figures, which import it, are imported."""
    return require("matplotlib", "drawing figures", "plot")


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


def _does_not_work(purpose: str, package: str, error: ImportError) -> MissingDependency:
    """Return the error for a package that is there and fails, such as one that was built for another numpy."""
    reason = " ".join(str(error).split())
    return MissingDependency(
        f"{purpose} needs {package}, which is installed but cannot be imported: {reason}",
        remedy="Upgrade it, or install it again",
    )


def _install(extra: str) -> str:
    return f"Install it with: pip install 'mapgauge[{extra}]'"
