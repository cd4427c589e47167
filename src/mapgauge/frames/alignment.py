"""Aligns predictions and truth: the same frames and classes on both sides."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.map_frames import MapFrames


def align(
    predictions: MapFrames,
    truth: MapFrames,
    *,
    classes: Sequence[str] | None = None,
    missing: Literal["empty", "error"] = "empty",
    unknown: Literal["error", "ignore"] = "error",
) -> tuple[MapFrames, MapFrames]:
    """Align predictions and truth: both get the same frames and classes, in the order of the truth.

    Frames are matched by token, never by position in the file. If the truth has no poses, the aligned predictions keep
    their own, unless a frame is missing.

    Args:
        predictions: The predictions.
        truth: The truth.
        classes: The classes to compare, by name. If None, all classes of polylines that occur on either side; boxes are
            compared only if they are named.
        missing: What to do with a frame of the truth that has no predictions: ``"empty"`` counts it as predicted
            empty, ``"error"`` raises an error.
        unknown: What to do with a predicted frame that is not in the truth: ``"error"`` raises an error, ``"ignore"``
            leaves it out.

    Returns:
        Predictions and truth with equal tokens and equal classes.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}, "b": {}})
    >>> predictions = mg.MapFrames.of({"a": {"divider": [[[0, 1], [9, 1]]]}}, confidence={"a": {"divider": [0.7]}})
    >>> x, y = align(predictions, truth)
    >>> x.tokens == y.tokens == ("a", "b")
    True
    """
    for name, value, known in (("missing", missing, ("empty", "error")), ("unknown", unknown, ("error", "ignore"))):
        if value not in known:
            raise InvalidInput(f"{name} must be {' or '.join(map(repr, known))}, got {value!r}")
    for side, name in ((predictions, "predictions"), (truth, "truth")):
        if len(side.index) < len(side):
            twice = [token for token, times in Counter(side.tokens).items() if times > 1]
            raise InvalidInput(f"{name}: {len(twice)} tokens occur more than once (first: {twice[0]})")
    extra = tokens_without(predictions, truth)
    if extra and unknown == "error":
        raise InvalidInput(
            f"{len(extra)} of {len(predictions)} predicted frames are not in the truth (first: {extra[0]})",
            remedy=Remedy('Pass unknown="ignore" to leave them out', "Pass --ignore-unknown to leave them out"),
        )
    lacking = tokens_without(truth, predictions)
    if lacking and missing == "error":
        raise InvalidInput(
            f"{len(lacking)} of {len(truth)} frames of the truth have no predictions (first: {lacking[0]})",
            remedy='Pass missing="empty" to count them as predicted empty',
        )
    points = len(predictions.polylines.coords) and len(truth.polylines.coords)
    if points and predictions.dimension != truth.dimension:
        raise InvalidInput(
            f"predictions are {predictions.dimension}-D and truth is {truth.dimension}-D",
            remedy=Remedy(
                "Call .planar() on the one with height to compare in the plane",
                "Pass --planar to compare in the plane",
            ),
        )
    met, place, shared = predictions, None, truth.tokens
    if predictions.tokens != truth.tokens:
        shared = tuple(token for token in truth.tokens if token in predictions.index)
        met = predictions.at([predictions.index[token] for token in shared])
        place = np.array([truth.index[token] for token in shared], np.int64)
    boxes = tuple(dict.fromkeys(truth.boxes + predictions.boxes))
    lines = (name for name in truth.classes + predictions.classes if name not in boxes)
    names = tuple(dict.fromkeys(lines)) if classes is None else tuple(classes)
    x = replace(
        met,
        frame=met.frame if place is None else place[met.frame],
        tokens=truth.tokens,
        scenes=truth.scenes,
        timestamps=truth.timestamps,
        poses=_poses_of(met, truth, shared) if truth.poses is None else truth.poses,
        boxes=boxes,
    )
    y = truth if truth.boxes == boxes else replace(truth, boxes=boxes)
    return x.as_classes(names), y.as_classes(names)


def tokens_without(frames: MapFrames, others: MapFrames) -> list[str]:
    """Return the tokens that other frames lack."""
    if frames.tokens == others.tokens:
        return []
    return [token for token in frames.tokens if token not in others.index]


def _poses_of(met: MapFrames, truth: MapFrames, shared: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the poses of the predictions for the frames of the truth; None if some have none."""
    return met.poses if len(shared) == len(truth) else None
