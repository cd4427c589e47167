"""Checks of the columns of tracks, scenes and times: ids, the order in time, and whether both sides have tracks.

They say what is unusual about the columns of the core, whichever metric uses them. What a metric of a feature does not
see is a check of that feature.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mapgauge.checks.context import Context
from mapgauge.errors import Remedy
from mapgauge.frames import tracks
from mapgauge.frames.findings import Finding, Level, share_of
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import boxes_of

_JUMP = 5.0  # metres between the boxes of a line in consecutive frames; lines of one static object overlap


def unusual(context: Context) -> Iterator[Finding]:
    """Find what is unusual about the tracks of each side, if both have tracks. Otherwise nothing follows them."""
    if all(side.track is not None for _, side in context.sides):
        yield from tracks.track_findings(context.predictions, context.truth)
        for name, side in context.sides:
            yield from _jumps(name, side, _poses_of(context, side))


def of_side(name: str, side: MapFrames) -> Iterator[Finding]:
    """Find what is unusual about the tracks of one side by itself, given its name. There is nothing without tracks."""
    if side.track is not None:
        yield from tracks.findings_of_tracks(name, side)
        yield from tracks.findings_of_times(name, side)
        yield from _jumps(name, side, side.poses)


def on_one_side(context: Context) -> Iterator[Finding]:
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


def _poses_of(context: Context, side: MapFrames) -> NDArray[np.float64] | None:
    """Return the poses of a side, or the poses of the other side if it has all frames."""
    for other in (side, context.truth, context.predictions):
        if other.poses is not None and all(token in other.index for token in side.tokens):
            return other.poses[[other.index[token] for token in side.tokens]]
    return None
