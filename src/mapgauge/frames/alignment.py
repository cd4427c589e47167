"""Aligns predictions with truth by token, and joins frames from several sources."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.columns import Values, column_of
from mapgauge.frames.findings import check_tokens
from mapgauge.frames.links import joined_links, kept_links
from mapgauge.frames.map_frames import OF_FRAMES, OF_INSTANCES, MapFrames, members_of, pick_rows
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Forward


class UnknownFrames(InvalidInput):
    """Predicted frames are not in the truth."""

    @classmethod
    def of(cls, extra: Sequence[str], predicted: int, true: str | None) -> "UnknownFrames":
        """Return the error about some tokens among all predicted frames, given a token of the truth."""
        disjoint = len(extra) == predicted  # nothing would be left to compare
        if disjoint and true is not None:
            instead = f"; the truth has {true}"
        else:
            instead = ""
        same = "Check that both files belong to the same data set and split"
        more = f"{same}, or pass {{}} to leave them out"
        are = "frames are"
        if predicted == 1:
            are = "frame is"
        if disjoint:
            remedy = Remedy.of(same)
        else:
            remedy = Remedy(more.format('unknown="ignore"'), more.format("--ignore-unknown"))
        return cls(
            f"{len(extra)} of {predicted} predicted {are} not in the truth (first: {extra[0]}{instead})",
            remedy=remedy,
        )


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
        check_tokens(side, name)
    extra = tokens_without(predictions, truth)
    if extra and unknown == "error":
        raise UnknownFrames.of(extra, len(predictions), truth.tokens[0] if truth.tokens else None)
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
                "Give the file with height as FILE,planar to compare in the plane",
            ),
        )
    x = predictions
    place = None  # the frame of the truth for each frame of x; None if they are the same
    if predictions.tokens != truth.tokens:
        shared = [token for token in truth.tokens if token in predictions.index]
        x = predictions.at([predictions.index[token] for token in shared])
        place = np.array([truth.index[token] for token in shared], np.int64)
    boxes = tuple(dict.fromkeys(truth.boxes + predictions.boxes))
    lines = (name for name in truth.classes + predictions.classes if name not in boxes)
    if classes is None:
        names = tuple(dict.fromkeys(lines))
    else:
        names = tuple(classes)
    if place is None:
        frame = x.frame
    else:
        frame = place[x.frame]
    if truth.poses is None and len(x) == len(truth):
        poses = x.poses
    else:
        poses = truth.poses
    x = replace(
        x,
        frame=frame,
        tokens=truth.tokens,
        scenes=truth.scenes,
        timestamps=truth.timestamps,
        poses=poses,
        boxes=boxes,
    )
    if truth.boxes == boxes:
        y = truth
    else:
        y = replace(truth, boxes=boxes)
    return x.as_classes(names), y.as_classes(names)


def tokens_without(frames: MapFrames, others: MapFrames) -> list[str]:
    """Return the tokens that other frames lack."""
    return [token for token in frames.tokens if token not in others.index]


def join_frames(parts: Sequence[MapFrames]) -> MapFrames:
    """Join the frames of all parts, one part after the other.

    Classes are matched by name. All parts must be predictions or all must be truth, and all must have the same
    dimension. Scenes, time stamps, poses, tracks, intersections and links are left out unless all parts have them.
    Parts without flags have no line that is ignored, and parts without changes none that changed (``Column.absent``).
    The forward axis is the one that parts know, if they agree.

    >>> a = MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    >>> b = MapFrames.of({"b": {"boundary": [[[0, 0], [9, 0]]], "divider": []}})
    >>> joined = join_frames([a, b])
    >>> joined.tokens, joined.counts
    (('a', 'b'), {'divider': 1, 'boundary': 1})
    """
    if not parts:
        raise InvalidInput("nothing to join, expected at least one part")
    if len(parts) == 1:
        return parts[0]
    if len({part.confidence is None for part in parts}) > 1:
        raise InvalidInput("some parts have confidences and others have none; predictions and truth cannot be joined")
    dimensions = {part.dimension for part in parts if len(part.polylines.coords)}
    if len(dimensions) > 1:
        raise InvalidInput(
            "some parts are 2-D and some are 3-D",
            remedy=Remedy("Call .planar() on those with height", "Give those with height as FILE,planar"),
        )
    classes = tuple(dict.fromkeys(name for part in parts for name in part.classes))
    same = [part.as_classes(classes) for part in parts]
    before = np.cumsum([0, *(len(part) for part in same[:-1])]).tolist()
    links = [part.links for part in same]
    return replace(
        same[0],
        **{name: _joined(same, name) for name in (*OF_INSTANCES, *OF_FRAMES)}
        | {"frame": np.concatenate([part.frame + start for part, start in zip(same, before, strict=True)])}
        | members_of(_joined_columns(same)),
        polylines=Polylines.joined([part.polylines for part in same]),
        boxes=tuple(dict.fromkeys(name for part in same for name in part.boxes)),
        links=None if None in links else joined_links(links, [len(part.polylines) for part in same]),
        forward=agreed_forward(part.forward for part in parts),
        findings=tuple(dict.fromkeys(finding for part in same for finding in part.findings)),
        history=None,
    )


def _joined(parts: Sequence[MapFrames], name: str) -> Any:
    """Return a field of all parts; None if one of them does not have it."""
    values = [getattr(part, name) for part in parts]
    if any(value is None for value in values):
        return None
    if isinstance(values[0], tuple):
        return sum(values, ())
    return np.concatenate(values)


def _joined_columns(parts: Sequence[MapFrames]) -> dict[str, Values]:
    """Return the columns of all parts. Where a part lacks one, its values are empty, or the column is left out."""
    columns = [part.columns for part in parts]
    joined = {}
    for name in dict.fromkeys(name for own in columns for name in own):
        row = column_of(name)
        if row.absent == "empty" or all(name in own for own in columns):
            values = [own.get(name, row.empties(len(part.polylines))) for own, part in zip(columns, parts, strict=True)]
            joined[name] = np.concatenate(values)
    return joined


def agreed_forward(known: Iterable[Forward | None]) -> Forward | None:
    """Return the axis that points forward in several sets of frames; None if they differ or none is known.

    >>> agreed_forward(["y", None]), agreed_forward(["x", "y"])
    ('y', None)
    """
    different = {forward for forward in known if forward is not None}
    if len(different) != 1:
        return None
    return different.pop()


def add_instances(frames: MapFrames, others: MapFrames) -> MapFrames:
    """Add instances to the same frames. Classes are matched by name; the others come last in each frame.

    Both must have the same tokens and the same dimension. Tracks and intersections are left out unless both have them.
    All other columns come from ``frames``.

    >>> a = MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}, "b": {"divider": [[[0, 2], [9, 2]]]}})
    >>> b = MapFrames.of({"a": {"centerline": [[[0, 1], [9, 1]]]}, "b": {}})
    >>> [instance.class_name for instance in add_instances(a, b)["a"]]
    ['divider', 'centerline']
    """
    if frames.tokens != others.tokens or (frames.confidence is None) != (others.confidence is None):
        raise InvalidInput("instances can only be added to the same frames, all with confidences or all without")
    classes = tuple(dict.fromkeys(frames.classes + others.classes))
    pair = frames.as_classes(classes), others.as_classes(classes)
    order = np.argsort(_joined(pair, "frame"), kind="stable")
    counts = [len(part.polylines) for part in pair]
    return replace(
        pair[0],
        **{name: pick_rows(_joined(pair, name), order) for name in OF_INSTANCES},
        **members_of({name: values[order] for name, values in _joined_columns(pair).items()}),
        polylines=Polylines.joined([part.polylines for part in pair]).pick(order),
        links=kept_links(joined_links([part.links for part in pair], counts), order, sum(counts)),
        boxes=tuple(dict.fromkeys(frames.boxes + others.boxes)),
        history=None,
    )
