"""Checks of tracks: their ids, their order in time, and whether they stay in place."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mapgauge.checks.context import EXAMPLES, Context, percent
from mapgauge.checks.neighbours import coarse, near_chamfer
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding, Level
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.tracks import (
    codes_of,
    findings_of_times,
    findings_of_tracks,
    frames_by_scene,
    in_time,
    track_findings,
)
from mapgauge.geometry.polylines import boxes_of
from mapgauge.typing import Floats, Indices

_JUMP = 5.0  # metres between the boxes of a line in consecutive frames; lines of one static object overlap
_MOST_JUMPS = 0.01  # share of steps that may jump before it is a warning
_NEAR = 1.5  # metres: a prediction is matched with the nearest truth up to this distance
_FRAMES = 120  # at most this many frames are searched for ids that follow several true tracks
_MOST_SHARED = 0.25  # share of predicted tracks that may follow several true tracks before it is a warning


def ids(context: Context) -> Iterator[Finding]:
    """Find what is unusual about the tracks of each side, if both have tracks. Otherwise nothing follows them."""
    if all(side.track is not None for _, side in context.sides):
        yield from track_findings(context.predictions, context.truth)
        for name, side in context.sides:
            yield from _jumps(name, side, _poses_of(context, side))


def tracks_of_side(name: str, side: MapFrames) -> Iterator[Finding]:
    """Find what is unusual about the tracks of one side by itself.

    Args:
        name: The name of the side in messages.
        side: The frames. Without tracks, there is nothing to find.
    """
    if side.track is not None:
        yield from findings_of_tracks(name, side)
        yield from findings_of_times(name, side)
        yield from _jumps(name, side, side.poses)


def one_side_only(context: Context) -> Iterator[Finding]:
    """Find tracks that the other side lacks."""
    has = [side.track is not None and bool((side.track != "").any()) for _, side in context.sides]
    if has[0] != has[1] and all(len(side.polylines) for _, side in context.sides):
        with_tracks, without = ("predictions", "truth") if has[0] else ("truth", "predictions")
        text = f"the {with_tracks} have tracks and the {without} have none. Scores over time need both"
        remedy = Remedy.of("Read ids of the truth with it, or give the predictions ids, to compare tracks")
        yield Finding("note", "tracks-one-side", text, remedy=remedy)


def shared(context: Context) -> Iterator[Finding]:
    """Find predicted tracks that follow several true tracks. C-mAP does not see this."""
    followed = _followed(context)
    several = sorted(name for name, true in followed.items() if len(true) > 1)
    if several:
        text = (
            f"{len(several)} of {len(followed)} predicted tracks ({percent(len(several), len(followed))}) are nearest "
            "to several true tracks at different times or in one frame. C-mAP does not count this as a mistake"
        )
        remedy = Remedy.of("Check that ids are not shared by different objects")
        level: Level = "warning" if len(several) > _MOST_SHARED * len(followed) else "note"
        shown = tuple(dict.fromkeys(track for _, _, track in several))[:EXAMPLES]
        yield Finding(level, "tracks-shared", text, len(several), shown, remedy)


def _jumps(name: str, side: MapFrames, poses: NDArray[np.float64] | None) -> Iterator[Finding]:
    """Find tracks that are somewhere else in the next frame. Without poses, the ego vehicle may have moved."""
    track = side.track
    if track is None or side.scenes is None or poses is None:
        return
    rows = np.flatnonzero((track != "") & (np.diff(side.polylines.offsets) > 0))
    rank = np.zeros(len(side), np.int64)
    place = np.argsort(in_time(side))
    for frames in frames_by_scene(side).values():
        rank[frames[np.argsort(place[frames])]] = np.arange(len(frames))
    low, high = _boxes(side, rows, poses)
    scene = codes_of(side.scenes)[side.frame[rows]]
    keys = np.stack([rank[side.frame[rows]], codes_of(track[rows]), side.label[rows], scene])
    order = np.lexsort(keys)
    a, b = order[:-1], order[1:]
    next_to = (keys[1:, a] == keys[1:, b]).all(axis=0) & (keys[0, b] == keys[0, a] + 1)
    gap = np.maximum(np.maximum(low[b] - high[a], low[a] - high[b]), 0.0)[next_to]
    far = np.flatnonzero(np.hypot(*gap.T) > _JUMP)
    if not len(far):
        return
    steps = int(np.count_nonzero(next_to))
    text = (
        f"{name}: {len(far)} of {steps} steps of a track to the next frame ({percent(len(far), steps)}) jump by more "
        f"than {_JUMP:g} m in the world"
    )
    remedy = Remedy.of("Check the ids, the poses and the order of the frames")
    shown = tuple(dict.fromkeys(track[np.sort(rows[b[next_to][far]])].tolist()))[:EXAMPLES]
    level: Level = "warning" if len(far) > _MOST_JUMPS * steps else "note"
    yield Finding(level, "tracks-jump", text, len(far), shown, remedy)


def _boxes(side: MapFrames, rows: Indices, poses: Floats) -> tuple[Floats, Floats]:
    """Return the corners of the boxes around instances, in world coordinates."""
    lines = side.polylines.pick(rows)
    world = np.empty((len(lines.coords), 2))
    first = lines.offsets[np.searchsorted(side.frame[rows], np.arange(len(side) + 1))].tolist()
    for pose, begin, end in zip(poses, first, first[1:], strict=False):  # points are sorted by frame
        world[begin:end] = lines.coords[begin:end] @ pose[:2, : side.dimension].T + pose[:2, 3]
    return boxes_of(world, lines.offsets[:-1])


def _followed(context: Context) -> dict[tuple[str, str, str], set[str]]:
    """Return the true tracks that each predicted track (scene, class and id) is nearest to, in the first scenes."""
    x, y = context.predictions, context.truth
    followed: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    if x.track is None or y.track is None or y.scenes is None:
        return followed
    scene_of = dict(zip(y.tokens, y.scenes, strict=True))
    for token in sorted(context.shared, key=lambda token: (scene_of[token], token))[:_FRAMES]:
        i, j = x.index[token], y.index[token]
        for c, name in enumerate(x.classes):
            if name not in y.classes:
                continue
            predicted, true = _tracked(x, i, c), _tracked(y, j, y.classes.index(name))
            if not len(predicted) or not len(true):
                continue
            distance = near_chamfer(coarse(x, predicted)[..., :2], coarse(y, true)[..., :2], _NEAR)
            nearest = distance.argmin(axis=1)
            for k in np.flatnonzero(distance.min(axis=1) <= _NEAR).tolist():
                track = str(x.track[predicted[k]])
                followed[scene_of[token], name, track].add(str(y.track[true[nearest[k]]]))
    return followed


def _tracked(side: MapFrames, frame: int, label: int) -> Indices:
    """Return the instances of a frame and class that have a track and points."""
    rows = np.arange(side.offsets[frame], side.offsets[frame + 1])
    sizes = side.polylines.offsets[rows + 1] - side.polylines.offsets[rows]
    rows = rows[(side.label[rows] == label) & (sizes > 0)]
    tracked: Indices = rows if side.track is None else rows[side.track[rows] != ""]
    return tracked


def _poses_of(context: Context, side: MapFrames) -> NDArray[np.float64] | None:
    """Return the poses of a side, or the poses of the other side if it has all frames."""
    for other in (side, context.truth, context.predictions):
        if other.poses is not None and all(token in other.index for token in side.tokens):
            return other.poses[[other.index[token] for token in side.tokens]]
    return None
