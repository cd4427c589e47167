"""Finds out which axis of a file points forward, from its format and its extent."""

from typing import Literal, TypeAlias

import numpy as np

from mapgauge.frames.boxes import is_box
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.survey import survey
from mapgauge.typing import Forward

# "longer": x or y, depending on the data set. The regions of such a format are longer forward than sideways.
FormatForward: TypeAlias = Forward | Literal["longer"] | None

_INSTANCES = 20  # number of instances needed to judge by the extent
_SHARE = 0.9  # share of the instances that the extent contains
_LONGER = 1.3  # an axis is longer than the other by at least this factor; regions have a factor of 2


def with_forward_of(frames: MapFrames, stated: FormatForward) -> MapFrames:
    """Return frames that were read, with the axis that points forward.

    Args:
        frames: The frames. If they know their forward axis, they are returned unchanged.
        stated: What the format says. If the extent contradicts it, the axis is unknown: some programs write a format
            with the axes of another.
    """
    if frames.forward is not None or stated is None:
        return frames
    longer = longer_axis(frames)
    if stated == "longer":
        return frames.with_forward(longer)
    return frames.with_forward(stated if longer in (None, stated) else None)


def longer_axis(frames: MapFrames) -> Forward | None:
    """Return the axis along which the instances reach farther, or None if there is no clear difference."""
    lines = ~is_box(frames) if frames.boxes else slice(None)
    sizes = np.diff(frames.polylines.offsets)[lines]
    if len(sizes) < _INSTANCES or not sizes.all():
        return None
    x, y = np.quantile(survey(frames.polylines).reach[lines, :2], _SHARE, axis=0).tolist()
    if not (np.isfinite(x) and np.isfinite(y)):
        return None
    return "x" if x >= _LONGER * y else "y" if y >= _LONGER * x else None
