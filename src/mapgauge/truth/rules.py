"""Rules: what the public repositories make of a map, as data.

Methods are trained and scored on truth that their repositories cut from the same maps in different ways. A row of
``RULES`` says one of these ways in full; ``docs/reference/truth.md`` says where they differ and what is ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from mapgauge.errors import InvalidInput

CLASSES = ("ped_crossing", "divider", "boundary")

MergeName: TypeAlias = Literal["parallel", "union", "parallel-compact"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How truth is made from a map. Lengths are in metres."""

    name: str
    dataset: str
    about: str  # one line for people

    crossings: tuple[str, ...]  # layers of the map that make the class ped_crossing
    dividers: tuple[str, ...]  # in this order
    boundaries: tuple[str, ...]  # polygons; the edge of their union is the class boundary

    # Which crossings become one, after cutting: "parallel" those whose bounding boxes meet and whose long sides are
    # parallel; "union" all that touch; "parallel-compact" as parallel, if the result is nearly convex.
    crossing_merge: MergeName
    crossing_clockwise: bool  # the direction of outlines; holes go the other way
    crossing_holes: bool = False  # whether holes of merged crossings are instances too
    crossing_cut: float | None = None  # None: closed along the edge; else outlines end at the edge moved by so much
    boundary_grow: float  # how far the edge of the region is moved outwards where boundaries are cut

    simplify: float = 0.0  # tolerance of Douglas and Peucker's simplification; 0 for none
    centre: Literal["ego", "lidar"] = "ego"  # of the region
    forward: Literal["x", "y"] = "x"  # the axis of the result that points forward; y: x to the right

    # Where lanes have no divider lines of their own (Argoverse 2).
    divider_source: Literal["layers", "lane-marks", "lane-graph"] = "layers"
    duplicate_buffer: float = 0.0  # two dividers are compared after widening them by so much to each side
    duplicate_overlap: float = 0.0  # from here on they are the same: metres (lane-marks) or a share (lane-graph)
    join_distance: float = 0.0  # ends of dividers that are so close are joined
    drop_on_boundary: bool = False  # dividers that run along a boundary are left out
    simplify_dividers: float = 0.0  # as ``simplify``, but before cutting, so that a line is the same in all frames
    simplify_boundaries: float = 0.0  # likewise
    log_in_token: bool = False  # whether a token is the log's id and the time, or the time alone


_nuscenes = partial(
    Rules, dataset="nuscenes", crossings=("ped_crossing",), boundaries=("road_segment", "lane"), boundary_grow=-0.2
)
_argoverse2 = partial(
    Rules,
    dataset="argoverse2",
    crossings=("pedestrian_crossings",),
    dividers=("lane_segments",),
    boundaries=("drivable_areas",),
    boundary_grow=-0.2,
)

RULES: Mapping[tuple[str, str], Rules] = {
    (row.dataset, row.name): row
    for row in (
        _nuscenes(
            name="streammapnet",
            about="StreamMapNet: ego frame, parallel crossings merged, 0.2 m simplification",
            dividers=("lane_divider", "road_divider"),
            crossing_merge="parallel",
            crossing_clockwise=False,
            simplify=0.2,
        ),
        _nuscenes(
            name="maptr",
            about="MapTR and MapTRv2: LiDAR frame with y forward, touching crossings merged, no simplification",
            dividers=("road_divider", "lane_divider"),
            crossing_merge="union",
            crossing_clockwise=True,
            crossing_holes=True,
            centre="lidar",
            forward="y",
        ),
        _nuscenes(
            name="maptracker",
            about="MapTracker: LiDAR position, x forward, compact parallel crossings merged, 0.2 m simplification",
            dividers=("road_divider", "lane_divider"),
            crossing_merge="parallel-compact",
            crossing_clockwise=False,
            simplify=0.2,
            centre="lidar",
        ),
        _argoverse2(
            name="streammapnet",
            about="StreamMapNet: painted lane boundaries, parallel crossings merged, 0.2 m simplification",
            crossing_merge="parallel",
            crossing_clockwise=False,
            divider_source="lane-marks",
            duplicate_buffer=0.3,
            duplicate_overlap=0.2,
            join_distance=0.1,
            drop_on_boundary=True,
            simplify_dividers=0.2,
            simplify_boundaries=0.2,
        ),
        _argoverse2(
            name="maptrv2",
            about="MapTRv2: lines between neighbouring lanes outside intersections, parallel crossings merged",
            crossing_merge="parallel",
            crossing_clockwise=False,
            crossing_cut=-0.2,
            divider_source="lane-graph",
            duplicate_buffer=1.0,
            duplicate_overlap=0.9,
            join_distance=0.1,
            simplify_dividers=0.2,
            log_in_token=True,
        ),
    )
}


def rules_named(dataset: str, name: str) -> Rules:
    """A row of the table."""
    known = [row for of, row in RULES if of == dataset]
    if (dataset, name) not in RULES:
        elsewhere = sorted({of for of, row in RULES if row == name})
        there = f" ({name} is for {', '.join(elsewhere)})" if elsewhere else ""
        raise InvalidInput(f"unknown rules {name!r} for {dataset}{there}. Known: {', '.join(known)}")
    return RULES[dataset, name]
