"""Checks the tracks, scenes and times of frames, for metrics that look at many frames of a scene."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mapgauge.arguments import check_confidence
from mapgauge.errors import InvalidInput
from mapgauge.frames.map_frames import MapFrames, Names
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Indices


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
    """Return the order of the frames: by time and token, or that of the file if there are no timestamps."""
    return time_order(frames.timestamps, frames.tokens)


def time_order(timestamps: Indices | None, tokens: Sequence[str]) -> Indices:
    """Return the order of frames given by their time stamps and tokens, as ``in_time`` does."""
    if timestamps is None:
        return np.arange(len(tokens))
    return np.lexsort((np.array(tokens, np.str_), timestamps))


def frames_by_scene(frames: MapFrames) -> dict[str, Indices]:
    """Return the frames of each scene, in the order of the file. Frames without scenes are one scene, ``""``."""
    found: dict[str, list[int]] = {}
    for i, scene in enumerate(frames.scenes or ("",) * len(frames)):
        found.setdefault(scene, []).append(i)
    return {scene: np.array(own, np.int64) for scene, own in found.items()}


def codes_of(names: Sequence[str] | Names) -> Indices:
    """Return a number for each name, in the order of appearance. This is much faster than sorting the names."""
    known: dict[str, int] = {}
    plain = names.tolist() if isinstance(names, np.ndarray) else names
    return np.array([known.setdefault(name, len(known)) for name in plain], np.int64)
