"""Checks of poses: whether vehicles stand upright, head where they move, and have a time each.

A rotation that is read in another way than it was written is still a rotation. So a wrong order of a quaternion, angles
in radians or inverse rotations are only seen in what they do to a drive.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import Remedy, UnreadableFile
from mapgauge.frames.findings import Finding, findings_about
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.tracks import frames_by_scene
from mapgauge.geometry.poses import rotation_about_z, rotations
from mapgauge.typing import Flags, Floats, Indices

Motions: TypeAlias = NDArray[np.float64]  # (poses, 4, 4)
# How rotations were written: quaternions with w first or last, angles in the plane, or anything else.
RotationForm: TypeAlias = Literal["w first", "w last", "degrees", "other"]

_UPRIGHT = 0.7  # least height of the z axis of a vehicle, of length 1
_SHARE = 0.05  # of poses that may be below
_STEEP = 15.0  # degrees, a slope of 27 %; few streets are steeper
_MOVE = 1.0  # metres; shorter moves have no direction
_JUMP = 25.0  # metres; longer moves are gaps of a drive
_GAPS = 0.2  # jumps for each move; poses with more are no drive, such as a table of all poses of a data set
_EXTENT = 10.0  # metres; a drive that is smaller is a vehicle that stands, with noise
_FEWEST = 5  # moves
_OFF = 45.0  # degrees between heading and motion
_REVERSING = 20.0  # degrees between motion and the rear of a vehicle that reverses
_MOST = 0.8  # the share of moves that nearly all of them are
_FIXED = 0.9  # the share of moves that another reading must bring below ``_OFF``
_CODES = ("poses-tilted", "poses-heading", "poses-backwards", "poses-times-equal")
_WHAT = "A pose moves points of the vehicle, x forward and z up, to the world"


class _RotationReading(NamedTuple):
    """Another way to read the rotations of a file."""

    poses: Motions
    text: str  # what the file has, if this is the right way
    remedy: str


def pose_findings(frames: MapFrames) -> tuple[Finding, ...]:
    """Return those findings of frames that are about poses. They go with the poses to other frames."""
    return tuple(finding for finding in frames.findings if finding.code in _CODES)


def check_upright(frames: MapFrames, form: RotationForm) -> None:
    """Refuse poses of vehicles that do not stand upright."""
    if frames.poses is None or not len(frames):
        return
    fallen = np.flatnonzero(frames.poses[:, 2, 2] < _UPRIGHT)
    if len(fallen) <= _SHARE * len(frames):
        return
    other = next((each for each in _readings(frames.poses, form) if _is_upright(each.poses)), None)
    if other is None:
        reason = ""
    else:
        reason = f". They would if {other.text}"
    raise UnreadableFile(
        f"{frames.name}: {len(fallen)} of {len(frames)} vehicles do not stand upright (first: "
        f"{frames.tokens[fallen[0]]}, {_tilts(frames.poses)[fallen[0]]:.0f} degrees){reason}",
        remedy=f"{_WHAT}. Check the rotations" if other is None else other.remedy,
    )


def findings_of_poses(frames: MapFrames, form: RotationForm) -> Iterator[Finding]:
    """Yield findings about tilts, headings and times of the poses of a file."""
    if frames.poses is None or not len(frames):
        return
    yield from _about_tilts(frames, frames.poses, form)
    yield from _about_headings(frames, frames.poses, form)
    yield from _about_times(frames)


def _about_tilts(frames: MapFrames, poses: Motions, form: RotationForm) -> Iterator[Finding]:
    steep = np.flatnonzero(_tilts(poses) > _STEEP)
    if not len(steep):
        return
    text = f"{frames.name}: {len(steep)} of {len(frames)} vehicles tilt by more than {_STEEP:g} degrees"
    remedy = f"{_WHAT}. Check the rotations"
    for other in _readings(poses, form):
        if (_tilts(other.poses) <= _STEEP).all():
            text += f". None would if {other.text}"
            remedy = other.remedy
            break
    names = [frames.tokens[k] for k in steep.tolist()]
    yield from findings_about(names, "warning", "poses-tilted", text=text, remedy=Remedy.of(remedy))


def _about_headings(frames: MapFrames, poses: Motions, form: RotationForm) -> Iterator[Finding]:
    scenes = list(frames_by_scene(frames).values())
    # quarter turns from x to the axis that points forward
    turns = 0
    if frames.forward == "y":
        turns = 1
    off = _headings_off(poses @ rotation_about_z(90 * turns), scenes)
    if len(off) < _FEWEST or np.median(off) <= _OFF:
        return
    is_ahead = off < _OFF
    is_back = off > 180 - _REVERSING
    if frames.timestamps is None and (is_ahead | is_back).mean() > _MOST and min(is_ahead.mean(), is_back.mean()) > 0.1:
        return  # vehicles head along the road, but the order of the poses is not that of time
    found = None
    for other in _readings(poses, form):
        fixed = _headings_off(other.poses @ rotation_about_z(90 * turns), scenes)
        if len(fixed) >= _FEWEST and (fixed < _OFF).mean() >= _FIXED and _is_upright(other.poses):
            found = other
            break
    moves = f"moves of {_MOVE:g} to {_JUMP:g} m"
    if is_back.mean() > _MOST:
        text = f"{frames.name}: {np.count_nonzero(is_back)} of {len(off)} {moves} are backwards: vehicles reverse"
        if found is not None:
            text += f", or {found.text}"
        yield Finding("note", "poses-backwards", text, count=int(np.count_nonzero(is_back)))
        return
    text = f"{frames.name}: vehicles head {np.median(off):.0f} degrees away from where they move (median of {len(off)} "
    if found is None:
        text += f"{moves})"
        remedy = f"{_WHAT}. Check the rotations"
    else:
        text += f"{moves}). They would head there if {found.text}"
        remedy = found.remedy
    yield Finding("warning", "poses-heading", text, count=int(np.count_nonzero(~is_ahead)), remedy=Remedy.of(remedy))


def _about_times(frames: MapFrames) -> Iterator[Finding]:
    if frames.timestamps is None:
        return
    same: list[str] = []
    for rows in frames_by_scene(frames).values():
        again = np.flatnonzero(np.diff(frames.timestamps[rows]) == 0) + 1
        if frames.scenes is None and len(again) < len(rows) - 1:
            continue  # a table of several drives at the same time
        same += [frames.tokens[k] for k in rows[again].tolist()]
    text = f"{frames.name}: {len(same)} of {len(frames)} poses have the time of another pose of their scene"
    text += ", so their order in time is not known. Their tokens decide"
    remedy = Remedy.of("Correct the time stamps, or leave them out if the file is in the order of time")
    yield from findings_about(same, "warning", "poses-times-equal", text=text, remedy=remedy)


def _readings(poses: Motions, form: RotationForm) -> Iterator[_RotationReading]:
    """Yield other ways to read the poses of a file, the most likely one first."""
    if form in ("w first", "w last"):
        if form == "w first":
            given = "x, y, z, w"
            meant = "w, x, y, z"
            shift = 1
        else:
            given = "w, x, y, z"
            meant = "x, y, z, w"
            shift = -1
        turned = poses.copy()
        turned[:, :3, :3] = rotations(np.roll(_quaternions(poses), shift, axis=1))
        yield _RotationReading(turned, f"the quaternions are {given}", f"Write quaternions as {meant}")
    if form == "degrees":
        angles = np.degrees(np.arctan2(poses[:, 1, 0], poses[:, 0, 0]))  # numbers of the file, up to whole turns
        turned = poses.copy()
        turned[:, :3, :3] = [rotation_about_z(float(np.degrees(angle)))[:3, :3] for angle in angles]
        yield _RotationReading(turned, "the angles are radians", "Write angles in degrees")
    turned = poses.copy()
    turned[:, :3, :3] = poses[:, :3, :3].transpose(0, 2, 1)
    yield _RotationReading(turned, "the rotations are from the world to the vehicle", "Write the inverse rotations")
    inverse = turned.copy()
    inverse[:, :3, 3] = -np.einsum("pij,pj->pi", turned[:, :3, :3], poses[:, :3, 3])
    yield _RotationReading(inverse, "the poses are from the world to the vehicle", "Write the inverse poses")
    forward = "the y axis of the vehicle points forward"
    yield _RotationReading(
        poses @ rotation_about_z(90), forward, "Turn the poses by 90 degrees, so that x points forward"
    )


def _quaternions(poses: Motions) -> Floats:
    """Return the quaternions ``w, x, y, z`` of poses, up to their sign."""
    turn = poses[:, :3, :3]
    # The quaternion of a rotation is the eigenvector with the largest eigenvalue of a symmetric matrix. This is exact
    # for every angle, where the usual formulas divide by small numbers.
    matrix = np.zeros((len(poses), 4, 4))
    matrix[:, 0, 0] = np.trace(turn, axis1=1, axis2=2)
    matrix[:, 1:, 1:] = turn + turn.transpose(0, 2, 1) - matrix[:, :1, :1] * np.eye(3)
    axis = np.stack([turn[:, 2, 1] - turn[:, 1, 2], turn[:, 0, 2] - turn[:, 2, 0], turn[:, 1, 0] - turn[:, 0, 1]], 1)
    matrix[:, 0, 1:] = axis
    matrix[:, 1:, 0] = axis
    vectors: Floats = np.linalg.eigh(matrix).eigenvectors[:, :, -1]
    return vectors


def _tilts(poses: Motions) -> Floats:
    """Return the angles between the z axes of vehicles and of the world in degrees."""
    tilts: Floats = np.degrees(np.arccos(np.clip(poses[:, 2, 2], -1.0, 1.0)))
    return tilts


def _is_upright(poses: Motions) -> bool:
    return bool((poses[:, 2, 2] < _UPRIGHT).mean() <= _SHARE)


def _headings_off(poses: Motions, scenes: list[Indices]) -> Floats:
    """Return the angles between x axes and motion in degrees, for each move of some metres."""
    off = [np.empty(0)]
    for rows in scenes:
        place = poses[rows, :2, 3]
        if np.hypot(*np.ptp(place, axis=0)) < _EXTENT:
            continue
        start, stop, jumps = _moves(place)
        if jumps > _GAPS * len(start):
            continue
        step = place[stop] - place[start]
        ahead = poses[rows, :2, 0]
        ahead = ahead[start] + ahead[stop]  # halfway: the vehicle turns during a move
        is_known: Flags = np.hypot(*ahead.T) > 0
        cross = ahead[:, 0] * step[:, 1] - ahead[:, 1] * step[:, 0]
        dot = (ahead * step).sum(axis=1)
        off.append(np.degrees(np.abs(np.arctan2(cross, dot)))[is_known])
    return np.concatenate(off)


def _moves(place: Floats) -> tuple[Indices, Indices, int]:
    """Return starts and ends of moves along a drive: from a position to the first one that is some way off.

    The last number counts the gaps of the drive.
    """
    starts = []
    stops = []
    start = 0
    jumps = 0
    x, y = place.T.tolist()
    for k in range(1, len(place)):
        away = ((x[k] - x[start]) ** 2 + (y[k] - y[start]) ** 2) ** 0.5
        if away <= _MOVE:
            continue
        if away <= _JUMP:
            starts.append(start)
            stops.append(k)
        else:
            jumps += 1
        start = k
    return np.array(starts, np.int64), np.array(stops, np.int64), jumps
