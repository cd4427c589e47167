"""Summarises what a file holds: counts, extents and confidences, as plain values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.frames.boxes import without_boxes
from mapgauge.frames.map_frames import MapFrames


def contents_of(frames: MapFrames) -> dict[str, Any]:
    """Return what frames hold, as plain values for JSON.

    >>> frames = MapFrames.of({"token": {"divider": [[[0.0, 0.0], [4.0, 0.0]]]}})
    >>> contents_of(frames)["extent"]
    {'x': [0.0, 4.0], 'y': [0.0, 0.0]}
    """
    lines = without_boxes(frames).polylines  # boxes are in pixels
    points, coords = np.diff(lines.offsets), lines.coords
    return {
        "name": frames.name,
        "format": frames.format,
        "frames": len(frames),
        "empty_frames": int(np.count_nonzero(np.diff(frames.offsets) == 0)),
        "instances": len(frames.polylines),
        "classes": frames.counts,
        "dimension": frames.dimension,
        "points_per_instance": _spread(points),
        "confidence": None if frames.confidence is None else _spread(frames.confidence),
        "extent": {
            axis: [float(column.min()), float(column.max())] if len(column) else None
            for axis, column in zip("xyz", coords.T, strict=False)
        },
        "tracks": None if frames.track is None else len(set(frames.track.tolist()) - {""}),
        "scenes": None if frames.scenes is None else len(set(frames.scenes)),
        "timestamps": frames.timestamps is not None,
        "poses": frames.poses is not None,
        "forward": frames.forward,
    }


def _spread(values: NDArray[Any]) -> dict[str, float] | None:
    if not len(values):
        return None
    return {"least": values.min().item(), "median": float(np.median(values)), "most": values.max().item()}
