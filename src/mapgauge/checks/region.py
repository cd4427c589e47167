"""Checks that the instances lie in the region, and that the truth covers the region."""

from collections.abc import Iterator

import numpy as np

from mapgauge.checks.context import ENOUGH, Context, examples, percent
from mapgauge.checks.extent import Extent
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding, Level
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.survey import survey
from mapgauge.typing import Bounds, Indices, Points

_MARGIN = 0.3  # metres; MapTR cuts its crossings 0.2 m outside the region
_FEW = 0.05  # if a larger share of instances leaves the region, it is a warning
_BEYOND = 3.0  # an instance is far away if it is this many times as far from the origin as the truth reaches,
_SINGLE = 0.2  # and at most this share of the instances is; with more, the coordinates are of another kind
_LONGER = 1.3  # one side of a region or an extent is longer than the other by at least this factor
_AXES = ((0, 1), (1, 0))
_COVERED = 0.7  # truth that was made for a region covers at least this share of it along each axis


def asked_for(context: Context) -> Iterator[Finding]:
    """Find regions that the truth was not made for, and instances that leave the region."""
    if context.region is None:
        return
    if context.extents is not None and context.extents[1].instances >= ENOUGH:
        extent = context.extents[1]
        size = np.array(context.region[2:]) - context.region[:2]
        text = f"the region is {size[0]:g} x {size[1]:g} m and the truth measures {extent} m"
        known = context.truth.forward or context.predictions.forward
        turned = (extent.size < _COVERED * size).any() and _fits(extent, size[::-1])
        if turned or (known is None and _crosswise(context.region, extent)):
            text += (
                ": x and y seem to be swapped. Results do not depend on the axes if both sides have the same axes and "
                "are not cropped"
            )
            remedy = Remedy.of("Give the region as length and width: forward first, then sideways")
            if known is None:
                remedy = Remedy(
                    'To crop, say which axis points forward: .with_forward("y") on both sides',
                    "To crop, say which axis points forward: write FILE,forward=y for both files",
                )
            yield Finding("warning", "region-turned", text, extent.instances, remedy=remedy)
            return
        if (extent.size < _COVERED * size).any():
            text += ": it may be made for a smaller region. All predictions beyond its extent count as false"
            remedy = Remedy(
                "Choose the protocol or region that the truth was made for",
                "Choose the protocol that the truth was made for with --protocol",
            )
            yield Finding("warning", "region-not-covered", text, extent.instances, remedy=remedy)
    for name, side in context.sides:
        rows = _beyond(side, context.region, _MARGIN)
        if len(rows):
            count, total = len(rows), len(side.polylines)
            text = (
                f"{name}: {count} of {total} instances ({percent(count, total)}) leave the region by more than "
                f"{_MARGIN} m"
            )
            remedy = Remedy(
                "Use .crop(region) on both sides to compare only what lies inside",
                "Use --crop to compare only what lies inside",
            )
            level: Level = "warning" if count > _FEW * total else "note"
            yield Finding(level, "region-left", text, count, examples(side, rows), remedy)


def far_away(context: Context) -> Iterator[Finding]:
    """Find single instances that reach far beyond all others, if no region was given."""
    if context.region is not None or context.extents is None:
        return
    truth = context.extents[1]
    reach = _BEYOND * float(np.hypot(*np.maximum(np.abs(truth.low), np.abs(truth.high))))
    for name, side in context.sides:
        rows = _beyond(side, (-reach, -reach, reach, reach), 0.0)
        if 0 < len(rows) <= _SINGLE * len(side.polylines):
            text = (
                f"{name}: {len(rows)} of {len(side.polylines)} instances reach more than {reach:.0f} m from the "
                f"origin; the truth measures {truth} m"
            )
            remedy = Remedy("Use .crop(region) if they should not count", "Use --crop if they should not count")
            yield Finding("warning", "instances-far-away", text, len(rows), examples(side, rows), remedy)


def _crosswise(region: Bounds, extent: Extent) -> bool:
    """Whether a region around the ego is long along one axis, and the instances along the other."""
    size = np.array(region[2:]) - region[:2]
    centred = region[0] == -region[2] and region[1] == -region[3]
    return centred and any(
        size[i] >= _LONGER * size[j] and extent.size[j] >= _LONGER * extent.size[i] for i, j in _AXES
    )


def _fits(extent: Extent, size: Points) -> bool:
    return bool(((extent.size > _COVERED * size) & (extent.size < size + 2 * _MARGIN)).all())


def _beyond(side: MapFrames, bounds: Bounds, margin: float) -> Indices:
    """Return the instances with a point outside the bounds."""
    low, high, _ = survey(side.polylines)
    x_min, y_min, x_max, y_max = bounds
    outside = (low[:, 0] < x_min - margin) | (low[:, 1] < y_min - margin)
    return np.flatnonzero(outside | (high[:, 0] > x_max + margin) | (high[:, 1] > y_max + margin))
