"""Checks of links: whether the lanes that they join meet, and whether both sides have links."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from mapgauge.checks.context import Context, examples, percent
from mapgauge.checks.neighbours import evenly
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding
from mapgauge.frames.link_findings import link_findings
from mapgauge.frames.links import SUCCESSOR
from mapgauge.frames.map_frames import MapFrames
from mapgauge.typing import Indices, Points

_FRAMES = 256  # at most this many frames are used
_ENOUGH = 10  # fewer links or fewer lanes that meet say nothing
_FAR = 5.0  # metres between the end of a lane and the start of its successor
_NEAR = 1.0  # metres between lanes that meet
_SHARE = 0.5  # share of the links, or of the lanes that meet, that makes it a finding


def one_side_only(context: Context) -> Iterator[Finding]:
    """Find links between lanes that the other side lacks."""
    if all(len(side.polylines) for _, side in context.sides):
        yield from link_findings(context.predictions, context.truth)


def ends(context: Context) -> Iterator[Finding]:
    """Find links of either side that do not join lanes that meet."""
    for name, side in context.sides:
        yield from of_side(name, side)


def of_side(name: str, side: MapFrames) -> Iterator[Finding]:
    """Find links to successors that start far from the end of their lane, although other lanes meet.

    This happens if the rows of a matrix follow ids instead of the list of lanes, or if the matrix is transposed.

    Args:
        name: The name of the side in messages.
        side: The frames. Without links, there is nothing to find.
    """
    if side.links is None or not len(side.links):
        return
    side = side.at(evenly(range(len(side)), _FRAMES))
    source, target = _strongest(side)
    if len(source) < _ENOUGH:
        return
    start, end = (side.polylines.coords[side.polylines.offsets[:-1], :2], _last_points(side))
    gap = np.linalg.norm(end[source] - start[target], axis=1)
    far = np.flatnonzero(gap > _FAR)
    if len(far) < _SHARE * len(gap):
        return
    share = f"{len(far)} of {len(gap)} links ({percent(len(far), len(gap))})"
    back = np.linalg.norm(start[source] - end[target], axis=1)
    if np.count_nonzero(back[far] < _FAR) > _SHARE * len(far):
        text = f"{name}: {share} lead from the start of a lane to the end of another, not from end to start"
        remedy = Remedy.of("Transpose the matrix: row i and column j say that lane i leads into lane j")
        yield Finding("warning", "links-reversed", text, len(far), examples(side, source[far]), remedy)
        return
    meeting = _meeting(side, np.union1d(source, target), start, end)
    linked = np.count_nonzero((gap < _NEAR) & (source != target))
    if meeting < _ENOUGH or linked > _SHARE * meeting:
        return
    text = (
        f"{name}: {share} lead to a lane that starts more than {_FAR:g} m from the end of the first, and "
        f"{meeting - linked} of {meeting} pairs of lanes that meet have no link"
    )
    remedy = Remedy.of("Sort the rows and columns of the matrix as the list of lanes, not by id")
    yield Finding("warning", "links-far-apart", text, len(far), examples(side, source[far]), remedy)


def _strongest(side: MapFrames) -> tuple[Indices, Indices]:
    """Return the links to successors with the largest weights, about one for two lanes. All scores may be small."""
    assert side.links is not None
    links = side.links.of_kind(SUCCESSOR)
    most = (len(np.unique(links.source)) + 1) // 2
    least = np.partition(links.weight, -most)[-most] if most else 0.0
    strong = links.weight >= least
    return links.source[strong], links.target[strong]


def _last_points(side: MapFrames) -> Points:
    last: Points = side.polylines.coords[side.polylines.offsets[1:] - 1, :2]
    return last


def _meeting(side: MapFrames, lanes: Indices, start: Points, end: Points) -> int:
    """Return the number of pairs of lanes of a frame of which the second starts where the first ends."""
    found = 0
    for first, last in pairwise(np.searchsorted(lanes, side.offsets).tolist()):
        rows = lanes[first:last]
        gap = np.linalg.norm(end[rows, None] - start[rows], axis=2)
        np.fill_diagonal(gap, np.inf)
        found += int(np.count_nonzero(gap < _NEAR))
    return found
