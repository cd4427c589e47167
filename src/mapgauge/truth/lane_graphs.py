"""Lane graphs of maps: centrelines with links, cut at the region of each frame."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.frames.alignment import add_instances, join_frames
from mapgauge.frames.findings import Finding, findings_about, summed
from mapgauge.frames.links import LEFT, RIGHT, SUCCESSOR, Links, cut_links
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.cropping import crop_polylines
from mapgauge.geometry.polylines import Polylines, boxes_of, ranges
from mapgauge.geometry.poses import level
from mapgauge.truth.cutting.fragments import Fragment, Tracker, by_frame
from mapgauge.truth.cutting.shapes import lengths_along
from mapgauge.typing import Flags, Forward, Indices, Points
from mapgauge.words import counted

RESOLUTION = 0.5  # metres, at most, between the points of a centreline
CENTERLINE = "centerline"


class Lane(NamedTuple):
    """One lane of a map."""

    id: str
    points: Points  # (n, 2 or 3), in map coordinates, in the driving direction
    successors: Sequence[str] = ()  # ids of lanes that begin where this one ends; they may be outside the map
    predecessors: Sequence[str] = ()
    left: Sequence[str] = ()  # ids of the lanes beside this one; they may have the opposite direction
    right: Sequence[str] = ()
    intersection: bool = False
    lane_type: str = ""


@dataclass(frozen=True, eq=False)
class LaneGraph:
    """The lanes of a map, in the order of the file. Links join the indices of lanes."""

    ids: tuple[str, ...]  # one per lane
    lines: Polylines  # (lanes,): centrelines in map coordinates, in the driving direction
    links: Links  # "successor", "left" and "right"; all weights are 1
    intersection: Flags  # (lanes,): whether a lane is in an intersection; in nuScenes, whether it is a connector
    lane_type: tuple[str, ...]  # one per lane, as in the file; "" if it has none
    findings: tuple[Finding, ...] = ()  # about this map

    @classmethod
    def of(cls, lanes: Sequence[Lane], findings: Sequence[Finding] = ()) -> "LaneGraph":
        """Connect lanes. Neighbours outside the map are left out, because a map is a part of a city."""
        index = {lane.id: k for k, lane in enumerate(lanes)}
        links: dict[tuple[int, int, str], None] = {}  # source, target and kind of each link, once
        for k, lane in enumerate(lanes):
            for kind, names in ((SUCCESSOR, lane.successors), (LEFT, lane.left), (RIGHT, lane.right)):
                links |= dict.fromkeys((k, index[name], kind) for name in names if name in index)
            links |= dict.fromkeys((index[name], k, SUCCESSOR) for name in lane.predecessors if name in index)
        return cls(
            tuple(lane.id for lane in lanes),
            Polylines.of([lane.points for lane in lanes], "lanes"),
            Links.of([a for a, _, _ in links], [b for _, b, _ in links], kind=[kind for *_, kind in links]),
            intersection=np.array([lane.intersection for lane in lanes], np.bool_),
            lane_type=tuple(lane.lane_type for lane in lanes),
            findings=tuple(findings),
        )

    def __len__(self) -> int:
        """Number of lanes."""
        return len(self.ids)


def left_out_lanes(map_name: str, ids: Sequence[str]) -> list[Finding]:
    """Return the finding about lanes that were left out, if there are any."""
    text = f"{map_name}: {counted(len(ids), 'lane')} without a path of at least two points left out"
    return findings_about(ids, "note", "lanes-left-out", text=text)


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
    """Cut a lane graph at a region around each pose ``(frames, 4, 4)``. The height of a map without heights is 0."""
    if graph.lines.dimension == 2 and dimension == 2:
        poses = np.array([level(pose) for pose in poses]).reshape(-1, 4, 4)
    frame, lane = _near(graph, poses, region)
    sizes = np.diff(graph.lines.offsets)[lane]
    points = ranges(graph.lines.offsets[lane], sizes)
    local = _to_frame(graph.lines.coords[points], poses, np.repeat(frame, sizes))[:, :dimension]
    # The distance along the lane is one more coordinate, which cropping interpolates.
    columns = np.column_stack([local, lengths_along(graph.lines.coords, graph.lines.offsets)[points]])
    whole = Polylines(np.ascontiguousarray(columns), np.concatenate([[0], sizes]).cumsum())
    parts, sources = crop_polylines(whole, (region[0], region[1]))
    links = cut_links(_links(graph, frame, lane), whole, parts, sources=sources)
    ends = np.column_stack([parts.coords[parts.offsets[:-1], -1], parts.coords[parts.offsets[1:] - 1, -1]])
    lines = Polylines(np.ascontiguousarray(parts.coords[:, :-1]), parts.offsets)
    return CutLanes(frame[sources], lane[sources], lines, along=ends, links=links or Links.of([], []))


def _near(graph: LaneGraph, poses: NDArray[np.float64], region: Sequence[float]) -> tuple[Indices, Indices]:
    """Return the pairs of a frame and a lane that may be in its region, sorted."""
    if not len(graph):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    # The circle around the region, a little larger: a tilted pose makes what it sees shorter.
    reach = 1 + 1.05 * np.hypot(region[0], region[1]) / 2
    low, high = boxes_of(graph.lines.coords[:, :2], graph.lines.offsets[:-1])
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


def _links(graph: LaneGraph, frame: Indices, lane: Indices) -> Links:
    """Return the links of the graph between pairs of a frame and a lane, which are sorted."""
    links = graph.links
    count = len(graph)
    key = frame * count + lane
    bounds = np.searchsorted(links.source, np.arange(count + 1))
    counts = np.diff(bounds)[lane]
    link = ranges(bounds[lane], counts)
    source = np.repeat(np.arange(len(lane)), counts)
    wanted = frame[source] * count + links.target[link]
    target = np.searchsorted(key, wanted)
    if len(key):
        shown = key[target.clip(max=max(len(key) - 1, 0))] == wanted
    else:
        shown = np.zeros(0, np.bool_)
    chosen = link[shown]
    return Links(source[shown], target[shown], links.weight[chosen], code=links.code[chosen], kinds=links.kinds)


def add_centerlines(
    frames: MapFrames, graph_of: Callable[[str], LaneGraph], region: tuple[float, float], forward: Forward = "x"
) -> MapFrames:
    """Add the centrelines of lanes to frames, with links. ``graph_of`` returns the lane graph of a scene."""
    if frames.scenes is None or frames.poses is None:
        raise InvalidInput("centrelines need the scenes and the poses of the frames")
    parts = []
    findings = list[Finding]()
    if forward == "y":
        turned = frames.rotate(-90)
    else:
        turned = frames
    for scene, group in groupby(range(len(frames)), key=frames.scenes.__getitem__):  # frames of a scene are in a row
        rows = list(group)
        graph = graph_of(scene)
        findings += graph.findings
        parts.append(_scene_centerlines(turned.between(slice(rows[0], rows[-1] + 1)), graph, region))
    no_lanes = replace(MapFrames.of({}, classes=(CENTERLINE,)), links=Links.of([], []))
    if parts:
        lanes = join_frames(parts)
    else:
        lanes = no_lanes
    if forward == "y":
        lanes = lanes.rotate(90)
    return replace(add_instances(frames, lanes), findings=(*frames.findings, *summed(findings, "maps")))


def _scene_centerlines(frames: MapFrames, graph: LaneGraph, region: tuple[float, float]) -> MapFrames:
    """Return the centrelines of the frames of one scene, with x forward."""
    assert frames.poses is not None  # the caller checked it
    cut = cut_graph(graph, frames.poses, region, dimension=frames.dimension)
    rows = zip(cut.frame.tolist(), cut.lane.tolist(), cut.lines, cut.along.tolist(), strict=True)
    fragments = ((k, Fragment(points, (graph.ids[lane],), (start, stop))) for k, lane, points, (start, stop) in rows)
    tracker = Tracker()
    names = [name for group in by_frame(len(frames), fragments) for name in tracker.names(group)]
    return MapFrames(
        frames.tokens,
        (CENTERLINE,),
        cut.frame,
        label=np.zeros(len(cut.frame), np.int64),
        polylines=cut.lines,
        track=np.array(names, np.str_),
        links=cut.links,
    )
