"""From the values in a file to columns: every reader hands its frames and instances to a ``Collector``.

The collector owns what all formats share: which values are points, labels and confidences, what a degenerate instance
is and what happens to it, and how an error says where it is.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput, UnreadableFile
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Degenerate, Points

Classes: TypeAlias = Sequence[str] | Mapping[int, str] | Mapping[str, int]
EXAMPLES = 3  # named in a finding


@dataclass(frozen=True)
class Settings:
    """What the caller of ``read`` asked for."""

    classes: dict[int, str] | None = None  # in place of the format's own table
    degenerate: Degenerate = "strict"
    options: Mapping[str, Any] = field(default_factory=dict)  # of this format only


def class_table(classes: Classes) -> dict[int, str]:
    """Names by id, from a list of names, from ``{id: name}`` or from ``{name: id}`` as the configurations write it."""
    expected = "classes must be a list of names, {id: name} or {name: id}"
    if isinstance(classes, str) or not isinstance(classes, Sequence | Mapping):
        raise InvalidInput(f"{expected}, got {classes!r}")
    pairs = list(classes.items()) if isinstance(classes, Mapping) else list(enumerate(classes))
    table: dict[int, str] = {}
    for key, value in pairs:
        number, name = (key, value) if isinstance(value, str) else (value, key)
        if not isinstance(name, str) or isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise InvalidInput(f"{expected}, got {classes!r}")
        if int(number) in table:
            raise InvalidInput(f"classes: id {number} has two names, {table[int(number)]} and {name}")
        table[int(number)] = name
    return table


class Collector:
    """Gathers frames and instances, and makes ``MapFrames`` of them.

    ``locate(frame, token, instance)`` says in the format's own terms where an instance is, such as
    ``$.results["4b2f"].vectors[3]``; errors show it.
    """

    def __init__(
        self,
        name: str,
        format_name: str,
        settings: Settings,
        *,
        locate: Callable[[int, str, int], str],
        classes: Sequence[str] = (),
        rare: Sequence[str] = (),
        confidence: bool,
    ) -> None:
        """Begin.

        ``classes`` is the format's own table of ids. ``rare`` are the ids after those, of classes that are there only
        if an instance has them. ``confidence`` says whether instances have one.
        """
        self.name, self.format_name, self.settings, self.locate = name, format_name, settings, locate
        self.table = dict(enumerate([*classes, *rare])) if settings.classes is None else settings.classes
        always = dict.fromkeys(name for name in self.table.values() if settings.classes is not None or name not in rare)
        self.codes: dict[str, int] = {name: code for code, name in enumerate(always)}
        self.has_confidence = confidence
        self.tokens: list[str] = []
        self.scenes: list[str] = []
        self.timestamps: list[int] = []
        self.poses: list[NDArray[np.float64]] = []
        self.findings: list[Finding] = []
        self._dimension = 0  # of the points; 0 until there are some
        self._count = 0  # instances of the current frame so far
        self._frame: list[NDArray[np.int64]] = []
        self._position: list[NDArray[np.int64]] = []  # of an instance in its frame, as in the file
        self._label: list[NDArray[np.int64]] = []
        self._confidence: list[NDArray[np.float64]] = []
        self._sizes: list[NDArray[np.int64]] = []
        self._coords: list[Points] = []
        self._tracks: list[str] = []
        self._rows: list[tuple[int, int, int, float, str]] = []  # of instances that come one by one
        self._points: list[Points] = []
        self._odd_counts: list[str] = []

    def error(self, message: str) -> UnreadableFile:
        """An error that begins with the file."""
        return UnreadableFile(f"{self.name}: {message}")

    @property
    def here(self) -> str:
        """Where the instance that comes next is."""
        return self.locate(len(self.tokens) - 1, self.tokens[-1], self._count)

    def frame(
        self,
        token: str,
        *,
        scene: str | None = None,
        timestamp: int | None = None,
        pose: NDArray[np.float64] | None = None,
    ) -> None:
        """The next frame; the instances that follow are its. Scene, timestamp and pose come for all frames or none."""
        self.tokens.append(token)
        self._count = 0
        if scene is not None:
            self.scenes.append(scene)
        if timestamp is not None:
            self.timestamps.append(timestamp)
        if pose is not None:
            self.poses.append(pose)

    def instance(
        self,
        points: Any,
        *,
        label: Any = None,
        class_name: str | None = None,
        confidence: Any = 1.0,
        track: str = "",
        flat: bool = False,
        where: str | None = None,
    ) -> None:
        """One instance of the current frame, by label or by class name. ``flat`` admits ``x, y, x, y, ...``."""
        place = self.here if where is None else where
        array = self.points(points, place, flat=flat)
        self._same_dimension(array, place)
        if class_name is None:
            class_name = self.class_of(label, place)
        code = self.codes.setdefault(class_name, len(self.codes))
        value = self.number(confidence, f"{place}: confidence") if self.has_confidence else 1.0
        self._points.append(array)
        self._rows.append((len(self.tokens) - 1, self._count, code, value, track))
        self._count += 1

    def columns(
        self,
        frame: NDArray[np.int64],
        label: NDArray[np.int64],
        confidence: NDArray[np.float64] | None,
        sizes: NDArray[np.int64],
        coords: Points,
    ) -> None:
        """Many instances at once, with labels already turned into codes and frames already announced."""
        self._flush()
        if len(coords):
            self._same_dimension(coords, self.locate(int(frame[0]), self.tokens[frame[0]], 0))
        starts = np.searchsorted(frame, frame)
        self._frame.append(frame)
        self._position.append(np.arange(len(frame)) - starts)
        self._label.append(label)
        self._confidence.append(np.ones(len(frame)) if confidence is None else confidence)
        self._sizes.append(sizes)
        if len(coords):
            self._coords.append(coords)
        self._tracks += [""] * len(frame) if self._tracks else []

    def _same_dimension(self, points: Points, where: str) -> None:
        if len(points) and self._dimension not in (0, points.shape[1]):
            raise self.error(
                f"{where}: points have {points.shape[1]} coordinates, those before have {self._dimension}. "
                "A file is either 2-D or 3-D"
            )
        if len(points):
            self._dimension = points.shape[1]

    def class_of(self, label: Any, where: str) -> str:
        """The name of a numeric label, by the table."""
        if isinstance(label, bool | np.bool_ | str) or not isinstance(label, int | float | np.number):
            raise self.error(f"{where}: label is {label!r}, expected a whole number (an id of {self.known})")
        if label not in self.table:
            raise self.error(
                f"{where}: unknown label {label}. Known: {self.known}. "
                "Pass classes= with the names of this file's ids if it has others"
            )
        return self.table[int(label)]

    @property
    def known(self) -> str:
        """The table of ids, for messages."""
        return ", ".join(f"{number} {name}" for number, name in sorted(self.table.items())) or "none"

    def number(self, value: Any, where: str) -> float:
        """A real number; null is NaN, which makes an instance degenerate."""
        if value is None:
            return float("nan")
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
            raise self.error(f"{where} is {_short(value)}, expected a number")
        try:
            return float(value)
        except OverflowError:
            return float("inf")

    def text(self, value: Any, where: str) -> str:
        """A text that is not empty: a token, a name."""
        if not isinstance(value, str) or not value:
            raise self.error(f"{where} is {_short(value)}, expected a text")
        return str(value)

    def points(self, value: Any, where: str, *, flat: bool = False) -> Points:
        """Points ``(n, 2 or 3)`` from an array or nested lists; null is NaN, which makes an instance degenerate."""
        if isinstance(value, np.ndarray) and value.ndim:
            array = value
        elif isinstance(value, list | tuple):
            try:
                array = np.array(value)
                if bool in set(map(type, value if array.ndim == 1 else chain.from_iterable(value))):  # or True is 1
                    array = np.empty(0, object)
            except (ValueError, TypeError, OverflowError):
                array = np.empty(0, object)
        else:
            raise self.error(f"{where} is {_short(value)}, expected a list of points")
        if flat and array.ndim == 1 and array.dtype.kind in "iuf":
            if len(array) % 2:
                raise self.error(f"{where} has {len(array)} numbers, expected x, y, x, y, ...")
            array = array.reshape(-1, 2)
        if not len(value):
            return np.empty((0, 2))
        if array.dtype.kind not in "iuf" or array.ndim != 2:
            array = self._one_by_one(value, where)
        if array.shape[1] not in (2, 3):
            raise self.error(f"{where}: points have {array.shape[1]} coordinates, expected 2 or 3")
        return np.ascontiguousarray(array, np.float64)

    def _one_by_one(self, value: Iterable[Any], where: str) -> Points:
        """Points from lists that numpy does not take for a table of numbers: find what is wrong, and say where."""
        rows: list[list[float]] = []
        for i, point in enumerate(value):
            if isinstance(point, int | float | np.number):
                raise self.error(
                    f"{where} is a flat list of numbers, expected a list of points such as [[0, 0], [1, 0]]"
                )
            if not isinstance(point, list | tuple | np.ndarray) or getattr(point, "ndim", 1) == 0:
                raise self.error(f"{where}[{i}] is {_short(point)}, expected a point of 2 or 3 numbers")
            rows.append([self.number(x, f"{where}[{i}][{k}]") for k, x in enumerate(point)])
            if len(rows[-1]) != len(rows[0]):
                raise self.error(
                    f"{where}[{i}] has {len(rows[-1])} coordinates, the points before it have {len(rows[0])}"
                )
        return np.array(rows).reshape(len(rows), -1)

    def same_length(self, where: str, **lists: Sequence[Any]) -> None:
        """Refuse parallel lists of different lengths, which would pair the wrong things."""
        if len({len(values) for values in lists.values()}) > 1:
            lengths = ", ".join(f"{len(values)} {name}" for name, values in lists.items())
            raise self.error(f"{where} has {lengths}; expected as many of each")

    def odd_count(self, where: str) -> None:
        """Remember an instance whose stated number of points is not the number of its points."""
        self._odd_counts.append(where)

    def _flush(self) -> None:
        """Turn the instances that came one by one into columns."""
        if not self._rows:
            return
        frame, position, label, confidence, tracks = zip(*self._rows, strict=True)
        self._frame.append(np.array(frame, np.int64))
        self._position.append(np.array(position, np.int64))
        self._label.append(np.array(label, np.int64))
        self._confidence.append(np.array(confidence, np.float64))
        self._sizes.append(np.array([len(points) for points in self._points], np.int64))
        self._coords += [points for points in self._points if len(points)]
        self._tracks += tracks
        self._rows.clear()
        self._points.clear()

    def finish(self) -> MapFrames:
        """All frames and instances as columns; degenerate instances are refused or dropped and counted."""
        self._flush()
        none = np.empty(0, np.int64)
        frame, position, label = (np.concatenate([none, *c]) for c in (self._frame, self._position, self._label))
        confidence = np.concatenate([np.empty(0), *self._confidence])
        sizes = np.concatenate([none, *self._sizes])
        coords = np.concatenate(self._coords) if self._coords else np.empty((0, 2))
        self._coords.clear()
        keep, findings = self.judge(frame, position, confidence, sizes, coords)
        if not keep.all():
            coords = coords[np.repeat(keep, sizes)]
            frame, label, confidence, sizes = frame[keep], label[keep], confidence[keep], sizes[keep]
        track = np.array(self._tracks, np.str_)[keep] if any(self._tracks) else None
        if self._odd_counts:
            text = f"{self.name}: {len(self._odd_counts)} instances state another number of points than they have"
            findings.append(
                Finding("warning", "points-number", text, len(self._odd_counts), tuple(self._odd_counts[:EXAMPLES]))
            )
        return MapFrames(
            tuple(self.tokens),
            tuple(self.codes),
            frame,
            label,
            Polylines(coords, np.concatenate([[0], sizes]).cumsum()),
            confidence if self.has_confidence else None,
            track,
            scenes=self._for_all("scene", self.scenes, tuple),
            timestamps=self._for_all("timestamp", self.timestamps, np.array),
            poses=self._for_all("pose", self.poses, np.array),
            name=self.name,
            format=self.format_name,
            findings=tuple(self.findings + findings),
        )

    def _for_all(self, what: str, values: list[Any], make: Callable[[list[Any]], Any]) -> Any:
        if values and len(values) != len(self.tokens):
            raise self.error(f"{len(values)} of {len(self.tokens)} frames have a {what}, expected all or none")
        return make(values) if values else None

    def judge(
        self,
        frame: NDArray[np.int64],
        position: NDArray[np.int64],
        confidence: NDArray[np.float64],
        sizes: NDArray[np.int64],
        coords: Points,
    ) -> tuple[NDArray[np.bool_], list[Finding]]:
        """Which instances are sound. The others are an error, or dropped and counted if the caller asked for that."""
        broken = np.zeros(len(frame), np.bool_)
        finite = np.isfinite(coords)
        if not finite.all():
            broken[np.repeat(np.arange(len(frame)), sizes)[~finite.all(axis=1)]] = True
        keep = np.ones(len(frame), np.bool_)
        findings: list[Finding] = []
        for code, bad, what in (
            ("few-points", sizes < 2, "fewer than 2 points"),
            ("not-finite", broken, "a coordinate that is not a finite number"),
            ("confidence-not-finite", ~np.isfinite(confidence), "a confidence that is not a finite number"),
        ):
            rows = np.flatnonzero(bad & keep)
            if not len(rows):
                continue
            places = [
                self.locate(int(frame[i]), self.tokens[frame[i]], int(position[i])) for i in rows[:EXAMPLES].tolist()
            ]
            if self.settings.degenerate == "strict":
                more = f" ({len(rows)} of {len(frame)} instances have)" if len(rows) > 1 else ""
                raise self.error(f'{places[0]} has {what}{more}. Pass degenerate="drop" to leave such instances out')
            keep &= ~bad
            text = f"{self.name}: {len(rows)} of {len(frame)} instances dropped: they have {what}"
            findings.append(Finding("warning", f"dropped-{code}", text, len(rows), tuple(places)))
        return keep, findings


def _short(value: Any) -> str:
    """A value as an error message shows it."""
    if value is None:
        return "null"
    if isinstance(value, str | int | float):
        text = repr(value)
        return text if len(text) <= 40 else text[:37] + "..."
    return f"a {type(value).__name__}"
