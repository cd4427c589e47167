"""Checks of tracks that the metrics of this feature do not see."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from mapgauge.checks.context import CheckInput
from mapgauge.checks.neighbours import coarse, near_chamfer, rows_with_points
from mapgauge.checks.table import TRACKS, Check
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding, Level, share_of
from mapgauge.frames.map_frames import MapFrames
from mapgauge.typing import Indices

_NEAR_TRACK = 1.5  # metres: a prediction is matched with the nearest truth up to this distance
_TRACK_FRAMES = 120  # at most this many frames are searched for ids that follow several true tracks


def checks_of_tracks() -> Iterable[Check]:
    """Yield the checks of this feature."""
    yield Check(name="tracks.shared", find=shared, order=TRACKS)


def shared(context: CheckInput) -> Iterator[Finding]:
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


def _followed(context: CheckInput) -> dict[tuple[str, str, str], set[str]]:
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
