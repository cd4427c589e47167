"""Checks the tracks, scenes and times of frames, for metrics that look at many frames of a scene."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mapgauge.arguments import check_confidence
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Indices

_EXAMPLES = 3  # examples per finding
_PAUSE = 10  # a step in time this many times the median step of a scene is a gap


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
    for k, one in enumerate(frames):
        if not isinstance(one, Mapping):
            raise InvalidInput(f"{expected}, got a {type(one).__name__} as frame {k}")
    tracks = [str(track) for one in frames for track in one]
    lines = [line for one in frames for line in one.values()]
    values = np.ones(len(lines))
    if confidence is not None:
        values = check_confidence(name, list(_confidences(frames, confidence, name)), len(lines), "instance")
    polylines = Polylines.of(lines, name)
    return MapFrames(
        tuple(f"frame {k}" for k in range(len(frames))),
        ("line",),
        np.repeat(np.arange(len(frames)), [len(one) for one in frames]),
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
    for k, (one, values) in enumerate(zip(frames, confidence, strict=True)):
        if not isinstance(values, Mapping) or set(values) != set(one):
            raise InvalidInput(f"the confidence of {name}, frame {k}, must have one number for each track of the frame")
        yield from (values[track] for track in one)


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
    """Return the order of the frames: by time, or that of the file if there are no timestamps."""
    if frames.timestamps is None:
        return np.arange(len(frames))
    return np.argsort(frames.timestamps, kind="stable")


def track_findings(predictions: MapFrames, truth: MapFrames) -> list[Finding]:
    """Return what is odd about the tracks, scenes and times of aligned frames."""
    sides = (("predictions", predictions), ("truth", truth))
    found = [_repeated(side, called) for called, side in sides] + [_shared(side, called) for called, side in sides]
    return [finding for finding in (*found, *_times(truth)) if finding is not None]


def _scene_of(side: MapFrames) -> Indices:
    """Return the number of the scene of each frame."""
    if side.scenes is None:
        return np.zeros(len(side), np.int64)
    number: dict[str, int] = {}
    return np.array([number.setdefault(scene, len(number)) for scene in side.scenes], np.int64)


def _repeated(side: MapFrames, called: str) -> Finding | None:
    if side.track is None:
        return None
    _, code = np.unique(side.track, return_inverse=True)
    keys = np.stack([side.frame, side.label, code], axis=1)
    unique, first, count = np.unique(keys, axis=0, return_index=True, return_counts=True)
    if len(unique) == len(keys):
        return None
    more = int((count - 1).sum())
    frames = dict.fromkeys(side.frame[first[count > 1]].tolist())
    return Finding(
        "warning",
        "tracks-repeated",
        f"{side.name or called}: {more} instances have the track of another instance of their class in the same frame. "
        "The longest one keeps the track, and each other one belongs to a track of its own",
        more,
        tuple(side.tokens[i] for i in list(frames)[:_EXAMPLES]),
        remedy=Remedy.of("Give the instances of a frame different tracks"),
    )


def _shared(side: MapFrames, called: str) -> Finding | None:
    if side.track is None or side.scenes is None:
        return None
    names, code = np.unique(side.track, return_inverse=True)
    pairs = np.unique(np.stack([code, _scene_of(side)[side.frame]], axis=1), axis=0)
    shared = np.flatnonzero(np.bincount(pairs[:, 0], minlength=len(names)) > 1)
    if not len(shared):
        return None
    return Finding(
        "note",
        "tracks-across-scenes",
        f"{side.name or called}: {len(shared)} tracks occur in several scenes. They are different tracks in each scene",
        len(shared),
        tuple(str(names[i]) for i in shared[:_EXAMPLES]),
    )


def _times(truth: MapFrames) -> Iterator[Finding]:
    """Yield findings about the order of the frames."""
    scene = _scene_of(truth)
    named = truth.scenes or ("",) * len(truth)
    if truth.timestamps is None:
        if len(truth) > 1:
            yield Finding(
                "note", "no-timestamps", "the frames have no timestamps. Their order in the file is the order of time"
            )
    else:
        by_scene = np.argsort(scene, kind="stable")
        step = np.diff(truth.timestamps[by_scene])
        step = step[np.diff(scene[by_scene]) == 0]
        if (step < 0).any():
            count = int((step < 0).sum())
            yield Finding(
                "note",
                "scenes-order",
                f"the frames of a scene are not in the order of their timestamps ({count} steps back in time). "
                "Timestamps decide",
                count,
            )
        yield from _gaps(truth, scene, named)
    runs = 1 + int(np.count_nonzero(np.diff(scene))) if len(scene) else 0
    scenes = len(set(scene.tolist()))
    if runs > scenes:
        cut = runs - scenes
        yield Finding(
            "note",
            "scenes-in-pieces",
            f"the frames of some scenes are not together in the file ({runs} pieces of {scenes} scenes). They are "
            "scored together",
            cut,
        )
    single = [named[i] for i in np.flatnonzero(np.bincount(scene)[scene] == 1).tolist()] if len(scene) else []
    if single:
        yield Finding(
            "note",
            "scenes-one-frame",
            f"{len(single)} of {scenes} scenes have one frame. Their T-PLD is their PLD",
            len(single),
            tuple(name for name in single[:_EXAMPLES] if name),
        )


def _gaps(truth: MapFrames, scene: Indices, named: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding if a scene has a large gap in time: it may be two scenes with one name."""
    assert truth.timestamps is not None
    order = np.lexsort((truth.timestamps, scene))
    step = np.diff(truth.timestamps[order])
    inside = np.diff(scene[order]) == 0
    if not inside.any():
        return
    usual = float(np.median(step[inside]))
    long = np.flatnonzero(inside & (step > _PAUSE * usual)) if usual > 0 else np.empty(0, np.int64)
    if len(long):
        names = dict.fromkeys(named[order[i]] for i in long.tolist())
        yield Finding(
            "warning",
            "scenes-with-gaps",
            f"{len(names)} scenes have a gap in time of more than {_PAUSE} usual steps. Tracks continue across it",
            len(names),
            tuple(name for name in list(names)[:_EXAMPLES] if name),
            remedy=Remedy.of("If these are several scenes, give them different names"),
        )
    same = np.count_nonzero(inside & (step == 0))
    if same:
        yield Finding(
            "warning",
            "timestamps-equal",
            f"{same} frames of a scene have the timestamp of another frame. Their order in the file decides",
            int(same),
        )
