"""How good is an online HD map? SOSPA, PLD and the metrics they replace, exact and fast.

>>> import mapgauge as mg
>>> mg.sospa([[0, 0], [1, 0]], [[0, 0.5], [1, 0.5]])
1.0
"""

from mapgauge import truth as truth
from mapgauge.accumulate import Accumulator
from mapgauge.align import align
from mapgauge.check import check
from mapgauge.compare import Comparison, compare
from mapgauge.distances import (
    Alignment,
    chamfer,
    frechet,
    sospa,
    sospa_align,
    sospa_from_distances,
    sospa_matrix,
)
from mapgauge.errors import InvalidInput, MapgaugeError, MissingDependency, UnreadableFile
from mapgauge.evaluate import evaluate
from mapgauge.findings import Finding
from mapgauge.frames import Instance, MapFrames
from mapgauge.io import read, write
from mapgauge.matches import Assignment, Match
from mapgauge.metrics import Parts, PldResult, average_precision, pld
from mapgauge.polylines import Polylines
from mapgauge.protocols import Protocol, protocol
from mapgauge.resample import resample
from mapgauge.results import Results
from mapgauge.store import load_results
from mapgauge.sweep import Sweep, sweep
from mapgauge.version import __version__

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
