"""Tracks and scenes of frames: the order of time, and findings about tracks and links."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mapgauge.arguments import check_confidence
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.findings import Finding, examples, findings_about
from mapgauge.frames.links import SUCCESSOR, Links
from mapgauge.frames.map_frames import MapFrames, Names
from mapgauge.geometry.polylines import Polylines
from mapgauge.geometry.poses import level
from mapgauge.typing import Indices, Points
from mapgauge.words import counted

_PAUSE = 10  # a step in time this many times the median step of all scenes is a gap
# Argoverse 2: the id of the log, which is a UUID, and the time stamp of the LiDAR in nanoseconds.
_ARGOVERSE_2 = re.compile(r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})_[0-9]{18}")


def scenes_from_tokens(tokens: Sequence[str]) -> tuple[str, ...] | None:
    """Return the scene of each token if all are tokens of Argoverse 2, otherwise None.

    >>> scenes_from_tokens(["3b3570b4-7b0b-3268-a571-b0889dbf40b6_315971916927482490"])
    ('3b3570b4-7b0b-3268-a571-b0889dbf40b6',)
    """
    matches = [_ARGOVERSE_2.fullmatch(token) for token in tokens]
    if matches and all(matches):
        return tuple(match[1] for match in matches if match)
    return None


def frames_from_tracks(frames: Any, confidence: Any, name: str) -> MapFrames:
    """Pack a sequence of ``{track: points}``, one mapping for each frame, and a sequence of ``{track: number}``.

    If ``confidence`` is None, it is 1 for all. ``name`` is the name of the argument in messages.
    """
    expected = f"{name} must be MapFrames, or a list with a dict {{track: points}} for each frame"
    if isinstance(frames, str | bytes | Mapping) or not isinstance(frames, Sequence):
        raise InvalidInput(f"{expected}, got a {type(frames).__name__}")
    for k, by_track in enumerate(frames):
        if not isinstance(by_track, Mapping):
            raise InvalidInput(f"{expected}, got a {type(by_track).__name__} as frame {k}")
    tracks = [str(track) for by_track in frames for track in by_track]
    lines = [line for by_track in frames for line in by_track.values()]
    values = [1.0] * len(lines)
    if confidence is not None:
        about = f"the confidence of {name}"
        if isinstance(confidence, str | bytes | Mapping) or not isinstance(confidence, Sequence):
            raise InvalidInput(f"{about} must be a list with a dict {{track: number}} for each frame")
        if len(confidence) != len(frames):
            raise InvalidInput(f"{about} has {len(confidence)} frames, expected {len(frames)}")
        for k, (by_track, numbers) in enumerate(zip(frames, confidence, strict=True)):
            if not isinstance(numbers, Mapping) or set(numbers) != set(by_track):
                raise InvalidInput(f"{about}, frame {k}, must have one number for each track of the frame")
        values = [numbers[track] for by_track, numbers in zip(frames, confidence, strict=True) for track in by_track]
    return MapFrames(
        tokens=tuple(f"frame {k}" for k in range(len(frames))),
        classes=("line",),
        frame=np.repeat(np.arange(len(frames)), [len(by_track) for by_track in frames]),
        label=np.zeros(len(lines), np.int64),
        polylines=Polylines.of(lines, name),
        confidence=check_confidence(name, values, len(lines), of="instance"),
        track=np.array(tracks, np.str_),
        name=name,
    )


def check_tracks(side: MapFrames, called: str, purpose: str) -> None:
    """Refuse frames without tracks, and instances without a track. ``purpose`` is the metric, for the message."""
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
    """Return the order of the frames in time."""
    return time_order(frames.timestamps, frames.tokens)


def time_order(timestamps: Indices | None, tokens: Sequence[str]) -> Indices:
    """Return the order of frames by time and token, or as in the file if there are no time stamps."""
    if timestamps is None:
        return np.arange(len(tokens))
    return np.lexsort((np.array(tokens, np.str_), timestamps))


# Times since 1970 from this number on, which is a day in 1973, are in units of so many per second.
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3), (1e8, 1.0))
_AHEAD = 6.0  # seconds


def per_second(times: Indices) -> float | None:
    """Return the unit of time stamps, as their number per second; None if it is not known. Their size tells it."""
    return next((unit for least, unit in _UNITS if times.min() >= least), None)


def paths_ahead(frames: MapFrames) -> tuple[list[Points], list[int]]:
    """Return the path of the ego in the next 6 s, in the coordinates of each frame, and the frames with less."""
    lacking = next((name for name in ("poses", "scenes", "timestamps") if getattr(frames, name) is None), None)
    if frames.timestamps is None or not len(frames):
        unit = None
    else:
        unit = per_second(frames.timestamps)
    if frames.poses is None or frames.timestamps is None or frames.scenes is None or unit is None:
        if lacking:
            what = lacking.replace("timestamps", "time stamps")
        else:
            what = "time stamps with a known unit"
        raise InvalidInput(
            f"{frames.name or 'frames'}: a corridor needs poses, scenes and time stamps, and there are no {what}",
            remedy=Remedy("Use frames with poses, such as those of mg.read with poses", "Give them: FILE,poses=POSES"),
        )
    paths: list[Points] = [np.zeros((1, 2))] * len(frames)
    short = []
    for order in frames_by_scene(frames).values():
        times = (frames.timestamps[order] - frames.timestamps[order[0]]) / unit
        places = frames.poses[order, :2, 3]
        ends = np.searchsorted(times, times + _AHEAD, side="right")
        for k, frame in enumerate(order.tolist()):
            paths[frame] = (places[k : ends[k]] - places[k]) @ level(frames.poses[frame])[:2, :2]
            if times[-1] < times[k] + _AHEAD:
                short.append(frame)
    return paths, sorted(short)


def frames_by_scene(frames: MapFrames) -> dict[str, Indices]:
    """Return the frames of each scene, in the order of time. Frames without scenes are one scene, ``""``."""
    scenes = frames.scenes or ("",) * len(frames)
    by_scene: dict[str, list[int]] = {scene: [] for scene in scenes}
    for i in in_time(frames).tolist():
        by_scene[scenes[i]].append(i)
    return {scene: np.array(rows, np.int64) for scene, rows in by_scene.items()}


def codes_of(names: Sequence[str] | Names) -> Indices:
    """Return a number for each name, in the order of appearance. This is much faster than sorting the names."""
    known: dict[str, int] = {}
    if isinstance(names, np.ndarray):
        plain = names.tolist()
    else:
        plain = names
    return np.array([known.setdefault(name, len(known)) for name in plain], np.int64)


def track_findings(predictions: MapFrames, truth: MapFrames) -> list[Finding]:
    """Return the findings about the tracks of both sides, and about the scenes and times of the truth."""
    tracks = [*findings_of_tracks("predictions", predictions), *findings_of_tracks("truth", truth)]
    return [*tracks, *findings_of_times("truth", truth)]


def findings_of_tracks(name: str, side: MapFrames) -> Iterator[Finding]:
    """Yield findings about the tracks of one side, ``"predictions"`` or ``"truth"``. There are none without tracks."""
    if side.track is None:
        return
    without = np.flatnonzero(side.track == "")
    if len(without):
        text = f"{name}: {len(without)} of {len(side.track)} instances have no track, and each counts as its own"
        yield Finding("note", "tracks-incomplete", text, count=len(without), examples=examples(side, without))
    rows = np.flatnonzero(side.track != "")
    code = codes_of(side.track[rows])
    known = int(code.max(initial=-1)) + 1
    # Tracks that occur more than once in a frame and class.
    group = side.frame[rows] * len(side.classes) + side.label[rows]
    more = np.delete(rows, np.unique(group * known + code, return_index=True)[1])
    if len(more):
        repeated = counted(len(more), "instance has", "instances have")
        text = f"{name}: {repeated} the track of another instance of the class in the same frame"
        if name == "truth":
            text += ", as pieces of one line that the region cuts"
            yield Finding("note", "tracks-repeated", text, count=len(more), examples=examples(side, more))
        else:
            text += ". Metrics of tracks follow only one of them"
            remedy = Remedy.of("Give the instances of a frame different tracks")
            yield Finding(
                "warning", "tracks-repeated", text, count=len(more), examples=examples(side, more), remedy=remedy
            )
    if side.scenes is not None and len(rows):
        scene = codes_of(side.scenes)[side.frame[rows]]
        several = np.bincount(np.unique(scene * known + code) % known, minlength=known) > 1
        names = list(dict.fromkeys(side.track[rows[several[code]]].tolist()))
        text = (
            f"{name}: {len(names)} of {known} tracks occur in several scenes. They are different tracks in each scene"
        )
        yield from findings_about(names, "note", "tracks-across-scenes", text=text)


def findings_of_times(name: str, side: MapFrames) -> Iterator[Finding]:
    """Yield findings about the scenes and times of one side, given its name. Frames without scenes are one scene."""
    scenes = frames_by_scene(side)
    several = {scene: own for scene, own in scenes.items() if len(own) > 1}
    alone = [scene for scene, own in scenes.items() if len(own) == 1]
    if side.scenes is not None:
        text = f"{name}: {len(alone)} of {len(scenes)} scenes have one frame, so there is nothing to see over time"
        yield from findings_about(alone, "note", "scenes-one-frame", text=text)
    apart = [scene for scene, own in several.items() if np.ptp(own) >= len(own)]
    text = f"{name}: the frames of {len(apart)} of {len(scenes)} scenes are not together in the file"
    times = side.timestamps
    if times is not None:
        yield from findings_about(apart, "note", "scenes-in-pieces", text=f"{text}. They are scored together")
    elif apart:
        text += ", and there are no time stamps. Their order in the file is taken as the order of time"
        remedy = Remedy.of("Add time stamps, or check the order of the frames")
        yield from findings_about(apart, "warning", "scenes-in-pieces", text=text, remedy=remedy)
    elif several and side.scenes is not None:
        text = f"{name}: there are no time stamps. The order of frames in the file is taken as the order of time"
        yield Finding("note", "timestamps-missing", text, count=len(several))
    if times is None:
        return
    back = [scene for scene, own in several.items() if (np.diff(times[np.sort(own)]) < 0).any()]
    text = f"{name}: the frames of {len(back)} of {len(scenes)} scenes are not in the order of their time stamps"
    yield from findings_about(back, "note", "scenes-order", text=f"{text}. Time stamps decide")
    steps = {scene: np.diff(times[own]) for scene, own in several.items()}
    if steps:
        usual = float(np.median(np.concatenate([*steps.values()])))
    else:
        usual = 0.0
    long = [scene for scene, step in steps.items() if usual > 0 and (step > _PAUSE * usual).any()]
    broken = counted(len(long), "scene has", "scenes have")
    text = f"{name}: {broken} a gap in time of more than {_PAUSE} usual steps. Tracks go on after it"
    remedy = Remedy.of("If these are several scenes, give them different names")
    yield from findings_about(long, "warning", "scenes-with-gaps", text=text, remedy=remedy)
    same = [side.tokens[own[k]] for scene, own in several.items() for k in np.flatnonzero(steps[scene] == 0)]
    alike = counted(len(same), "frame has", "frames have")
    text = f"{name}: {alike} the time stamp of another frame of the scene. The tokens decide"
    yield from findings_about(same, "warning", "timestamps-equal", text=text, remedy=Remedy.of("Check the time stamps"))


def link_findings(predictions: MapFrames, truth: MapFrames, floor: float = 0.0) -> tuple[Finding, ...]:
    """Return findings about the links between lanes. Up to the score ``floor`` there is no link."""
    links = [side.links or Links.of([], []) for side in (predictions, truth)]
    counts = [int(np.count_nonzero(some.is_kind(SUCCESSOR) & (some.weight > floor))) for some in links]
    names = [predictions.name or "predictions", truth.name or "truth"]
    findings = []
    for k, (own, other) in enumerate((counts, counts[::-1])):
        if not own and other:
            above = ""
            if floor:
                above = f" with a score above {floor:g}"
            text = f"{names[k]}: no links between lanes{above}, and {names[1 - k]} has {other}. Scores of lane graphs"
            remedy = Remedy.of("Use files with links, such as OpenLane-V2 files")
            findings.append(Finding("note", "links-one-side", f"{text} need both", remedy=remedy))
    return tuple(findings)
