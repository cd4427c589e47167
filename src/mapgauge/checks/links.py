"""Checks of the links between instances: links that lanes cannot have, and whether both sides have links.

Links are data of the core: files hold them, and several features score them. So these checks belong to no feature.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from mapgauge.checks.context import Context
from mapgauge.checks.neighbours import evenly
from mapgauge.errors import Remedy
from mapgauge.frames import tracks
from mapgauge.frames.findings import Finding, Level, examples, share_of
from mapgauge.frames.links import CONTROLLED_BY, SUCCESSOR, Links
from mapgauge.frames.map_frames import MapFrames
from mapgauge.typing import Flags, Indices, Points

_FRAMES = 256  # at most this many frames are used
_ENOUGH = 10  # fewer links or fewer lanes that meet say nothing about lanes that do not meet exactly
_FEW = 2  # links that meet within _NEAR say something
_FAR = 5.0  # metres between the end of a lane and the start of its successor
_NEAR = 1.0  # metres between lanes that meet
_SHARE = 0.5  # share of the links, or of the lanes that meet, that makes it a finding
_DECISIVE = 0.2  # share of the links that meet in one direction only; the links of a poor method are far from all ends
_LINK = 0.5  # a score above it is a link
_MOST = 5  # successors of a lane, as a mean over all lanes

_ROWS = "row i and column j of the matrix say that lane i leads into lane j"


def on_one_side(context: Context) -> Iterator[Finding]:
    """Find links between lanes that the other side lacks."""
    if all(len(side.polylines) for _, side in context.sides):
        yield from tracks.link_findings(context.predictions, context.truth)


def impossible(context: Context) -> Iterator[Finding]:
    """Find links of either side that lanes cannot have."""
    for name, side in context.sides:
        yield from of_side(name, side)


def of_side(name: str, side: MapFrames) -> Iterator[Finding]:
    """Find links to successors that lanes cannot have, and links that do not join lanes that meet.

    Predictions may have a score for every pair of lanes. Scores above 0.5 count as links, and the strongest scores tell
    which lanes a method links. Without links, there is nothing to find.
    """
    if side.links is None or not len(side.links):
        return
    side = side.at(evenly(range(len(side)), _FRAMES))
    assert side.links is not None
    links = side.links.of_kind(SUCCESSOR)
    yield from _equal_scores(name, side, side.links.of_kind(CONTROLLED_BY), called="links to traffic elements")
    if not len(links):
        return
    if crowded := list(_too_many(name, side, links)):
        yield from crowded
        return
    yield from _equal_scores(name, side, links, called="links")
    # The strongest links to other lanes, about one for two lanes. All scores may be small.
    others = links.source != links.target
    most = (len(np.unique(links.source[others])) + 1) // 2
    strong = others & (links.weight >= (np.partition(links.weight[others], -most)[-most] if most else 0.0))
    # The least score above _LINK.
    yield from _to_themselves(name, side, links, least=links.weight[strong].min(initial=np.nextafter(_LINK, 1)))
    yield from _directions(name, side, links.source[strong], target=links.target[strong])


def _too_many(name: str, side: MapFrames, links: Links) -> Iterator[Finding]:
    """Find more links than lanes can have: of two lanes, one leads into the other at most."""
    joined = (links.weight > _LINK) & (links.source != links.target)
    count = int(np.count_nonzero(joined))
    lanes = np.bincount(side.frame[_lanes(side, links)], minlength=len(side))
    total = int(lanes.sum())
    pairs = int((lanes * (lanes - 1) // 2).sum())
    if count < _ENOUGH or count <= min(pairs, _MOST * total):
        return
    text = (
        f"{name}: {count} links between {total} lanes, {count / total:.3g} per lane on average, which is more than "
        "lanes can have"
    )
    remedy = Remedy.of(f"Write links only between lanes that meet: {_ROWS}")
    where = examples(side, links.source[joined])
    yield Finding(
        "error" if side.confidence is None else "warning",
        "links-too-many",
        text,
        count=count,
        examples=where,
        remedy=remedy,
    )


def _equal_scores(name: str, side: MapFrames, links: Links, called: str) -> Iterator[Finding]:
    """Find predicted links whose scores are all the same, or 0, although the lanes have probabilities."""
    scores = links.weight[links.weight > 0]
    if side.confidence is None or len(scores) < _ENOUGH or np.ptp(scores) > 0:
        return
    confidence = side.confidence[_lanes(side, links)]
    if not (np.ptp(confidence) > 0 and ((confidence > 0) & (confidence < 1)).any()):
        return
    text = f"{name}: the scores of all {len(scores)} {called} are {scores[0]:g}, and lanes have different confidences"
    remedy = Remedy.of("Save the scores of links before a threshold is applied. Scores of lane graphs use them")
    yield Finding("warning", "links-equal", text, count=len(scores), remedy=remedy)


def _to_themselves(name: str, side: MapFrames, links: Links, least: float) -> Iterator[Finding]:
    """Find lanes that lead into themselves. A lane that ends where it starts may."""
    own = links.source[(links.source == links.target) & (links.weight >= least)]
    start, end = _end_points(side)
    own = own[np.linalg.norm(end[own] - start[own], axis=1) > _NEAR]
    lanes = len(_lanes(side, links))
    if not len(own) or (side.confidence is not None and len(own) <= 0.25 * lanes):  # single false links are normal
        return
    text = f"{name}: {len(own)} of {lanes} lanes ({share_of(len(own), lanes)}) lead into themselves"
    remedy = Remedy.of("Set the diagonal of the matrix to 0")
    yield Finding("warning", "links-to-self", text, count=len(own), examples=examples(side, own), remedy=remedy)


def _directions(name: str, side: MapFrames, source: Indices, target: Indices) -> Iterator[Finding]:
    """Find links that lead both ways, that lead backwards, or whose lanes do not meet although other lanes do."""
    start, end = _end_points(side)
    gap = np.linalg.norm(end[source] - start[target], axis=1)
    back = np.linalg.norm(start[source] - end[target], axis=1)
    if len(gap) >= _ENOUGH:
        reach = _FAR
        share = _DECISIVE
    else:
        reach = _NEAR
        share = _SHARE
    forwards, backwards = ((near < reach) & (near + _NEAR < far) for near, far in ((gap, back), (back, gap)))
    width = len(side.label)
    doubled = np.isin(source * width + target, target * width + source) & (forwards | backwards)

    def finding(level: Level, code: str, some: Flags, text: str, remedy: str) -> Finding:
        count = int(np.count_nonzero(some))
        text = f"{name}: {count} of {len(gap)} links ({share_of(count, len(gap))}) {text}"
        return Finding(level, code, text, count=count, examples=examples(side, source[some]), remedy=Remedy.of(remedy))

    if int(doubled.sum()) > max(_SHARE * len(gap), _FEW - 1):
        text = "have a link in the other direction, although two lanes cannot lead into each other"
        remedy = f"Write links in the direction of traffic only: {_ROWS}"
        yield finding("warning", "links-both-ways", doubled, text=text, remedy=remedy)
        return
    if int(backwards.sum()) > max(share * len(gap), 3 * int(forwards.sum()), _FEW - 1):
        text = "lead from the start of a lane to the end of another, not from end to start"
        remedy = f"Transpose the matrix: {_ROWS}. If the lanes run against the traffic, reverse their points"
        yield finding("error", "links-reversed", backwards, text=text, remedy=remedy)
        return
    far = gap > _FAR
    if len(gap) < _ENOUGH or np.count_nonzero(far) < _SHARE * len(gap):
        return
    meeting = _meeting(side, np.union1d(source, target), start, end=end)
    linked = np.count_nonzero(gap < _NEAR)
    if meeting < _ENOUGH or linked > _SHARE * meeting:
        return
    text = (
        f"lead to a lane that starts more than {_FAR:g} m from the end of the first, and {meeting - linked} of "
        f"{meeting} pairs of lanes that meet have no link"
    )
    remedy = "Sort the rows and columns of the matrix as the list of lanes, not by id"
    yield finding("warning", "links-far-apart", far, text=text, remedy=remedy)


def _lanes(side: MapFrames, links: Links) -> Indices:
    """Return all instances of the classes that are linked."""
    return np.flatnonzero(np.isin(side.label, side.label[links.source]))


def _end_points(side: MapFrames) -> tuple[Points, Points]:
    """Return the first and the last point of each instance, without heights."""
    coords = side.polylines.coords
    offsets = side.polylines.offsets
    return coords[offsets[:-1], :2], coords[offsets[1:] - 1, :2]


def _meeting(side: MapFrames, lanes: Indices, start: Points, end: Points) -> int:
    """Return the number of pairs of lanes of a frame of which the second starts where the first ends."""
    pairs = 0
    for first, last in pairwise(np.searchsorted(lanes, side.offsets).tolist()):
        rows = lanes[first:last]
        gap = np.linalg.norm(end[rows, None] - start[rows], axis=2)
        np.fill_diagonal(gap, np.inf)
        pairs += int(np.count_nonzero(gap < _NEAR))
    return pairs
