"""mapgauge evaluates online HD maps with SOSPA and PLD, and with average precision by Chamfer and Fréchet distance.

>>> import mapgauge as mg
>>> mg.sospa([[0, 0], [1, 0]], [[0, 0.5], [1, 0.5]])
1.0
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mapgauge.version import __version__

if TYPE_CHECKING:
    from mapgauge import demo as demo
    from mapgauge import loggers as loggers
    from mapgauge import plot as plot
    from mapgauge import report as report
    from mapgauge import truth as truth
    from mapgauge.checks import check
    from mapgauge.distances.chamfer_and_frechet import chamfer, frechet
    from mapgauge.distances.sospa import Alignment, sospa, sospa_align, sospa_from_distances, sospa_matrix
    from mapgauge.errors import InvalidInput, MapgaugeError, MissingDependency, UnreadableFile
    from mapgauge.evaluation.evaluate import evaluate
    from mapgauge.evaluation.sweeps import Sweep, sweep
    from mapgauge.features.causes.anatomy import Anatomy, anatomy, compare_causes
    from mapgauge.features.confidence.confidence import Confidence, confidence
    from mapgauge.features.lanes.graph import Graph, frames_from_graphs, graphs_from_frames
    from mapgauge.features.lanes.graph_scores import GraphScores, graph_scores
    from mapgauge.features.lanes.graph_settings import GraphSettings
    from mapgauge.features.lanes.lane_graph_pld import LaneGraphPldResult, lane_graph_pld
    from mapgauge.features.network.network_pld import NetworkPldResult, network_pld
    from mapgauge.features.tracks.consistency import Consistency, consistency
    from mapgauge.features.tracks.track_pld import TrackPldResult, track_pld
    from mapgauge.features.tracks.tracking import track
    from mapgauge.frames.alignment import align
    from mapgauge.frames.findings import Finding
    from mapgauge.frames.instances import Instance
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.geometry.polylines import Polylines
    from mapgauge.geometry.resampling import resample
    from mapgauge.io import read, write
    from mapgauge.metrics.average_precision import average_precision
    from mapgauge.metrics.pld import Parts, PldResult, pld
    from mapgauge.protocols import Protocol, protocol
    from mapgauge.results.assignment import Assignment, Match
    from mapgauge.results.comparison import Comparison, compare
    from mapgauge.results.loading import load_results
    from mapgauge.results.results import Results
    from mapgauge.training.accumulator import Accumulator

__all__ = [
    "Accumulator",
    "Alignment",
    "Anatomy",
    "Assignment",
    "Comparison",
    "Confidence",
    "Consistency",
    "Finding",
    "Graph",
    "GraphScores",
    "GraphSettings",
    "Instance",
    "InvalidInput",
    "LaneGraphPldResult",
    "MapFrames",
    "MapgaugeError",
    "Match",
    "MissingDependency",
    "NetworkPldResult",
    "Parts",
    "PldResult",
    "Polylines",
    "Protocol",
    "Results",
    "Sweep",
    "TrackPldResult",
    "UnreadableFile",
    "__version__",
    "align",
    "anatomy",
    "average_precision",
    "chamfer",
    "check",
    "compare",
    "compare_causes",
    "confidence",
    "consistency",
    "evaluate",
    "frames_from_graphs",
    "frechet",
    "graph_scores",
    "graphs_from_frames",
    "lane_graph_pld",
    "load_results",
    "network_pld",
    "pld",
    "protocol",
    "read",
    "resample",
    "sospa",
    "sospa_align",
    "sospa_from_distances",
    "sospa_matrix",
    "sweep",
    "track",
    "track_pld",
    "write",
]

# The module of each public name. Lazy imports keep ``import mapgauge`` cheap.
_HOMES = {
    "Accumulator": "training.accumulator",
    "Alignment": "distances.sospa",
    "Anatomy": "features.causes.anatomy",
    "Assignment": "results.assignment",
    "Comparison": "results.comparison",
    "Confidence": "features.confidence.confidence",
    "Consistency": "features.tracks.consistency",
    "Finding": "frames.findings",
    "Graph": "features.lanes.graph",
    "GraphScores": "features.lanes.graph_scores",
    "GraphSettings": "features.lanes.graph_settings",
    "Instance": "frames.instances",
    "InvalidInput": "errors",
    "LaneGraphPldResult": "features.lanes.lane_graph_pld",
    "MapFrames": "frames.map_frames",
    "MapgaugeError": "errors",
    "Match": "results.assignment",
    "MissingDependency": "errors",
    "NetworkPldResult": "features.network.network_pld",
    "Parts": "metrics.pld",
    "PldResult": "metrics.pld",
    "Polylines": "geometry.polylines",
    "Protocol": "protocols",
    "Results": "results.results",
    "Sweep": "evaluation.sweeps",
    "TrackPldResult": "features.tracks.track_pld",
    "UnreadableFile": "errors",
    "align": "frames.alignment",
    "anatomy": "features.causes.anatomy",
    "average_precision": "metrics.average_precision",
    "chamfer": "distances.chamfer_and_frechet",
    "check": "checks",
    "compare": "results.comparison",
    "compare_causes": "features.causes.anatomy",
    "confidence": "features.confidence.confidence",
    "consistency": "features.tracks.consistency",
    "evaluate": "evaluation.evaluate",
    "frames_from_graphs": "features.lanes.graph",
    "frechet": "distances.chamfer_and_frechet",
    "graph_scores": "features.lanes.graph_scores",
    "graphs_from_frames": "features.lanes.graph",
    "lane_graph_pld": "features.lanes.lane_graph_pld",
    "load_results": "results.loading",
    "network_pld": "features.network.network_pld",
    "pld": "metrics.pld",
    "protocol": "protocols",
    "read": "io",
    "resample": "geometry.resampling",
    "sospa": "distances.sospa",
    "sospa_align": "distances.sospa",
    "sospa_from_distances": "distances.sospa",
    "sospa_matrix": "distances.sospa",
    "sweep": "evaluation.sweeps",
    "track": "features.tracks.tracking",
    "track_pld": "features.tracks.track_pld",
    "write": "io",
}

# Public modules that ``mg.plot`` and so on import on first use.
_MODULES = ("demo", "loggers", "plot", "report", "truth")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
