"""LaneGraph: the lanes of a map, as centrelines with links."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mapgauge.frames.findings import Finding
from mapgauge.frames.links import LEFT, RIGHT, SUCCESSOR, Links
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Flags, Points

RESOLUTION = 0.5  # metres, at most, between the points of a centreline


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
        """Connect lanes. A lane that names a successor is a predecessor of that lane, and the other way round.

        Neighbours outside the map are left out, because a map is a part of a city.
        """
        index = {lane.id: k for k, lane in enumerate(lanes)}
        found: dict[tuple[int, int, str], None] = {}
        for k, lane in enumerate(lanes):
            for kind, names in ((SUCCESSOR, lane.successors), (LEFT, lane.left), (RIGHT, lane.right)):
                found |= dict.fromkeys((k, index[name], kind) for name in names if name in index)
            found |= dict.fromkeys((index[name], k, SUCCESSOR) for name in lane.predecessors if name in index)
        return cls(
            tuple(lane.id for lane in lanes),
            Polylines.of([lane.points for lane in lanes], "lanes"),
            Links.of([a for a, _, _ in found], [b for _, b, _ in found], kind=[kind for *_, kind in found]),
            np.array([lane.intersection for lane in lanes], np.bool_),
            tuple(lane.lane_type for lane in lanes),
            tuple(findings),
        )

    def __len__(self) -> int:
        """Number of lanes."""
        return len(self.ids)
