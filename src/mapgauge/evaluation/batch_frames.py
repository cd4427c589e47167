"""Checks a batch of a training loop and aligns its predictions with its targets."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.evaluation.batch_rows import TALLIES, ScoringSettings, hashes_of
from mapgauge.evaluation.scene_frames import SIDES, uses_tracks
from mapgauge.frames.alignment import align
from mapgauge.frames.batch_values import as_array
from mapgauge.frames.batches import Batch, frames_from_batch
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.poses import check_poses
from mapgauge.scoring.prepare import check_boxes_of, check_linked, check_sides
from mapgauge.typing import Degenerate, Indices


class Given(NamedTuple):
    """The arguments of ``Accumulator.update``."""

    predictions: Batch | MapFrames
    targets: Batch | MapFrames
    tokens: Sequence[str] | None = None
    scenes: Sequence[str] | None = None
    timestamps: Any = None
    poses: Any = None


class BatchFrames(NamedTuple):
    """A batch after its checks. The columns are those of ``BatchRows``."""

    x: MapFrames  # aligned
    y: MapFrames
    tally: NDArray[np.int64]
    tokens: tuple[str, ...]
    scenes: tuple[str, ...]
    hashes: NDArray[np.uint8]


def checked_batch(
    given: Given, settings: ScoringSettings, numbers: tuple[str, ...] | None, degenerate: Degenerate
) -> BatchFrames:
    """Return a batch after checking it.

    Args:
        given: The arguments of ``update``.
        settings: The settings of the accumulator.
        numbers: The class names of integer labels; None if they are not allowed.
        degenerate: Whether to refuse or to drop instances that are not valid polylines.
    """
    predictions, targets, *more = given
    if isinstance(predictions, MapFrames) or isinstance(targets, MapFrames):
        if not (isinstance(predictions, MapFrames) and isinstance(targets, MapFrames)):
            raise InvalidInput("predictions and targets must both be MapFrames, or both lists of dicts")
        if any(value is not None for value in more):
            raise InvalidInput(
                "tokens, scenes, timestamps and poses are not allowed with MapFrames, which have their own",
                remedy="Leave them out",
            )
        x, y, tally = predictions, targets, np.zeros((len(targets), TALLIES), np.int64)
        check_sides(x, y)
        tally[:, 2] = [token not in x.index for token in y.tokens]
        names, places = y.tokens, y.scenes or ("",) * len(y)
    else:
        x, y, tally = _frames(predictions, targets, settings, numbers, degenerate)
        names, places = texts("tokens", given.tokens, len(y)), texts("scenes", given.scenes, len(y))
        y = replace(
            y,
            scenes=None if given.scenes is None else places,
            timestamps=None if given.timestamps is None else _times(given.timestamps, len(y)),
            poses=None if given.poses is None else _poses(given.poses, len(y)),
        )
    aligned = align(x, y, classes=settings.classes)
    check_boxes_of(settings.protocol, *aligned)
    check_linked(settings.metrics, *aligned)
    return BatchFrames(*aligned, tally, names, places, hashes_of(x, y, names, uses_tracks(settings.metrics)))


def _frames(
    predictions: Batch,
    targets: Batch,
    settings: ScoringSettings,
    numbers: tuple[str, ...] | None,
    degenerate: Degenerate,
) -> tuple[MapFrames, MapFrames, NDArray[np.int64]]:
    """Return both sides of a batch of dictionaries, and the number of dropped instances."""
    classes = tuple(dict.fromkeys((*settings.classes, *(numbers or ()))))
    boxes = settings.protocol.boxes
    x, less_x = frames_from_batch(predictions, SIDES[0], classes, numbers, degenerate, scored=True, boxes=boxes)
    y, less_y = frames_from_batch(targets, SIDES[1], classes, numbers, degenerate, scored=False, boxes=boxes)
    if len(x) != len(y):
        raise InvalidInput(f"{len(x)} predictions for {len(y)} targets, expected a dict per frame on both sides")
    return x, y, np.stack([less_x, less_y, np.zeros_like(less_x)], axis=1)


def texts(name: str, values: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Return one string per frame. Without values, the strings are empty."""
    if values is None:
        return ("",) * count
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InvalidInput(f"{name} must be a list with one string per frame, got {values!r}")
    if len(values) != count:
        raise InvalidInput(f"{len(values)} {name} for {count} frames, expected one per frame")
    for i, value in enumerate(values):
        if not isinstance(value, str) or not value or "\0" in value:
            raise InvalidInput(f"{name}[{i}] must be a string that is not empty, got {value!r}")
    return tuple(values)


def _times(values: Any, count: int) -> Indices:
    """Return one whole number per frame."""
    array = as_array(values, "timestamps")
    if array.shape != (count,):
        raise InvalidInput(f"timestamps must be {count} whole numbers, one per frame, got shape {array.shape}")
    if count and array.dtype.kind not in "iu":
        raise InvalidInput(
            f"timestamps must be whole numbers, got values of type {array.dtype}",
            remedy="Pass nanoseconds or microseconds, or the number of the frame in its scene",
        )
    return array.astype(np.int64)


def _poses(values: Any, count: int) -> NDArray[np.float64]:
    """Return one matrix per frame."""
    array = as_array(values, "poses")
    if not count and not array.size:
        return np.empty((0, 4, 4))
    if array.shape != (count, 4, 4):
        raise InvalidInput(f"poses must be {count} matrices (4, 4), one per frame, got shape {array.shape}")
    return check_poses(array, count)
