"""OpenLane-V2's scores of lanes: DET, the F-score, and the scores that combine others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mapgauge import kernels
from mapgauge.arguments import check_length
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.links import LEFT_LINE, RIGHT_LINE
from mapgauge.geometry.polylines import Polylines
from mapgauge.metrics.average_precision import (
    PREFILTER,
    RELAXED,
    PairDistance,
    matches_by,
    prefiltered,
    range_factor,
)
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import Bits, CombinedRows, HitRows, Kind, Metric, Need, Setting, SumRows, Value
from mapgauge.metrics.settings import HitSettings, Settings, setting, thresholds_of
from mapgauge.protocols import AREAS, LANE, Protocol
from mapgauge.typing import Flags, Floats, Indices

if TYPE_CHECKING:
    from mapgauge.kernels.lines import Lines


@dataclass(frozen=True, eq=False)
class Matches:
    """Instances of some classes, with one group per frame, and which of them are matched."""

    groups: Groups
    rows: Indices  # the instances in the groups of all classes
    hits: Bits  # bit t: whether a prediction is a true positive at the t-th threshold
    nearest: Indices  # the nearest true instance of each prediction; -1 for none


def of_frames(groups: Groups, names: Sequence[str]) -> tuple[Groups, Indices]:
    """Return the instances of some classes with one group per frame, and their places in the groups of all classes."""
    side = groups.side
    kept = np.flatnonzero(np.isin(side // 2, groups.of_classes(names)))
    key = 2 * (side[kept] // 2 // groups.classes) + side[kept] % 2
    order = np.argsort(key, kind="stable")
    frames = len(groups.bounds) // groups.classes
    ends = np.bincount(key, minlength=2 * frames).cumsum().reshape(-1, 2)
    rows = kept[order]
    merged = replace(
        groups,
        bounds=np.column_stack([np.concatenate([[0], ends[:-1, 1]])[:frames], ends]),
        frame=groups.frame[:: groups.classes],
        label=np.zeros(frames, np.int64),
        classes=1,
        boxes=(),
        names=(),
        **replace(groups, track=None, links=None).columns(rows),
    )
    return merged, rows


def at_lanes(groups: Groups, numbers: Floats) -> Floats:
    """Return the rows of all groups: those of the lanes have the numbers of their frame, the others zeros."""
    block = np.zeros((len(groups.bounds), numbers.shape[1]))
    if LANE in groups.names:
        block[groups.of_classes((LANE,))] = numbers
    return block


@dataclass(frozen=True, kw_only=True)
class OpenLaneSettings(HitSettings):
    """Rules of all average precisions of OpenLane-V2."""

    strict: bool = setting(True, help="Whether a hit needs a distance below the threshold, not equal to it.")
    interpolation: Literal["area", "11-point"] = setting(
        "11-point", help="How average precision follows from precision and recall."
    )


DROP_CLOSING = "Whether Chamfer distances drop the last true point if it repeats the first (versions 1.1 and 2.1)."


@dataclass(frozen=True, kw_only=True)
class LaneChamferSettings(OpenLaneSettings):
    """Settings of DET_l_ch."""

    thresholds: tuple[float, ...] = thresholds_of((1.0, 2.0, 3.0), word="lanes")
    relaxed: bool = setting(True, help=RELAXED)
    drop_closing: bool = setting(True, help=DROP_CLOSING)


@dataclass(frozen=True, kw_only=True)
class LaneSettings(LaneChamferSettings):
    """Settings of DET_l."""

    prefilter: float | None = setting(3.0, unit="m", check=check_length, help=PREFILTER)


@dataclass(frozen=True, kw_only=True)
class SegmentSettings(LaneSettings):
    """Settings of DET_ls."""

    thresholds: tuple[float, ...] = thresholds_of((1.0, 2.0, 3.0), word="segments")


@dataclass(frozen=True, kw_only=True)
class AreaSettings(OpenLaneSettings):
    """Settings of DET_a."""

    thresholds: tuple[float, ...] = thresholds_of((0.5, 1.0, 1.5), word="areas")
    drop_closing: bool = setting(True, help=DROP_CLOSING)


@dataclass(frozen=True, kw_only=True)
class BoxSettings(OpenLaneSettings):
    """Settings of DET_t, whose thresholds are on 1 minus the intersection over union of boxes."""

    thresholds: tuple[float, ...] = thresholds_of((0.75,), unit="", word="overlaps")


def lane_matches(groups: Groups, protocol: Protocol, own: Any, *, segments: bool) -> Matches:
    """Return the matches of lanes, by the distance of centrelines or of lane segments.

    Args:
        groups: Predictions and truth.
        protocol: What all metrics share.
        own: The settings of the metric: those of ``LaneSettings``, without the interpolation.
        segments: Whether lanes are compared by the distance of lane segments.
    """
    key = f"lanes {segments} {own.thresholds} {own.strict} {own.relaxed} {own.prefilter} {own.drop_closing}"
    if key not in groups.shared:
        lanes, rows = of_frames(groups, (LANE,))
        distance = partial(lane_distances, groups, rows, segments)
        groups.shared[key] = Matches(lanes, rows, *matches_by(distance, lanes, protocol, own))
    matches: Matches = groups.shared[key]
    return matches


def element_matches(groups: Groups, protocol: Protocol, own: BoxSettings) -> Matches:
    """Return the matches of traffic elements, whatever their attribute."""
    key = f"boxes {own.thresholds} {own.strict}"
    if key not in groups.shared:
        boxes, rows = of_frames(groups, protocol.boxes)
        groups.shared[key] = Matches(boxes, rows, *matches_by(box_distances, boxes, protocol, own))
    matches: Matches = groups.shared[key]
    return matches


def lane_distances(
    every: Groups, rows: Indices, segments: bool, lanes: Groups, protocol: Protocol, own: Any, limit: float
) -> Floats:
    """Return the distances of all pairs of lanes, prediction by prediction; infinity beyond the limit.

    Args:
        every: The groups of all classes.
        rows: The lanes in them.
        segments: Whether lanes are compared by the distance of lane segments.
        lanes: The lanes, with one group per frame.
        protocol: What all metrics share.
        own: The settings of the metric.
        limit: The largest distance that matters.
    """
    from mapgauge.features.lanes.kernels import segment_pairs

    factor = range_factor(lanes, own.relaxed)
    closing = partial(_chamfer_lines, lanes.polylines, lanes, own.drop_closing)
    distance = prefiltered(closing, lanes, factor, own.prefilter)
    if not segments:
        kernels.frechet.frechet_pairs(lanes.lines, lanes.closed, lanes.bounds, factor, True, limit, distance)
        return distance
    left, right = (
        _chamfer_lines(every.polylines.pick(_line_of(every, rows, kind)), lanes, own.drop_closing)
        for kind in (LEFT_LINE, RIGHT_LINE)
    )
    segment_pairs(lanes.lines, left, right, lanes.bounds, factor, limit, distance)
    return distance


def _line_of(groups: Groups, rows: Indices, kind: str) -> Indices:
    """Return the left or right line of each lane, as an instance."""
    line = np.full(len(groups.confidence), -1)
    if groups.links is not None:
        links = groups.links.of_kind(kind)
        line[links.source] = links.target
    lacking = np.count_nonzero(line[rows] < 0)
    if lacking:
        raise InvalidInput(
            f"{lacking} of {len(rows)} lanes have no {kind.replace('_', ' ')}, expected lane segments",
            remedy=Remedy('Score centrelines with "openlanev2-v1.1"', "Score centrelines: --protocol openlanev2-v1.1"),
        )
    return line[rows]


def _chamfer_lines(polylines: Polylines, groups: Groups, drop_closing: bool) -> "Lines":
    """Return polylines for the Chamfer distance, true ones without a closing point if it is dropped."""
    start, stop = polylines.offsets[:-1], polylines.offsets[1:]
    if drop_closing:
        several: Flags = ~groups.is_prediction & (stop - start > 1)
        first, last = polylines.coords[start[several]], polylines.coords[stop[several] - 1]
        stop = stop.copy()
        stop[several] -= (first == last).all(axis=1)
    points = np.ascontiguousarray(polylines.coords.T)
    lines: Lines = kernels.lines.index_lines(points, start.astype(np.uint64), stop.astype(np.uint64))
    return lines


def _chamfer_distances(groups: Groups, protocol: Protocol, own: Any, limit: float) -> Floats:
    distance = np.empty(groups.pairs)
    factor = range_factor(groups, getattr(own, "relaxed", False))  # those of areas are never relaxed
    lines = _chamfer_lines(groups.polylines, groups, own.drop_closing)
    kernels.chamfer.chamfer_pairs(lines, groups.bounds, factor, limit, True, distance)
    return distance


def box_distances(groups: Groups, protocol: Protocol, own: Any, limit: float) -> Floats:
    """Return the distances of all pairs of boxes: 1 minus the intersection over union."""
    from mapgauge.features.lanes.kernels import box_pairs

    distance = np.empty(groups.pairs)
    box_pairs(groups.points, groups.polylines.offsets, groups.bounds, distance)
    return distance


def _lane_hits(metric: str, groups: Groups, protocol: Protocol) -> Bits:
    matches = lane_matches(groups, protocol, protocol.settings[metric], segments=metric == "det_ls")
    return _placed(groups, matches.rows, matches.hits)


def _class_hits(distance: PairDistance, names: Sequence[str], metric: str, groups: Groups, protocol: Protocol) -> Bits:
    """Return the hits of some classes, each by itself."""
    chosen = groups.of_classes(names)
    picked = replace(groups, links=None).pick(chosen)
    return _placed(groups, groups.rows(chosen), matches_by(distance, picked, protocol, protocol.settings[metric])[0])


def _box_hits(metric: str, groups: Groups, protocol: Protocol) -> Bits:
    return _class_hits(box_distances, protocol.boxes, metric, groups, protocol)


def _placed(groups: Groups, rows: Indices, bits: Bits) -> Bits:
    """Return bits of all instances from those of some."""
    placed = np.zeros(len(groups.confidence), np.uint16)
    placed[rows] = bits
    return placed


def _det(
    name: str,
    score: Callable[[str, Groups, Protocol], Bits],
    settings: type[HitSettings],
    of: Kind,
    stated: str,
    *needs: Need,
) -> Metric:
    title = name.replace("det", "DET")
    return Metric(
        name=name,
        title=title,
        symbol="AP",
        lower_is_better=False,
        values=(Value(name, "", title, "main"),),
        rows=HitRows(partial(score, name)),
        setting=Setting("thresholds", "threshold", "" if of == "boxes" else "m"),
        settings_type=settings,
        needs=frozenset({"confidences", *needs}),
        stated=lambda _: stated,
        limits=(0.0, 1.0),
        of=of,
        absent=1.0,
    )


_METRES = "mean over thresholds in metres"
_chamfer_hits, _area_hits = (partial(_class_hits, _chamfer_distances, names) for names in ((LANE,), AREAS))

DET_L = _det("det_l", _lane_hits, LaneSettings, "lanes", f"Fréchet, {_METRES}")
DET_L_CH = _det("det_l_ch", _chamfer_hits, LaneChamferSettings, "lanes", f"Chamfer, {_METRES}")
DET_LS = _det("det_ls", _lane_hits, SegmentSettings, "lanes", f"lane segments, {_METRES}", "links")
DET_A = _det("det_a", _area_hits, AreaSettings, "areas", f"Chamfer, {_METRES}")
DET_T = _det("det_t", _box_hits, BoxSettings, "boxes", "1 - IoU of boxes, mean over attributes")


FIRST, PLACES = -50.0, 100  # metres behind the vehicle, number of places
_COLUMNS = ("found", "right", "true", "predicted")


@dataclass(frozen=True, kw_only=True)
class FLaneSettings(Settings):
    """Settings of the F-score of lanes."""

    apart: float = setting(1.5, unit="m", check=check_length, help="Distance from which places of two lanes are apart.")
    share: float = setting(0.75, help="Share of the places of a lane at which it must be near the other.")


def _score(groups: Groups, protocol: Protocol, setting: object) -> Floats:
    """Return the numbers of lanes that are found, that are right, that are true and that are predicted."""
    from mapgauge.features.lanes.kernels import matched_lanes

    lanes, _ = of_frames(groups, (LANE,))
    points = lanes.points
    if groups.forward == "y":
        points = np.ascontiguousarray(points[[1, 0, *range(2, len(points))]])
    counts = np.zeros((len(lanes.bounds), len(_COLUMNS)))
    own = protocol.settings["f_lane"]
    matched_lanes(points, lanes.polylines.offsets, lanes.bounds, FIRST, PLACES, own.apart, own.share, counts)
    return at_lanes(groups, counts)


def _values(sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return the F-score, precision and recall; NaN if no lane takes part."""
    matched, right, true, predicted = np.moveaxis(sums, -1, 0)
    recall = matched / np.where(true > 0, true, 1.0)
    precision = right / np.where(predicted > 0, predicted, 1.0)
    both = recall + precision
    score = 2 * recall * precision / np.where(both > 0, both, 1.0)
    return {
        "f_lane": np.where(true + predicted > 0, score, np.nan),
        "f_lane_precision": np.where(predicted > 0, precision, np.nan),
        "f_lane_recall": np.where(true > 0, recall, np.nan),
    }


