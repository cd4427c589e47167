"""All compiled code of the package.

Importing this folder is cheap. The first use of one of its modules imports numba.
"""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mapgauge.kernels import (
        assignment as assignment,
    )
    from mapgauge.kernels import (
        average_precision as average_precision,
    )
    from mapgauge.kernels import (
        causes as causes,
    )
    from mapgauge.kernels import (
        chain as chain,
    )
    from mapgauge.kernels import (
        chamfer as chamfer,
    )
    from mapgauge.kernels import (
        cyclic as cyclic,
    )
    from mapgauge.kernels import (
        fits as fits,
    )
    from mapgauge.kernels import (
        frechet as frechet,
    )
    from mapgauge.kernels import (
        gains as gains,
    )
    from mapgauge.kernels import (
        json_lists as json_lists,
    )
    from mapgauge.kernels import (
        lanes as lanes,
    )
    from mapgauge.kernels import (
        lines as lines,
    )
    from mapgauge.kernels import (
        matched_points as matched_points,
    )
    from mapgauge.kernels import (
        matrix_links as matrix_links,
    )
    from mapgauge.kernels import (
        network as network,
    )
    from mapgauge.kernels import (
        network_pricing as network_pricing,
    )
    from mapgauge.kernels import (
        network_proof as network_proof,
    )
    from mapgauge.kernels import (
        network_runs as network_runs,
    )
    from mapgauge.kernels import (
        pickle_actions as pickle_actions,
    )
    from mapgauge.kernels import (
        pickle_arrays as pickle_arrays,
    )
    from mapgauge.kernels import (
        pickle_calls as pickle_calls,
    )
    from mapgauge.kernels import (
        pickle_columns as pickle_columns,
    )
    from mapgauge.kernels import (
        pickle_scan as pickle_scan,
    )
    from mapgauge.kernels import (
        pickle_tree as pickle_tree,
    )
    from mapgauge.kernels import (
        pld as pld,
    )
    from mapgauge.kernels import (
        reference as reference,
    )
    from mapgauge.kernels import (
        reference_causes as reference_causes,
    )
    from mapgauge.kernels import (
        resample as resample,
    )
    from mapgauge.kernels import (
        road_graphs as road_graphs,
    )
    from mapgauge.kernels import (
        sospa as sospa,
    )
    from mapgauge.kernels import (
        thresholds as thresholds,
    )


def __getattr__(name: str) -> ModuleType:
    if not name.startswith("_"):
        module = f"{__name__}.{name}"
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
