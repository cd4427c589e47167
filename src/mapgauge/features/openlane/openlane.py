"""OpenLane-V2's scores of lanes: DET, TOP, the F-score, and the scores that combine others.

``TOP_ll`` compares the successors and predecessors of lanes, ``TOP_lt`` the traffic elements of lanes and the lanes of
traffic elements. For each threshold, predictions are matched with truth, and the predicted scores are placed at the
pairs of true vertices. A pair with a missed vertex gets a false link, unless the pair is truly linked: then it gets
none. The score is the mean over all true vertices of all frames and thresholds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from mapgauge import kernels
from mapgauge.arguments import check_length
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.lane_classes import AREAS, LANE
from mapgauge.frames.links import CONTROLLED_BY, LEFT_LINE, RIGHT_LINE, SUCCESSOR
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
from mapgauge.metrics.settings import DistanceSettings, Settings, setting, thresholds_of
from mapgauge.protocols import Protocol
from mapgauge.typing import Flags, Floats, Indices

if TYPE_CHECKING:
    from mapgauge.kernels.lines import Lines

Made = TypeVar("Made")


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
        **replace(groups, links=None).members(rows),
    )
    return merged, rows


def at_lanes(groups: Groups, numbers: Floats) -> Floats:
    """Return the rows of all groups: those of the lanes have the numbers of their frame, the others zeros."""
    block = np.zeros((len(groups.bounds), numbers.shape[1]))
    if LANE in groups.names:
        block[groups.of_classes((LANE,))] = numbers
    return block


@dataclass(frozen=True, kw_only=True)
class OpenLaneSettings(DistanceSettings):
    """Rules of all average precisions of OpenLane-V2."""

    strict: bool = setting(default=True, help="Whether a hit needs a distance below the threshold, not equal to it.")
    interpolation: Literal["area", "11-point", "101-point"] = setting(
        "11-point", help="How average precision follows from precision and recall."
    )


DROP_CLOSING = "Whether Chamfer distances drop the last true point if it repeats the first (versions 1.1 and 2.1)."


@dataclass(frozen=True, kw_only=True)
class LaneChamferSettings(OpenLaneSettings):
    """Settings of DET_l_ch."""

    thresholds: tuple[float, ...] = thresholds_of((1.0, 2.0, 3.0), word="lanes")
    relaxed: bool = setting(default=True, help=RELAXED)
    drop_closing: bool = setting(default=True, help=DROP_CLOSING)


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
    drop_closing: bool = setting(default=True, help=DROP_CLOSING)


@dataclass(frozen=True, kw_only=True)
class BoxSettings(OpenLaneSettings):
    """Settings of DET_t, whose thresholds are on 1 minus the intersection over union of boxes."""

    thresholds: tuple[float, ...] = thresholds_of((0.75,), unit="", word="overlaps")


def lane_matches(groups: Groups, protocol: Protocol, own: Any, *, segments: bool) -> Matches:
    """Return the matches of lanes, by the distance of centrelines or of lane segments. Several scores share them."""

    def matched() -> Matches:
        lanes, rows = of_frames(groups, (LANE,))
        distance = partial(lane_distances, groups, rows, segments)
        return Matches(lanes, rows, *matches_by(distance, lanes, protocol, own=own))

    key = f"lanes {segments} {own.thresholds} {own.strict} {own.relaxed} {own.prefilter} {own.drop_closing}"
    return _shared(groups, key, matched)


def element_matches(groups: Groups, protocol: Protocol, own: BoxSettings) -> Matches:
    """Return the matches of traffic elements, whatever their attribute. Several scores share them."""

    def matched() -> Matches:
        boxes, rows = of_frames(groups, protocol.boxes)
        return Matches(boxes, rows, *matches_by(box_distances, boxes, protocol, own=own))

    return _shared(groups, f"boxes {own.thresholds} {own.strict}", matched)


def _shared(groups: Groups, key: str, make: Callable[[], Made]) -> Made:
    """Return what several scores of the same groups need, which is made once."""
    if key not in groups.shared:
        groups.shared[key] = make()
    made: Made = groups.shared[key]
    return made


def lane_distances(
    every: Groups, rows: Indices, segments: bool, lanes: Groups, protocol: Protocol, own: Any, limit: float
) -> Floats:
    """Return the distances of all pairs of lanes, prediction by prediction; infinity beyond the limit."""
    from mapgauge.features.openlane.kernels import segment_pairs

    factor = range_factor(lanes, own.relaxed)
    closing = partial(_chamfer_lines, lanes.polylines, lanes, own.drop_closing)
    distance = prefiltered(closing, lanes, factor, prefilter=own.prefilter)
    if not segments:
        kernels.frechet.frechet_pairs(
            lanes.lines, lanes.closed, lanes.bounds, factor=factor, directed=True, limit=limit, out=distance
        )
        return distance
    left, right = (
        _chamfer_lines(every.polylines.pick(_line_of(every, rows, kind)), lanes, own.drop_closing)
        for kind in (LEFT_LINE, RIGHT_LINE)
    )
    segment_pairs(lanes.lines, left, right, bounds=lanes.bounds, factor=factor, limit=limit, out=distance)
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
    start = polylines.offsets[:-1]
    stop = polylines.offsets[1:]
    if drop_closing:
        several: Flags = ~groups.is_prediction & (stop - start > 1)
        first = polylines.coords[start[several]]
        last = polylines.coords[stop[several] - 1]
        stop = stop.copy()
        stop[several] -= (first == last).all(axis=1)
    points = np.ascontiguousarray(polylines.coords.T)
    lines: Lines = kernels.lines.index_lines(points, start.astype(np.uint64), stop.astype(np.uint64))
    return lines


def _chamfer_distances(groups: Groups, protocol: Protocol, own: Any, limit: float) -> Floats:
    distance = np.empty(groups.pairs)
    factor = range_factor(groups, getattr(own, "relaxed", False))  # those of areas are never relaxed
    lines = _chamfer_lines(groups.polylines, groups, own.drop_closing)
    kernels.chamfer.chamfer_pairs(lines, groups.bounds, factor, limit=limit, nearest_only=True, out=distance)
    return distance


def box_distances(groups: Groups, protocol: Protocol, own: Any, limit: float) -> Floats:
    """Return the distances of all pairs of boxes: 1 minus the intersection over union."""
    from mapgauge.features.openlane.kernels import box_pairs

    distance = np.empty(groups.pairs)
    box_pairs(groups.points, groups.polylines.offsets, groups.bounds, out=distance)
    return distance


def _lane_hits(metric: str, groups: Groups, protocol: Protocol) -> Bits:
    matches = lane_matches(groups, protocol, protocol.settings[metric], segments=metric == "det_ls")
    return _placed(groups, matches.rows, matches.hits)


def _class_hits(distance: PairDistance, names: Sequence[str], metric: str, groups: Groups, protocol: Protocol) -> Bits:
    """Return the hits of some classes, each by itself."""
    chosen = groups.of_classes(names)
    picked = replace(groups, links=None).pick(chosen)
    return _placed(
        groups, groups.rows(chosen), matches_by(distance, picked, protocol, own=protocol.settings[metric])[0]
    )


def _box_hits(metric: str, groups: Groups, protocol: Protocol) -> Bits:
    return _class_hits(box_distances, protocol.boxes, metric, groups=groups, protocol=protocol)


def _placed(groups: Groups, rows: Indices, bits: Bits) -> Bits:
    """Return bits of all instances from those of some."""
    placed = np.zeros(len(groups.confidence), np.uint16)
    placed[rows] = bits
    return placed


def _metric(name: str, title: str, *, symbol: str = "", values: Sequence[Value] = (), **more: Any) -> Metric:
    """Return the row of a score from 0 to 1, of which more is better. By default it has one value."""
    values = tuple(values) or (Value(key=name, part="", title=title, role="main"),)
    symbol = symbol or title
    return Metric(
        name=name,
        title=title,
        symbol=symbol,
        values=values,
        lower_is_better=False,
        limits=(0.0, 1.0),
        order=70,
        **more,
    )


def _det(
    name: str,
    score: Callable[[str, Groups, Protocol], Bits],
    settings: type[DistanceSettings],
    of: Kind,
    stated: str,
    needs: tuple[Need, ...] = (),
) -> Metric:
    return _metric(
        name,
        name.replace("det", "DET"),
        symbol="AP",
        rows=HitRows(partial(score, name)),
        setting=Setting("thresholds", "threshold", "" if of == "boxes" else "m"),
        settings_type=settings,
        needs=frozenset({"confidences", *needs}),
        stated=lambda _: stated,
        of=of,
        absent=1.0,
    )


_METRES = "mean over thresholds in metres"
_chamfer_hits, _area_hits = (partial(_class_hits, _chamfer_distances, names) for names in ((LANE,), AREAS))

DET_L = _det("det_l", _lane_hits, LaneSettings, of=(LANE,), stated=f"Fréchet, {_METRES}")
DET_L_CH = _det("det_l_ch", _chamfer_hits, LaneChamferSettings, of=(LANE,), stated=f"Chamfer, {_METRES}")
DET_LS = _det("det_ls", _lane_hits, SegmentSettings, of=(LANE,), stated=f"lane segments, {_METRES}", needs=("links",))
DET_A = _det("det_a", _area_hits, AreaSettings, of=AREAS, stated=f"Chamfer, {_METRES}")
DET_T = _det("det_t", _box_hits, BoxSettings, of="boxes", stated="1 - IoU of boxes, mean over attributes")


FILLER = {"v1.0": 1.0, "v1.1": 0.5 + 2.0**-23}  # score of a false link that stands for a missed vertex
_RELEASES = {"v1.0": "v1.0 and v2.0", "v1.1": "v1.1 and v2.1"}
_TOP_COLUMNS = ("precision", "vertices")


@dataclass(frozen=True, eq=False, kw_only=True)
class _Vertices:
    """Lanes, and the lanes or traffic elements that they are linked with, numbered one after the other."""

    lanes: Matches
    columns: Matches
    shift: int  # the number of the first column
    confidence: Floats
    order: Indices
    nearest: Indices
    links_of_truth: Indices  # sources and targets
    scored_links: tuple[Indices, Indices, Floats]  # sources, targets and weights of predicted links

    def hits(self, number: int) -> Flags:
        """Return which vertices are true positives at a threshold of the lanes, by its number."""
        of_lanes: Flags = ((self.lanes.hits >> number) & 1) == 1
        if self.columns is self.lanes:
            return of_lanes
        # Traffic elements have one threshold. The kit has no more, and lanes are combined with the first one.
        return np.concatenate([of_lanes, (self.columns.hits & 1) == 1])


def _vertices(kind: str, groups: Groups, protocol: Protocol, own: Any) -> _Vertices:
    """Return the vertices of the links of one kind."""
    lanes = lane_matches(groups, protocol, own, segments=own.lanes == "segments")
    if kind == CONTROLLED_BY:
        columns = element_matches(groups, protocol, BoxSettings(thresholds=own.overlaps, strict=own.strict))
        parts = [lanes, columns]
        shift = len(lanes.rows)  # traffic elements are numbered after the lanes
    else:
        columns = lanes
        parts = [lanes]
        shift = 0
    predicted = np.concatenate([part.groups.is_prediction for part in parts])
    source, target, weight = _links_of(groups, kind, parts)
    true = ~predicted[source]
    return _Vertices(
        lanes=lanes,
        columns=columns,
        shift=shift,
        confidence=np.concatenate([part.groups.confidence for part in parts]),
        order=np.concatenate([part.groups.by_confidence + k * shift for k, part in enumerate(parts)]),
        nearest=np.concatenate([part.nearest + k * shift for k, part in enumerate(parts)]),
        links_of_truth=np.stack([source[true], target[true]]),
        scored_links=(source[~true], target[~true], weight[~true]),
    )


def _top_score(kind: str, groups: Groups, protocol: Protocol, setting: object) -> Floats:
    """Return the sum of the precisions of all vertices and their number, at the group of the lanes of each frame.

    ``setting`` is one of the thresholds, or None for all of them.
    """
    from mapgauge.features.openlane.kernels import topology_sums

    if kind == SUCCESSOR:
        own = protocol.settings["top_ll"]
    else:
        own = protocol.settings["top_lt"]
    vertices = _shared(groups, f"vertices {kind} {own}", partial(_vertices, kind, groups, protocol, own))
    sums = np.zeros((len(vertices.lanes.groups.bounds), 2))
    for number, threshold in enumerate(own.thresholds):
        if setting not in (None, threshold):
            continue
        topology_sums(
            vertices.lanes.groups.bounds,
            vertices.columns.groups.bounds + vertices.shift,
            own.rules == "v1.0",
            confidence=vertices.confidence,
            own=vertices.order,
            nearest=vertices.nearest,
            hit=vertices.hits(number),
            true_links=vertices.links_of_truth,
            links=vertices.scored_links,
            filler=FILLER[own.rules],
            out=sums,
        )
    return at_lanes(groups, sums)


def _links_of(groups: Groups, kind: str, parts: list[Matches]) -> tuple[Indices, Indices, Floats]:
    """Return sources, targets and weights of the links of one kind, sorted by source. Parts number the instances."""
    if groups.links is None:
        none = np.empty(0, np.int64)
        return none, none, np.empty(0)
    rows = np.concatenate([part.rows for part in parts])
    place = np.full(len(groups.confidence), -1)
    place[rows] = np.arange(len(rows))
    of_kind = np.flatnonzero(groups.links.is_kind(kind))
    source = place[groups.links.source[of_kind]]
    target = place[groups.links.target[of_kind]]
    kept = (source >= 0) & (target >= 0)
    return source[kept], target[kept], groups.links.weight[of_kind[kept]]


def _top_values(name: str, sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return the mean over vertices; NaN without any."""
    with np.errstate(invalid="ignore"):
        return {name: sums[..., 0] / sums[..., 1]}