def _stated(protocol: Protocol) -> str:
    own = protocol.settings["f_lane"]
    return f"within {own.apart:g} m at {own.share:.0%} of the places"


F_LANE = Metric(
    name="f_lane",
    title="F-score of 3-D lanes",
    symbol="F",
    lower_is_better=False,
    values=(
        Value("f_lane", "", "F", "main"),
        Value("f_lane_precision", "precision", "precision"),
        Value("f_lane_recall", "recall", "recall"),
    ),
    rows=SumRows(_COLUMNS, _score, _values),
    settings_type=FLaneSettings,
    stated=_stated,
    limits=(0.0, 1.0),
    percent=True,
    of="lanes",
)


def _mean(means: Mapping[str, Floats]) -> Floats:
    """Return the mean of all values, with the square roots of those of TOP."""
    terms = [np.sqrt(value) if name.startswith("top_") else value for name, value in means.items()]
    return np.asarray(np.mean(terms, axis=0))


def _combined_row(name: str, title: str, of: tuple[str, ...], stated: str) -> Metric:
    return Metric(
        name=name,
        title=title,
        symbol=title,
        lower_is_better=False,
        values=(Value(name, "", title, "main"),),
        rows=CombinedRows(of, _mean),
        stated=lambda _: stated,
        limits=(0.0, 1.0),
        percent=True,
    )


OLS = _combined_row("ols", "OLS", ("det_l", "det_t", "top_ll", "top_lt"), "mean of DET_l, DET_t, √TOP_ll, √TOP_lt")
OLUS = _combined_row(
    "olus",
    "OLUS",
    ("det_ls", "det_a", "det_t", "top_ll", "top_lt"),
    "mean of DET_ls, DET_a, DET_t, √TOP_lsls, √TOP_lste",
)
# The mean that gives the rows of the tables of TopoMaskV3 (arXiv 2603.01558) that were checked.
OLS_L = _combined_row("ols_l", "OLS_l", ("det_l", "det_l_ch", "top_ll"), "mean of DET_l, DET_l_ch, √TOP_ll")
