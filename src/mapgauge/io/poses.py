"""Files of poses, which are read as frames without instances: JSON, TUM, infos of data sets, Argoverse 2's poses.

::

    {"poses": [{"token": ..., "scene": ..., "timestamp": ..., "translation": [x, y, z], "rotation": [w, x, y, z]}]}
    {token: pose}: such an object, a matrix (4, 4), [x, y, z, qw, qx, qy, qz], or [x, y, degrees]
    t tx ty tz qx qy qz qw                                      lines of TUM, t in seconds or nanoseconds
    {"infos": [{"token": ..., "ego2global_translation": ..., "ego2global_rotation": ...}]}          nuScenes' infos
    [{"token": ..., "scene_name": ..., "e2g_translation": ..., "e2g_rotation": ...}]      infos of StreamMapNet's family
    city_SE3_egovehicle.feather
    {"poses": [...], "map_elements": ...}            GlobalMapNet's maps: a frame for each pose, if the format is named

A pose moves points of the vehicle, x forward, to the world.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.dependencies import require
from mapgauge.errors import UnreadableFile
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.pose_checks import RotationForm, check_upright, findings_of_poses
from mapgauge.geometry.poses import motions, rotation_about_z
from mapgauge.io._collect import Collector, pose_matrix
from mapgauge.io._format import Format, ReadOptions, refuse_ids
from mapgauge.io._values import ValueChecker
from mapgauge.io.files.places import open_file
from mapgauge.io.files.source import Content
from mapgauge.io.globalmapnet import maps_by_name
from mapgauge.typing import Floats, Indices

FEATHER = "city_SE3_egovehicle.feather"  # the poses of a log of Argoverse 2
COLUMNS = ("timestamp_ns", "qw", "qx", "qy", "qz", "tx_m", "ty_m", "tz_m")
_KINDS = {"numbers": "iuf", "whole numbers": "iu", "text": "OUT"}  # kinds of numpy's types
_LISTS = ("poses", "infos", "samples", "frames")  # names of a list or an object of poses
_PREFIXES = ("", "ego2global_", "e2g_")  # of translation and rotation
_ROTATIONS = ("rotation", "rotation_wxyz")
_TOKENS = ("token", "sample_token", "timestamp", "timestamp_ns")  # the first that an entry has is its token
_SCENES = ("scene", "scene_name", "scene_token", "log_id")
_TIMES = ("timestamp", "timestamp_ns")
_OTHERS = {"results", "features", "vectors", "annotation", "predictions", "map_elements", "nodes"}
# Words in names of files that say nothing about the drive.
_GENERAL = {
    *("pose", "poses", "trajectory", "traj", "odometry", "odom", "path", "localisation", "localization", "slam"),
    *("ego", "egopose", "egoposes", "vehicle", "car", "lidar", "gps", "gnss", "imu", "ins", "rtk"),
    *("gt", "groundtruth", "ground", "truth", "estimate", "estimated", "stamped", "keyframe", "keyframes"),
    *("tum", "txt", "world", "global", "utm", "map", "data", "of", "in", "to"),
}
_HEAD = 1 << 12
_FORMS = "a translation and a rotation, a matrix (4, 4), [x, y, z, qw, qx, qy, qz] or [x, y, degrees]"


def _is_poses(content: Content) -> bool:
    if content.kind == "json":
        is_pose = (
            any(f"{prefix}translation" in content.keys for prefix in _PREFIXES) or {"pose", "token"} <= content.keys
        )
        return is_pose and not content.keys & _OTHERS
    if content.kind == "pickle":
        entries = _listed(content.outline)
        return isinstance(entries, list) and bool(entries) and _prefix(entries[0]) is not None
    return _is_feather(content) or _is_tum(content.data)


def _is_feather(content: Content) -> bool:
    return content.data.startswith(b"ARROW1") and b"timestamp_ns" in content.data


def _is_tum(data: bytes) -> bool:
    """Whether the first line that is no comment has eight numbers."""
    lines = (line for line in data[:_HEAD].splitlines() if line.strip() and not line.startswith(b"#"))
    with suppress(ValueError):
        return len([float(word) for word in next(lines, b"").split()]) == 8
    return False


def _listed(document: Any) -> Any:
    """Return the list or the object of poses in a document, or the document if it has none."""
    if isinstance(document, dict):
        lists = [document.get(key) for key in _LISTS]
    else:
        lists = []
    return next((each for each in lists if isinstance(each, list | dict)), document)


def _prefix(given: Any) -> str | None:
    """Return what the names of translation and rotation begin with; None if there is no translation."""
    return next((prefix for prefix in _PREFIXES if isinstance(given, dict) and f"{prefix}translation" in given), None)


def _read(content: Content, options: ReadOptions) -> MapFrames:
    refuse_ids(options.classes, str(content.path))
    collector = Collector(content, POSES.name, options, locate=lambda *_: "$", confidence=False)
    collector.forward = "x"
    if content.kind == "other":
        return _read_times(content, collector)
    if content.kind == "json" and "map_elements" in content.keys:
        return _read_maps(content, collector)
    check = collector.check
    entries = _entries(content.document, collector.check)
    lidar = options.extra.get("centre") == "lidar"
    lidar = lidar and all(isinstance(given, dict) and "lidar2ego_translation" in given for _, given in entries)
    for token, given in entries:
        where = f'$["{token}"]'
        if isinstance(given, dict):
            about = given
        else:
            about = {}
        scene = next((about[key] for key in _SCENES if about.get(key) is not None), None)
        time = next((about[key] for key in _TIMES if about.get(key) is not None), None)
        if isinstance(time, str) and time.isdecimal() and len(time) < 20:
            time = int(time)
        pose = _pose(check, given, where)
        if time is None:
            timestamp = None
        else:
            timestamp = check.whole(time, f"{where}.timestamp")
        collector.add_frame(
            token,
            scene=None if scene is None else str(scene),
            timestamp=timestamp,
            pose=pose @ _named_pose(check, about, where, prefix="lidar2ego_") if lidar else pose,
        )
    if lidar:
        collector.forward = "y"  # the LiDAR of nuScenes has x to the right
    return _checked(collector, {_form_of(given) for _, given in entries})


def _checked(collector: Collector, forms: set[RotationForm]) -> MapFrames:
    """Return the frames with findings about their poses. Rotations of several forms have no common mistake."""
    if len(forms) == 1:
        form: RotationForm = next(iter(forms))
    else:
        form = "other"
    frames = collector.finish()
    check_upright(frames, form)
    return replace(frames, findings=(*frames.findings, *findings_of_poses(frames, form)))


def _form_of(given: Any) -> RotationForm:
    """Return how the rotation of a pose that was read is written."""
    given = _inner(given)
    if isinstance(given, dict):
        prefix = _prefix(given) or ""
        names = [f"{prefix}{name}" for name in _ROTATIONS if f"{prefix}{name}" in given]
        if np.shape(given[names[0]]) == (4,):
            return "w first"
        return "other"
    shape = np.shape(given)
    if shape == (7,):
        return "w first"
    if shape == (3,):
        return "degrees"
    return "other"


def _inner(given: Any) -> Any:
    """Return the pose of an entry, which may be a member of it."""
    for name in ("pose", "ego2global"):
        if isinstance(given, dict):
            given = given.get(name, given)
    return given


def _read_maps(content: Content, collector: Collector) -> MapFrames:
    """Read the poses of the drives in GlobalMapNet's maps."""
    forms: set[RotationForm] = set()
    for scene, (place, given) in maps_by_name(content).items():
        where = f"{place}.poses"
        for k, pose in enumerate(collector.check.sequence(given.get("poses", []), where)):
            collector.add_frame(f"{scene}_{k}", scene=scene, pose=_pose(collector.check, pose, f"{where}[{k}]"))
            forms.add(_form_of(pose))
    return _checked(collector, forms)