@dataclass(frozen=True, kw_only=True)
class TopSettings(Settings):
    """Settings of TOP_ll: its rules, and those by which lanes are matched."""

    rules: Literal["v1.0", "v1.1"] = setting(
        "v1.1", word="topology", help="Version of the rules: v1.0 for versions 1.0 and 2.0, v1.1 for 1.1 and 2.1."
    )
    lanes: Literal["centrelines", "segments"] = setting(
        "centrelines", word="top lanes", help="Whether lanes are compared as centrelines or as lane segments."
    )
    thresholds: tuple[float, ...] = thresholds_of((1.0, 2.0, 3.0), word="top thresholds")
    strict: bool = setting(default=True, help="Whether a match needs a distance below the threshold, not equal to it.")
    relaxed: bool = setting(default=True, help=RELAXED)
    prefilter: float | None = setting(3.0, unit="m", check=check_length, help=PREFILTER)
    drop_closing: bool = setting(default=True, help=DROP_CLOSING)


@dataclass(frozen=True, kw_only=True)
class TopTrafficSettings(TopSettings):
    """Settings of TOP_lt, which also matches traffic elements."""

    overlaps: tuple[float, ...] = thresholds_of((0.75,), unit="", word="overlaps")


def _top_stated(name: str, protocol: Protocol) -> str:
    return f"rules of {_RELEASES[protocol.settings[name].rules]}, mean over vertices and thresholds"


