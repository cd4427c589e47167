"""Where the polylines of frames are: on the ground of the vehicle, and in the world."""

from typing import NamedTuple

import numpy as np

from mapgauge.cameras.projection import vehicle_from_frame
from mapgauge.cameras.rig import Rig, RigFrame
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.poses import level, move_polylines, rotation_about_z
from mapgauge.protocols import Protocol
from mapgauge.scoring.data import Sides
from mapgauge.typing import Floats


class Places(NamedTuple):
    """The places of some frames."""

    motions: Floats  # (frames, 4, 4), from the coordinates of polylines to those of the vehicle, x forward
    poses: Floats | None  # (frames, 4, 4), from vehicle to world; None if unknown
    rigs: tuple[RigFrame | None, ...]  # the images of each frame

    def strips(self, side: MapFrames) -> list[Floats]:
        """Return the points of each polyline in the coordinates of the vehicle, float32. The ground has z = 0."""
        moved = move_polylines(side.polylines, self.motions, side.frame if len(self.motions) > 1 else side.frame * 0)
        points = np.zeros((len(moved.coords), 3), np.float32)
        points[:, : side.dimension] = moved.coords
        if not len(moved):
            return []
        return np.split(points, moved.offsets[1:-1])


def places_of(sides: Sides, protocol: Protocol, rig: Rig | None) -> Places:
    """Return the places of all frames of both sides, which have the same coordinates.

    A map has world coordinates, which may be too large for float32. Its first point becomes the origin.
    """
    predictions, truth = sides
    count = len(truth)
    flat = truth.dimension == 2
    if not protocol.has_ego:
        shift = np.eye(4)
        first = next((side.polylines.coords[0] for side in (truth, predictions) if len(side.polylines.coords)), None)
        if first is not None:
            shift[: len(first), 3] = -first
        return Places(np.repeat(shift[None], count, axis=0), poses=None, rigs=(None,) * count)
    poses = truth.poses
    if poses is None:
        poses = predictions.poses
    forward = truth.forward or predictions.forward
    turn = rotation_about_z(-90 if forward == "y" else 0)
    motions = np.repeat(turn[None], count, axis=0)
    placed = None
    if poses is not None:
        placed = poses @ turn.T  # the inverse of a turn
    rigs = tuple(None if rig is None else rig.frame(token) for token in truth.tokens)
    for k, frame in enumerate(rigs):
        if frame is None:
            continue
        pose = None
        if poses is not None:
            pose = poses[k]
        motion = vehicle_from_frame(frame, pose, forward)
        if flat:
            motions[k] = level(motion)
        else:
            motions[k] = motion
        if placed is None:
            placed = np.zeros((count, 4, 4)) + np.eye(4)
        placed[k] = frame.pose
    return Places(motions, placed, rigs)
