"""Poses as result files hold them: a translation, and a rotation as a quaternion or a matrix."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.poses import check_poses, rotations
from mapgauge.io._columns import EXAMPLES


def with_poses(frames: MapFrames, parts: Sequence[tuple[Any, Any]]) -> MapFrames:
    """Return the frames with their poses if every frame has one, and with a finding if only some have one.

    Args:
        frames: The frames.
        parts: The translation and the rotation of each frame, or None. A rotation is a matrix ``(3, 3)`` or a
            quaternion ``w, x, y, z``.
    """
    if all(translation is None and rotation is None for translation, rotation in parts):
        return frames
    matrices = _all_at_once(parts)
    if matrices is not None:
        return replace(frames, poses=matrices)
    poses = [_pose(translation, rotation) for translation, rotation in parts]
    lacking = [token for token, pose in zip(frames.tokens, poses, strict=True) if pose is None]
    if not lacking:
        return replace(frames, poses=np.array(poses))
    text = f"{frames.name}: {len(lacking)} of {len(frames)} frames have no usable pose, so all poses are left out"
    finding = Finding("note", "poses-left-out", text, len(lacking), tuple(lacking[:EXAMPLES]))
    return replace(frames, findings=(*frames.findings, finding))


def _all_at_once(parts: Sequence[tuple[Any, Any]]) -> NDArray[np.float64] | None:
    """Return the poses if all of them are sound and all rotations are matrices, else None."""
    count = len(parts)
    try:
        moves, turns = (np.array(column, np.float64) for column in zip(*parts, strict=True))
        if moves.shape != (count, 3) or turns.shape != (count, 3, 3):
            return None
        poses = np.tile(np.eye(4), (count, 1, 1))
        poses[:, :3, :3], poses[:, :3, 3] = turns, moves
        return check_poses(poses, count)
    except (TypeError, ValueError, OverflowError):  # InvalidInput is a ValueError
        return None


def _pose(translation: Any, rotation: Any) -> NDArray[np.float64] | None:
    """Return the matrix ``(4, 4)`` from the frame to the world, or None if the values are not a pose."""
    pose = np.eye(4)
    try:
        turn = np.asarray(rotation, np.float64)
        pose[:3, :3] = _rotation(turn)
        pose[:3, 3] = np.asarray(translation, np.float64).reshape(3)
        check_poses(pose, 1)
    except (TypeError, ValueError, OverflowError):  # InvalidInput is a ValueError
        return None
    return pose


def _rotation(given: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rotation matrix, given as a matrix or as a unit quaternion ``w, x, y, z``."""
    if given.shape != (4,):
        return np.reshape(given, (3, 3))
    if not abs(np.linalg.norm(given) - 1) < 1e-3:
        raise InvalidInput("not a unit quaternion")
    matrix: NDArray[np.float64] = rotations(given[None])[0]
    return matrix
