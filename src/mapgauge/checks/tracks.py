"""Checks of tracks: their ids, their order in time, and whether they stay in place.

Frames of a scene are compared in the order of their time stamps, or of the file without any.
"""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mapgauge.checks.context import EXAMPLES, Context, examples, percent
from mapgauge.checks.neighbours import chamfer, coarse
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding, Level
from mapgauge.frames.map_frames import MapFrames
from mapgauge.typing import Indices

_JUMP = 5.0  # metres between the boxes of a line in consecutive frames; lines of one static object overlap
_MOST_JUMPS = 0.01  # share of steps that may jump before it is a warning
_NEAR = 1.5  # metres: a prediction is matched with the nearest truth up to this distance
_FRAMES = 120  # at most this many frames are searched for ids that follow several true tracks
_MOST_SHARED = 0.25  # share of predicted tracks that may follow several true tracks before it is a warning


def ids(context: Context) -> Iterator[Finding]:
    """Find what is unusual about the tracks of each side, if both have tracks. Otherwise nothing follows them."""
    if all(side.track is not None for _, side in context.sides):
        for name, side in context.sides:
            yield from of_side(name, side, _poses_of(context, side))


def of_side(name: str, side: MapFrames, poses: NDArray[np.float64] | None = None) -> Iterator[Finding]:
    """Find what is unusual about the tracks of one side.

    Args:
        name: The name of the side in messages.
        side: The frames. Without tracks, there is nothing to find.
        poses: Poses of the frames. If None, those of the side.
    """
    if side.track is None:
        return
    yield from _incomplete(name, side, side.track)
    yield from _repeated(name, side, side.track)
    yield from _reused(name, side, side.track)
    yield from _times(name, side)
    yield from _jumps(name, side, side.track, side.poses if poses is None else poses)


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
    found = _followed(context)
    several = sorted(name for name, true in found.items() if len(true) > 1)
    if several:
        text = (
            f"{len(several)} of {len(found)} predicted tracks ({percent(len(several), len(found))}) are nearest to "
            "several true tracks at different times or in one frame. C-mAP does not count this as a mistake"
        )
        remedy = Remedy.of("Check that ids are not shared by different objects")
        level: Level = "warning" if len(several) > _MOST_SHARED * len(found) else "note"
        shown = tuple(dict.fromkeys(track for _, _, track in several))[:EXAMPLES]
        yield Finding(level, "tracks-shared", text, len(several), shown, remedy)


def _incomplete(name: str, side: MapFrames, track: NDArray[np.str_]) -> Iterator[Finding]:
    without = np.flatnonzero(track == "")
    if len(without):
        share = percent(len(without), len(track))
        text = f"{name}: {len(without)} of {len(track)} instances ({share}) have no track, and each counts as its own"
        yield Finding("note", "tracks-incomplete", text, len(without), examples(side, without))


def _repeated(name: str, side: MapFrames, track: NDArray[np.str_]) -> Iterator[Finding]:
    """Find tracks that occur more than once in a frame and class."""
    rows = np.flatnonzero(track != "")
    again = rows[_again(np.stack([side.frame[rows], side.label[rows], _codes(track[rows])]))]
    if not len(again):
        return
    text = f"{name}: {len(again)} instances have a track that occurs before in the same frame and class"
    if name == "predictions":
        text += ". C-mAP then uses the match of the last one for all of them"
        remedy = Remedy.of("Give each instance of a frame an id of its own")
        yield Finding("warning", "tracks-repeated", text, len(again), examples(side, again), remedy)
    else:
        text += ", as pieces of one line that the region cuts"
        yield Finding("note", "tracks-repeated", text, len(again), examples(side, again))


def _reused(name: str, side: MapFrames, track: NDArray[np.str_]) -> Iterator[Finding]:
    """Find tracks that occur in several scenes."""
    if side.scenes is None:
        return
    scenes = _codes(np.array(side.scenes, np.str_))
    rows = np.flatnonzero(track != "")
    known, code = np.unique(track[rows], return_inverse=True)
    both = np.unique(np.stack([code, scenes[side.frame[rows]]]), axis=1)
    several = known[np.bincount(both[0], minlength=len(known)) > 1]
    if len(several):
        text = (
            f"{name}: {len(several)} of {len(known)} tracks occur in several scenes. Scenes are scored by themselves, "
            "so these count as different tracks"
        )
        yield Finding("note", "tracks-across-scenes", text, len(several), tuple(several[:EXAMPLES].tolist()))


def _times(name: str, side: MapFrames) -> Iterator[Finding]:
    """Find scenes whose frames are out of order, have the same time, or are alone."""
    if side.scenes is None:
        return
    scenes = _frames_by_scene(side)
    alone = [scene for scene, frames in scenes.items() if len(frames) == 1]
    if alone:
        text = f"{name}: {len(alone)} of {len(scenes)} scenes have one frame. Scores over time see nothing there"
        yield Finding("note", "scenes-one-frame", text, len(alone), tuple(alone[:EXAMPLES]))
    if side.timestamps is None:
        return
    steps = {scene: np.diff(side.timestamps[frames]) for scene, frames in scenes.items()}
    back = [scene for scene, step in steps.items() if (step < 0).any()]
    same = [scene for scene, frames in scenes.items() if len(np.unique(side.timestamps[frames])) < len(frames)]
    if back:
        text = (
            f"{name}: the frames of {len(back)} of {len(scenes)} scenes are not in the order of their time stamps. "
            "Scores over time use the time stamps"
        )
        yield Finding("note", "scenes-order", text, len(back), tuple(back[:EXAMPLES]))
    if same:
        text = f"{name}: {len(same)} of {len(scenes)} scenes have several frames with the same time stamp"
        remedy = Remedy.of("Check the time stamps: the order of these frames is that of the file")
        yield Finding("warning", "timestamps-equal", text, len(same), tuple(same[:EXAMPLES]), remedy)


