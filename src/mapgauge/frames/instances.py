"""Instances one by one: as objects, from nested lists, by index, and as boxes in an image."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapgauge.arguments import check_confidence
from mapgauge.errors import InvalidInput
from mapgauge.frames.findings import place_of
from mapgauge.geometry.polylines import Polylines
from mapgauge.geometry.resampling import resample_polylines
from mapgauge.typing import Confidences, Flags, Indices, Points, Sampling

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames


def check_boxes(frames: "MapFrames") -> None:
    """Refuse boxes that are not two corners, the smallest first."""
    if not frames.boxes:
        return
    boxes = np.flatnonzero(is_box(frames))
    start, stop = frames.polylines.offsets[boxes], frames.polylines.offsets[boxes + 1]
    wrong = np.flatnonzero(stop - start != 2)
    expected = "expected a box: the two corners with the smallest and the largest coordinates, in pixels"
    if len(wrong):
        i = int(boxes[wrong[0]])
        raise InvalidInput(f"{place_of(frames, i)} has {stop[wrong[0]] - start[wrong[0]]} points, {expected}")
    low, high = frames.polylines.coords[start, :2], frames.polylines.coords[start + 1, :2]
    wrong = np.flatnonzero(~(low <= high).all(axis=1))
    if len(wrong):
        k = int(wrong[0])
        corners = f"the corners {low[k].tolist()} and {high[k].tolist()}"
        raise InvalidInput(f"{place_of(frames, int(boxes[k]))} has {corners}, {expected}")


def is_box(frames: "MapFrames") -> Flags:
    """Return which instances are boxes."""
    flags: Flags = np.array([name in frames.boxes for name in frames.classes] + [False])[frames.label]
    return flags


def without_boxes(frames: "MapFrames") -> "MapFrames":
    """Return the frames without boxes and their classes."""
    if not set(frames.boxes) & set(frames.classes):
        return frames
    return frames.as_classes([name for name in frames.classes if name not in frames.boxes])


def with_old_boxes(frames: "MapFrames", moved: Polylines) -> Polylines:
    """Return moved polylines, with the boxes where they were. All polylines have as many points as before."""
    if not frames.boxes:
        return moved
    points = np.repeat(is_box(frames), np.diff(moved.offsets))
    return Polylines(np.where(points[:, None], frames.polylines.coords, moved.coords), moved.offsets)


def resampled(frames: "MapFrames", spacing: float | None, count: int | None, sampling: Sampling) -> Polylines:
    """Return the polylines, resampled, and the boxes as they are."""
    return resample_polylines(
        frames.polylines,
        spacing=spacing,
        count=count,
        sampling=sampling,
        locate=partial(place_of, frames),
        frames=frames.offsets,
        kept=is_box(frames) if frames.boxes else None,
    )


T = TypeVar("T")


class Instance(NamedTuple):
    """One instance of one frame."""

    class_name: str
    points: Points
    confidence: float | None = None  # None in truth
    track: str | None = None


class Columns(NamedTuple):
    """The columns of ``MapFrames`` that nested dictionaries define."""

    tokens: tuple[str, ...]
    classes: tuple[str, ...]
    frame: NDArray[np.int64]
    label: NDArray[np.int64]
    polylines: Polylines
    confidence: Confidences | None


def columns_from_nested(
    frames: Mapping[str, Mapping[str, Any]],
    confidence: Mapping[str, Mapping[str, ArrayLike]] | None,
    classes: Sequence[str] | None,
) -> Columns:
    """Pack ``{token: {class name: polylines}}``; the arguments are as in ``MapFrames.of``."""
    names = list(dict.fromkeys(name for groups in frames.values() for name in groups) if classes is None else classes)
    arrays: list[Points] = []
    where: list[str] = []
    frame: list[int] = []
    label: list[int] = []
    values: list[Confidences] = []
    dimension: int | None = None
    for index, (token, groups) in enumerate(frames.items()):
        for name, group in groups.items():
            if name not in names:
                raise InvalidInput(f"frame {token}: unknown class {name!r}; available: {', '.join(names)}")
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
    return Columns(
        tuple(frames),
        tuple(names),
        np.array(frame, np.int64),
        np.array(label, np.int64),
        Polylines.pack(arrays, where, dimension or 2),
        None if confidence is None else np.concatenate([np.empty(0), *values]),
    )


def pick_rows(column: Any, rows: NDArray[np.int64] | slice) -> Any:
    """Return some rows of a column: an array, a tuple, or None."""
    if isinstance(column, tuple) and not isinstance(rows, slice):
        return tuple(column[i] for i in rows.tolist())
    return None if column is None else column[rows]


def changed(frames: T, **columns: Any) -> T:
    """Return ``MapFrames`` with other columns, as ``dataclasses.replace`` does, but without checking them."""
    made = object.__new__(type(frames))
    kept = {field.name: getattr(frames, field.name) for field in fields(frames)}  # type: ignore[arg-type]
    made.__dict__.update(kept | columns)
    return made


def check_sizes(columns: Mapping[str, Any], rows: int, of: str) -> None:
    """Refuse columns that do not have one row per ``of``."""
    for name, column in columns.items():
        if column is not None and len(column) != rows:
            raise InvalidInput(f"{name} has {len(column)} rows, expected {rows}, one per {of}")


def check_indices(frame: Indices, label: Indices, frames: int, classes: Sequence[str]) -> None:
    """Refuse indices of frames that are not in ascending order, indices outside their range, and doubled classes."""
    if len(set(classes)) < len(classes):
        raise InvalidInput(f"classes must have different names, got {', '.join(classes)}")
    if len(frame) and (frame[0] < 0 or frame[-1] >= frames or np.any(np.diff(frame) < 0)):
        raise InvalidInput(f"frame must be in ascending order, from 0 to at most {frames - 1}")
    if len(label) and not (label.min() >= 0 and label.max() < len(classes)):
        raise InvalidInput(f"label must be from 0 to {len(classes) - 1}, an index into classes")
