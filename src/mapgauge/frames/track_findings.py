"""Finds what is odd about the tracks, scenes and times of frames, for checks, metrics and trackers alike."""

from collections.abc import Iterator

import numpy as np

from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.tracks import codes_of, frames_by_scene
from mapgauge.typing import Indices

_EXAMPLES = 3  # examples per finding
_PAUSE = 10  # a step in time this many times the median step of all scenes is a gap


def track_findings(predictions: MapFrames, truth: MapFrames) -> list[Finding]:
    """Return the findings about the tracks of both sides, and about the scenes and times of the truth.

    The sides need not be aligned. Aligned predictions have the scenes and times of the truth.
    """
    found = [*findings_of_tracks("predictions", predictions), *findings_of_tracks("truth", truth)]
    return [*found, *findings_of_times("truth", truth)]


def findings_of_tracks(name: str, side: MapFrames) -> Iterator[Finding]:
    """Yield findings about the tracks of one side. Without tracks, there is nothing to find.

    Args:
        name: ``"predictions"`` or ``"truth"``.
        side: The frames.
    """
    if side.track is None:
        return
    without = np.flatnonzero(side.track == "")
    if len(without):
        text = f"{name}: {len(without)} of {len(side.track)} instances have no track, and each counts as its own"
        yield Finding("note", "tracks-incomplete", text, len(without), _tokens(side, without))
    rows = np.flatnonzero(side.track != "")
    code = codes_of(side.track[rows])
    yield from _repeated(name, side, rows, code)
    yield from _across_scenes(name, side, rows, code)


def _repeated(name: str, side: MapFrames, rows: Indices, code: Indices) -> Iterator[Finding]:
    """Find tracks that occur more than once in a frame and class."""
    group = side.frame[rows] * len(side.classes) + side.label[rows]
    again = np.ones(len(rows), np.bool_)
    again[np.unique(group * (code.max(initial=0) + 1) + code, return_index=True)[1]] = False
    if not again.any():
        return
    more = rows[again]
    text = f"{name}: {len(more)} instances have the track of another instance of their class in the same frame"
    if name == "truth":
        text += ", as pieces of one line that the region cuts"
        yield Finding("note", "tracks-repeated", text, len(more), _tokens(side, more))
    else:
        text += ". T-PLD takes all but the longest as tracks of their own, and C-mAP uses the match of the last one"
        remedy = Remedy.of("Give the instances of a frame different tracks")
        yield Finding("warning", "tracks-repeated", text, len(more), _tokens(side, more), remedy)


def _across_scenes(name: str, side: MapFrames, rows: Indices, code: Indices) -> Iterator[Finding]:
    """Find tracks that occur in several scenes."""
    if side.scenes is None or not len(rows):
        return
    assert side.track is not None
    scene = codes_of(side.scenes)[side.frame[rows]]
    known = int(code.max()) + 1
    both = np.unique(scene * known + code) % known
    several = np.bincount(both, minlength=known) > 1
    if several.any():
        count = int(several.sum())
        names = dict.fromkeys(side.track[rows[several[code]]].tolist())
        text = f"{name}: {count} of {known} tracks occur in several scenes. They are different tracks in each scene"
        yield Finding("note", "tracks-across-scenes", text, count, tuple(names)[:_EXAMPLES])


def findings_of_times(name: str, side: MapFrames) -> Iterator[Finding]:
    """Yield findings about the scenes and times of one side. Frames without scenes are one scene.

    Args:
        name: The name of the side in messages.
        side: The frames.
    """
    scenes = frames_by_scene(side)
    several = {scene: own for scene, own in scenes.items() if len(own) > 1}
    alone = [scene for scene, own in scenes.items() if len(own) == 1]
    if alone and side.scenes is not None:
        text = f"{name}: {len(alone)} of {len(scenes)} scenes have one frame, so there is nothing to see over time"
        yield Finding("note", "scenes-one-frame", text, len(alone), _first(alone))
    apart = [scene for scene, own in several.items() if (np.diff(own) != 1).any()]
    text = f"{name}: the frames of {len(apart)} of {len(scenes)} scenes are not together in the file"
    if side.timestamps is not None:
        if apart:
            yield Finding("note", "scenes-in-pieces", f"{text}. They are scored together", len(apart), _first(apart))
        yield from _order(name, side, several, len(scenes))
    elif apart:
        text += ", and there are no time stamps. Their order in the file is taken as the order of time"
        remedy = Remedy.of("Add time stamps, or check the order of the frames")
        yield Finding("warning", "scenes-in-pieces", text, len(apart), _first(apart), remedy)
    elif several and side.scenes is not None:
        text = f"{name}: there are no time stamps. The order of frames in the file is taken as the order of time"
        yield Finding("note", "timestamps-missing", text, len(several))


def _order(name: str, side: MapFrames, scenes: dict[str, Indices], count: int) -> Iterator[Finding]:
    """Yield findings about the time stamps of scenes with several frames."""
    assert side.timestamps is not None
    times = side.timestamps
    back = [scene for scene, own in scenes.items() if (np.diff(times[own]) < 0).any()]
    if back:
        text = f"{name}: the frames of {len(back)} of {count} scenes are not in the order of their time stamps"
        yield Finding("note", "scenes-order", f"{text}. Time stamps decide", len(back), _first(back))
    sorted_frames = {scene: own[np.argsort(times[own], kind="stable")] for scene, own in scenes.items()}
    steps = {scene: np.diff(times[own]) for scene, own in sorted_frames.items()}
    usual = float(np.median(np.concatenate([*steps.values()]))) if steps else 0.0
    long = [scene for scene, step in steps.items() if usual > 0 and (step > _PAUSE * usual).any()]
    if long:
        text = f"{name}: {len(long)} scenes have a gap in time of more than {_PAUSE} usual steps. Tracks go on after it"
        remedy = Remedy.of("If these are several scenes, give them different names")
        yield Finding("warning", "scenes-with-gaps", text, len(long), _first(long), remedy)
    same = [side.tokens[own[k]] for scene, own in sorted_frames.items() for k in np.flatnonzero(steps[scene] == 0)]
    if same:
        text = f"{name}: {len(same)} frames have the time stamp of another frame of their scene. Their tokens decide"
        remedy = Remedy.of("Check the time stamps")
        yield Finding("warning", "timestamps-equal", text, len(same), tuple(same[:_EXAMPLES]), remedy)


def _first(scenes: list[str]) -> tuple[str, ...]:
    """Return the names of the first scenes, without that of frames without scenes."""
    return tuple(scene for scene in scenes[:_EXAMPLES] if scene)


def _tokens(side: MapFrames, instances: Indices) -> tuple[str, ...]:
    """Return the tokens of the first frames that contain some of the instances."""
    return tuple(side.tokens[i] for i in np.unique(side.frame[instances])[:_EXAMPLES].tolist())
