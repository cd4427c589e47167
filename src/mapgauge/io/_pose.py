"""Poses as result files hold them: a translation, and a rotation as a quaternion or a matrix."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.poses import check_poses, rotations
from mapgauge.io._columns import EXAMPLES

Column: TypeAlias = Sequence[Any] | NDArray[Any]  # a value per frame


def with_poses(frames: MapFrames, translations: Column, rotations: Column) -> MapFrames:
    """Return the frames with their poses if every frame has one, and with a finding if only some have one.

    Args:
        frames: The frames.
        translations: The translation of each frame, or None.
        rotations: The rotation of each frame, or None: a matrix ``(3, 3)`` or a quaternion ``w, x, y, z``.
    """
    if all(_is_empty(column) for column in (translations, rotations)):
        return frames
    matrices = _all_at_once(translations, rotations)
    if matrices is not None:
        return replace(frames, poses=matrices)
    poses = [_pose(*parts) for parts in zip(translations, rotations, strict=True)]
    lacking = [token for token, pose in zip(frames.tokens, poses, strict=True) if pose is None]
    if not lacking:
        return replace(frames, poses=np.array(poses))
    text = f"{frames.name}: {len(lacking)} of {len(frames)} frames have no usable pose, so all poses are left out"
    finding = Finding("note", "poses-left-out", text, len(lacking), tuple(lacking[:EXAMPLES]))
    return replace(frames, findings=(*frames.findings, finding))


def _is_empty(column: Column) -> bool:
    return not isinstance(column, np.ndarray) and all(value is None for value in column)


def _all_at_once(translations: Column, rotations: Column) -> NDArray[np.float64] | None:
    """Return the poses if all of them are sound and all rotations are matrices, else None."""
    count = len(translations)
    try:
        moves, turns = (np.asarray(column, np.float64) for column in (translations, rotations))
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
