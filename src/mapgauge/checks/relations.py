"""Checks of tracks and links: ids, order in time, lanes that meet, and whether both sides have them."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mapgauge.checks.context import Context
from mapgauge.checks.neighbours import coarse, evenly, near_chamfer, rows_with_points
from mapgauge.errors import Remedy
from mapgauge.frames import tracks
from mapgauge.frames.findings import Finding, Level, examples, share_of
from mapgauge.frames.links import CONTROLLED_BY, SUCCESSOR, Links
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import boxes_of
from mapgauge.typing import Flags, Indices, Points

_JUMP = 5.0  # metres between the boxes of a line in consecutive frames; lines of one static object overlap
_NEAR_TRACK = 1.5  # metres: a prediction is matched with the nearest truth up to this distance
_TRACK_FRAMES = 120  # at most this many frames are searched for ids that follow several true tracks


def ids(context: Context) -> Iterator[Finding]:
    """Find what is unusual about the tracks of each side, if both have tracks. Otherwise nothing follows them."""
    if all(side.track is not None for _, side in context.sides):
        yield from tracks.track_findings(context.predictions, context.truth)
        for name, side in context.sides:
            yield from _jumps(name, side, _poses_of(context, side))


def tracks_of_side(name: str, side: MapFrames) -> Iterator[Finding]:
    """Find what is unusual about the tracks of one side by itself, given its name. There is nothing without tracks."""
    if side.track is not None:
        yield from tracks.findings_of_tracks(name, side)
        yield from tracks.findings_of_times(name, side)
        yield from _jumps(name, side, side.poses)


def tracks_on_one_side(context: Context) -> Iterator[Finding]:
    """Find tracks that the other side lacks."""
    has = [side.track is not None and bool((side.track != "").any()) for _, side in context.sides]
    if has[0] != has[1] and all(len(side.polylines) for _, side in context.sides):
        if has[0]:
            with_tracks = "predictions"
            without = "truth"
        else:
            with_tracks = "truth"
            without = "predictions"
        text = f"the {with_tracks} have tracks and the {without} have none. Scores over time need both"
        remedy = Remedy.of("Read ids of the truth with it, or give the predictions ids, to compare tracks")
        yield Finding("note", "tracks-one-side", text, remedy=remedy)


def shared(context: Context) -> Iterator[Finding]:
    """Find predicted tracks that follow several true tracks. C-mAP does not see this."""
    followed = _followed(context)
    several = sorted(name for name, true in followed.items() if len(true) > 1)
    if several:
        text = (
            f"{len(several)} of {len(followed)} predicted tracks ({share_of(len(several), len(followed))}) are nearest "
            "to several true tracks at different times or in one frame. C-mAP does not count this as a mistake"
        )
        remedy = Remedy.of("Check that ids are not shared by different objects")
        level: Level = "note"
        if len(several) > 0.25 * len(followed):
            level = "warning"
        shown = tuple(dict.fromkeys(track for _, _, track in several))[:3]
        yield Finding(level, "tracks-shared", text, count=len(several), examples=shown, remedy=remedy)


def _jumps(name: str, side: MapFrames, poses: NDArray[np.float64] | None) -> Iterator[Finding]:
    """Find tracks that are somewhere else in the next frame. Without poses, the ego vehicle may have moved."""
    track = side.track
    if track is None or side.scenes is None or poses is None:
        return
    rows = np.flatnonzero((track != "") & (np.diff(side.polylines.offsets) > 0))
    rank = np.zeros(len(side), np.int64)
    for frames in tracks.frames_by_scene(side).values():
        rank[frames] = np.arange(len(frames))
    lines = side.polylines.pick(rows)
    world = np.empty((len(lines.coords), 2))
    first = lines.offsets[np.searchsorted(side.frame[rows], np.arange(len(side) + 1))].tolist()
    for pose, begin, end in zip(poses, first, first[1:], strict=False):  # points are sorted by frame
        world[begin:end] = lines.coords[begin:end] @ pose[:2, : side.dimension].T + pose[:2, 3]
    low, high = boxes_of(world, lines.offsets[:-1])
    scene = tracks.codes_of(side.scenes)[side.frame[rows]]
    keys = np.stack([rank[side.frame[rows]], tracks.codes_of(track[rows]), side.label[rows], scene])
    order = np.lexsort(keys)
    a = order[:-1]
    b = order[1:]
    next_to = (keys[1:, a] == keys[1:, b]).all(axis=0) & (keys[0, b] == keys[0, a] + 1)
    gap = np.maximum(np.maximum(low[b] - high[a], low[a] - high[b]), 0.0)[next_to]
    far = np.flatnonzero(np.hypot(*gap.T) > _JUMP)
    if not len(far):
        return
    steps = int(np.count_nonzero(next_to))
    text = (
        f"{name}: {len(far)} of {steps} steps of a track to the next frame ({share_of(len(far), steps)}) jump by more "
        f"than {_JUMP:g} m in the world"
    )
    remedy = Remedy.of("Check the ids, the poses and the order of the frames")
    shown = tuple(dict.fromkeys(track[np.sort(rows[b[next_to][far]])].tolist()))[:3]
    level: Level = "note"
    if len(far) > 0.01 * steps:
        level = "warning"
    yield Finding(level, "tracks-jump", text, count=len(far), examples=shown, remedy=remedy)


def _followed(context: Context) -> dict[tuple[str, str, str], set[str]]:
    """Return the true tracks that each predicted track (scene, class and id) is nearest to, in the first scenes."""
    x = context.predictions
    y = context.truth
    followed: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    if x.track is None or y.track is None or y.scenes is None:
        return followed
    scene_of = dict(zip(y.tokens, y.scenes, strict=True))
    for token in sorted(context.shared, key=lambda token: (scene_of[token], token))[:_TRACK_FRAMES]:
        i = x.index[token]
        j = y.index[token]
        for c, name in enumerate(x.classes):
            if name not in y.classes:
                continue
            predicted = _tracked(x, i, c)
            true = _tracked(y, j, y.classes.index(name))
            if not len(predicted) or not len(true):
                continue
            distance = near_chamfer(coarse(x, predicted)[..., :2], coarse(y, true)[..., :2], _NEAR_TRACK)
            nearest = distance.argmin(axis=1)
            for k in np.flatnonzero(distance.min(axis=1) <= _NEAR_TRACK).tolist():
                track = str(x.track[predicted[k]])
                followed[scene_of[token], name, track].add(str(y.track[true[nearest[k]]]))
    return followed


def _tracked(side: MapFrames, frame: int, label: int) -> Indices:
    """Return the instances of a frame and class that have a track and points."""
    rows = rows_with_points(side, frame)
    rows = rows[side.label[rows] == label]
    if side.track is None:
        tracked: Indices = rows
    else:
        tracked = rows[side.track[rows] != ""]
    return tracked


def _poses_of(context: Context, side: MapFrames) -> NDArray[np.float64] | None:
    """Return the poses of a side, or the poses of the other side if it has all frames."""
    for other in (side, context.truth, context.predictions):
        if other.poses is not None and all(token in other.index for token in side.tokens):
            return other.poses[[other.index[token] for token in side.tokens]]
    return None


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


def links_on_one_side(context: Context) -> Iterator[Finding]:
    """Find links between lanes that the other side lacks."""
    if all(len(side.polylines) for _, side in context.sides):
        yield from tracks.link_findings(context.predictions, context.truth)


def ends(context: Context) -> Iterator[Finding]:
    """Find links of either side that lanes cannot have."""
    for name, side in context.sides:
        yield from links_of_side(name, side)


def cropped(context: Context) -> Iterator[Finding]:
    """Find lanes that CGNet's rules cut, which score 30 m x 60 m whatever the region of the data."""
    if context.protocol is None:
        return
    if not any(getattr(own, "rules", "") == "cgnet" for own in context.protocol.settings.values()):
        return
    if (context.truth.forward or context.predictions.forward) == "x":
        half = (30.0, 15.0)
    else:
        half = (15.0, 30.0)
    for name, side in context.sides:
        beyond = (np.abs(side.polylines.coords[:, :2]) > half).any(axis=1)
        lanes = np.unique(np.searchsorted(side.polylines.offsets, np.flatnonzero(beyond), side="right") - 1)
        if len(lanes):
            text = (
                f"{name}: {len(lanes)} of {len(side.polylines)} lanes leave the 30 m x 60 m that CGNet's rules score; "
                "GEO, TOPO and JTOPO leave out the points beyond"
            )
            yield Finding("note", "graphs-cropped", text, count=len(lanes), examples=examples(side, lanes))


def links_of_side(name: str, side: MapFrames) -> Iterator[Finding]:
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
