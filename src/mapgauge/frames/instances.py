"""Single instances, and instances that are boxes in an image."""

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.frames.findings import place_of
from mapgauge.geometry.polylines import Polylines
from mapgauge.geometry.resampling import resample_polylines
from mapgauge.typing import Flags, Points, Sampling

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames


def check_boxes(frames: "MapFrames") -> None:
    """Refuse boxes that are not two corners, the smallest first."""
    if not frames.boxes:
        return
    boxes = np.flatnonzero(is_box(frames))
    start = frames.polylines.offsets[boxes]
    stop = frames.polylines.offsets[boxes + 1]
    sizes = stop - start
    expected = "expected a box: the two corners with the smallest and the largest coordinates, in pixels"
    if (sizes != 2).any():
        k = int(np.argmax(sizes != 2))
        raise InvalidInput(f"{place_of(frames, int(boxes[k]))} has {sizes[k]} points, {expected}")
    low = frames.polylines.coords[start, :2]
    high = frames.polylines.coords[start + 1, :2]
    if not (low <= high).all():
        k = int(np.argmin((low <= high).all(axis=1)))
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


def resampled(frames: "MapFrames", spacing: float | None, count: int | None, sampling: Sampling) -> Polylines:
    """Return the polylines, resampled, and the boxes as they are."""
    if frames.boxes:
        kept = is_box(frames)
    else:
        kept = None
    return resample_polylines(
        frames.polylines,
        spacing=spacing,
        count=count,
        sampling=sampling,
        locate=partial(place_of, frames),
        frames=frames.offsets,
        kept=kept,
        forward=frames.forward,
    )


class Instance(NamedTuple):
    """One instance of one frame."""

    class_name: str
    points: Points
    confidence: float | None = None  # None in truth
    track: str | None = None
    ignore: bool = False  # of truth
