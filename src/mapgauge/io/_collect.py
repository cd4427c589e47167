"""Collects the frames, instances and poses of a file. All readers of JSON and pickles use a ``Collector``."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import Remedy
from mapgauge.frames.columns import Values
from mapgauge.frames.findings import Finding, findings_about
from mapgauge.frames.links import Links
from mapgauge.frames.map_frames import MapFrames, Names
from mapgauge.geometry.poses import check_poses, rotations
from mapgauge.io._columns import InstanceColumns, check_corners
from mapgauge.io._format import ReadOptions, known_ids
from mapgauge.io._values import ValueChecker, is_text
from mapgauge.io.files.source import Content
from mapgauge.typing import Confidences, Forward, Indices, Points

_OTHER_IDS = Remedy(
    "If the file uses other ids, pass classes= with their names",
    "If the file uses other ids, read it in Python with classes=, and convert it",
)


Column: TypeAlias = Sequence[Any] | NDArray[Any]  # a value per frame


class Collector:
    """Collects frames and instances and returns them as ``MapFrames``."""

    def __init__(
        self,
        content: Content,
        format_name: str,
        options: ReadOptions,
        locate: Callable[[int, str, int], str],
        classes: Sequence[str] = (),
        *,
        rare: Sequence[str] = (),
        confidence: bool,
    ) -> None:
        """Start without frames.

        ``locate`` returns the place of an instance from the index of its frame, the token and its index in the frame.
        A class of ``rare`` is only present if an instance has it. Ids of ``rare`` follow the ids of ``classes``.
        """
        self.name = str(content.path)
        self.format_name = format_name
        self.options = options
        self.locate = locate
        self.error = content.error
        self.check = ValueChecker(content.error)
        own = options.classes
        if own is None:
            self.table = dict(enumerate([*classes, *rare]))
        else:
            self.table = own
        always = dict.fromkeys(name for name in self.table.values() if own is not None or name not in rare)
        self.codes: dict[str, int] = {name: code for code, name in enumerate(always)}
        self.has_confidence = confidence
        self.tokens: list[str] = []
        self.scenes: list[str] = []
        self.timestamps: list[int] = []
        self.poses: list[NDArray[np.float64]] = []
        self.findings: list[Finding] = []
        self.forward: Forward | None = None  # the axis that points forward, if the file says so
        self.crs = ""  # the declared reference system
        self._dimension = 0  # of the points; 0 as long as there are none
        self._count = 0  # instances of the current frame so far
        self._columns: InstanceColumns | None = None  # instances added at once
        # Instances added one by one: frame, label, confidence and track; and their points.
        self._rows: list[tuple[int, int, float, str]] = []
        self._points: list[Points] = []
        self.links: Links | None = None  # between instances that were added one by one
        self.columns: dict[str, Values] = {}  # further columns of instances that were added one by one
        self.boxes: tuple[str, ...] = ()  # names of the classes whose instances are boxes
        self._wrong_counts: list[str] = []

    def add_frame(
        self,
        token: str,
        *,
        scene: str | None = None,
        timestamp: int | None = None,
        pose: NDArray[np.float64] | None = None,
    ) -> None:
        """Add a frame; the next instances belong to it. All frames or none have a scene, a timestamp and a pose."""
        self.tokens.append(token)
        self._count = 0
        if scene is not None:
            self.scenes.append(scene)
        if timestamp is not None:
            self.timestamps.append(timestamp)
        if pose is not None:
            self.poses.append(pose)

    def add_instance(
        self,
        points: Any,
        class_name: str,
        *,
        confidence: Any = 1.0,
        track: str = "",
        flat: bool = False,
        box: bool = False,
        where: str | None = None,
        confidence_where: str | None = None,
    ) -> None:
        """Add an instance to the current frame.

        ``flat`` also allows points as ``x, y, x, y, ...``. ``box`` allows two coordinates in a file of 3-D points.
        """
        if where is None:
            place = self.next_place
        else:
            place = where
        array = self.check.points(points, place, flat=flat)
        if not box and len(array):
            if self._dimension not in (0, array.shape[1]):
                raise self.error(
                    f"{place}: points have {array.shape[1]} coordinates, those before have {self._dimension}; expected "
                    "either 2-D or 3-D points in the whole file"
                )
            self._dimension = array.shape[1]
        code = self.codes.setdefault(class_name, len(self.codes))
        value = 1.0
        if self.has_confidence:
            value = self.check.number(confidence, confidence_where or f"{place}: confidence")
        self._points.append(array)
        self._rows.append((len(self.tokens) - 1, code, value, track))
        self._count += 1

    def add_vector(self, vector: dict[str, Any], class_name: str, where: str) -> None:
        """Add an instance that is an object with ``pts``, ``pts_num`` and ``confidence_level``.

        HDMapNet, VectorMapNet and MapTR write such objects.
        """
        points = vector["pts"]
        self.add_instance(
            points,
            class_name,
            confidence=vector.get("confidence_level"),
            where=f"{where}.pts",
            confidence_where=f"{where}.confidence_level",
        )
        stated = vector.get("pts_num", len(points))
        if not isinstance(stated, int | float | np.number) or stated != len(points):
            self._wrong_counts.append(where)

    def add_columns(
        self,
        frame: Indices,
        label: Indices,
        confidence: Confidences | None,
        sizes: Indices,
        coords: Points,
        track: Sequence[str] | Names | None = None,
        links: Links | None = None,
        **columns: Values | None,
    ) -> None:
        """Add all instances of the file at once, in place of ``add_instance``; labels are values of ``codes``."""
        known = {name: values for name, values in columns.items() if values is not None}
        if track is not None and any(track):
            known["track"] = np.asarray(track, np.str_)
        self._columns = InstanceColumns(
            frame=frame,
            label=label,
            confidence=confidence,
            sizes=sizes,
            coords=coords,
            links=links,
            columns=known,
        )

    @property
    def next_place(self) -> str:
        """The place of the instance that is added next."""
        return self.locate(len(self.tokens) - 1, self.tokens[-1], self._count)

    def class_of(self, label: Any, where: str) -> str:
        """Return the name of a numeric label."""
        if isinstance(label, bool | np.bool_ | str) or not isinstance(label, int | float | np.number):
            raise self.error(f"{where}: label is {label!r}, expected a whole number (an id of {known_ids(self.table)})")
        if label not in self.table:
            raise self.error(f"{where}: unknown label {label}. Known: {known_ids(self.table)}", remedy=_OTHER_IDS)
        return self.table[int(label)]

    def codes_of(self, labels: NDArray[Any]) -> Indices:
        """Return the codes of the classes of numeric labels; -1 for an unknown label."""
        codes = np.full(len(labels), -1)
        for label, name in self.table.items():
            codes[labels == label] = self.codes.get(name, -1)
        return codes

    def place(self, frame: Indices, row: int) -> str:
        """Return the place of an instance, from the frames of all instances and its index among them."""
        number = int(frame[row])
        return self.locate(number, self.tokens[number], row - int(np.searchsorted(frame, number)))

    def note_wrong_counts(self, frame: Indices, rows: Indices) -> None:
        """Remember instances whose stated number of points differs from their number of points."""
        self._wrong_counts += [self.place(frame, row).removesuffix(".pts") for row in rows.tolist()]

    def _gathered(self) -> InstanceColumns:
        """Return the instances that were added one by one."""
        points = [points for points in self._points if len(points)]
        if self.boxes:
            width = self._dimension or 3  # without lines, boxes have the dimension of most lanes
            points = [_as_wide(each, width) for each in points]
        coords = np.empty((0, 2))
        if points:
            coords = np.concatenate(points)

        confidences = None
        if self.has_confidence:
            confidences = np.array([confidence for _, _, confidence, _ in self._rows], np.float64)
        named = {}
        tracks = [track for *_, track in self._rows]
        if any(tracks):
            named = {"track": np.array(tracks, np.str_)}
        return InstanceColumns(
            frame=np.array([frame for frame, *_ in self._rows], np.int64),
            label=np.array([label for _, label, *_ in self._rows], np.int64),
            confidence=confidences,
            sizes=np.array([len(points) for points in self._points], np.int64),
            coords=coords,
            links=self.links,
            columns=named | self.columns,
        )

    def finish(self) -> MapFrames:
        """Return the frames. Degenerate instances are an error, or dropped and counted."""
        if self._columns is None:
            given = self._gathered()
        else:
            given = self._columns
        self._check_names()
        locate = partial(self.place, given.frame)
        columns, dropped = given.without_degenerate(self.name, self.options.degenerate, locate)
        boxes = [name in self.boxes for name in self.codes]
        check_corners(columns, boxes, self.error, locate=partial(self.place, columns.frame))
        findings = [*self.findings, *dropped]
        wrong = self._wrong_counts
        text = f"{self.name}: {len(wrong)} instances state a number of points that differs from the points they have"
        findings += findings_about(wrong, "warning", "points-number", text=text)
        return MapFrames(
            tokens=tuple(self.tokens),
            classes=tuple(self.codes),
            **columns.members(),
            scenes=self._for_all("scene", self.scenes, tuple),
            timestamps=self._for_all("timestamp", self.timestamps, np.array),
            poses=self._for_all("pose", self.poses, np.array),
            name=self.name,
            format=self.format_name,
            findings=tuple(findings),
            boxes=self.boxes,
            forward=self.forward,
            crs=self.crs,
        )

    def _check_names(self) -> None:
        """Refuse names that are not valid text, such as half of a pair of surrogates. They cannot be printed."""
        tracks = [track for *_, track in self._rows]
        for kind, names in (("token", self.tokens), ("class", self.codes), ("scene", self.scenes), ("track", tracks)):
            if not is_text("".join(names)):
                name = next(name for name in names if not is_text(name))
                raise self.error(f"the {kind} {ascii(name)[:60]} is not valid text", remedy="Rename it")

    def _for_all(self, what: str, values: list[Any], make: Callable[[list[Any]], Any]) -> Any:
        if values and len(values) != len(self.tokens):
            raise self.error(f"{len(values)} of {len(self.tokens)} frames have a {what}, expected all or none")
        if not values:
            return None
        return make(values)


def with_poses(frames: MapFrames, translations: Column, turns: Column) -> MapFrames:
    """Return the frames with their poses if every frame has one, and with a finding if only some have one.

    A rotation is a matrix ``(3, 3)`` or a quaternion ``w, x, y, z``. What a frame lacks is None.
    """
    given = (value for column in (translations, turns) for value in column)
    if all(value is None for value in given):
        return frames
    matrices = _all_at_once(translations, turns)
    if matrices is not None:
        return replace(frames, poses=matrices)
    poses = [pose_matrix(*parts) for parts in zip(translations, turns, strict=True)]
    lacking = [token for token, pose in zip(frames.tokens, poses, strict=True) if pose is None]
    if not lacking:
        return replace(frames, poses=np.array(poses))
    text = f"{frames.name}: {len(lacking)} of {len(frames)} frames have no usable pose, so all poses are left out"
    return replace(frames, findings=(*frames.findings, *findings_about(lacking, "note", "poses-left-out", text=text)))


def _all_at_once(translations: Column, turns: Column) -> NDArray[np.float64] | None:
    """Return the poses if all of them are sound and all rotations are matrices, else None."""
    count = len(translations)
    try:
        moves, matrices = (np.asarray(column, np.float64) for column in (translations, turns))
        if moves.shape != (count, 3) or matrices.shape != (count, 3, 3):
            return None
        poses = np.tile(np.eye(4), (count, 1, 1))
        poses[:, :3, :3] = matrices
        poses[:, :3, 3] = moves
        return check_poses(poses, count)
    except (TypeError, ValueError, OverflowError):  # InvalidInput is a ValueError
        return None


def pose_matrix(translation: Any, rotation: Any) -> NDArray[np.float64] | None:
    """Return the matrix ``(4, 4)`` from the frame to the world, or None if the values are not a pose."""
    pose = np.eye(4)
    try:
        turn = np.asarray(rotation, np.float64)
        if turn.shape == (4,):  # a quaternion
            if not abs(np.linalg.norm(turn) - 1) < 1e-3:
                return None
            turn = rotations(turn[None])[0]
        pose[:3, :3] = np.reshape(turn, (3, 3))
        pose[:3, 3] = np.asarray(translation, np.float64).reshape(3)
        check_poses(pose, frames=1)
    except (TypeError, ValueError, OverflowError):  # InvalidInput is a ValueError
        return None
    return pose


def _as_wide(points: Points, width: int) -> Points:
    """Return the points of a line as they are, and the corners of a box, which lacks a height, with heights of 0."""
    if points.shape[1] == width:
        return points
    flat = np.zeros((len(points), width - 2))
    return np.hstack([points, flat])
