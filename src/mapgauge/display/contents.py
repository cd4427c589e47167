"""Summarises what a file holds: counts, extents and confidences, as plain values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.frames.boxes import without_boxes
from mapgauge.frames.links import SUCCESSOR
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.survey import survey
from mapgauge.protocols import LANE

_LIKELY = 0.5  # a link of a larger weight counts as predicted


def contents_of(frames: MapFrames) -> dict[str, Any]:
    """Return what frames hold, as plain values for JSON.

    >>> frames = MapFrames.of({"token": {"divider": [[[0.0, 0.0], [4.0, 0.0]]]}})
    >>> contents_of(frames)["extent"]
    {'x': [0.0, 4.0], 'y': [0.0, 0.0]}
    """
    lines = without_boxes(frames)  # boxes are in pixels
    points = np.diff(lines.polylines.offsets)
    low, high, _ = survey(lines.polylines)
    is_lane = frames.label == (frames.classes.index(LANE) if LANE in frames.classes else -1)
    return {
        "name": frames.name,
        "format": frames.format,
        "frames": len(frames),
        "empty_frames": int(np.count_nonzero(np.diff(frames.offsets) == 0)),
        "instances": len(lines.polylines),
        "classes": lines.counts,
        "boxes": {name: count for name, count in frames.counts.items() if name in frames.boxes},
        "dimension": frames.dimension,
        "points_per_instance": _spread(points),
        "confidence": None if frames.confidence is None else _spread(frames.confidence),
        "extent": {
            axis: [float(low[:, k].min()), float(high[:, k].max())] if points.any() else None
            for k, axis in zip(range(frames.dimension), "xyz", strict=False)
        },
        "tracks": None if frames.track is None else len(set(frames.track.tolist()) - {""}),
        "scenes": None if frames.scenes is None else len(set(frames.scenes)),
        "timestamps": frames.timestamps is not None,
        "poses": frames.poses is not None,
        "forward": frames.forward,
        "links": _links(frames),
        "intersection": None if frames.intersection is None else int(np.count_nonzero(frames.intersection & is_lane)),
    }


def _links(frames: MapFrames) -> dict[str, Any] | None:
    """Return the number of links of each kind, and of lanes that lead into another lane."""
    links = frames.links
    if links is None:
        return None
    likely = links.is_kind(SUCCESSOR) & (links.weight > _LIKELY)
    counts = np.bincount(links.code, minlength=len(links.kinds)).tolist()
    return {
        "kinds": {kind: count for kind, count in zip(links.kinds, counts, strict=True) if count},
        "lanes": frames.counts.get(LANE, 0),
        "lanes_with_successor": len(np.unique(links.source[likely])),
    }


def _spread(values: NDArray[Any]) -> dict[str, float] | None:
    if not len(values):
        return None
    return {"least": values.min().item(), "median": float(np.median(values)), "most": values.max().item()}
