"""Are the coordinates metres around the ego, or numbers of another kind?

Each function looks at the extents of both sides and names one cause, if it sees it.
"""

from collections.abc import Iterator

import numpy as np

from mapgauge.checks.context import Context
from mapgauge.checks.extent import Extent
from mapgauge.frames.findings import Finding
from mapgauge.typing import Points

_ONE = 1.05  # normalised coordinates reach as far
_METRES = 5.0  # a side in metres is larger than this
_FAR = 200.0  # metres from the origin, where no ego frame reaches
_DEGREES = 0.01  # a frame in longitude and latitude is smaller than this
_USUAL = 67.0  # metres: the diagonal of 60 x 30
_UNITS = {100.0: "centimetres", 1000.0: "millimetres", 39.37: "inches", 3.281: "feet", 0.001: "kilometres"}
_NO_REGION = 8.0  # no two regions in use differ by this factor
_ALIKE = 1.25  # two factors that differ by no more are taken for the same
_NEARER = 0.5  # a factor that may be a region's is a unit's if it brings the sides this much nearer


def normalised(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """Numbers from 0 to 1 or from -1 to 1, as networks give them."""
    small = [_is_normalised(x), _is_normalised(y)]
    if all(small):
        text = (
            "both sides lie within [-1, 1]. Are their coordinates normalised? All thresholds and cutoffs are metres: "
            "scale both to the region"
        )
        yield Finding("warning", "coordinates-normalised", text, x.instances + y.instances)
    for (name, _), is_small, mine, other in zip(context.sides, small, (x, y), (y, x), strict=True):
        if is_small and other.size.max() > _METRES:
            from_zero = mine.low.min() > 1 - _ONE
            text = (
                f"{name}: all coordinates lie within {'[0, 1]' if from_zero else '[-1, 1]'}, while the other side "
                f"measures {other} m. They are normalised: {'subtract 0.5 and ' if from_zero else ''}multiply by "
                f"{'' if from_zero else 'half '}the length and the width of the region"
            )
            yield Finding("error", "coordinates-normalised", text, mine.instances)


def world(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """World coordinates, or longitude and latitude, in place of the ego's frame."""
    if _is_world(x) and _is_world(y):
        text = (
            "both sides are far from the origin, as in world coordinates. Distances can be compared there, but a "
            "region around the ego cannot be cut out"
        )
        yield Finding("note", "coordinates-world", text, x.instances + y.instances)
        return
    for (name, side), mine, other in zip(context.sides, (x, y), (y, x), strict=True):
        degrees = _is_geographic(mine) and other.of_frame > _METRES
        if not degrees and not _is_world(mine):
            continue
        remedy = "Bring them into the frame of the ego"
        if side.poses is not None and not degrees:
            remedy = f"Use {name}.transform(numpy.linalg.inv({name}.poses))"
        text = (
            f"{name}: the instances lie about ({mine.centre[0]:.6g}, {mine.centre[1]:.6g}), {mine} across, those of "
            f"the other side about the origin, {other} across. These look like "
            f"{'longitude and latitude' if degrees else 'world coordinates'}. {remedy}"
        )
        yield Finding("error", "coordinates-world", text, mine.instances)


def unit(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """Another unit of length."""
    diagonals = [float(np.hypot(*extent.size)) for extent in (x, y)]
    if not all(0 < diagonal < np.inf for diagonal in diagonals):
        return
    wrong = int(np.argmax(np.abs(np.log(diagonals) - np.log(_USUAL))))  # the side whose size is the less usual one
    mine, other = (x, y) if wrong == 0 else (y, x)
    factor = diagonals[wrong] / diagonals[1 - wrong]
    known = next((size for size in _UNITS if 1 / _ALIKE < factor / size < _ALIKE), None)
    if not 1 / _NO_REGION < factor < _NO_REGION or (known and _meets(context, 1 / known if wrong == 0 else known)):
        name = context.sides[wrong][0]
        scale = known or factor
        guess = f"The unit seems to be {_UNITS[known]}" if known else "They seem to be scaled"
        text = (
            f"{name}: the instances measure {mine}, those of the other side {other}. {guess}; expected are metres. "
            f"{'Divide' if factor > 1 else 'Multiply'} the coordinates by {max(scale, 1 / scale):.4g}"
        )
        yield Finding("error", "coordinates-unit", text, mine.instances)


def _meets(context: Context, factor: float) -> bool:
    """Whether the predictions come to the truth of their own frame if they are scaled.

    A smaller factor brings everything nearer to everything. So it must be nearer than other frames come.
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


def _is_world(extent: Extent) -> bool:
    """All instances far to one side, or frames that are small against the whole."""
    across = np.hypot(*extent.size)
    away = np.hypot(*extent.centre)
    return bool(away > max(_FAR, 2 * across) or (across > _FAR and extent.of_frame < 0.2 * across))


def _is_geographic(extent: Extent) -> bool:
    inside = (np.abs(np.stack([extent.low, extent.high])) <= (180, 90)).all()
    return bool(inside and extent.of_frame < _DEGREES and np.hypot(*extent.centre) > 50 * extent.of_frame)
