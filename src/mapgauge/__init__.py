"""How good is an online HD map? SOSPA, PLD and the metrics they replace, exact and fast.

>>> import mapgauge as mg
>>> mg.sospa([[0, 0], [1, 0]], [[0, 0.5], [1, 0.5]])
1.0
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mapgauge.version import __version__

if TYPE_CHECKING:
    from mapgauge import truth as truth
    from mapgauge.accumulate import Accumulator
    from mapgauge.align import align
    from mapgauge.check import check
    from mapgauge.compare import Comparison, compare
    from mapgauge.distances.chamfer import chamfer
    from mapgauge.distances.frechet import frechet
    from mapgauge.distances.sospa import Alignment, sospa, sospa_align, sospa_from_distances, sospa_matrix
    from mapgauge.errors import InvalidInput, MapgaugeError, MissingDependency, UnreadableFile
    from mapgauge.evaluate import evaluate
    from mapgauge.findings import Finding
    from mapgauge.frames import Instance, MapFrames
    from mapgauge.io import read, write
    from mapgauge.matches import Assignment, Match
    from mapgauge.metrics.average_precision import average_precision
    from mapgauge.metrics.pld import Parts, PldResult, pld
    from mapgauge.polylines import Polylines
    from mapgauge.protocols import Protocol, protocol
    from mapgauge.resample import resample
    from mapgauge.results import Results
    from mapgauge.store import load_results
    from mapgauge.sweep import Sweep, sweep

__all__ = [
    "Accumulator",
    "Alignment",
    "Assignment",
    "Comparison",
    "Finding",
    "Instance",
    "InvalidInput",
    "MapFrames",
    "MapgaugeError",
    "Match",
    "MissingDependency",
    "Parts",
    "PldResult",
    "Polylines",
    "Protocol",
    "Results",
    "Sweep",
    "UnreadableFile",
    "__version__",
    "align",
    "average_precision",
    "chamfer",
    "check",
    "compare",
    "evaluate",
    "frechet",
    "load_results",
    "pld",
    "protocol",
    "read",
    "resample",
    "sospa",
    "sospa_align",
    "sospa_from_distances",
    "sospa_matrix",
    "sweep",
    "write",
]

# Where each public name is. A name is imported when it is first used, so that whoever needs little waits little.
_HOMES = {
    "Accumulator": "accumulate",
    "Alignment": "distances.sospa",
    "Assignment": "matches",
    "Comparison": "compare",
    "Finding": "findings",
    "Instance": "frames",
    "InvalidInput": "errors",
    "MapFrames": "frames",
    "MapgaugeError": "errors",
    "Match": "matches",
    "MissingDependency": "errors",
    "Parts": "metrics.pld",
    "PldResult": "metrics.pld",
    "Polylines": "polylines",
    "Protocol": "protocols",
    "Results": "results",
    "Sweep": "sweep",
    "UnreadableFile": "errors",
    "align": "align",
    "average_precision": "metrics.average_precision",
    "chamfer": "distances.chamfer",
    "check": "check",
    "compare": "compare",
    "evaluate": "evaluate",
    "frechet": "distances.frechet",
    "load_results": "store",
    "pld": "metrics.pld",
    "protocol": "protocols",
    "read": "io",
    "resample": "resample",
    "sospa": "distances.sospa",
    "sospa_align": "distances.sospa",
    "sospa_from_distances": "distances.sospa",
    "sospa_matrix": "distances.sospa",
    "sweep": "sweep",
    "truth": "truth",
    "write": "io",
}


class _Package(ModuleType):
    """The package itself: public names on demand."""

    def __getattr__(self, name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        module = import_module(f"{self.__name__}.{_HOMES[name]}")
        value = module if name == "truth" else getattr(module, name)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: object) -> None:
        # Importing the module ``mapgauge.evaluate`` would put it in the place of the function.
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_HOMES})


sys.modules[__name__].__class__ = _Package
