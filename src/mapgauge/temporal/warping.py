"""Moves an earlier frame into a later one, and finds the region that both frames show."""

import numpy as np
from numpy.typing import NDArray

from mapgauge.frames.map_frames import MapFrames
from mapgauge.typing import Bounds, Floats, Indices, Points


def motions_between(poses: NDArray[np.float64], earlier: Indices, later: Indices) -> NDArray[np.float64]:
    """Return the motions ``(n, 4, 4)`` from the coordinates of earlier frames to those of later frames.

    Poses are far from the origin of the world. So the difference of the positions is turned, not each position.
    """
    back = poses[later, :3, :3].transpose(0, 2, 1)
    moved = np.zeros((len(later), 4, 4))
    for k in range(3):  # no matrix product, whose last bit may depend on the number of threads
        moved[:, :3, :3] += back[:, :, k, None] * poses[earlier, None, k, :3]
        moved[:, :3, 3] += back[:, :, k] * (poses[earlier, k, 3] - poses[later, k, 3])[:, None]
    moved[:, 3, 3] = 1
    return moved


def inverse_of(motions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inverse of rigid motions."""
    turned = np.zeros_like(motions)
    turned[:, :3, :3] = motions[:, :3, :3].transpose(0, 2, 1)
    for k in range(3):
        turned[:, :3, 3] -= turned[:, :3, k] * motions[:, k, 3, None]
    turned[:, 3, 3] = 1
    return turned


def common_parts(
    frames: MapFrames, poses: NDArray[np.float64], earlier: Indices, later: Indices, box: Bounds
) -> tuple[MapFrames, MapFrames]:
    """Return pairs of frames in the coordinates of the later frame, both cropped to the region that both show.

    The region of a pair is the box of the later frame, cut by the moved box of the earlier frame. Each side is cropped
    by both boxes, each box in its own frame.

    Args:
        frames: The frames.
        poses: ``(frames, 4, 4)``.
        earlier: For each pair, the index of its earlier frame.
        later: The same for its later frame.
        box: What a frame shows, in its own coordinates.

    Returns:
        The earlier and the later frames. Frame ``i`` of both is pair ``i``.
    """
    there = motions_between(poses, earlier, later)
    back = inverse_of(there)
    before = frames.at(earlier.tolist()).crop(box).transform(there).crop(box)
    now = frames.at(later.tolist()).crop(box).transform(back).crop(box).transform(there)
    return before, now


def common_areas(motions: NDArray[np.float64], box: Bounds) -> Floats:
    """Return the area of the region that two frames share, in square metres, for each motion between two frames."""
    x_min, y_min, x_max, y_max = box
    corners = np.array([[x_min, y_min], [x_max, y_min], [x_max, y_max], [x_min, y_max]])
    return np.array([_clipped_area(corners @ motion[:2, :2].T + motion[:2, 3], box) for motion in motions])


def _clipped_area(corners: Points, box: Bounds) -> float:
    """Return the area of the part of a convex polygon that lies in a box (Sutherland and Hodgman)."""
    polygon = corners
    for axis, bound, sign in ((0, box[0], 1.0), (1, box[1], 1.0), (0, box[2], -1.0), (1, box[3], -1.0)):
        if not len(polygon):
            return 0.0
        inside = sign * (polygon[:, axis] - bound)
        kept = []
        for k in range(len(polygon)):
            a, b = inside[k - 1], inside[k]
            if (a >= 0) != (b >= 0):
                kept.append(polygon[k - 1] + a / (a - b) * (polygon[k] - polygon[k - 1]))
            if b >= 0:
                kept.append(polygon[k])
        polygon = np.array(kept).reshape(-1, 2)
    x, y = polygon.T
    return abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))) / 2