def _jumps(name: str, side: MapFrames, track: NDArray[np.str_], poses: NDArray[np.float64] | None) -> Iterator[Finding]:
    """Find tracks that are somewhere else in the next frame. Without poses, the ego vehicle may have moved."""
    if side.scenes is None or poses is None:
        return
    rows = np.flatnonzero((track != "") & (np.diff(side.polylines.offsets) > 0))
    rank = np.zeros(len(side), np.int64)
    for frames in _frames_by_scene(side).values():
        order = frames if side.timestamps is None else frames[np.argsort(side.timestamps[frames], kind="stable")]
        rank[order] = np.arange(len(order))
    low, high = _boxes(side, rows, poses)
    scene = _codes(np.array(side.scenes, np.str_))[side.frame[rows]]
    keys = np.stack([rank[side.frame[rows]], _codes(track[rows]), side.label[rows], scene])
    order = np.lexsort(keys)
    a, b = order[:-1], order[1:]
    next_to = (keys[1:, a] == keys[1:, b]).all(axis=0) & (keys[0, b] == keys[0, a] + 1)
    gap = np.maximum(np.maximum(low[b] - high[a], low[a] - high[b]), 0.0)[next_to]
    far = np.flatnonzero(np.hypot(*gap.T) > _JUMP)
    if not len(far):
        return
    steps = int(np.count_nonzero(next_to))
    there = rows[b[next_to][far]]
    text = (
        f"{name}: {len(far)} of {steps} steps of a track to the next frame ({percent(len(far), steps)}) jump by more "
        f"than {_JUMP:g} m in the world"
    )
    remedy = Remedy.of("Check the ids, the poses and the order of the frames")
    shown = tuple(dict.fromkeys(track[np.sort(there)].tolist()))[:EXAMPLES]
    level: Level = "warning" if len(far) > _MOST_JUMPS * steps else "note"
    yield Finding(level, "tracks-jump", text, len(far), shown, remedy)


def _boxes(side: MapFrames, rows: Indices, poses: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return the corners of the boxes around instances, in world coordinates."""
    lines = side.polylines.pick(rows)
    frame = np.repeat(side.frame[rows], np.diff(lines.offsets))
    points = np.zeros((len(lines.coords), 3))
    points[:, : side.dimension] = lines.coords
    world = np.einsum("nij,nj->ni", poses[frame, :2, :3], points) + poses[frame, :2, 3]
    return tuple(end.reduceat(world, lines.offsets[:-1], axis=0) for end in (np.minimum, np.maximum))


def _followed(context: Context) -> dict[tuple[str, str, str], set[str]]:
    """Return the true tracks that each predicted track (scene, class and id) is nearest to, in the first scenes."""
    x, y = context.predictions, context.truth
    found: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    if x.track is None or y.track is None or y.scenes is None:
        return found
    scene_of = dict(zip(y.tokens, y.scenes, strict=True))
    for token in sorted(context.shared, key=lambda token: (scene_of[token], token))[:_FRAMES]:
        i, j = x.index[token], y.index[token]
        for c, name in enumerate(x.classes):
            if name not in y.classes:
                continue
            mine, true = _tracked(x, i, c), _tracked(y, j, y.classes.index(name))
            if not len(mine) or not len(true):
                continue
            distance = chamfer(coarse(x, mine)[..., :2], coarse(y, true)[..., :2])
            nearest = distance.argmin(axis=1)
            for k in np.flatnonzero(distance.min(axis=1) <= _NEAR).tolist():
                found[scene_of[token], name, str(x.track[mine[k]])].add(str(y.track[true[nearest[k]]]))
    return found


def _tracked(side: MapFrames, frame: int, label: int) -> Indices:
    """Return the instances of a frame and class that have a track and points."""
    rows = np.arange(side.offsets[frame], side.offsets[frame + 1])
    rows = rows[(side.label[rows] == label) & (np.diff(side.polylines.offsets)[rows] > 0)]
    tracked: Indices = rows if side.track is None else rows[side.track[rows] != ""]
    return tracked


def _poses_of(context: Context, side: MapFrames) -> NDArray[np.float64] | None:
    """Return the poses of a side, or those of the other side if it has all frames."""
    for other in (side, context.truth, context.predictions):
        if other.poses is not None and all(token in other.index for token in side.tokens):
            return other.poses[[other.index[token] for token in side.tokens]]
    return None


def _frames_by_scene(side: MapFrames) -> dict[str, Indices]:
    """Return the frames of each scene, in the order of the file."""
    found: dict[str, list[int]] = defaultdict(list)
    for i, scene in enumerate(side.scenes or ()):
        found[scene].append(i)
    return {scene: np.array(frames, np.int64) for scene, frames in found.items()}


def _again(keys: Indices) -> NDArray[np.bool_]:
    """Return which columns equal an earlier one."""
    again = np.ones(keys.shape[1], np.bool_)
    again[np.unique(keys, axis=1, return_index=True)[1]] = False
    return again


def _codes(names: NDArray[np.str_]) -> Indices:
    """Return a number for each name."""
    return np.asarray(np.unique(names, return_inverse=True)[1], np.int64)
