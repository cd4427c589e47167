"""Cuts lane graphs at the regions of frames."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.frames.links import Links, cut_links
from mapgauge.geometry.cropping import crop_polylines
from mapgauge.geometry.polylines import Polylines, ranges
from mapgauge.geometry.poses import level
from mapgauge.truth.lane_graphs.graph import LaneGraph
from mapgauge.typing import Indices, Points


class CutLanes(NamedTuple):
    """The parts of lanes that frames show, sorted by frame and lane."""

    frame: Indices  # (parts,)
    lane: Indices  # (parts,): index into the lanes of the graph
    lines: Polylines  # (parts,): in the coordinates of the frame
    along: Points  # (parts, 2): start and stop along the lane, metres
    links: Links  # between parts of the same frame


def cut_graph(
    graph: LaneGraph, poses: NDArray[np.float64], region: tuple[float, float], dimension: int = 2
) -> CutLanes:
    """Cut a lane graph at a region around each pose.

    A lane that leaves the region and comes back gives several parts. A link to a successor stays if the end of its
    source and the start of its target are inside; ``cut_links`` has the rule.

    Args:
        graph: The lanes.
        poses: ``(frames, 4, 4)``, from the coordinates of a frame, x forward, to those of the map.
        region: Length and width in metres.
        dimension: Coordinates of the result: 2 or 3. The height of a map without heights is 0.
    """
    if graph.lines.dimension == 2 and dimension == 2:
        poses = np.array([level(pose) for pose in poses]).reshape(-1, 4, 4)
    frame, lane = _near(graph, poses, region)
    sizes = np.diff(graph.lines.offsets)[lane]
    points = ranges(graph.lines.offsets[lane], sizes)
    local = _to_frame(graph.lines.coords[points], poses, np.repeat(frame, sizes))[:, :dimension]
    # The distance along the lane is one more coordinate, which cropping interpolates.
    columns = np.column_stack([local, _along(graph.lines)[points]])
    whole = Polylines(np.ascontiguousarray(columns), np.concatenate([[0], sizes]).cumsum())
    parts, sources = crop_polylines(whole, (region[0], region[1]))
    links = cut_links(_links(graph, frame, lane), whole, parts, sources)
    ends = np.column_stack([parts.coords[parts.offsets[:-1], -1], parts.coords[parts.offsets[1:] - 1, -1]])
    lines = Polylines(np.ascontiguousarray(parts.coords[:, :-1]), parts.offsets)
    return CutLanes(frame[sources], lane[sources], lines, ends, links or Links.of([], []))


def _near(graph: LaneGraph, poses: NDArray[np.float64], region: Sequence[float]) -> tuple[Indices, Indices]:
    """Return the pairs of a frame and a lane that may be in its region, sorted."""
    if not len(graph):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    # The circle around the region, a little larger: a tilted pose makes what it sees shorter.
    reach = 1 + 1.05 * np.hypot(region[0], region[1]) / 2
    starts = graph.lines.offsets[:-1]
    low, high = (f.reduceat(graph.lines.coords[:, :2], starts) for f in (np.minimum, np.maximum))
    centre = poses[:, None, :2, 3]
    frame, lane = np.nonzero(((low <= centre + reach) & (high >= centre - reach)).all(axis=2))
    return frame.astype(np.int64), lane.astype(np.int64)


def _to_frame(coords: Points, poses: NDArray[np.float64], frame: Indices) -> Points:
    """Move points ``(n, 2 or 3)`` of the map to the coordinates of their frames, ``(n, 3)``."""
    away = np.zeros((len(coords), 3))
    away[:, : coords.shape[1]] = coords
    away -= poses[frame, :3, 3]
    turn = poses[frame, :3, :3]
    return sum((turn[:, k, :] * away[:, k, None] for k in range(3)), start=np.zeros_like(away))


def _along(lines: Polylines) -> NDArray[np.float64]:
    """Return the distance of each point from the start of its line, in metres, seen from above."""
    step = np.zeros(len(lines.coords))
    step[1:] = np.hypot(*np.diff(lines.coords[:, :2], axis=0).T)
    sums = step.cumsum()
    along: NDArray[np.float64] = sums - np.repeat(sums[lines.offsets[:-1]], np.diff(lines.offsets))
    return along


def _links(graph: LaneGraph, frame: Indices, lane: Indices) -> Links:
    """Return the links of the graph between pairs of a frame and a lane, which are sorted."""
    links, count = graph.links, len(graph)
    key = frame * count + lane
    bounds = np.searchsorted(links.source, np.arange(count + 1))
    counts = np.diff(bounds)[lane]
    link = ranges(bounds[lane], counts)
    source = np.repeat(np.arange(len(lane)), counts)
    wanted = frame[source] * count + links.target[link]
    target = np.searchsorted(key, wanted)
    there = key[target.clip(max=max(len(key) - 1, 0))] == wanted if len(key) else np.zeros(0, np.bool_)
    chosen = link[there]
    return Links(source[there], target[there], links.weight[chosen], links.code[chosen], links.kinds)
