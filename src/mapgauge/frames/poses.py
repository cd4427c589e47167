"""Gives frames the poses of other frames."""

import re
from dataclasses import replace

import numpy as np

from mapgauge.errors import UnreadableFile
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.pose_checks import pose_findings
from mapgauge.frames.tracks import per_second
from mapgauge.geometry.poses import rotation_about_z, turns_between
from mapgauge.typing import Indices

_NEAREST = 1_000_000  # nanoseconds between a frame and its pose, at most
_TIME_AT_END = re.compile(r"\d{9,19}$")


def take_poses(frames: MapFrames, others: MapFrames) -> MapFrames:
    """Return frames with the poses of other frames, and with their scenes and times if they have none.

    A pose belongs to the frame with its token, or to the frame at its time. Poses are turned to the axes of the frames.
    """
    path = others.name or "poses"
    if others.poses is None:
        raise UnreadableFile(f"{path}: no poses", remedy="Give a file of poses, or frames that have poses")
    rows = _rows(frames, others)
    lacking = [token for token, row in zip(frames.tokens, rows, strict=True) if row < 0]
    if lacking:
        raise UnreadableFile(
            f"{path}: no pose for {len(lacking)} of {len(frames)} frames of {frames.name or 'the input'} (first: "
            f"{lacking[0]}). Its tokens are like {others.tokens[0] if len(others) else 'none'}",
            remedy="Check that both are of the same drives. A pose needs the token of its frame, or its time to 1 ms",
        )
    turns = turns_between(frames.forward, others.forward)
    if turns:
        poses = others.poses[rows] @ rotation_about_z(90 * turns)
    else:
        poses = others.poses[rows]
    timestamps = frames.timestamps
    if timestamps is None and others.timestamps is not None:
        timestamps = others.timestamps[rows]
    return replace(
        frames,
        poses=poses,
        scenes=frames.scenes or (others.scenes and tuple(others.scenes[row] for row in rows)),
        timestamps=timestamps,
        findings=tuple(dict.fromkeys((*frames.findings, *pose_findings(others)))),
    )


def _rows(frames: MapFrames, others: MapFrames) -> list[int]:
    """Return the row of the pose of each frame; -1 if it has none."""
    by_token = [others.index.get(token, -1) for token in frames.tokens]
    times = _times(frames)
    if min(by_token, default=0) >= 0 or times is None or others.timestamps is None or not len(others):
        return by_token
    order = np.argsort(others.timestamps, kind="stable")
    known = _nanoseconds(others.timestamps[order])
    wanted = _nanoseconds(times)
    nearest = nearest_times(known, wanted)
    rows: list[int] = np.where(np.abs(known[nearest] - wanted) <= _NEAREST, order[nearest], -1).tolist()
    return rows


def nearest_times(times: Indices, wanted: Indices) -> Indices:
    """Return the index of the nearest of ``times``, which ascend, for each wanted time. There must be one."""
    after = np.searchsorted(times, wanted).clip(max=len(times) - 1)
    before = (after - 1).clip(min=0)
    nearest: Indices = np.where(np.abs(wanted - times[before]) <= np.abs(times[after] - wanted), before, after)
    return nearest


def _times(frames: MapFrames) -> Indices | None:
    """Return the time stamps of frames, or the times at the end of their tokens."""
    if frames.timestamps is not None:
        return frames.timestamps
    ends = [_TIME_AT_END.search(token) for token in frames.tokens]
    if ends and all(ends):
        return np.array([int(end[0]) for end in ends if end], np.int64)
    return None


def _nanoseconds(times: Indices) -> Indices:
    """Return times in nanoseconds. Their size tells the unit; small numbers stay as they are."""
    unit = per_second(times)
    if unit is None:
        return times
    return times * int(1e9 / unit)
