"""Reads the lane graph of an Argoverse 2 log from its vector map.

The map describes a lane segment by the lines on its left and on its right. Its centreline is the mean of the two, after
both were resampled to the same number of points. Maps with centrelines of their own, such as those of the motion
forecasting data set, keep them.
"""

import math
from pathlib import Path

import msgspec
import numpy as np

from mapgauge.geometry.polylines import Polylines
from mapgauge.geometry.resampling import resample_polylines
from mapgauge.truth.datasets import read_json
from mapgauge.truth.from_argoverse2.vector_map import Point, distinct, elements_of, map_of, points_of
from mapgauge.truth.lane_graphs import RESOLUTION, Lane, LaneGraph, left_out_lanes
from mapgauge.typing import Points


class _LaneSegment(msgspec.Struct):
    id: int
    left_lane_boundary: list[Point]
    right_lane_boundary: list[Point]
    centerline: list[Point] | None = None
    is_intersection: bool = False
    lane_type: str = ""
    successors: list[int] = []
    predecessors: list[int] = []
    left_neighbor_id: int | None = None
    right_neighbor_id: int | None = None


class _Map(msgspec.Struct):
    lane_segments: dict[str, _LaneSegment]


def read_lane_graph(log: Path) -> LaneGraph:
    """Read the lanes of a log, with height."""
    path = map_of(log)
    lanes, left_out = [], []
    segments = read_json(path, _Map, "a vector map of Argoverse 2").lane_segments
    for segment in elements_of(segments, path, "lane segment"):
        points = _centreline(segment, path)
        if len(points) < 2:
            left_out.append(f"{segment.id}")
            continue
        sides = (segment.left_neighbor_id, segment.right_neighbor_id)
        left, right = ([] if side is None else [f"{side}"] for side in sides)
        lanes.append(
            Lane(
                f"{segment.id}",
                points,
                [f"{name}" for name in segment.successors],
                [f"{name}" for name in segment.predecessors],
                left,
                right,
                segment.is_intersection,
                segment.lane_type,
            )
        )
    return LaneGraph.of(lanes, left_out_lanes(log.name, left_out))


def _centreline(segment: _LaneSegment, path: Path) -> Points:
    """Return the centreline of a lane segment, or no points if it has no length."""
    if segment.centerline is not None:
        return distinct(points_of(segment.centerline, path, f"centreline of lane segment {segment.id}"))
    sides = []
    for name, line in (("left", segment.left_lane_boundary), ("right", segment.right_lane_boundary)):
        sides.append(points_of(line, path, f"{name} boundary of lane segment {segment.id}"))
    if not all(len(side) for side in sides):
        return np.empty((0, 3))
    longest = max(np.linalg.norm(np.diff(side, axis=0), axis=1).sum() for side in sides)
    count = max(2, math.ceil(longest / RESOLUTION) + 1)
    left, right = (resample_polylines(Polylines.of([side]), count=count).coords for side in sides)
    return distinct((left + right) / 2)
