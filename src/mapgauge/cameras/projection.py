"""Projects polylines into images of pinhole cameras.

Polylines of maps usually have no height. They are taken to lie on the ground under the vehicle, the plane z = 0 of its
coordinates. An image is taken at another time than the frame, so points move to the world by the pose of the frame, and
back by the pose of the image. Distortion is not modelled: nuScenes has rectified images, and the public interface of
Argoverse 2 does not use it.
"""

from typing import NamedTuple

import numpy as np

from mapgauge.cameras.rig import CameraImage, RigFrame
from mapgauge.geometry.polylines import Polylines
from mapgauge.geometry.poses import level, move_polylines, rotation_about_z
from mapgauge.geometry.resampling import resample_polylines
from mapgauge.typing import Floats, Forward, Indices, Offsets, Points

SPACING = 0.5  # metres between points before projection
NEAR = 0.1  # metres in front of the camera; nearer points are cut off
_SAME_PLACE = 10.0  # metres; the origin of a frame is on the vehicle


class ImageLines(NamedTuple):
    """The visible pieces of polylines in an image. A polyline may have several pieces, or none."""

    points: Points  # (points, 2), pixels: x to the right, y down
    offsets: Offsets  # (pieces + 1,)
    polyline: Indices  # (pieces,), which polyline each piece belongs to, ascending


def vehicle_from_frame(frame: RigFrame, pose: Floats | None = None, forward: Forward | None = None) -> Floats:
    """Return the motion ``(4, 4)`` from the coordinates of polylines to those of the vehicle.

    Args:
        frame: The frame of the data set.
        pose: The pose of the polylines (``MapFrames.poses``), if they have one in the world of the data set. A pose
            that is not near the vehicle is of another world, and is not used.
        forward: The axis that points forward. Without a pose, y means the LiDAR where the data set has sweeps in its
            coordinates, as in MapTR's files of nuScenes. x, and None, mean the vehicle.
    """
    if pose is not None:
        motion: Floats = np.linalg.inv(frame.pose) @ pose
        if np.linalg.norm(motion[:2, 3]) <= _SAME_PLACE:
            return motion
    if forward != "y":
        return np.eye(4)
    if frame.lidar is None:
        return rotation_about_z(-90)
    return frame.lidar


def ground_lines(polylines: Polylines, motion: Floats, spacing: float = SPACING) -> Polylines:
    """Return polylines in the coordinates of the vehicle, with height, resampled.

    Polylines without height lie on the ground, z = 0. ``motion`` is from ``vehicle_from_frame``. Only its heading and
    horizontal shift count for them.
    """
    flat = polylines.dimension == 2
    owner = np.zeros(len(polylines), np.int64)
    moved = move_polylines(polylines, (level(motion) if flat else motion)[None], owner)
    lines = resample_polylines(moved, spacing=spacing)
    if not flat:
        return lines
    return Polylines(np.column_stack([lines.coords, np.zeros(len(lines.coords))]), lines.offsets)


def project(polylines: Polylines, frame: RigFrame, image: CameraImage, near: float = NEAR) -> ImageLines:
    """Project polylines of the vehicle, with height, into an image. What is outside the image is cut off."""
    motion = np.linalg.inv(image.mount) @ np.linalg.inv(image.pose) @ frame.pose
    seen = (polylines.coords @ motion[:3, :3].T + motion[:3, 3]) @ image.intrinsics.T  # pixels times depth, and depth
    x, y, depth = seen.T
    width, height = image.size
    # A point is visible where these are not negative. They are linear, so segments are cut before the division.
    inside = np.stack([depth - near, x, width * depth - x, y, height * depth - y])
    line = np.repeat(np.arange(len(polylines)), np.diff(polylines.offsets))
    segment = np.flatnonzero(line[1:] == line[:-1])
    start, stop = _visible(inside[:, segment], inside[:, segment + 1])
    some = start < stop
    segment = segment[some]
    start = start[some]
    stop = stop[some]
    first = seen[segment]
    second = seen[segment + 1]
    ends = np.stack([first + part[:, None] * (second - first) for part in (start, stop)], axis=1)
    # A piece goes on if the segment before it was visible up to its end.
    begins = np.ones(len(segment), np.bool_)
    begins[1:] = (segment[1:] != segment[:-1] + 1) | (stop[:-1] < 1) | (start[1:] > 0)
    begins[1:] |= line[segment[1:]] != line[segment[:-1]]
    kept = np.stack([begins, np.ones_like(begins)], axis=1).ravel()
    homogeneous = ends.reshape(-1, 3)[kept]
    sizes = np.diff(np.append(np.flatnonzero(begins), len(begins))) + 1
    offsets = np.append(0, sizes.cumsum()).astype(np.int64)
    return ImageLines(homogeneous[:, :2] / homogeneous[:, 2:], offsets, line[segment[begins]])


def _visible(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return from where to where segments are visible, as shares of their lengths, by Liang and Barsky.

    ``first`` and ``second``, ``(edges, segments)``, are not negative where the ends are inside an edge. The start is
    not before the end if nothing is visible.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = first / (first - second)
    start = np.where((first < 0) & (second >= 0), crossing, 0.0).max(axis=0)
    stop = np.where((first >= 0) & (second < 0), crossing, 1.0).min(axis=0)
    stop[((first < 0) & (second < 0)).any(axis=0)] = -1.0
    return start, stop
