"""How good is an online HD map? SOSPA, PLD and the metrics they replace, exact and fast.

>>> import mapgauge as mg
>>> mg.sospa([[0, 0], [1, 0]], [[0, 0.5], [1, 0.5]])
1.0
"""

from mapgauge.align import align
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
from mapgauge.findings import Finding
from mapgauge.frames import Instance, MapFrames
from mapgauge.io import read, write
from mapgauge.metrics import Parts, PldResult, pld
from mapgauge.polylines import Polylines
from mapgauge.resample import resample

__version__ = "0.1.0"

__all__ = [
    "Alignment",
    "Finding",
    "Instance",
    "InvalidInput",
    "MapFrames",
    "MapgaugeError",
    "MissingDependency",
    "Parts",
    "PldResult",
    "Polylines",
    "UnreadableFile",
    "__version__",
    "align",
    "chamfer",
    "frechet",
    "pld",
    "read",
    "resample",
    "sospa",
    "sospa_align",
    "sospa_from_distances",
    "sospa_matrix",
    "write",
]
