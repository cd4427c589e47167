"""All compiled code of the package.

Importing this folder is cheap. The first use of one of its modules imports numba.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mapgauge.kernels import (
        assignment,
        band,
        blake2b,
        bootstrap,
        causes,
        chamfer,
        fits,
        frechet,
        hits,
        json_lists,
        lanes,
        lines,
        matrix_links,
        nearby,
        nearest,
        network,
        offsets,
        pickle_calls,
        pickle_columns,
        pickle_scan,
        pickle_tree,
        pld,
        reference,
        reference_causes,
        resample,
        savings,
        snapping,
        sospa,
        survey,
        thresholds,
        topology,
        walks,
    )

__all__ = [
    "assignment",
    "band",
    "blake2b",
    "bootstrap",
    "causes",
    "chamfer",
    "fits",
    "frechet",
    "hits",
    "json_lists",
    "lanes",
    "lines",
    "matrix_links",
    "nearby",
    "nearest",
    "network",
    "offsets",
    "pickle_calls",
    "pickle_columns",
    "pickle_scan",
    "pickle_tree",
    "pld",
    "reference",
    "reference_causes",
    "resample",
    "savings",
    "snapping",
    "sospa",
    "survey",
    "thresholds",
    "topology",
    "walks",
]


# Whether nothing else in this process uses numba, as in the command line.
alone = False

_BLAS = "scipy.linalg.cython_blas"


def _import_numba_alone() -> None:
    """Import numba without scipy, which it looks for on its own. No kernel needs it, and it takes as long as numba."""
    if "numba" in sys.modules or _BLAS in sys.modules:
        return
    sys.modules[_BLAS] = None  # type: ignore[assignment]
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        del sys.modules[_BLAS]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        if alone:
            _import_numba_alone()
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
