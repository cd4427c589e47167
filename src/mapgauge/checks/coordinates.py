"""Do both sides lie on each other: the same axes, the same origin, the same region?"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from mapgauge.checks import units
from mapgauge.checks.context import ENOUGH, Context
from mapgauge.checks.extent import Extent
from mapgauge.frames.findings import Finding
from mapgauge.typing import Points

_SAME = 0.7  # sizes of one region as seen from both sides differ by no more than this factor
_TURNED = 0.8  # sizes along exchanged axes are as similar as this
_SMALL = 5.0  # metres; sizes below say nothing about a region
_AS_CUT = 0.5  # metres by which edges at which lines are cut off may differ
_SHIFTED = 0.25  # of the size, where no edges are to be seen
_FRAMES = 8  # at least, to say that frames do not belong to each other
_APART = 2.0  # metres, and
_HARDLY = 0.7  # of the distance to other frames; a sound pair of files has 0.2


def turned(context: Context) -> Iterator[Finding]:
    """Other axes: no prediction lies where it should."""
    turn, neighbours = context.turn, context.neighbours
    if turn.what:
        text = (
            f"the predictions are {turn.what}. In {len(neighbours.frames)} frames the prediction nearest to a truth "
            f"instance is usually {neighbours.gap():.1f} m away, and {neighbours.gap(turn):.1f} m once that is "
            f"undone. {turn.remedy}"
        )
        yield Finding("error", "axes-turned", text, neighbours.count)


def coordinates(context: Context) -> Iterator[Finding]:
    """The first cause that explains what is seen.

    They are tried from the crudest on: whoever writes centimetres need not hear that the region is larger, too.
    """
    if context.extents is None:
        return
    for cause in _CAUSES:
        found = list(cause(context, *context.extents))
        yield from found
        if found:
            return


def exchanged_axes(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """Length and width exchanged, where the nearest distances did not tell the turn."""
    straight, across = x.size / y.size, x.size / y.size[::-1]
    if min(y.size) > _SMALL and _similar(across, _TURNED).all() and not _similar(straight, _SAME).any():
        text = (
            f"the predictions measure {x} m and the truth {y} m: x and y seem to be exchanged. MapTR's nuScenes files "
            "have x to the right, StreamMapNet's x forward. Try predictions.rotate(-90) or predictions.rotate(90)"
        )
        yield Finding("warning", "axes-exchanged", text, x.instances)


def shifted(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """Another origin: equal sizes in different places."""
    offset = x.centre - y.centre
    clear = x.cut & y.cut & (np.abs(x.size - y.size) < _AS_CUT) & (np.abs(offset) > _AS_CUT)
    if not clear.any():
        away = np.abs(offset) > _SHIFTED * y.size
        clear = away & (y.size > _SMALL) & _similar(x.size / y.size, _TURNED).all() & _meets(context, -offset)
    if clear.any():
        dx, dy = (float(value) for value in np.where(clear, offset, 0))
        text = (
            f"the predictions lie {dx:+.1f} m in x and {dy:+.1f} m in y from the truth: they reach from "
            f"{_corner(x.low)} to {_corner(x.high)}, the truth from {_corner(y.low)} to {_corner(y.high)}. Is one "
            "around the LiDAR or the corner of the region, the other around the ego? .transform(pose) moves a side"
        )
        yield Finding("warning", "origin-shifted", text, x.instances)


def other_region(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """Another size: predictions for one region, truth of another."""
    if min(x.instances, y.instances) < ENOUGH:
        return
    if context.region is not None:  # what lies outside of it does not count
        low, high = np.array(context.region[:2]), np.array(context.region[2:])
        x, y = (e._replace(low=np.clip(e.low, low, high), high=np.clip(e.high, low, high)) for e in (x, y))
    ratio = x.size / y.size
    if (~_similar(ratio, _SAME) & (np.maximum(x.size, y.size) > _SMALL)).any():
        less = np.minimum(x.size, y.size)
        text = (
            f"the predictions measure {x} m and the truth {y} m: are they of different regions? What only one side "
            f"covers counts as false or missed. Compare inside of both, as with .crop(({less[0]:.0f}, {less[1]:.0f}))"
        )
        yield Finding("warning", "region-differs", text, x.instances)


def shrunk(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """VectorMapNet's files, in which 62 x 32 m became 60 x 30."""
    ours = [side.format.startswith("vectormapnet") for _, side in context.sides]
    if ours in ([True, False], [False, True]):
        mine, other = (x, y) if ours[0] else (y, x)
        ratio = mine.size / other.size
        if np.abs(ratio - (60 / 62, 30 / 32)).max() < 0.02:
            text = (
                f"{context.sides[ours.index(True)][0]}: {mine} m, a little smaller than the other side ({other} m). "
                "VectorMapNet shrinks by 60/62 in x and 30/32 in y. Read the file with unshrink=True"
            )
            yield Finding("warning", "region-shrunk", text, mine.instances)


def unrelated(context: Context, x: Extent, y: Extent) -> Iterator[Finding]:
    """Frames that have the same token and nothing else in common."""
    neighbours = context.neighbours
    if context.turn.what or len(neighbours.frames) < _FRAMES:
        return
    own, others = neighbours.gap(), neighbours.gap_to_others()
    if own > _APART and own > _HARDLY * others:
        text = (
            f"the predictions are hardly nearer to the truth of their own frame ({own:.1f} m, usually) than to that of "
            f"other frames ({others:.1f} m), in {len(neighbours.frames)} frames. Were tokens and results paired by "
            "position, in different orders?"
        )
        yield Finding("warning", "frames-unrelated", text, len(neighbours.frames))


_CAUSES: tuple[Callable[[Context, Extent, Extent], Iterator[Finding]], ...] = (
    units.normalised,
    units.world,
    units.unit,
    exchanged_axes,
    shifted,
    other_region,
    shrunk,
    unrelated,
)


def _similar(ratio: Points, least: float) -> NDArray[np.bool_]:
    return (ratio >= least) & (ratio <= 1 / least)


def _corner(point: Points) -> str:
    return f"({point[0]:.1f}, {point[1]:.1f})"


def _meets(context: Context, shift: Points) -> bool:
    """Whether the predictions come to the truth if they are moved."""
    neighbours, turn = context.neighbours, context.turn
    return neighbours.count > 0 and neighbours.gap(lambda points: turn(points) + shift) < _SAME * neighbours.gap(turn)
