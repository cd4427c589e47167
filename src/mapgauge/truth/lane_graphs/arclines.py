"""Arcline paths: curves of arcs and straight parts, in which nuScenes describes the middle of a lane.

A path begins at a pose and has three segments. Each letter of its shape describes one of them: ``L`` turns left with
the radius of the path, ``R`` turns right, ``S`` is straight. Segments follow each other without a bend. A lane is a
sequence of paths.
"""

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from mapgauge.typing import Points

_TURN = {"L": 1.0, "S": 0.0, "R": -1.0}


class ArclinePath(msgspec.Struct):
    """One path, as in ``arcline_path_3`` of the map expansion."""

    start_pose: tuple[float, float, float]  # x, y in metres, heading in radians
    end_pose: tuple[float, float, float]
    shape: str  # such as "LSR"
    radius: float  # metres, of all arcs
    segment_length: tuple[float, float, float]  # metres

    def fault(self) -> str:
        """Return what is wrong with the path, or an empty text."""
        numbers = (*self.start_pose, *self.end_pose, self.radius, *self.segment_length)
        if not all(map(math.isfinite, numbers)):
            return "expected finite numbers, found NaN or infinity"
        if len(self.shape) != len(self.segment_length) or not set(self.shape) <= set(_TURN):
            return f"expected a shape of three letters L, R or S, found {self.shape!r}"
        if self.radius <= 0:
            return f"expected a positive radius, found {self.radius}"
        if min(self.segment_length) < 0:
            return f"expected lengths of at least 0, found {list(self.segment_length)}"
        return ""

    @property
    def length(self) -> float:
        """Length in metres."""
        return sum(self.segment_length)

    @property
    def gap(self) -> float:
        """Metres from the end of the curve to the end pose, which should be the same."""
        end = self.points(math.inf)[-1]
        return math.hypot(end[0] - self.end_pose[0], end[1] - self.end_pose[1])

    def points(self, resolution: float) -> Points:
        """Return points of the curve at equal distances of at most ``resolution`` metres, both ends included."""
        steps = max(1, math.ceil(self.length / resolution - 1e-9))
        along = np.linspace(0.0, self.length, steps + 1)
        x, y, heading = self.start_pose
        points = np.empty((steps + 1, 2))
        begin = 0.0
        for letter, length in zip(self.shape, self.segment_length, strict=True):
            curvature = _TURN[letter] / self.radius
            # The last segment that begins before a point overwrites what earlier ones put there.
            later = along >= begin
            points[later] = _arc((x, y), heading, curvature, along[later] - begin)
            (x, y), heading = _arc((x, y), heading, curvature, np.array([length]))[0], heading + curvature * length
            begin += length
        return points


def _arc(start: tuple[float, float], heading: float, curvature: float, along: Points) -> Points:
    """Return the points of an arc at distances from its start. A curvature of 0 gives a straight line."""
    half = curvature * along / 2
    chord = along * np.sinc(half / np.pi)  # sin(half) / half, also for half = 0
    return np.column_stack([start[0] + chord * np.cos(heading + half), start[1] + chord * np.sin(heading + half)])


def path_points(paths: Sequence[ArclinePath], resolution: float) -> Points:
    """Return the points of consecutive paths. The point where two paths meet is not repeated."""
    parts = [path.points(resolution) for path in paths if path.length > 0]
    if not parts:
        return np.empty((0, 2))
    return np.concatenate([parts[0], *(part[1:] for part in parts[1:])])
