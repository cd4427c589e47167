"""Rules: how each public repository makes truth from a map, as data.

Methods are trained and scored on truth that their repositories cut from the same maps in different ways. A row of
``RULES`` describes one of these ways completely. ``docs/reference/truth.md`` lists the differences between the rows,
and between a row and its repository.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.words import did_you_mean

CLASSES = ("ped_crossing", "divider", "boundary")

MergeName: TypeAlias = Literal["parallel", "union", "parallel-compact", "none"]
CutAgain: TypeAlias = Literal["no", "open", "closed"]
CutIn: TypeAlias = Literal["map", "vehicle"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthRules:
    """How to make truth from a map. Lengths are in metres."""

    name: str
    dataset: str
    about: str  # one line for people

    crossings: tuple[str, ...]  # map layers for the class ped_crossing
    dividers: tuple[str, ...]  # map layers for the class divider, in this order
    boundaries: tuple[str, ...]  # polygon layers; the edge of their union is the class boundary

    # Which crossings are merged, after cutting. "parallel": their bounding boxes meet and their long sides are
    # parallel. "union": they touch. "parallel-compact": as "parallel", if the result is nearly convex. "none": none.
    crossing_merge: MergeName = "parallel"
    crossing_clockwise: bool = False  # direction of outlines; holes run the other way
    crossing_holes: bool = False  # whether holes of merged crossings are instances too
    crossing_cut: float | None = None  # None: outlines are closed along the edge; else open at the edge grown by this
    boundary_grow: float = -0.2  # how far the edge of the region is moved outwards to cut boundaries

    # How the public converters of nuScenes cut. The defaults prepare a whole map once, and cut it for many frames.
    # Per frame: every element is cut in map coordinates, pieces are merged and united in the axes of ``centre`` (the x
    # axis of the LiDAR points to the right), and the result is turned last. A line that crosses itself is split there.
    per_frame: bool = False
    # Per frame: whether outlines of crossings are cut again, as lines. "open": a line that falls apart is closed, any
    # other may stay open. "closed": every line is closed.
    crossing_again: CutAgain = "no"
    invalid_polygons: Literal["repair", "skip"] = "repair"

    simplify: float = 0.0  # tolerance of the simplification by Douglas and Peucker, after cutting; 0 for none
    centre: Literal["ego", "lidar"] = "ego"  # of the region
    forward: Literal["x", "y"] = "x"  # the axis that points forward; with y, x points to the right

    # For maps without a layer of dividers (Argoverse 2). "lane-marks": painted lines. "lane-graph": lines between
    # neighbouring lanes. "lane-paths": likewise, followed from lane to lane in each frame. "one-way-paths": likewise,
    # after one of two opposite lanes was dropped.
    divider_source: Literal["layers", "lane-marks", "lane-graph", "lane-paths", "one-way-paths"] = "layers"
    duplicate_buffer: float = 0.0  # dividers are widened by this much to each side to find duplicates
    duplicate_overlap: float = 0.0  # smallest overlap of duplicates: metres (lane-marks) or a share (the others)
    join_distance: float = 0.0  # dividers are joined if their ends are at most this far apart; 0 for not at all
    drop_on_boundary: bool = False  # whether dividers along a boundary are left out
    simplify_dividers: float = 0.0  # as ``simplify``, but before cutting
    simplify_boundaries: float = 0.0  # likewise
    cut_in: CutIn = "map"  # per frame: coordinates in which drivable areas are cut; "vehicle" tilts with the vehicle
    crossing_least: float = 0.0  # smaller crossings are left out, square metres
    shortest: float = 0.0  # shorter dividers and boundaries are left out, after cutting
    tilt: bool = False  # whether roll and pitch of the vehicle count
    height: bool = False  # whether points have a height
    log_in_token: bool = False  # whether a token is the log id and the time, or only the time


_nuscenes = partial(TruthRules, dataset="nuscenes", crossings=("ped_crossing",), boundaries=("road_segment", "lane"))
_nuscenes_public = partial(_nuscenes, per_frame=True, invalid_polygons="skip")
_argoverse2 = partial(
    TruthRules,
    dataset="argoverse2",
    crossings=("pedestrian_crossings",),
    dividers=("lane_segments",),
    boundaries=("drivable_areas",),
)
_argoverse2_public = partial(_argoverse2, per_frame=True, tilt=True)
_argoverse2_paths = partial(
    _argoverse2_public, simplify_dividers=0.2, duplicate_overlap=0.9, invalid_polygons="skip", log_in_token=True
)
_argoverse2_own = partial(_argoverse2, join_distance=0.1, simplify_dividers=0.2)
_own_map = partial(
    TruthRules,
    dataset="map",
    crossings=(),
    dividers=(),
    boundaries=(),
    crossing_merge="none",
    crossing_least=0.01,
    shortest=0.1,
)

RULES: Mapping[tuple[str, str], TruthRules] = {
    (row.dataset, row.name): row
    for row in (
        _nuscenes_public(
            name="streammapnet",
            about="StreamMapNet: ego frame, parallel crossings merged, 0.2 m simplification",
            dividers=("lane_divider", "road_divider"),
            crossing_again="open",
            simplify=0.2,
        ),
        _nuscenes_public(
            name="maptr",
            about="MapTR and MapTRv2: LiDAR frame with y forward, touching crossings merged, no simplification",
            dividers=("road_divider", "lane_divider"),
            crossing_merge="union",
            crossing_clockwise=True,
            crossing_holes=True,
            centre="lidar",
            forward="y",
        ),
        _nuscenes_public(
            name="maptracker",
            about="MapTracker: LiDAR position, x forward, compact parallel crossings merged, 0.2 m simplification",
            dividers=("road_divider", "lane_divider"),
            crossing_merge="parallel-compact",
            crossing_again="closed",
            simplify=0.2,
            centre="lidar",
        ),
        _nuscenes(
            name="mapgauge",
            about="mapgauge: as StreamMapNet, but united once for a map, invalid polygons repaired, crossings closed",
            dividers=("lane_divider", "road_divider"),
            simplify=0.2,
        ),
        _argoverse2_public(
            name="streammapnet",
            about="StreamMapNet: painted lane boundaries, crossings not merged, 0.2 m simplification",
            divider_source="lane-marks",
            duplicate_buffer=0.3,
            duplicate_overlap=0.2,
            drop_on_boundary=True,
            join_distance=0.1,
            crossing_again="open",
            cut_in="vehicle",
            simplify=0.2,
        ),
        _argoverse2_paths(
            name="maptrv2",
            about="MapTRv2: lines between lanes of one direction, parallel crossings merged",
            divider_source="lane-paths",
            duplicate_buffer=1.0,
            crossing_cut=-0.2,
        ),
        _argoverse2_paths(
            name="maptracker",
            about="MapTracker: lines between neighbouring lanes, crossings closed, 0.2 m simplification",
            divider_source="one-way-paths",
            duplicate_buffer=0.1,
            drop_on_boundary=True,
            join_distance=0.1,
            crossing_again="closed",
            crossing_least=1.0,
            simplify=0.2,
        ),
        _argoverse2_own(
            name="mapgauge",
            about="mapgauge: painted lane boundaries, made once for a map; parallel crossings merged, all closed",
            divider_source="lane-marks",
            duplicate_buffer=0.3,
            duplicate_overlap=0.2,
            drop_on_boundary=True,
            simplify_boundaries=0.2,
        ),
        _argoverse2_own(
            name="mapgauge-lanes",
            about="mapgauge: lines between neighbouring lanes, made once for a map; parallel crossings merged",
            crossing_cut=-0.2,
            divider_source="lane-graph",
            duplicate_buffer=1.0,
            duplicate_overlap=0.9,
            log_in_token=True,
        ),
        _own_map(name="plain", about="every element cut at the region, nothing merged or simplified"),
        _own_map(name="simplified", about="as plain, with 0.2 m simplification", simplify=0.2),
    )
}


def rules_named(dataset: str, name: str) -> TruthRules:
    """Return the rules of a data set by name."""
    if (dataset, name) not in RULES:
        known = [row for owner, row in RULES if owner == dataset]
        elsewhere = sorted({owner for owner, row in RULES if row == name})
        note = ""
        if elsewhere:
            note = f" ({name} is for {', '.join(elsewhere)})"
        text = f"unknown rules {name!r} for {dataset}{note}, expected one of {', '.join(known)}"
        meant = did_you_mean(name, known)
        if not meant and not elsewhere:
            meant = did_you_mean(name, [row for _, row in RULES])
            if meant:
                meant += " But these rules are for another data set"
        raise InvalidInput(f"{text}{meant}")
    return RULES[dataset, name]


def with_height(rules: TruthRules) -> TruthRules:
    """Return rules whose truth has height, or raise an error if it cannot have height."""
    if not rules.tilt:
        able = [row.name for row in RULES.values() if row.dataset == rules.dataset and row.tilt]
        raise InvalidInput(
            f"the rules {rules.name} make flat truth, so height is not available",
            remedy=Remedy(f"Pass rules= one of {', '.join(able)}", f"Pass --rules with one of {', '.join(able)}"),
        )
    return replace(rules, height=True)
