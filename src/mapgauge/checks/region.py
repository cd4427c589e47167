"""Checks that the instances lie in the region, and that the truth covers the region."""

from collections.abc import Iterator

import numpy as np

from mapgauge.checks.context import ENOUGH, Context, examples, percent
from mapgauge.checks.extent import Extent
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding, Level
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.cropping import check_region
from mapgauge.geometry.polylines import survey
from mapgauge.protocols import PROTOCOLS
from mapgauge.typing import Bounds, Flags, Indices, Points

_MARGIN = 0.3  # metres; MapTR cuts its crossings 0.2 m outside the region
_FEW = 0.05  # if a larger share of instances leaves the region, it is a warning
_BEYOND = 3.0  # an instance is far away if it is this many times as far from the origin as the truth reaches,
_SINGLE = 0.2  # and at most this share of the instances is; with more, the coordinates are of another kind
_LONGER = 1.3  # one side of a region or an extent is longer than the other by at least this factor
_AXES = ((0, 1), (1, 0))
_COVERED = 0.7  # truth that was made for a region covers at least this share of it along each axis,
_FILLED = 0.85  # and this share if the region is not known


def not_for_region(context: Context) -> Iterator[Finding]:
    """Find regions that the truth was not made for, and instances that leave the region."""
    if context.region is None or any(context.geographic):
        return
    cropped = context.protocol is not None and context.protocol.crop
    world = context.extents is not None and all(extent.is_world for extent in context.extents)
    if world and not cropped:
        return  # no region around the ego applies to a map
    if context.extents is not None and context.extents[1].instances >= ENOUGH and not world:
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
        better = [] if cropped else _protocols_of(context, *context.extents)
        if better:
            text += f", the predictions {context.extents[0]} m. The thresholds of a protocol are made for its region"
            names = " or ".join(better)
            remedy = Remedy(f"Use the protocol {names}", f"Use --protocol {names}")
            code = "region-left" if (extent.size > size).any() else "region-not-covered"
            yield Finding("warning", code, text, extent.instances, remedy=remedy)
            return
        if (extent.size < _COVERED * size).any():
            text += ": it may be made for a smaller region. All predictions beyond its extent count as false"
            remedy = Remedy(
                "Choose the protocol or region that the truth was made for",
                "Choose the protocol that the truth was made for with --protocol",
            )
            yield Finding("warning", "region-not-covered", text, extent.instances, remedy=remedy)
    for name, side in context.sides:
        total = len(side.polylines)
        if total and not _touching(side, context.region).any():
            text = f"{name}: all {total} instances lie outside the region" + ", so nothing is left to compare" * cropped
            remedy = Remedy.of("Transform them to the frame of the ego")
            if cropped:
                remedy = Remedy(f"{remedy.python}, or do not crop", f"{remedy.shell}, or leave out --set crop=true")
            yield Finding("error" if cropped else "warning", "region-left", text, total, remedy=remedy)
            continue
        rows = _beyond(side, context.region, _MARGIN)
        if len(rows) and not cropped:
            count = len(rows)
            text = (
                f"{name}: {count} of {total} instances ({percent(count, total)}) leave the region by more than "
                f"{_MARGIN} m"
            )
            remedy = Remedy(
                "Use .crop(region) on both sides to compare only what lies inside",
                "Use --set crop=true to compare only what lies inside",
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
            remedy = Remedy(
                "Use .crop(region) if they should not count", "Use --set crop=true if they should not count"
            )
            yield Finding("warning", "instances-far-away", text, len(rows), examples(side, rows), remedy)


def _protocols_of(context: Context, x: Extent, y: Extent) -> list[str]:
    """Return the protocols for another region, which both sides fill, of the same family if it is known."""
    forward = context.truth.forward or context.predictions.forward
    names: list[str] = []
    own = np.array(context.region[2:]) - context.region[:2] if context.region else np.zeros(2)
    if _fits(x, own) and _fits(y, own):
        return names
    for row in PROTOCOLS.values():
        bounds = None if row.region is None else check_region(row.region, forward)
        size = None if bounds is None else np.array(bounds[2:]) - bounds[:2]
        if size is not None and _fits(x, size, _FILLED) and _fits(y, size, _FILLED):
            names.append(row.name)
    name = "" if context.protocol is None else context.protocol.name
    families = {row.rpartition("-")[0] for row in PROTOCOLS if name.startswith(row)}
    return [name for name in names if name.rpartition("-")[0] in families] if families else names


def _crosswise(region: Bounds, extent: Extent) -> bool:
    """Whether a region around the ego is long along one axis, and the instances along the other."""
    size = np.array(region[2:]) - region[:2]
    centred = region[0] == -region[2] and region[1] == -region[3]
    return centred and any(
        size[i] >= _LONGER * size[j] and extent.size[j] >= _LONGER * extent.size[i] for i, j in _AXES
    )


def _fits(extent: Extent, size: Points, least: float = _COVERED) -> bool:
    return bool(((extent.size > least * size) & (extent.size < size + 2 * _MARGIN)).all())


def _touching(side: MapFrames, bounds: Bounds) -> Flags:
    """Return which instances have a box that meets the bounds."""
    low, high, _ = survey(side.polylines)
    x_min, y_min, x_max, y_max = bounds
    return (low[:, 0] <= x_max) & (low[:, 1] <= y_max) & (high[:, 0] >= x_min) & (high[:, 1] >= y_min)


def _beyond(side: MapFrames, bounds: Bounds, margin: float) -> Indices:
    """Return the instances with a point outside the bounds."""
    low, high, _ = survey(side.polylines)
    x_min, y_min, x_max, y_max = bounds
    outside = (low[:, 0] < x_min - margin) | (low[:, 1] < y_min - margin)
    return np.flatnonzero(outside | (high[:, 0] > x_max + margin) | (high[:, 1] > y_max + margin))
