"""Adds the class ``centerline``, with links between lanes, to truth that was cut from a map."""

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from typing import Literal, TypeAlias

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.frames.findings import Finding, summed
from mapgauge.frames.joining import add_instances, join_frames
from mapgauge.frames.links import Links
from mapgauge.frames.map_frames import MapFrames
from mapgauge.truth.cutting.fragments import Fragment
from mapgauge.truth.lane_graphs.cutting import cut_graph
from mapgauge.truth.lane_graphs.graph import LaneGraph
from mapgauge.truth.tracks import Tracker

CENTERLINE = "centerline"

GraphOfScene: TypeAlias = Callable[[str], LaneGraph]


def add_centerlines(
    frames: MapFrames, graph_of: GraphOfScene, region: tuple[float, float], forward: Literal["x", "y"] = "x"
) -> MapFrames:
    """Add the centrelines of lanes to frames, with links.

    Args:
        frames: Truth with scenes and poses. The frames of a scene follow each other.
        graph_of: Returns the lane graph of a scene by its name.
        region: Length and width in metres, along and across the driving direction.
        forward: The axis of the frames that points forward.
    """
    if frames.scenes is None or frames.poses is None:
        raise InvalidInput("centrelines need the scenes and the poses of the frames")
    parts, findings = [], []
    turned = frames.rotate(-90) if forward == "y" else frames
    start = 0
    for scene, group in groupby(frames.scenes):
        stop = start + len(list(group))
        graph = graph_of(scene)
        findings += list(graph.findings)
        parts.append(_scene_centerlines(turned.between(slice(start, stop)), graph, region))
        start = stop
    lanes = join_frames(parts) if parts else _no_lanes()
    lanes = lanes.rotate(90) if forward == "y" else lanes
    every: tuple[Finding, ...] = (*frames.findings, *summed(findings, "maps"))
    return replace(add_instances(frames, lanes), findings=every)


def _scene_centerlines(frames: MapFrames, graph: LaneGraph, region: tuple[float, float]) -> MapFrames:
    """Return the centrelines of the frames of one scene, with x forward."""
    assert frames.poses is not None  # the caller checked it
    cut = cut_graph(graph, frames.poses, region, frames.dimension)
    fragments: list[list[Fragment]] = [[] for _ in frames.tokens]
    for frame, lane, points, along in zip(cut.frame.tolist(), cut.lane.tolist(), cut.lines, cut.along, strict=True):
        fragments[frame].append(Fragment(points, (graph.ids[lane],), (float(along[0]), float(along[1]))))
    tracker = Tracker()
    names = [name for group in fragments for name in tracker.names(group)]
    return MapFrames(
        frames.tokens,
        (CENTERLINE,),
        cut.frame,
        np.zeros(len(cut.frame), np.int64),
        cut.lines,
        track=np.array(names, np.str_),
        links=cut.links,
    )


def _no_lanes() -> MapFrames:
    return replace(MapFrames.of({}, classes=(CENTERLINE,)), links=Links.of([], []))