def _top_row(name: str, title: str, kind: str, settings: type[TopSettings]) -> Metric:
    return _metric(
        name,
        title,
        rows=SumRows(_TOP_COLUMNS, partial(_top_score, kind), partial(_top_values, name)),
        also_at="thresholds",
        settings_type=settings,
        needs=frozenset({"confidences", "links"}),
        stated=partial(_top_stated, name),
        percent=True,
        of=(LANE,),
    )


TOP_LL = _top_row("top_ll", "TOP_ll", SUCCESSOR, settings=TopSettings)
TOP_LT = _top_row("top_lt", "TOP_lt", CONTROLLED_BY, settings=TopTrafficSettings)


# Lanes are compared at -50, -49, ... 49 m, as in the public evaluator (f_score.py).
FIRST = -50.0  # metres: the first place lies behind the vehicle
PLACES = 100  # a metre apart
_COLUMNS = ("found", "right", "true", "predicted")


@dataclass(frozen=True, kw_only=True)
class FLaneSettings(Settings):
    """Settings of the F-score of lanes."""

    apart: float = setting(1.5, unit="m", check=check_length, help="Distance from which places of two lanes are apart.")
    share: float = setting(0.75, help="Share of the places of a lane at which it must be near the other.")


def _score(groups: Groups, protocol: Protocol, setting: object) -> Floats:
    """Return the numbers of lanes that are found, that are right, that are true and that are predicted."""
    from mapgauge.features.openlane.kernels import matched_lanes

    lanes, _ = of_frames(groups, (LANE,))
    points = lanes.points
    if groups.forward == "y":
        points = np.ascontiguousarray(points[[1, 0, *range(2, len(points))]])
    counts = np.zeros((len(lanes.bounds), len(_COLUMNS)))
    own = protocol.settings["f_lane"]
    matched_lanes(
        points,
        lanes.polylines.offsets,
        lanes.bounds,
        first=FIRST,
        places=PLACES,
        apart=own.apart,
        share=own.share,
        out=counts,
    )
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


