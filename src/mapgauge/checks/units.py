"""Checks that coordinates are metres around the ego.

Each function looks at the extents of both sides for one possible cause.
"""

from collections.abc import Iterator

import numpy as np

from mapgauge.checks.context import Context, examples
from mapgauge.checks.degrees import degrees_found
from mapgauge.checks.extent import FAR, Extent
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.survey import survey
from mapgauge.typing import Indices, Points

_ONE = 1.05  # normalised coordinates are at most this large
_METRES = 5.0  # a side in metres is larger than this
_USUAL = 67.0  # metres: the diagonal of 60 x 30
_UNITS = {100.0: "centimetres", 1000.0: "millimetres", 39.37: "inches", 3.281: "feet", 0.001: "kilometres"}
_NO_REGION = 8.0  # sizes that differ by this factor are not explained by different regions
_ALIKE = 1.25  # two factors that differ by no more than this are taken as equal
_NEARER = 0.5  # a smaller factor is a unit's, not a region's, if it reduces the distance by this factor


def padding(context: Context) -> Iterator[Finding]:
    """Find zeros among coordinates far from the origin: lines of different lengths that were padded to one length."""
    for name, side in context.sides:
        rows = _padded(side)
        if len(rows):
            text = (
                f"{name}: {len(rows)} of {len(side.polylines)} instances have points at exactly (0, 0), and all their "
                f"other points are more than {FAR:g} m away. They seem to be padded with zeros"
            )
            remedy = Remedy.of("Remove the padding, and transform the coordinates to the frame of the ego")
            yield Finding("error", "coordinates-padded", text, len(rows), examples(side, rows), remedy=remedy)


def _padded(side: MapFrames) -> Indices:
    """Return the instances that have zeros, and otherwise only points far from the origin."""
    found = survey(side.polylines)
    around = ((found.low[:, :2] <= 0) & (found.high[:, :2] >= 0)).all(axis=1)
    far = np.hypot(*found.reach[:, :2].T) > FAR
    if not (around & far).any():
        return np.empty(0, np.int64)
    coords, offsets = side.polylines.coords, side.polylines.offsets
    zero = np.flatnonzero((coords[:, 0] == 0) & (coords[:, 1] == 0))
    rows = []
    for i in np.unique(np.searchsorted(offsets, zero, side="right") - 1).tolist():
        away = np.hypot(*side.polylines[i][:, :2].T)
        others = away[away > 0]
        if len(others) > 1 and others.min() > FAR:  # a single far point is a broken coordinate
            rows.append(i)
    return np.array(rows, np.int64)


def degrees(context: Context) -> Iterator[Finding]:
    """Find longitude and latitude."""
    if all(context.geographic):
        count = sum(len(side.polylines) for _, side in context.sides)
        yield degrees_found("both sides", context.truth, count)
        return
    for (name, side), found in zip(context.sides, context.geographic, strict=True):
        if found:
            yield degrees_found(name, side, len(side.polylines))


def normalised(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """Find coordinates from 0 to 1 or from -1 to 1, as networks produce them."""
    if _is_normalised(x) and _is_normalised(y):
        text = (
            "both sides lie within [-1, 1], so their coordinates may be normalised. Thresholds and cutoffs are metres"
        )
        remedy = Remedy.of("Scale both sides to the region")
        yield Finding("warning", "coordinates-normalised", text, x.instances + y.instances, remedy=remedy)
    for name, _, mine, other in _each_side(context, x, y):
        if _is_normalised(mine) and other.size.max() > _METRES:
            from_zero = mine.low.min() > 1 - _ONE
            span, advice = ("[0, 1]", "Subtract 0.5 and multiply by") if from_zero else ("[-1, 1]", "Multiply by half")
            text = f"{name}: all coordinates lie within {span}, while the other side measures {other} m"
            remedy = Remedy.of(f"{advice} the length and the width of the region")
            yield Finding("error", "coordinates-normalised", text, mine.instances, remedy=remedy)


def world(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """Find world coordinates instead of coordinates around the ego."""
    if x.is_world and y.is_world:
        text = (
            "both sides are far from the origin, as in world coordinates. They can be compared, but not cropped to a "
            "region around the ego"
        )
        yield Finding("note", "coordinates-world", text, x.instances + y.instances)
        return
    for name, side, mine, other in _each_side(context, x, y):
        if mine.is_world:
            text = (
                f"{name}: the coordinates look like world coordinates. They are centred at ({mine.centre[0]:.6g}, "
                f"{mine.centre[1]:.6g}) and extend over {mine}. The other side is centred near the origin and extends "
                f"over {other}"
            )
            remedy = Remedy.of("Transform them to the frame of the ego")
            if side.poses is not None:
                remedy = Remedy(f"Use {name}.transform(numpy.linalg.inv({name}.poses))", remedy.shell)
            yield Finding("error", "coordinates-world", text, mine.instances, remedy=remedy)


def unit(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """Find another unit of length."""
    diagonals = [float(np.hypot(*extent.size)) for extent in (x, y)]
    if not all(0 < diagonal < np.inf for diagonal in diagonals):
        return
    wrong = int(np.argmax(np.abs(np.log(diagonals) - np.log(_USUAL))))  # the side with the less usual size
    mine, other = (x, y) if wrong == 0 else (y, x)
    factor = diagonals[wrong] / diagonals[1 - wrong]
    known = next((size for size in _UNITS if 1 / _ALIKE < factor / size < _ALIKE), None)
    if not 1 / _NO_REGION < factor < _NO_REGION or (known and _meets(context, 1 / known if wrong == 0 else known)):
        name = context.sides[wrong][0]
        scale = known or factor
        guess = f"The unit seems to be {_UNITS[known]}" if known else "The coordinates seem to be scaled"
        text = f"{name}: the instances measure {mine}, those of the other side {other}. {guess}, expected metres"
        change = f"{'Divide' if factor > 1 else 'Multiply'} the coordinates by {max(scale, 1 / scale):.4g}"
        yield Finding("error", "coordinates-unit", text, mine.instances, remedy=Remedy.of(change))


def _each_side(context: Context, x: Extent, y: Extent) -> Iterator[tuple[str, MapFrames, Extent, Extent]]:
    """Iterate over the sides: name, frames, own extent, and extent of the other side."""
    for (name, side), mine, other in zip(context.sides, (x, y), (y, x), strict=True):
        yield name, side, mine, other


def _meets(context: Context, factor: float) -> bool:
    """Return whether scaling moves the predictions onto the truth of their own frame.

    A smaller factor reduces all distances, so the distance must also be smaller than that to other frames.
    """
    neighbours, turn = context.neighbours, context.turn
    if not neighbours.frames:
        return False

    def scaled(points: Points) -> Points:
        return factor * turn(points)

    own = neighbours.gap(scaled)
    return own < _NEARER * neighbours.gap(turn) and own < _NEARER * neighbours.gap_to_others(scaled)


def _is_normalised(extent: Extent) -> bool:
    reach = max(np.abs(extent.low).max(), np.abs(extent.high).max())
    return bool(reach < _ONE and extent.size.max() > 0.3)
