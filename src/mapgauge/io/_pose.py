"""Poses in the files of the field: a translation, and a rotation as a quaternion or a matrix."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.findings import Finding
from mapgauge.frames import MapFrames, check_poses
from mapgauge.io._collect import EXAMPLES


def with_poses(frames: MapFrames, parts: Sequence[tuple[Any, Any]]) -> MapFrames:
    """Frames with their poses if each of them has one; a finding if only some have.

    Args:
        frames: The frames.
        parts: Translation and rotation of each, None where there is none. A rotation is a matrix ``(3, 3)`` or a
            quaternion ``w, x, y, z``.
    """
    if all(translation is None and rotation is None for translation, rotation in parts):
        return frames
    poses = [_pose(translation, rotation) for translation, rotation in parts]
    lacking = [token for token, pose in zip(frames.tokens, poses, strict=True) if pose is None]
    if not lacking:
        return replace(frames, poses=np.array(poses))
    text = f"{frames.name}: {len(lacking)} of {len(frames)} frames have no usable pose, so all poses are left out"
    finding = Finding("note", "poses-left-out", text, len(lacking), tuple(lacking[:EXAMPLES]))
    return replace(frames, findings=(*frames.findings, finding))


def _pose(translation: Any, rotation: Any) -> NDArray[np.float64] | None:
    """From a frame's coordinates to the world's, ``(4, 4)``; None if these are not the numbers of a pose."""
    pose = np.eye(4)
    try:
        turn = np.asarray(rotation, np.float64)
        pose[:3, :3] = _matrix(turn) if turn.shape == (4,) else turn.reshape(3, 3)
        pose[:3, 3] = np.asarray(translation, np.float64).reshape(3)
        check_poses(pose, 1)
    except (TypeError, ValueError, OverflowError):  # InvalidInput is a ValueError
        return None
    return pose


def _matrix(quaternion: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rotation matrix of a quaternion ``w, x, y, z``."""
    length = np.linalg.norm(quaternion)
    if not abs(length - 1) < 1e-3:
        raise InvalidInput("not a unit quaternion")
    w, x, y, z = quaternion / length
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
