"""MapFrames: the instances of many frames as columns.

One row per instance: in which frame it is, its class, its confidence, its points. Predictions and truth have the same
form; truth has no confidence. All readers give it, everything else takes it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapgauge.arguments import check_angle, check_confidence
from mapgauge.errors import InvalidInput
from mapgauge.frames.findings import Finding
from mapgauge.geometry.cropping import Region, crop_polylines
from mapgauge.geometry.polylines import Polylines, ranges
from mapgauge.geometry.poses import check_poses
from mapgauge.geometry.resampling import resample_polylines
from mapgauge.typing import Confidences, Points

Indices: TypeAlias = NDArray[np.int64]
Names: TypeAlias = NDArray[np.str_]


class Instance(NamedTuple):
    """One instance of one frame."""

    class_name: str
    points: Points
    confidence: float | None = None  # None in truth
    track: str | None = None


@dataclass(frozen=True, eq=False)
class MapFrames:
    """Instances of many frames, as columns.

    Frames have an order and may be empty. Instances are sorted by frame. ``len`` is the number of frames, indexing
    by token gives the instances of one.

    >>> frames = MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}, "b": {}}, confidence={"a": {"divider": [0.8]}})
    >>> len(frames), frames.counts
    (2, {'divider': 1})
    >>> frames["a"][0].confidence
    0.8
    """

    tokens: tuple[str, ...]  # of the frames
    classes: tuple[str, ...]  # label i is the class classes[i]
    frame: Indices  # (instances,): index into tokens, never falling
    label: Indices  # (instances,): index into classes
    polylines: Polylines  # (instances,)
    confidence: Confidences | None = None  # (instances,), as in the file; None in truth
    track: Names | None = None  # (instances,): one name for what is the same thing in several frames; "" for none
    scenes: tuple[str, ...] | None = None  # of the frames
    timestamps: Indices | None = None  # (frames,), in the unit of the data set
    poses: NDArray[np.float64] | None = None  # (frames, 4, 4): from the frame's coordinates to the world's
    name: str = ""  # what to call it in messages: the file it came from
    format: str = ""  # the format it came in
    findings: tuple[Finding, ...] = ()  # what the reader noticed

    def __post_init__(self) -> None:
        """Refuse columns that do not fit together."""
        count, frames = len(self.polylines), len(self.tokens)
        for name, column, rows in (
            ("frame", self.frame, count),
            ("label", self.label, count),
            ("confidence", self.confidence, count),
            ("track", self.track, count),
            ("scenes", self.scenes, frames),
            ("timestamps", self.timestamps, frames),
            ("poses", self.poses, frames),
        ):
            if column is not None and len(column) != rows:
                of = "instances" if rows is count else "frames"
                raise InvalidInput(f"{name} has {len(column)} rows, expected one for each of {rows} {of}")
        if self.dimension not in (2, 3):
            raise InvalidInput(f"points have {self.dimension} coordinates, expected 2 or 3")
        if len(set(self.classes)) < len(self.classes):
            raise InvalidInput(f"classes must differ from each other, got {', '.join(self.classes)}")
        if count and (self.frame[0] < 0 or self.frame[-1] >= frames or np.any(np.diff(self.frame) < 0)):
            raise InvalidInput(f"frame must rise from 0 to at most {frames - 1}, the last frame")
        if count and not (self.label.min() >= 0 and self.label.max() < len(self.classes)):
            raise InvalidInput(f"label must be from 0 to {len(self.classes) - 1}, the last class")

    @classmethod
    def of(
        cls,
        frames: Mapping[str, Mapping[str, Any]],
        *,
        confidence: Mapping[str, Mapping[str, ArrayLike]] | None = None,
        classes: Sequence[str] | None = None,
    ) -> "MapFrames":
        """Pack polylines given by token and class name.

        Args:
            frames: ``{token: {class name: polylines}}``; polylines as for ``Polylines.of``.
            confidence: The same with one number per polyline. None makes it truth.
            classes: The names and order of the classes; as they are met if None.
        """
        names = list(
            dict.fromkeys(name for groups in frames.values() for name in groups) if classes is None else classes
        )
        arrays: list[Points] = []
        where: list[str] = []
        frame: list[int] = []
        label: list[int] = []
        values: list[Confidences] = []
        dimension: int | None = None
        for index, (token, groups) in enumerate(frames.items()):
            for name, group in groups.items():
                if name not in names:
                    raise InvalidInput(f"frame {token}: unknown class {name!r}. Known: {', '.join(names)}")
                lines = Polylines.of(group, f"{token}, {name}", dimension)
                if len(lines.coords):
                    dimension = lines.dimension
                arrays += list(lines)
                where += [f"{token}, {name} {k}" for k in range(len(lines))]
                frame += [index] * len(lines)
                label += [names.index(name)] * len(lines)
                if confidence is not None:
                    given = confidence.get(token, {}).get(name, ())
                    values.append(check_confidence(f"confidence of {token}, {name}", given, len(lines), "polyline"))
        return cls(
            tuple(frames),
            tuple(names),
            np.array(frame, np.int64),
            np.array(label, np.int64),
            Polylines.join(arrays, where, dimension or 2),
            None if confidence is None else np.concatenate([np.empty(0), *values]),
        )

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.tokens)

    def __repr__(self) -> str:
        """What is in it, in one line."""
        kind = "truth" if self.confidence is None else "predictions"
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        return f"<MapFrames {self.name or kind}: {len(self)} frames, {self.dimension}-D, {counts or 'no classes'}>"

    def __getitem__(self, token: str) -> list[Instance]:
        """The instances of one frame."""
        if token not in self.index:
            raise KeyError(f"no frame {token!r}")
        start, stop = self.offsets[self.index[token] : self.index[token] + 2].tolist()
        return [
            Instance(
                self.classes[self.label[i]],
                self.polylines[i],
                None if self.confidence is None else float(self.confidence[i]),
                None if self.track is None else str(self.track[i]) or None,
            )
            for i in range(start, stop)
        ]

    @cached_property
    def index(self) -> dict[str, int]:
        """Where each token is; of a token that occurs twice, the first."""
        return {token: i for i, token in reversed(list(enumerate(self.tokens)))}

    @cached_property
    def offsets(self) -> Indices:
        """Frame ``i`` has the instances ``offsets[i]`` up to ``offsets[i + 1]``."""
        return np.searchsorted(self.frame, np.arange(len(self) + 1))

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point: 2 or 3."""
        return self.polylines.dimension

    @property
    def counts(self) -> dict[str, int]:
        """Number of instances of each class."""
        counted = np.bincount(self.label, minlength=len(self.classes))
        return dict(zip(self.classes, counted.tolist(), strict=True))

    def keep(self, instances: NDArray[Any]) -> "MapFrames":
        """Some of the instances, by mask or by rising indices; all frames stay."""
        rows = np.flatnonzero(instances) if instances.dtype == np.bool_ else instances
        return self._rows(rows, self.polylines.pick(rows))

    def at(self, frames: Sequence[int]) -> "MapFrames":
        """Some of the frames, in the order given."""
        order = np.asarray(frames, np.int64)
        if np.array_equal(order, np.arange(len(self))):
            return self
        counts = np.diff(self.offsets)[order]
        rows = ranges(self.offsets[order], counts)
        return self._rows(
            rows,
            self.polylines.pick(rows),
            frame=np.repeat(np.arange(len(order)), counts),
            tokens=tuple(self.tokens[i] for i in order.tolist()),
            scenes=None if self.scenes is None else tuple(self.scenes[i] for i in order.tolist()),
            timestamps=None if self.timestamps is None else self.timestamps[order],
            poses=None if self.poses is None else self.poses[order],
        )

    def between(self, frames: slice) -> "MapFrames":
        """A run of frames, without copying its points."""
        start, stop, _ = frames.indices(len(self))
        first, last = self.offsets[start], self.offsets[stop]
        offsets = self.polylines.offsets[first : last + 1]
        rows = slice(first, last)
        return self._rows(
            rows,
            Polylines.unchecked(self.polylines.coords[offsets[0] : offsets[-1]], offsets - offsets[0]),
            frame=self.frame[rows] - start,
            tokens=self.tokens[start:stop],
            scenes=None if self.scenes is None else self.scenes[start:stop],
            timestamps=None if self.timestamps is None else self.timestamps[start:stop],
            poses=None if self.poses is None else self.poses[start:stop],
        )

    def _rows(self, rows: Indices | slice, polylines: Polylines, **columns: Any) -> "MapFrames":
        """The instance columns at some rows, with other points; ``columns`` are set as given."""
        picked: dict[str, Any] = {
            "frame": self.frame[rows],
            "label": self.label[rows],
            "polylines": polylines,
            "confidence": None if self.confidence is None else self.confidence[rows],
            "track": None if self.track is None else self.track[rows],
        }
        return replace(self, **(picked | columns))

    def select(self, classes: Sequence[str]) -> "MapFrames":
        """Only these classes, in this order.

        >>> MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]], "boundary": []}}).select(["boundary"]).counts
        {'boundary': 0}
        """
        wanted = _class_names(classes)
        unknown = [name for name in wanted if name not in self.classes]
        if unknown:
            raise InvalidInput(
                f"{self._called}no class {', '.join(unknown)}. There are: {', '.join(self.classes) or 'none'}"
            )
        return self.as_classes(wanted)

    def as_classes(self, classes: Sequence[str]) -> "MapFrames":
        """These classes, in this order; those that are not there are added without instances, others are left out."""
        wanted = _class_names(classes)
        if wanted == self.classes:
            return self
        code = np.array([wanted.index(name) if name in wanted else -1 for name in self.classes] or [-1], np.int64)
        kept = self.keep(code[self.label] >= 0)
        return replace(kept, classes=wanted, label=code[kept.label])

    def rename(self, names: Mapping[str, str]) -> "MapFrames":
        """Other names for classes. Classes that get the same name become one.

        >>> frames = MapFrames.of({"a": {"road_divider": [[[0, 0], [9, 0]]], "lane_divider": [[[0, 1], [9, 1]]]}})
        >>> frames.rename({"road_divider": "divider", "lane_divider": "divider"}).counts
        {'divider': 2}
        """
        unknown = [name for name in names if name not in self.classes]
        if unknown:
            raise InvalidInput(
                f"{self._called}no class {', '.join(unknown)}. There are: {', '.join(self.classes) or 'none'}"
            )
        new = [names.get(name, name) for name in self.classes]
        classes = tuple(dict.fromkeys(new))
        code = np.array([classes.index(name) for name in new], np.int64)
        return replace(self, classes=classes, label=code[self.label])

    def filter(self, confidence: float) -> "MapFrames":
        """Only instances with at least this confidence. Nothing in the package does this unasked: it moves numbers."""
        if self.confidence is None:
            raise InvalidInput(f"{self._called}truth has no confidence to filter by")
        least = check_confidence("confidence", [confidence], 1, "filter")[0]
        return self.keep(self.confidence >= least)

    def crop(self, region: Region) -> "MapFrames":
        """Only what lies in a region; polylines are cut at its edge.

        Args:
            region: ``(length, width)`` around the ego, or ``(x_min, y_min, x_max, y_max)``, in metres. Its edge belongs
                to it. A polyline that leaves the region and comes back becomes several instances with the same class,
                confidence and track.

        >>> frames = MapFrames.of({"a": {"divider": [[[-50, 0], [50, 0]]]}})
        >>> frames.crop((60, 30))["a"][0].points
        array([[-30.,   0.],
               [ 30.,   0.]])
        """
        polylines, sources = crop_polylines(self.polylines, region)
        return self._rows(sources, polylines)

    def resample(self, *, spacing: float | None = None, count: int | None = None) -> "MapFrames":
        """Points at equal distances, as ``mapgauge.resample`` does it for one polyline."""
        return replace(self, polylines=resample_polylines(self.polylines, spacing=spacing, count=count))

    def rotate(self, degrees: float) -> "MapFrames":
        """Turn all points about the origin, counter-clockwise seen from above. Quarter turns are exact.

        MapTR's nuScenes files have x to the right and y forward. ``rotate(-90)`` makes that x forward and y to the
        left, as in StreamMapNet's.

        >>> frames = MapFrames.of({"a": {"divider": [[[1, 20], [1, 30]]]}})
        >>> frames.rotate(-90)["a"][0].points
        array([[20., -1.],
               [30., -1.]])
        """
        turns = check_angle(degrees) / 90
        if turns == round(turns):
            c, s = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[round(turns) % 4]
        else:
            c, s = float(np.cos(np.radians(degrees))), float(np.sin(np.radians(degrees)))
        pose = np.eye(4)
        pose[:2, :2] = (c, -s), (s, c)
        return self.transform(pose)

    def transform(self, poses: ArrayLike) -> "MapFrames":
        """Move all points by a rigid motion, one for all frames or one for each.

        Args:
            poses: ``(4, 4)`` or ``(frames, 4, 4)`` matrices of rotation and translation. ``frames.poses``, where the
                file has them, takes a frame into the world. Points of two coordinates are taken at height 0, and the
                height of the result is left out.
        """
        motion = check_poses(poses, len(self))
        d = self.dimension
        frame = self.frame if len(motion) > 1 else np.zeros_like(self.frame)
        which = np.repeat(frame, np.diff(self.polylines.offsets))
        coords = motion[which, :d, 3]
        for k in range(d):
            coords += motion[which, :d, k] * self.polylines.coords[:, k, None]
        moved = Polylines(coords, self.polylines.offsets)
        poses_after = None if self.poses is None else self.poses @ np.linalg.inv(motion)
        return replace(self, polylines=moved, poses=poses_after)

    def planar(self) -> "MapFrames":
        """The same without height: points of two coordinates."""
        coords = np.ascontiguousarray(self.polylines.coords[:, :2])
        return replace(self, polylines=Polylines(coords, self.polylines.offsets))

    def with_confidence(self, confidence: ArrayLike | None) -> "MapFrames":
        """Other confidences: one number for all, one for each instance, or None, which makes it truth."""
        if confidence is None:
            return replace(self, confidence=None)
        given = (
            np.broadcast_to(np.asarray(confidence), (len(self.polylines),)) if np.ndim(confidence) == 0 else confidence
        )
        return replace(self, confidence=check_confidence("confidence", given, len(self.polylines), "instance"))

    @property
    def _called(self) -> str:
        return f"{self.name}: " if self.name else ""


def _class_names(classes: Iterable[str]) -> tuple[str, ...]:
    if isinstance(classes, str):
        raise InvalidInput(f"classes must be a sequence of names, got the text {classes!r}. Put it in a list.")
    return tuple(classes)
