"""Poses: rigid motions as (4, 4) matrices, such as motions from frame to world coordinates."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapgauge.arguments import check_number
from mapgauge.errors import InvalidInput, UnreadableFile
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Forward, Points

_SMALL_TURN = 0.1  # quarter turns; sensors are mounted within this angle
_NEAR = 10.0  # metres; sensors of one vehicle are not farther apart
_TURNS: dict[Forward, int] = {"x": 0, "y": 1}  # quarter turns from x to the forward axis
_BY_TURNS = {turns: forward for forward, turns in _TURNS.items()}


def check_poses(
    poses: ArrayLike, frames: int, locate: Callable[[int], str] = "pose {}".format, remedy: str | None = None
) -> NDArray[np.float64]:
    """Return rigid motions as an array ``(1 or frames, 4, 4)``; refuse anything else.

    ``locate`` names a pose in error messages, from its index.
    """
    expected = f"poses must be one (4, 4) matrix or {frames} of them, one per frame"
    try:
        motion = np.asarray(poses, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{expected}: {error}") from error
    if motion.shape == (4, 4):
        motion = motion[None]
    elif motion.shape != (frames, 4, 4):
        raise InvalidInput(f"{expected}, got shape {motion.shape}")
    turn = motion[:, :3, :3]
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(turn @ turn.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
        off += np.abs(motion[:, 3] - (0, 0, 0, 1)).max(axis=1) + (np.linalg.det(turn) < 0)
    bad = np.flatnonzero(~((off < 1e-6) & np.isfinite(motion).all(axis=(1, 2))))
    if len(bad):
        rigid = "a rigid motion (a rotation and a translation, last row 0 0 0 1)"
        raise InvalidInput(f"{locate(int(bad[0]))} is not {rigid}", remedy=remedy)
    return motion


def rotation_about_z(degrees: float) -> NDArray[np.float64]:
    """Return the ``(4, 4)`` motion that turns counter-clockwise seen from above. Quarter turns are exact."""
    turns = check_number("degrees", degrees, "a finite angle") / 90
    if turns == round(turns):
        c, s = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[round(turns) % 4]
    else:
        c = float(np.cos(np.radians(degrees)))
        s = float(np.sin(np.radians(degrees)))
    motion = np.eye(4)
    motion[:2, :2] = (c, -s), (s, c)
    return motion


def quarter_turns(motions: NDArray[np.float64]) -> int | None:
    """Return the number of counter-clockwise quarter turns that all motions make, up to a small angle.

    The result is None if the motions turn by another angle or differ from each other, or if one of them moves far, as
    poses from frame to world coordinates do.
    """
    yaw = np.arctan2(motions[:, 1, 0], motions[:, 0, 0]) / (np.pi / 2)
    turns = np.rint(yaw)
    off = np.abs(yaw - turns).max(initial=0.0) > _SMALL_TURN or np.abs(motions[:, :2, 3]).max(initial=0.0) > _NEAR
    different = set((turns % 4).astype(int).tolist())
    if off or len(different) != 1:
        return None
    return int(different.pop())


def turned_forward(forward: Forward | None, turns: int | None) -> Forward | None:
    """Return the axis that points forward after quarter turns, or None if neither x nor y does.

    >>> turned_forward("y", -1), turned_forward("x", 1), turned_forward("x", -1)
    ('x', 'y', None)
    """
    if forward is None or turns is None:
        return None
    return _BY_TURNS.get((_TURNS[forward] + turns) % 4)


def turns_between(first: Forward | None, second: Forward | None) -> int | None:
    """Return the number of quarter turns from one forward axis to another; None if one of them is unknown.

    >>> turns_between("y", "x"), turns_between("x", "y")
    (-1, 1)
    """
    if first is None or second is None:
        return None
    return _TURNS[second] - _TURNS[first]


def move_polylines(polylines: Polylines, motions: NDArray[np.float64], owner: NDArray[np.int64]) -> Polylines:
    """Move polylines by rigid motions: one for all, or several, of which ``owner`` has the index for each polyline."""
    d = polylines.dimension
    if len(motions) > 1:
        chosen = owner
    else:
        chosen = np.zeros_like(owner)
    which = np.repeat(chosen, np.diff(polylines.offsets))
    coords = motions[which, :d, 3]
    for k in range(d):
        coords += motions[which, :d, k] * polylines.coords[:, k, None]
    return Polylines(coords, polylines.offsets)


def rotations(quaternions: Points) -> NDArray[np.float64]:
    """Return the ``(n, 3, 3)`` rotation matrices of quaternions ``w, x, y, z``, which need not have unit length."""
    w, x, y, z = (quaternions / np.linalg.norm(quaternions, axis=1)[:, None]).T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=1) for row in rows], axis=1)


def motions(quaternions: Points, translations: Points, where: str) -> NDArray[np.float64]:
    """Return rigid motions as ``(n, 4, 4)`` matrices from unit quaternions ``w, x, y, z`` and translations.

    An error names them by ``where`` and the index of the first invalid one.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        length = np.linalg.norm(quaternions, axis=1)
    bad = np.flatnonzero(~(np.abs(length - 1) < 1e-3) | ~np.isfinite(translations).all(axis=1))
    if len(bad):
        k = int(bad[0])
        raise UnreadableFile(
            f"{where} {k} is not a rotation and a translation: quaternion {quaternions[k].tolist()}, "
            f"translation {translations[k].tolist()} ({len(bad)} of {len(length)} are invalid)"
        )
    made = np.zeros((len(length), 4, 4))
    made[:, :3, :3] = rotations(quaternions)
    made[:, :3, 3] = translations
    made[:, 3, 3] = 1
    return made


def level(pose: NDArray[np.float64], quarter_turns: int = 0) -> NDArray[np.float64]:
    """Return a pose without roll and pitch: its position, and the direction of its x axis seen from above.

    Maps of roads are flat. Tilting them with the vehicle would shorten them. Quarter turns are counter-clockwise. One
    makes x the forward axis of a LiDAR whose y axis points forward.
    """
    c = pose[0, 0]
    s = pose[1, 0]
    norm = np.hypot(c, s)
    if norm > 0:
        c = c / norm
        s = s / norm
    else:
        c = 1.0
        s = 0.0
    for _ in range(quarter_turns % 4):
        c, s = -s, c
    flat = np.eye(4)
    flat[:2, :2] = (c, -s), (s, c)
    flat[:3, 3] = pose[:3, 3]
    return flat