F_LANE = _metric(
    "f_lane",
    "F-score of 3-D lanes",
    symbol="F",
    values=(
        Value(key="f_lane", part="", title="F", role="main"),
        Value(key="f_lane_precision", part="precision", title="precision"),
        Value(key="f_lane_recall", part="recall", title="recall"),
    ),
    rows=SumRows(_COLUMNS, _score, _values),
    settings_type=FLaneSettings,
    stated=_stated,
    percent=True,
    of=(LANE,),
)


def _mean(means: Mapping[str, Floats]) -> Floats:
    """Return the mean of all values, with the square roots of those of TOP."""
    terms = [np.sqrt(value) if name.startswith("top_") else value for name, value in means.items()]
    return np.asarray(np.mean(terms, axis=0))


def _combined_row(name: str, title: str, of: tuple[str, ...], stated: str) -> Metric:
    return _metric(name, title, rows=CombinedRows(of, _mean), stated=lambda _: stated, percent=True)


OLS = _combined_row(
    "ols", "OLS", ("det_l", "det_t", "top_ll", "top_lt"), stated="mean of DET_l, DET_t, √TOP_ll, √TOP_lt"
)
OLUS = _combined_row(
    "olus",
    "OLUS",
    ("det_ls", "det_a", "det_t", "top_ll", "top_lt"),
    stated="mean of DET_ls, DET_a, DET_t, √TOP_lsls, √TOP_lste",
)
# The mean that gives the rows of the tables of TopoMaskV3 (arXiv 2603.01558) that were checked.
OLS_L = _combined_row("ols_l", "OLS_l", ("det_l", "det_l_ch", "top_ll"), stated="mean of DET_l, DET_l_ch, √TOP_ll")