def _read_times(content: Content, collector: Collector) -> MapFrames:
    """Read poses whose names are their times."""
    form: RotationForm
    if _is_feather(content):
        form = "other"  # each number has a column with its name
        times, poses = read_feather(content.path)
        scene = content.path.absolute().parent.name
        tokens = [f"{scene}_{time}" for time in times.tolist()]
    else:
        form = "w last"
        times, poses = _read_tum(content)
        scene = _scene_of(content.path)
        tokens = list(map(str, times.tolist()))
    for token, time, pose in zip(tokens, times.tolist(), poses, strict=True):
        collector.add_frame(token, scene=scene, timestamp=time, pose=pose)
    return _checked(collector, {form})


def _scene_of(path: Path) -> str:
    """Return the scene of a file of one drive: its name, or that of its folder if the name says nothing.

    >>> _scene_of(Path("/data/drive_7/poses.txt")), _scene_of(Path("/data/drive_7.tum"))
    ('drive_7', 'drive_7')
    """
    name = path.name.partition(".")[0]
    folder = path.absolute().parent
    while _is_general(name) and folder.name:
        name = folder.name
        folder = folder.parent
    return name


def _is_general(name: str) -> bool:
    """Whether a name says what a file or folder has, but not of which drive: ``poses``, ``ego_pose``, ``gt_tum``."""
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]
    return bool(words) and all(word in _GENERAL for word in words)


