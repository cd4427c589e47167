"""Tracks and scenes of frames: the order of time, and findings about tracks and links."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mapgauge.arguments import check_confidence
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.findings import Finding
from mapgauge.frames.links import SUCCESSOR
from mapgauge.frames.map_frames import MapFrames, Names
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Indices

_EXAMPLES = 3  # examples per finding
_PAUSE = 10  # a step in time this many times the median step of all scenes is a gap
# Argoverse 2: the id of the log, which is a UUID, and the time stamp of the LiDAR in nanoseconds.
_ARGOVERSE_2 = re.compile(r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})_[0-9]{18}")


def scenes_from_tokens(tokens: Sequence[str]) -> tuple[str, ...] | None:
    """Return the scene of each token if all are tokens of Argoverse 2, otherwise None.

    >>> scenes_from_tokens(["3b3570b4-7b0b-3268-a571-b0889dbf40b6_315971916927482490"])
    ('3b3570b4-7b0b-3268-a571-b0889dbf40b6',)
    """
    matches = [_ARGOVERSE_2.fullmatch(token) for token in tokens]
    return tuple(match[1] for match in matches if match) if matches and all(matches) else None


def frames_from_tracks(frames: Any, confidence: Any, name: str) -> MapFrames:
    """Pack frames given as mappings from track to polyline.

    Args:
        frames: A sequence of ``{track: points}``, one mapping for each frame, in order.
        confidence: A sequence of ``{track: number}``. If None, 1 for all.
        name: Name of the argument in messages.
    """
    expected = f"{name} must be MapFrames, or a list with a dict {{track: points}} for each frame"
    if isinstance(frames, str | bytes | Mapping) or not isinstance(frames, Sequence):
        raise InvalidInput(f"{expected}, got a {type(frames).__name__}")
    for k, by_track in enumerate(frames):
        if not isinstance(by_track, Mapping):
            raise InvalidInput(f"{expected}, got a {type(by_track).__name__} as frame {k}")
    tracks = [str(track) for by_track in frames for track in by_track]
    lines = [line for by_track in frames for line in by_track.values()]
    values = np.ones(len(lines))
    if confidence is not None:
        values = check_confidence(name, list(_confidences(frames, confidence, name)), len(lines), "instance")
    polylines = Polylines.of(lines, name)
    return MapFrames(
        tuple(f"frame {k}" for k in range(len(frames))),
        ("line",),
        np.repeat(np.arange(len(frames)), [len(by_track) for by_track in frames]),
        np.zeros(len(lines), np.int64),
        polylines,
        values,
        track=np.array(tracks, np.str_),
        name=name,
    )


def _confidences(frames: Sequence[Mapping[Any, Any]], confidence: Any, name: str) -> Iterator[Any]:
    if isinstance(confidence, str | bytes | Mapping) or not isinstance(confidence, Sequence):
        raise InvalidInput(f"the confidence of {name} must be a list with a dict {{track: number}} for each frame")
    if len(confidence) != len(frames):
        raise InvalidInput(f"the confidence of {name} has {len(confidence)} frames, expected {len(frames)}")
    for k, (by_track, values) in enumerate(zip(frames, confidence, strict=True)):
        if not isinstance(values, Mapping) or set(values) != set(by_track):
            raise InvalidInput(f"the confidence of {name}, frame {k}, must have one number for each track of the frame")
        yield from (values[track] for track in by_track)


def check_tracks(side: MapFrames, called: str, purpose: str) -> None:
    """Refuse frames without tracks, and instances without a track.

    Args:
        side: The frames.
        called: ``"predictions"`` or ``"truth"``.
        purpose: The metric, for the message.
    """
    if side.track is None:
        if len(side.polylines):
            raise InvalidInput(f"{side.name or called}: {purpose} needs tracks, and these frames have none")
        return
    lacking = np.flatnonzero(side.track == "")
    if len(lacking):
        raise InvalidInput(
            f"{side.name or called}: {purpose} needs tracks, and {len(lacking)} of {len(side.track)} instances have "
            f"none (first: frame {side.tokens[side.frame[lacking[0]]]})",
            remedy="Give each of them a track of its own, or leave them out",
        )


def in_time(frames: MapFrames) -> Indices:
    """Return the order of the frames: by time and token, or as in the file if there are no timestamps."""
    return time_order(frames.timestamps, frames.tokens)


def time_order(timestamps: Indices | None, tokens: Sequence[str]) -> Indices:
    """Return the order of frames given by their time stamps and tokens, as ``in_time`` does."""
    if timestamps is None:
        return np.arange(len(tokens))
    return np.lexsort((np.array(tokens, np.str_), timestamps))


def frames_by_scene(frames: MapFrames) -> dict[str, Indices]:
    """Return the frames of each scene, in the order of the file. Frames without scenes are one scene, ``""``."""
    by_scene: dict[str, list[int]] = {}
    for i, scene in enumerate(frames.scenes or ("",) * len(frames)):
        by_scene.setdefault(scene, []).append(i)
    return {scene: np.array(rows, np.int64) for scene, rows in by_scene.items()}


def codes_of(names: Sequence[str] | Names) -> Indices:
    """Return a number for each name, in the order of appearance. This is much faster than sorting the names."""
    known: dict[str, int] = {}
    plain = names.tolist() if isinstance(names, np.ndarray) else names
    return np.array([known.setdefault(name, len(known)) for name in plain], np.int64)


def track_findings(predictions: MapFrames, truth: MapFrames) -> list[Finding]:
    """Return the findings about the tracks of both sides, and about the scenes and times of the truth.

    The sides need not be aligned. Aligned predictions have the scenes and times of the truth.
    """
    tracks = [*findings_of_tracks("predictions", predictions), *findings_of_tracks("truth", truth)]
    return [*tracks, *findings_of_times("truth", truth)]


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
    """Return the names of the first scenes. Frames without scenes have no name."""
    return tuple(scene for scene in scenes[:_EXAMPLES] if scene)


def _tokens(side: MapFrames, instances: Indices) -> tuple[str, ...]:
    """Return the tokens of the first frames that contain some of the instances."""
    return tuple(side.tokens[i] for i in np.unique(side.frame[instances])[:_EXAMPLES].tolist())


def link_findings(predictions: MapFrames, truth: MapFrames, floor: float = 0.0) -> tuple[Finding, ...]:
    """Return findings about the links between lanes.

    Args:
        predictions: Their links have scores.
        truth: The frames.
        floor: The score up to which there is no link.
    """
    counts = [_count(side, floor) for side in (predictions, truth)]
    names = [predictions.name or "predictions", truth.name or "truth"]
    findings = []
    for k, (own, other) in enumerate((counts, counts[::-1])):
        if not own and other:
            above = f" with a score above {floor:g}" if floor else ""
            text = f"{names[k]}: no links between lanes{above}, and {names[1 - k]} has {other}. Scores of lane graphs"
            remedy = Remedy.of("Use files with links, such as those of OpenLane-V2")
            findings.append(Finding("note", "links-one-side", f"{text} need both", remedy=remedy))
    return tuple(findings)


def _count(frames: MapFrames, floor: float) -> int:
    if frames.links is None:
        return 0
    return int(np.count_nonzero(frames.links.is_kind(SUCCESSOR) & (frames.links.weight > floor)))
