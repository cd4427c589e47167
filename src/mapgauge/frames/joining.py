"""Joins several ``MapFrames`` into one."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.links import joined_links, kept_links
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Forward


def join_frames(parts: Sequence[MapFrames]) -> MapFrames:
    """Join the frames of all parts, one part after the other.

    Classes are matched by name. All parts must be predictions or all must be truth, and all must have the same
    dimension. Scenes, time stamps, poses, tracks, intersections and links are left out unless all parts have them. The
    forward axis is the one that parts know, if they agree.

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
            remedy=Remedy("Call .planar() on those with height", "Pass --planar to leave out height"),
        )
    classes = tuple(dict.fromkeys(name for part in parts for name in part.classes))
    same = [part.as_classes(classes) for part in parts]
    before = np.cumsum([0, *(len(part) for part in same)])
    points = np.cumsum([0, *(len(part.polylines.coords) for part in same)])
    filled = [part.polylines.coords for part in same if len(part.polylines.coords)] or [same[0].polylines.coords]
    offsets = [part.polylines.offsets[:-1] + start for part, start in zip(same, points.tolist(), strict=False)]

    def column(name: str) -> Any:
        values = [getattr(part, name) for part in same]
        if any(value is None for value in values):
            return None
        return sum(values, ()) if isinstance(values[0], tuple) else np.concatenate(values)

    return replace(
        same[0],
        tokens=column("tokens"),
        frame=np.concatenate([part.frame + start for part, start in zip(same, before.tolist(), strict=False)]),
        label=column("label"),
        polylines=Polylines.unchecked(np.concatenate(filled), np.concatenate([*offsets, points[-1:]])),
        **{name: column(name) for name in ("confidence", "track", "intersection", "scenes", "timestamps", "poses")},
        boxes=tuple(dict.fromkeys(name for part in same for name in part.boxes)),
        links=None
        if any(part.links is None for part in same)
        else joined_links([part.links for part in same], [len(part.polylines) for part in same]),
        forward=agreed_forward(part.forward for part in parts),
        findings=tuple(dict.fromkeys(finding for part in same for finding in part.findings)),
        history=None,
    )


def agreed_forward(known: Iterable[Forward | None]) -> Forward | None:
    """Return the axis that points forward in several sets of frames; None if they differ or none is known.

    >>> agreed_forward(["y", None]), agreed_forward(["x", "y"])
    ('y', None)
    """
    different = {forward for forward in known if forward is not None}
    return different.pop() if len(different) == 1 else None


def add_instances(frames: MapFrames, others: MapFrames) -> MapFrames:
    """Add instances to the same frames. Classes are matched by name; the others come last in each frame.

    Both must have the same tokens and the same dimension. Tracks and intersections are left out unless both have them.
    All other columns are those of ``frames``.

    >>> a = MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}, "b": {"divider": [[[0, 2], [9, 2]]]}})
    >>> b = MapFrames.of({"a": {"centerline": [[[0, 1], [9, 1]]]}, "b": {}})
    >>> [instance.class_name for instance in add_instances(a, b)["a"]]
    ['divider', 'centerline']
    """
    if frames.tokens != others.tokens or (frames.confidence is None) != (others.confidence is None):
        raise InvalidInput("instances can only be added to the same frames, all with confidences or all without")
    classes = tuple(dict.fromkeys(frames.classes + others.classes))
    pair = frames.as_classes(classes), others.as_classes(classes)
    order = np.argsort(np.concatenate([part.frame for part in pair]), kind="stable")
    columns: dict[str, Any] = {}
    for name in ("frame", "label", "confidence", "track", "intersection"):
        values = [getattr(part, name) for part in pair]
        columns[name] = None if any(value is None for value in values) else np.concatenate(values)[order]
    counts = [len(part.polylines) for part in pair]
    return replace(
        pair[0],
        **columns,
        polylines=pair[0].polylines.and_then(pair[1].polylines).pick(order),
        links=kept_links(joined_links([part.links for part in pair], counts), order, sum(counts)),
        boxes=tuple(dict.fromkeys(frames.boxes + others.boxes)),
        history=None,
    )
