"""Does what is compared lie in the region, and the region in what is compared?"""

from collections.abc import Iterator

import numpy as np

from mapgauge.checks.context import ENOUGH, Box, Context, examples, percent
from mapgauge.checks.extent import Extent
from mapgauge.frames.findings import Finding, Level
from mapgauge.frames.map_frames import Indices, MapFrames
from mapgauge.typing import Points

_MARGIN = 0.3  # metres; MapTR cuts its crossings 0.2 m outside of the region
_FEW = 0.05  # share of instances that may leave the region without being suspicious
_BEYOND = 3.0  # times as far from the origin as the truth is far away,
_SINGLE = 0.2  # if it is no more than this share of the instances; otherwise the coordinates are of another kind
_COVERED = 0.7  # of the region along each axis, at least, if the truth was made for it


def asked_for(context: Context) -> Iterator[Finding]:
    """A region that the truth was not made for, and instances that leave it."""
    if context.region is None:
        return
    if context.extents is not None and context.extents[1].instances >= ENOUGH:
        extent = context.extents[1]
        size = np.array(context.region[2:]) - context.region[:2]
        text = f"the region is {size[0]:g} x {size[1]:g} m and the truth measures {extent} m"
        if (extent.size < _COVERED * size).any() and _fits(extent, size[::-1]):
            text += (
                ": x and y seem to be exchanged. The numbers do not depend on the axes as long as both sides have the "
                "same and nothing is cropped; to crop, give the region as the files have it, or .rotate(-90) both sides"
            )
            yield Finding("warning", "region-turned", text, extent.instances)
            return
        if (extent.size < _COVERED * size).any():
            text += ": is it made for a smaller one? Predictions where it ends all count as false"
            yield Finding("warning", "region-not-covered", text, extent.instances)
    for name, side in context.sides:
        rows = _beyond(side, context.region, _MARGIN)
        if len(rows):
            count, total = len(rows), len(side.polylines)
            text = (
                f"{name}: {count} of {total} instances ({percent(count, total)}) leave the region by more than "
                f"{_MARGIN} m. Use .crop(region) on both sides to compare only what lies inside"
            )
            level: Level = "warning" if count > _FEW * total else "note"
            yield Finding(level, "region-left", text, count, examples(side, rows))


def far_away(context: Context) -> Iterator[Finding]:
    """Without a region: single instances that reach far beyond all others."""
    if context.region is not None or context.extents is None:
        return
    truth = context.extents[1]
    reach = _BEYOND * float(np.hypot(*np.maximum(np.abs(truth.low), np.abs(truth.high))))
    for name, side in context.sides:
        rows = _beyond(side, (-reach, -reach, reach, reach), 0.0)
        if 0 < len(rows) <= _SINGLE * len(side.polylines):
            text = (
                f"{name}: {len(rows)} of {len(side.polylines)} instances reach more than {reach:.0f} m from the "
                f"origin; the truth measures {truth} m. Use .crop(region) if they should not count"
            )
            yield Finding("warning", "instances-far-away", text, len(rows), examples(side, rows))


def _fits(extent: Extent, size: Points) -> bool:
    return bool(((extent.size > _COVERED * size) & (extent.size < size + 2 * _MARGIN)).all())


def _beyond(side: MapFrames, box: Box, margin: float) -> Indices:
    """Instances with a point outside of a box."""
    x, y = side.polylines.coords[:, 0], side.polylines.coords[:, 1]
    outside = (x < box[0] - margin) | (y < box[1] - margin) | (x > box[2] + margin) | (y > box[3] + margin)
    return np.unique(np.searchsorted(side.polylines.offsets, np.flatnonzero(outside), side="right") - 1)
