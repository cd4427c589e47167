"""Checks that both sides have the same axes, unit, origin and region. Turns predictions to the axes of the truth."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mapgauge.checks import frames
from mapgauge.checks.context import ENOUGH, FAR, Context, Extent, about_instances, degrees_found, format_of
from mapgauge.checks.neighbours import AxisTurn
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding, Level
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.cropping import Region, check_region
from mapgauge.geometry.polylines import survey
from mapgauge.protocols import PROTOCOLS
from mapgauge.typing import Bounds, Floats, Indices, Points
from mapgauge.words import counted

_ONE = 1.05  # normalised coordinates are at most this large
_UNITS = {100.0: "centimetres", 1000.0: "millimetres", 39.37: "inches", 3.281: "feet", 0.001: "kilometres"}
_NO_REGION = 8.0  # sizes that differ by this factor are not explained by different regions
_ALIKE = 1.25  # two factors that differ by no more than this are taken as equal
_NEARER = 0.5  # a smaller factor is a unit's, not a region's, if it reduces the distance by this factor
_SAME = 0.7  # the sizes of both sides differ by no more than this factor if they have the same region
_TURNED = 0.8  # the same for sizes along swapped axes
_SMALL = 5.0  # metres; smaller sizes say nothing about a region, and are not in metres
_LINES = 10  # lines that are needed to tell that most end at one point
_MOST = 0.5  # share of the lines that end at one point,
_MANY = 0.2  # and at a point such as (0, 0) or (-1, -1)
_STARTS = 5  # different points at which such lines begin
_AS_SHRUNK = 0.02  # by which the ratio of the sizes may differ from that of a format that shrinks
_AS_CUT = 0.5  # metres by which the edges where lines are cut off may differ


def padding(context: Context) -> Iterator[Finding]:
    """Find zeros among coordinates far from the origin: lines of different lengths that were padded to one length."""
    text = (
        f"have points at exactly (0, 0), and all their other points are more than {FAR:g} m away. They seem to be "
        "padded with zeros"
    )
    remedy = Remedy.of("Remove the padding, and transform the coordinates to the frame of the ego")
    for side in context.sides:
        yield from about_instances(side, _padded(side[1]), "error", code="coordinates-padded", text=text, remedy=remedy)


def same_end(context: Context) -> Iterator[Finding]:
    """Find lines that all end at the same point, such as (-10000, -10000) or (0, 0): padding to one length."""
    for (name, side), sample in zip(context.sides, context.sampled, strict=True):
        point = _common_end(sample)
        if point is None:
            continue
        last = side.polylines.offsets[1:] - 1
        rows = np.flatnonzero(np.diff(side.polylines.offsets))
        rows = rows[(side.polylines.coords[last[rows], :2] == point).all(axis=1)]
        text = f"end at exactly ({point[0]:g}, {point[1]:g}). They seem to be padded to one length with this point"
        remedy = Remedy.of("Remove the padding: write each line with its own number of points")
        yield from about_instances(
            (name, side), rows, "error", code="coordinates-padded", text=text, remedy=remedy, share=True
        )


def _common_end(side: MapFrames) -> Points | None:
    """Return the point at which most lines end; many are enough if both coordinates are equal, as in padding."""
    rows = np.flatnonzero(np.diff(side.polylines.offsets) > 1)
    if len(rows) < _LINES:
        return None
    ends = side.polylines.coords[side.polylines.offsets[rows + 1] - 1, :2]
    _, columns = np.unique(ends[:, 0], return_counts=True)
    if columns.max() <= _MANY * len(rows):
        return None  # not even their x is the same, which is quick to see
    points, counts = np.unique(ends, axis=0, return_counts=True)
    point: Points = points[counts.argmax()]
    if point[0] == point[1]:
        least = _MANY
    else:
        least = _MOST
    if counts.max() <= least * len(rows):
        return None
    there = rows[(ends == point).all(axis=1)]
    starts = np.unique(side.polylines.coords[side.polylines.offsets[there], :2], axis=0)
    if len(starts) < _STARTS:  # the same few lines in many frames, as of a vehicle that stands
        return None
    return point


def _padded(side: MapFrames) -> Indices:
    """Return the instances that have zeros, and otherwise only points far from the origin."""
    measured = survey(side.polylines)
    around = ((measured.low[:, :2] <= 0) & (measured.high[:, :2] >= 0)).all(axis=1)
    far = np.hypot(*measured.reach[:, :2].T) > FAR
    if not (around & far).any():
        return np.empty(0, np.int64)
    coords = side.polylines.coords
    offsets = side.polylines.offsets
    zero = np.flatnonzero((coords[:, 0] == 0) & (coords[:, 1] == 0))
    rows = np.unique(np.searchsorted(offsets, zero, side="right") - 1).tolist()
    away = [np.hypot(*side.polylines[i][:, :2].T) for i in rows]
    others = [distance[distance > 0] for distance in away]  # a single far point is a broken coordinate
    return np.array([i for i, far in zip(rows, others, strict=True) if len(far) > 1 and far.min() > FAR], np.int64)


def degrees(context: Context) -> Iterator[Finding]:
    """Find longitude and latitude."""
    if all(context.geographic):
        yield degrees_found("both sides", context.truth, sum(len(side.polylines) for _, side in context.sides))
        return
    for (name, side), is_geographic in zip(context.sides, context.geographic, strict=True):
        if is_geographic:
            yield degrees_found(name, side, len(side.polylines))


def normalised(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """Find coordinates from 0 to 1 or from -1 to 1, as networks produce them."""
    if _is_normalised(x) and _is_normalised(y):
        text = (
            "both sides lie within [-1, 1], so their coordinates may be normalised. Thresholds and cutoffs are metres"
        )
        remedy = Remedy.of("Scale both sides to the region")
        yield Finding("warning", "coordinates-normalised", text, count=x.instances + y.instances, remedy=remedy)
    for name, own, other in (("predictions", x, y), ("truth", y, x)):
        if _is_normalised(own) and other.size.max() > _SMALL:
            from_zero = own.low.min() > 1 - _ONE
            if from_zero:
                span = "[0, 1]"
                advice = "Subtract 0.5 and multiply by"
            else:
                span = "[-1, 1]"
                advice = "Multiply by half"
            text = f"{name}: all coordinates lie within {span}, while the other side measures {other} m"
            remedy = Remedy.of(f"{advice} the length and the width of the region")
            yield Finding("error", "coordinates-normalised", text, count=own.instances, remedy=remedy)


def world(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """Find world coordinates instead of coordinates around the ego."""
    if x.is_world and y.is_world:
        if far_apart := [*apart(context)]:
            yield from far_apart
            return
        text = (
            "both sides are far from the origin, as in world coordinates. They can be compared, but not cropped to a "
            "region around the ego"
        )
        yield Finding("note", "coordinates-world", text, count=x.instances + y.instances)
        return
    for (name, side), own, other in zip(context.sides, (x, y), (y, x), strict=True):
        if own.is_world:
            text = (
                f"{name}: the coordinates look like world coordinates. They are centred at ({own.centre[0]:.6g}, "
                f"{own.centre[1]:.6g}) and extend over {own}. The other side is centred near the origin and extends "
                f"over {other}"
            )
            remedy = Remedy.of("Transform them to the frame of the ego")
            if side.poses is not None:
                remedy = Remedy(f"Use {name}.transform(numpy.linalg.inv({name}.poses))", remedy.shell)
            yield Finding("error", "coordinates-world", text, count=own.instances, remedy=remedy)


def apart(context: Context) -> Iterator[Finding]:
    """Find sides that lie far from each other, such as two maps with different origins or projections."""
    x, y = context.sampled
    if x.tokens != y.tokens or not (len(x.polylines) and len(y.polylines)):
        return
    (low_x, high_x), (low_y, high_y) = (
        (measured.low[:, :2].min(axis=0), measured.high[:, :2].max(axis=0))
        for measured in (survey(x.polylines), survey(y.polylines))
    )
    gap = float(np.hypot(*np.maximum(0, np.maximum(low_x - high_y, low_y - high_x))))
    if FAR < gap < np.inf:
        corners = [f"({point[0]:.10g}, {point[1]:.10g})" for point in np.round((low_x, high_x, low_y, high_y), 1)]
        text = (
            f"predictions and truth are {gap:,.0f} m apart, so nothing can be matched. The predictions reach from "
            f"{corners[0]} to {corners[1]}, the truth from {corners[2]} to {corners[3]}"
        )
        remedy = Remedy.of("Write both with the same origin and the same projection")
        yield Finding("warning", "sides-apart", text, count=len(x.polylines) + len(y.polylines), remedy=remedy)


def unit(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """Find another unit of length."""
    diagonals = [float(np.hypot(*extent.size)) for extent in (x, y)]
    if not all(0 < diagonal < np.inf for diagonal in diagonals):
        return
    # The side with the less usual size. 67 m are the diagonal of 60 x 30.
    wrong = int(np.argmax(np.abs(np.log(diagonals) - np.log(67.0))))
    if wrong == 0:
        own = x
        other = y
    else:
        own = y
        other = x
    factor = diagonals[wrong] / diagonals[1 - wrong]
    known = next((size for size in _UNITS if 1 / _ALIKE < factor / size < _ALIKE), None)
    if not 1 / _NO_REGION < factor < _NO_REGION or (known and _meets(context, 1 / known if wrong == 0 else known)):
        name = context.sides[wrong][0]
        scale = known or factor
        if known:
            guess = f"The unit seems to be {_UNITS[known]}"
        else:
            guess = "The coordinates seem to be scaled"
        text = f"{name}: the instances measure {own}, those of the other side {other}. {guess}, expected metres"
        change = f"{'Divide' if factor > 1 else 'Multiply'} the coordinates by {max(scale, 1 / scale):.4g}"
        yield Finding("error", "coordinates-unit", text, count=own.instances, remedy=Remedy.of(change))


def _meets(context: Context, factor: float) -> bool:
    """Return whether scaling moves the predictions onto the truth of their own frame.

    A smaller factor reduces all distances, so the distance must also be smaller than the distance to other frames.
    """
    neighbours = context.neighbours
    turn = context.turn
    if not neighbours.frames:
        return False

    def scaled(points: Points) -> Points:
        return factor * turn(points)

    own = neighbours.gap(scaled)
    return own < _NEARER * neighbours.gap(turn) and own < _NEARER * neighbours.gap_to_others(scaled)


def _is_normalised(extent: Extent) -> bool:
    reach = max(np.abs(extent.low).max(), np.abs(extent.high).max())
    return bool(reach < _ONE and extent.size.max() > 0.3)


def turned(context: Context) -> Iterator[Finding]:
    """Find axes that are turned or mirrored."""
    turn = context.turn
    neighbours = context.neighbours
    if turn.what:
        text = (
            f"the predictions are {turn.what}. In {counted(len(neighbours.frames), 'frame')} the median distance from "
            f"a truth instance to the nearest prediction is {neighbours.gap():.1f} m, and {neighbours.gap(turn):.1f} m "
            f"after the correction{f'. {turn.explanation}' if turn.explanation else ''}"
        )
        if any(finding.code == "axes-uncertain" for finding in context.predictions.findings):
            text += f". They were not turned on request, because it is not certain how: {_stated(context)}"
        certain = context.known_turns is not None and 90 * context.known_turns == turn.degrees
        remedy = turn.remedy(context.predictions.name, certain=certain)
        yield Finding("error", "axes-turned", text, count=neighbours.truths, remedy=remedy)


def coordinates(context: Context) -> Iterator[Finding]:
    """Find the first cause that explains the extents.

    Causes with the largest effect come first, and only the first one is reported: coordinates in centimetres also
    look like a larger region.
    """
    findings = [*padding(context)] or [*same_end(context)] or [*degrees(context)]
    if context.extents is None:  # too few lines for the other causes
        yield from findings or apart(context)
        return
    findings = findings or list(frames.unit(context))
    for cause in (normalised, world, unit, exchanged_axes, shrunk):
        findings = findings or list(cause(context, *context.extents))
    for of_frames in (frames.moved, frames.turned_classes, frames.turned_frames):
        findings = findings or list(of_frames(context))
    for cause in (shifted, other_region):
        findings = findings or list(cause(context, *context.extents))
    for of_frames in (frames.unrelated, frames.of_neighbours):
        findings = findings or list(of_frames(context))
    yield from findings


def exchanged_axes(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """Find swapped length and width, if the nearest distances did not show a turn."""
    straight = x.size / y.size
    across = x.size / y.size[::-1]
    if min(y.size) > _SMALL and _similar(across, _TURNED).all() and not _similar(straight, _SAME).any():
        text = (
            f"the predictions measure {x} m and the truth {y} m: they lie in the region of the truth turned by 90 "
            "degrees. Either the axes are turned by 90 or -90 degrees, or x and y are swapped, which mirrors the map. "
            "The distances do not tell which. MapTR's nuScenes files have x to the right, StreamMapNet's have x forward"
        )
        name = context.predictions.name or "FILE"
        mirrored = "If neither lies on the truth, swap x and y in what writes the file"
        remedy = Remedy(
            f"Try predictions.rotate(-90) and predictions.rotate(90). {mirrored}",
            f"Try {name},rotate=-90 and {name},rotate=90. {mirrored}",
        )
        yield Finding("warning", "axes-exchanged", text, count=x.instances, remedy=remedy)


def shifted(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """Find different origins: equal sizes in different places."""
    offset = x.centre - y.centre
    clear = x.cut & y.cut & (np.abs(x.size - y.size) < _AS_CUT) & (np.abs(offset) > _AS_CUT)
    if not clear.any():
        away = (np.abs(offset) > 0.25 * y.size) & (y.size > _SMALL) & _similar(x.size / y.size, _TURNED).all()
        if away.any() and context.neighbours.truths and _meets_after(context, offset):
            clear = away
    if clear.any():
        dx, dy = (float(value) for value in np.where(clear, offset, 0))
        corners = [f"({point[0]:.1f}, {point[1]:.1f})" for point in (x.low, x.high, y.low, y.high)]
        text = (
            f"the predictions are shifted by {dx:+.1f} m in x and {dy:+.1f} m in y against the truth: they reach from "
            f"{corners[0]} to {corners[1]}, the truth from {corners[2]} to {corners[3]}. The origin of one side may be "
            "the LiDAR or a corner of the region instead of the ego"
        )
        remedy = Remedy("Use .transform(pose) to move one side", "Write both files with the same origin")
        yield Finding("warning", "origin-shifted", text, count=x.instances, remedy=remedy)


def _meets_after(context: Context, offset: Floats) -> bool:
    """Return whether the predictions are much nearer to the truth after they were moved back by an offset."""
    turn = context.turn
    gap = context.neighbours.gap(lambda points: turn(points) - offset)
    return gap < _SAME * context.neighbours.gap(turn)


def other_region(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """Find different sizes: predictions for one region, truth for another."""
    if min(x.instances, y.instances) < ENOUGH:
        return
    if context.region is not None:  # ignore everything outside it
        low = np.array(context.region[:2])
        high = np.array(context.region[2:])
        x, y = (e._replace(low=np.clip(e.low, low, high), high=np.clip(e.high, low, high)) for e in (x, y))
    ratio = x.size / y.size
    if (~_similar(ratio, _SAME) & (np.maximum(x.size, y.size) > _SMALL)).any():
        less = np.minimum(x.size, y.size)
        text = (
            f"the predictions measure {x} m and the truth {y} m: they may have different regions. Instances where only "
            "one side has data count as false or missed"
        )
        crop = "Crop both sides to the smaller region, for example with"
        remedy = Remedy(
            f"{crop} .crop(({less[0]:.0f}, {less[1]:.0f}))",
            f"{crop} mapgauge sweep --vary region={less[0]:.0f}x{less[1]:.0f}",
        )
        yield Finding("warning", "region-differs", text, count=x.instances, remedy=remedy)


def shrunk(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """Find files of a format that shrinks coordinates on one side only."""
    sources = [format_of(side) for _, side in context.sides]
    shrinks = [source is not None and source.shrinks is not None for source in sources]
    if shrinks[0] == shrinks[1]:
        return
    at = shrinks.index(True)
    source = sources[at]
    assert source is not None
    assert source.shrinks is not None
    whole, small = source.shrinks
    own = x
    other = y
    if at == 1:
        own = y
        other = x
    apart = np.abs(own.size / other.size - np.divide(small, whole))
    if not apart.max() < _AS_SHRUNK:  # also if it is no number
        return
    text = (
        f"{context.sides[at][0]}: {own} m, slightly smaller than the other side ({other} m). "
        f"{source.project or source.name} shrinks by {small[0]:g}/{whole[0]:g} in x and {small[1]:g}/{whole[1]:g} in y"
    )
    remedy = Remedy("Read the file with unshrink=True", "Write FILE,unshrink for this file")
    yield Finding("warning", "region-shrunk", text, count=own.instances, remedy=remedy)


def _similar(ratio: Points, least: float) -> NDArray[np.bool_]:
    return (ratio >= least) & (ratio <= 1 / least)


def with_axes_of(predictions: MapFrames, truth: MapFrames) -> MapFrames:
    """Return the predictions on the axes of the truth, with a finding if they were turned or may have to be.

    They are turned only if two things agree: both sides know which axis points forward, and the nearest distances
    show the same turn.

    >>> from mapgauge.demo import demo_world
    >>> predictions, truth = demo_world(4)
    >>> with_axes_of(predictions.rotate(90), truth).findings[-1].code
    'axes-corrected'
    """
    context = Context.of(predictions, truth)
    turn = context.turn
    known = context.known_turns
    neighbours = context.neighbours
    if not turn.what and not known:
        return predictions  # they fit, as far as can be told
    if known and turn.degrees == 90 * known:
        text = (
            f"the predictions were turned by {turn.degrees} degrees to the axes of the truth: they have "
            f"{predictions.forward} forward, and the truth has {truth.forward} forward. The median distance from a "
            f"truth instance to the nearest prediction was {neighbours.gap():.1f} m, and is "
            f"{neighbours.gap(turn):.1f} m now"
        )
        finding = Finding("note", "axes-corrected", text, count=neighbours.truths)
        predictions = predictions.rotate(turn.degrees)
    else:
        finding = _not_turned(context, turn, known)
    return replace(predictions, findings=(*predictions.findings, finding))


def _stated(context: Context) -> str:
    """Return what the sides say about the axis that points forward."""
    told = []
    for (name, side), (have, do) in zip(context.sides, (("have", "do"), ("has", "does")), strict=True):
        if side.forward:
            told.append(f"the {name} {have} {side.forward} forward")
        else:
            told.append(f"the {name} {do} not say which axis points forward")
    return ", ".join(told)


def _not_turned(context: Context, turn: AxisTurn, known: int | None) -> Finding:
    """Return why predictions that may have other axes were not turned."""
    if turn.what:
        shown = f"show that the predictions are {turn.what}"
    else:
        shown = "do not show it"
    text = (
        f"the predictions were not turned, because it is not certain how: {_stated(context)}, and the nearest "
        f"distances {shown}"
    )
    lacking = known is None and turn.degrees
    remedy = Remedy(
        f"Say which axis points forward with .with_forward(), or use predictions.rotate({turn.degrees})",
        "Say which axis points forward with FILE,forward=x or FILE,forward=y, or turn the predictions with "
        f"{context.predictions.name or 'FILE'},rotate={turn.degrees}",
    )
    return Finding(
        "warning", "axes-uncertain", text, count=context.neighbours.truths, remedy=remedy if lacking else None
    )


_MARGIN = 0.3  # metres; MapTR cuts its crossings 0.2 m outside the region
_LONGER = 1.3  # one side of a region or an extent is longer than the other by at least this factor
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
            yield Finding("warning", "region-turned", text, count=extent.instances, remedy=remedy)
            return
        if cropped:
            names = ""
        else:
            names = " or ".join(_protocols_of(context, *context.extents))
        if names:
            text += f", the predictions {context.extents[0]} m. The thresholds of a protocol are made for its region"
            remedy = Remedy(f"Use the protocol {names}", f"Use --protocol {names}")
            if (extent.size > size).any():
                code = "region-left"
            else:
                code = "region-not-covered"
            yield Finding("warning", code, text, count=extent.instances, remedy=remedy)
            return
        # A narrow road does not fill the width of its region. Truth of a smaller region is smaller along both axes, and
        # its lines end at the same edges.
        if (extent.size < _COVERED * size).all() and extent.cut.any():
            text += ": it may be made for a smaller region. All predictions beyond its extent count as false"
            remedy = Remedy(
                "Choose the protocol or region that the truth was made for",
                "Choose the protocol that the truth was made for with --protocol",
            )
            yield Finding("warning", "region-not-covered", text, count=extent.instances, remedy=remedy)
    for name, side in context.sides:
        total = len(side.polylines)
        low, high, _ = survey(side.polylines)
        meets = ((low[:, :2] <= context.region[2:]) & (high[:, :2] >= context.region[:2])).all(axis=1)
        if total and not meets.any():
            if total == 1:
                lie = "the only instance lies"
            else:
                lie = f"all {total} instances lie"
            text = f"{name}: {lie} outside the region" + ", so nothing is left to compare" * cropped
            remedy = Remedy.of("Transform them to the frame of the ego")
            if cropped:
                remedy = Remedy(f"{remedy.python}, or do not crop", f"{remedy.shell}, or leave out --set crop=true")
            yield Finding("error" if cropped else "warning", "region-left", text, count=total, remedy=remedy)
            continue
        rows = _beyond(side, context.region, _MARGIN)
        if not cropped:
            remedy = Remedy(
                "Use .crop(region) on both sides to compare only what lies inside",
                "Use --set crop=true to compare only what lies inside",
            )
            level: Level = "note"
            if len(rows) > 0.05 * total:
                level = "warning"
            text = f"leave the region by more than {_MARGIN} m"
            yield from about_instances(
                (name, side), rows, level, code="region-left", text=text, remedy=remedy, share=True
            )


def far_away(context: Context) -> Iterator[Finding]:
    """Find single instances that reach three times as far as the truth, if no region was given."""
    if context.region is not None or context.extents is None:
        return
    truth = context.extents[1]
    reach = 3 * float(np.hypot(*np.maximum(np.abs(truth.low), np.abs(truth.high))))
    text = f"reach more than {reach:.0f} m from the origin; the truth measures {truth} m"
    remedy = Remedy("Use .crop(region) if they should not count", "Use --set crop=true if they should not count")
    for name, side in context.sides:
        rows = _beyond(side, (-reach, -reach, reach, reach), margin=0.0)
        if len(rows) <= 0.2 * len(side.polylines):  # with more, the coordinates are of another kind
            yield from about_instances(
                (name, side), rows, "warning", code="instances-far-away", text=text, remedy=remedy
            )


def _protocols_of(context: Context, x: Extent, y: Extent) -> list[str]:
    """Return the protocols for another region, which both sides fill, of the same family if it is known."""
    forward = context.truth.forward or context.predictions.forward

    def filled(region: Region | None, least: float) -> bool:
        if region is None:
            return False
        bounds = check_region(region, forward)
        return all(_fits(extent, np.array(bounds[2:]) - bounds[:2], least) for extent in (x, y))

    if filled(context.region, _COVERED):
        return []
    names = [row.name for row in PROTOCOLS.values() if filled(row.region, _FILLED)]
    if context.protocol is None:
        name = ""
    else:
        name = context.protocol.name
    families = {row.rpartition("-")[0] for row in PROTOCOLS if name.startswith(row)}
    if families:
        return [name for name in names if name.rpartition("-")[0] in families]
    return names


def _crosswise(region: Bounds, extent: Extent) -> bool:
    """Whether a region around the ego is long along one axis, and the instances along the other."""
    size = np.array(region[2:]) - region[:2]
    centred = region[0] == -region[2] and region[1] == -region[3]
    return centred and any(
        size[i] >= _LONGER * size[1 - i] and extent.size[1 - i] >= _LONGER * extent.size[i] for i in (0, 1)
    )


def _fits(extent: Extent, size: Points, least: float = _COVERED) -> bool:
    return bool(((extent.size > least * size) & (extent.size < size + 2 * _MARGIN)).all())


def _beyond(side: MapFrames, bounds: Bounds, margin: float) -> Indices:
    """Return the instances with a point outside the bounds."""
    low, high, _ = survey(side.polylines)
    outside = (low[:, :2] < np.array(bounds[:2]) - margin) | (high[:, :2] > np.array(bounds[2:]) + margin)
    return np.flatnonzero(outside.any(axis=1))
