"""All compiled code of the package.

Importing this folder is cheap. The first use of one of its modules imports numba.
"""

import importlib
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
        interpreting,
        json_lists,
        lanes,
        lines,
        matrix_links,
        nearby,
        nearest,
        network,
        network_pricing,
        network_proof,
        network_runs,
        offsets,
        parquet_pages,
        pickle_actions,
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
    "interpreting",
    "json_lists",
    "lanes",
    "lines",
    "matrix_links",
    "nearby",
    "nearest",
    "network",
    "network_pricing",
    "network_proof",
    "network_runs",
    "offsets",
    "parquet_pages",
    "pickle_actions",
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


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
