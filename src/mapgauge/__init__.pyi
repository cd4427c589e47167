# The public names of the package and their modules. ``__init__.py`` reads them from here and imports each on first use.
from mapgauge import demo as demo, loggers as loggers, plot as plot, report as report, truth as truth
from mapgauge.checks import check as check
from mapgauge.distances.chamfer_and_frechet import chamfer as chamfer, frechet as frechet
from mapgauge.distances.sospa import (
    Alignment as Alignment,
    sospa as sospa,
    sospa_align as sospa_align,
    sospa_from_distances as sospa_from_distances,
    sospa_matrix as sospa_matrix,
)
from mapgauge.errors import (
    InvalidInput as InvalidInput,
    MapgaugeError as MapgaugeError,
    MissingDependency as MissingDependency,
    Remedy as Remedy,
    UnreadableFile as UnreadableFile,
)
from mapgauge.evaluation.evaluate import evaluate as evaluate
from mapgauge.evaluation.sweeps import Sweep as Sweep, sweep as sweep
from mapgauge.features.causes.causes import Causes as Causes, causes as causes, compare_causes as compare_causes
from mapgauge.features.causes.instance_costs import Fix as Fix
from mapgauge.features.causes.metric import Thresholds as Thresholds
from mapgauge.features.confidence.calibration import Reliability as Reliability
from mapgauge.features.confidence.confidence import (
    CommonThreshold as CommonThreshold,
    Confidence as Confidence,
    confidence as confidence,
)
from mapgauge.features.confidence.operating import (
    ClassConfidence as ClassConfidence,
    HeldOut as HeldOut,
    Levels as Levels,
    Recalibrated as Recalibrated,
)
from mapgauge.features.confidence.radius import Radius as Radius
from mapgauge.features.lanes.graph import (
    Graph as Graph,
    frames_from_graphs as frames_from_graphs,
    graphs_from_frames as graphs_from_frames,
)
from mapgauge.features.lanes.graph_sampling import GraphScore as GraphScore, GraphSettings as GraphSettings
from mapgauge.features.lanes.graph_scores import GraphScores as GraphScores, graph_scores as graph_scores
from mapgauge.features.lanes.lane_graph_pld import (
    ElementMatch as ElementMatch,
    LaneGraphParts as LaneGraphParts,
    LaneGraphPldResult as LaneGraphPldResult,
    LinkCounts as LinkCounts,
    WrongLink as WrongLink,
    lane_graph_pld as lane_graph_pld,
)
from mapgauge.features.global_map.gap import Gap as Gap
from mapgauge.features.global_map.global_map import (
    GlobalMap as GlobalMap,
    global_map as global_map,
)
from mapgauge.features.network.network_pld import (
    NetworkParts as NetworkParts,
    NetworkPldResult as NetworkPldResult,
    Overlap as Overlap,
    network_pld as network_pld,
)
from mapgauge.features.provenance.citations import cite as cite
from mapgauge.features.provenance.explain import (
    ExplainedStep as ExplainedStep,
    Explanation as Explanation,
    explain as explain,
)
from mapgauge.features.provenance.published import Published as Published, published as published
from mapgauge.features.splits.diversity import (
    Diversity as Diversity,
    Thinned as Thinned,
    diversity as diversity,
    thin as thin,
)
from mapgauge.features.splits.neighbours import Neighbours as Neighbours, neighbours as neighbours
from mapgauge.features.priors.changes import Changes as Changes, changes as changes
from mapgauge.features.priors.labels import mean_accuracy as mean_accuracy
from mapgauge.features.priors.prior import mark_ignored as mark_ignored
from mapgauge.features.raster.masks import MaskIou as MaskIou, mask_iou as mask_iou
from mapgauge.features.splits.joint import Joint as Joint
from mapgauge.features.splits.overlap import SplitOverlap as SplitOverlap, splits as splits
from mapgauge.features.splits.propose import Proposal as Proposal, propose as propose
from mapgauge.features.rerun.recording import Recorded as Recorded, write_rerun as write_rerun
from mapgauge.features.tracks.consistency import (
    Consistency as Consistency,
    Transitions as Transitions,
    consistency as consistency,
)
from mapgauge.features.tracks.track_pld import (
    Change as Change,
    Stretch as Stretch,
    TrackMatch as TrackMatch,
    TrackParts as TrackParts,
    TrackPldResult as TrackPldResult,
    TrueTrack as TrueTrack,
    track_pld as track_pld,
)
from mapgauge.features.tracks.tracking import track as track
from mapgauge.frames.alignment import align as align
from mapgauge.frames.findings import Finding as Finding
from mapgauge.frames.history import Step as Step
from mapgauge.frames.instances import Instance as Instance
from mapgauge.frames.links import FrameLink as FrameLink
from mapgauge.frames.links import Links as Links
from mapgauge.frames.map_frames import MapFrames as MapFrames
from mapgauge.geometry.polylines import Polylines as Polylines
from mapgauge.geometry.resampling import resample as resample
from mapgauge.io import read as read, write as write
from mapgauge.metrics.average_precision import average_precision as average_precision
from mapgauge.metrics.pld import Parts as Parts, PldResult as PldResult, PooledPld as PooledPld, pld as pld
from mapgauge.protocols import Protocol as Protocol, protocol as protocol
from mapgauge.results.assignment import Assignment as Assignment, Match as Match
from mapgauge.results.comparison import Comparison as Comparison, compare as compare
from mapgauge.results.differences import Mismatch as Mismatch, differences as differences
from mapgauge.results.families import Tested as Tested, correct_together as correct_together
from mapgauge.results.intervals import Difference as Difference, Estimate as Estimate
from mapgauge.results.loading import load_results as load_results
from mapgauge.results.results import Results as Results
from mapgauge.results.slices import Slices as Slices
from mapgauge.results.tags import Tags as Tags, read_tags as read_tags
from mapgauge.results.values import Input as Input
from mapgauge.truth.poses import with_poses as with_poses
from mapgauge.training.accumulator import Accumulator as Accumulator
from mapgauge.version import __version__ as __version__

__all__: list[str]