def _entries(document: Any, check: ValueChecker) -> list[tuple[str, Any]]:
    """Return the token and the pose of each entry."""
    listed = _listed(document)
    if not isinstance(listed, list):
        return [(check.text(token, "a token"), each) for token, each in check.top(listed, dict, "poses").items()]
    tokens = [_token(check, each, f"$[{k}]") for k, each in enumerate(listed)]
    by_token = dict(zip(tokens, listed, strict=True))
    if len(by_token) < len(listed):
        token = next(token for token in by_token if tokens.count(token) > 1)
        raise check.error(f"the token {token} has several poses, expected one")
    return list(by_token.items())


def _token(check: ValueChecker, given: Any, where: str) -> str:
    """Return the token of an entry of a list. A pose without a token has its time as token, as TUM does."""
    name = next((name for name in _TOKENS if isinstance(given, dict) and name in given), "token")
    token = check.member(given, name, where)
    if type(token) is int:
        return str(token)
    return check.text(token, f"{where}.{name}")


def _pose(check: ValueChecker, given: Any, where: str) -> Floats:
    """Return the matrix of a pose in any of its forms."""
    given = _inner(given)
    if isinstance(given, dict):
        return _named_pose(check, given, where, prefix=_prefix(given) or "")
    try:
        numbers = np.asarray(given, np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.empty(0)
    pose = None
    if numbers.shape == (4, 4) and numbers[3].tolist() == [0, 0, 0, 1]:
        pose = pose_matrix(numbers[:3, 3], numbers[:3, :3])
    elif numbers.shape == (7,):
        pose = pose_matrix(numbers[:3], numbers[3:])
    elif numbers.shape == (3,) and np.isfinite(numbers).all():
        pose = pose_matrix([*numbers[:2], 0], rotation_about_z(float(numbers[2]))[:3, :3])
    if pose is None:
        raise check.error(f"{where} is not a pose, expected {_FORMS}")
    return pose


def _named_pose(check: ValueChecker, given: Mapping[str, Any], where: str, prefix: str) -> Floats:
    """Return the matrix of a translation and a rotation, which is a quaternion w, x, y, z or a matrix (3, 3)."""
    move = check.sequence(check.member(given, f"{prefix}translation", where), f"{where}.{prefix}translation")
    names = [f"{prefix}{name}" for name in _ROTATIONS if f"{prefix}{name}" in given] or [f"{prefix}rotation"]
    pose = pose_matrix([*move, 0] if len(move) == 2 else move, check.member(given, names[0], where))
    if pose is None:
        raise check.error(f"{where} is not a pose, expected a translation and a rotation [w, x, y, z] of length 1")
    return pose


def _read_tum(content: Content) -> tuple[Indices, Floats]:
    """Return times in nanoseconds and poses. A time is read digit by digit: it does not fit a float."""
    times = []
    rows = []
    for k, line in enumerate(content.data.decode("utf-8", "replace").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            time, *numbers = map(Decimal, words)
            is_nanoseconds = len(words[0]) > 15 and words[0].isdigit()
            if not is_nanoseconds:
                time = time * 10**9
            if len(numbers) != 7 or abs(time) >= 1 << 63:
                raise ValueError
            times.append(int(time))
            rows.append([float(number) for number in numbers])
        except (ValueError, ArithmeticError) as error:
            raise content.error(f"line {k}: expected t tx ty tz qx qy qz qw, got {line[:60]!r}") from error
    if not rows:
        raise content.error("no poses, expected lines of t tx ty tz qx qy qz qw")
    if len(set(times)) < len(times):
        raise content.error("two poses have the same time, expected one")
    table = np.array(rows)
    return np.array(times, np.int64), motions(table[:, [6, 3, 4, 5]], table[:, :3], f"{content.path}: pose")


class TimedPoses(NamedTuple):
    """Poses of a vehicle at times."""

    times: Indices  # (n,), nanoseconds, ascending
    motions: NDArray[np.float64]  # (n, 4, 4), from vehicle to city coordinates


def read_feather(path: Path) -> TimedPoses:
    """Read all poses of a log of Argoverse 2."""
    columns = feather_columns(path, dict.fromkeys(COLUMNS, "numbers") | {COLUMNS[0]: "whole numbers"}, "poses")
    if not len(columns[0]):
        raise UnreadableFile(f"{path}: expected at least one pose, found none")
    times, first, place = np.unique(columns[0].astype(np.int64), return_index=True, return_inverse=True)
    numbers = np.column_stack([column.astype(np.float64) for column in columns[1:]])
    again = np.flatnonzero(first[place] != np.arange(len(place)))
    differ = again[(numbers[again] != numbers[first[place[again]]]).any(axis=1)]
    if len(differ):
        raise UnreadableFile(f"{path}: two different poses at the time {columns[0][differ[0]]}, expected one")
    numbers = numbers[first]
    made = motions(numbers[:, :4], numbers[:, 4:], f"{path}: pose")
    made[:, :3, :3] = _rotations_as_scipy(numbers[:, :4])
    return TimedPoses(times, made)


def feather_columns(path: Path, expected: Mapping[str, str], what: str) -> list[NDArray[Any]]:
    """Read columns of a file of a log of Argoverse 2: of numbers, whole numbers or text, by name. ``what`` it holds."""
    feather = require("pyarrow.feather", f"reading the {what} of Argoverse 2", "truth")
    if not path.is_file():
        raise UnreadableFile(
            f"{path}: no such file. It contains the {what} of the log", remedy="Download it with the sensor data set"
        )
    try:
        with open_file(str(path)) as stream:
            table = feather.read_table(stream)
        found = table.column_names
    except (require("pyarrow", "", "truth").ArrowException, OSError, ValueError) as error:  # ValueError: not UTF-8
        raise UnreadableFile(f"{path}: not a feather file: {error}") from error
    lacking = [name for name in expected if name not in found]
    if lacking:
        raise UnreadableFile(
            f"{path}: column {', '.join(lacking)} not found. Expected the columns {', '.join(expected)}, "
            f"found {', '.join(found) or 'none'}"
        )
    try:
        columns = [table[name].to_numpy() for name in expected]
    except (KeyError, ValueError) as error:  # a name twice, or text that is not UTF-8
        raise UnreadableFile(f"{path}: the columns {', '.join(expected)} cannot be read: {error}") from error
    for (name, kind), values in zip(expected.items(), columns, strict=True):
        if table[name].null_count or values.dtype.kind not in _KINDS[kind]:
            raise UnreadableFile(
                f"{path}: expected {kind} in column {name}, found {table[name].type} "
                f"with {table[name].null_count} missing values"
            )
    return columns


def _rotations_as_scipy(quaternions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ``(n, 3, 3)`` rotation matrices of quaternions ``w, x, y, z``.

    The steps and so the bits are those of SciPy, which the development kit of Argoverse 2 uses.
    """
    w, x, y, z = (quaternions / np.sqrt((quaternions[:, [1, 2, 3, 0]] ** 2).sum(axis=1))[:, None]).T
    rows = (
        (x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w),
    )
    return np.stack([np.stack(row, axis=1) for row in rows], axis=1)


POSES = Format(
    name="poses",
    about="poses of frames: JSON by token, TUM, infos of nuScenes and StreamMapNet, city_SE3_egovehicle.feather",
    recognise=_is_poses,
    read=_read,
    options=("centre",),
    order=200,
)
