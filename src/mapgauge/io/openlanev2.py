"""OpenLane-V2's pickles: centrelines, lane segments and areas, in three dimensions.

Submissions, ``result.pkl``, and truth, ``data_dict_*.pkl``::

    {"method": ..., "results": {(split, segment_id, timestamp): {"predictions": {...}}}}
    {(split, segment_id, timestamp): {"pose": {"rotation": ..., "translation": ...}, "annotation": {...}, ...}}

Predictions and annotations are lists of instances, with ``confidence`` in predictions::

    "lane_centerline": [{"id": ..., "points": ...}]
    "lane_segment":    [{"id": ..., "centerline": ..., "left_laneline": ..., "right_laneline": ...}]
    "area":            [{"id": ..., "category": 1 or 2, "points": ...}]

A frame's token is ``split/segment_id/timestamp`` and its scene the segment. A lane segment becomes three instances.
Ids of truth name the same thing in all frames of a segment, so they become tracks, ``segment_id/class/id``; those of
predictions do not. Traffic elements and topology are skipped. Coordinates are metres in the frame of the ego vehicle.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from mapgauge.files.pickles import member, sequence
from mapgauge.files.source import Content
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._collect import Collector, Settings
from mapgauge.io._format import Format
from mapgauge.io._json import collector_paused
from mapgauge.io._pose import with_poses

_SEGMENT = ("centerline", "left_laneline", "right_laneline")
_AREAS = {1: "ped_crossing", 2: "boundary"}  # by category
_CLASSES = {"lane_centerline": ("centerline",), "lane_segment": _SEGMENT, "area": tuple(_AREAS.values())}

_Lists: TypeAlias = dict[str, Sequence[Any]]  # the instances of a frame, by the keys of _CLASSES


def _is_results(content: Content) -> bool:
    if content.kind != "pickle" or not isinstance(content.document, dict):
        return False
    results = content.document.get("results")
    frames = list(results.values())[:1] if isinstance(results, dict) else []
    return any(isinstance(frame, dict) and "predictions" in frame for frame in frames)


def _is_truth(content: Content) -> bool:
    if content.kind != "pickle" or not isinstance(content.document, dict):
        return False
    return any(
        isinstance(key, tuple)
        and len(key) == 3
        and isinstance(frame, dict)
        and ("annotation" in frame or "sensor" in frame)
        for key, frame in list(content.document.items())[:1]
    )


def _read_results(content: Content, settings: Settings) -> MapFrames:
    results = member(content.document, "results", "the pickle", content.error)
    return _read(content, settings, results, "predictions")


def _read_truth(content: Content, settings: Settings) -> MapFrames:
    return _read(content, settings, content.document, "annotation")


def _read(content: Content, settings: Settings, document: Any, part: str) -> MapFrames:
    predicted = part == "predictions"
    what, prefix = ("results", "results") if predicted else ("the pickle", "")
    if not isinstance(document, dict):
        raise content.error(f"{what} is a {type(document).__name__}, expected a dictionary by frame")
    keys = [_split_key(key, what, content) for key in document]
    tokens = ["/".join(key) for key in keys]
    wheres = [f'{prefix}["{token}"].{part}' for token in tokens]
    lists: list[_Lists] = []
    for token, where, frame in zip(tokens, wheres, document.values(), strict=True):
        annotation = member(frame, part, f'{prefix}["{token}"]', content.error)
        lists.append(_lists(annotation, where, content))
    kinds = _kinds(lists, wheres, content)
    collector = Collector(
        str(content.path),
        RESULTS.name if predicted else TRUTH.name,
        settings,
        locate=lambda frame, token, instance: wheres[frame] + _place(lists[frame], instance),
        classes=[name for key in kinds for name in _CLASSES[key]],
        confidence=predicted,
    )
    if settings.classes is None:
        collector.table = dict(_AREAS)
    with collector_paused():
        for token, (_, segment, _), where, instances in zip(tokens, keys, wheres, lists, strict=True):
            collector.frame(token, scene=segment)
            for key, group in instances.items():
                for i, instance in enumerate(group):
                    _add(collector, key, instance, f"{where}.{key}[{i}]", segment)
    frames = collector.finish()
    timestamps = [timestamp for _, _, timestamp in keys]
    if timestamps and all(_is_number(timestamp) for timestamp in timestamps):
        frames = replace(frames, timestamps=np.array([int(timestamp) for timestamp in timestamps], np.int64))
    poses = [frame.get("pose") for frame in document.values()]
    return with_poses(
        frames,
        [(pose.get("translation"), pose.get("rotation")) if isinstance(pose, dict) else (None, None) for pose in poses],
    )


def _split_key(key: Any, what: str, content: Content) -> tuple[str, str, str]:
    """Split, segment and timestamp of a frame."""
    parts = key.split("/") if isinstance(key, str) else key
    plain = isinstance(parts, list | tuple) and all(isinstance(part, str | int | np.integer) for part in parts)
    texts = [str(part) for part in parts] if plain else []
    if len(texts) == 3 and all(texts):
        return texts[0], texts[1], texts[2]
    shown = "/".join(texts)[:80] if plain else f"a {type(key).__name__}"
    raise content.error(f"{what} has the key {shown}, expected (split, segment_id, timestamp)")


def _is_number(timestamp: str) -> bool:
    return timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 19


def _lists(annotation: Any, where: str, content: Content) -> _Lists:
    """The lists of instances of a frame."""
    if not isinstance(annotation, dict):
        raise content.error(f"{where} is a {type(annotation).__name__}, expected a dictionary of lists")
    if not any(key in annotation for key in _CLASSES):
        hint = "" if annotation else ". The truth of the test split is not public"
        raise content.error(f"{where} has none of {', '.join(_CLASSES)}{hint}")
    return {key: sequence(annotation[key], f"{where}.{key}", content.error) for key in _CLASSES if key in annotation}


def _kinds(lists: list[_Lists], wheres: list[str], content: Content) -> list[str]:
    """The lists whose classes the file has: those that are there, also without instances."""
    lanes, segments = (
        [where for where, instances in zip(wheres, lists, strict=True) if len(instances.get(key, ()))]
        for key in ("lane_centerline", "lane_segment")
    )
    if lanes and segments:
        raise content.error(
            f"there are centrelines in {lanes[0]}.lane_centerline and in {segments[0]}.lane_segment, "
            "which would count them twice. Remove one of the two lists"
        )
    idle = "lane_segment" if lanes else "lane_centerline" if segments else ""
    return [key for key in _CLASSES if key != idle and any(key in instances for instances in lists)]


def _place(lists: _Lists, instance: int) -> str:
    """Where the instance with a number in its frame is."""
    lanes, lines = len(lists.get("lane_centerline", ())), len(_SEGMENT) * len(lists.get("lane_segment", ()))
    if instance < lanes:  # then there are no lane segments
        return f".lane_centerline[{instance}].points"
    if instance < lines:
        segment, line = divmod(instance, len(_SEGMENT))
        return f".lane_segment[{segment}].{_SEGMENT[line]}"
    return f".area[{instance - lanes - lines}].points"


def _add(collector: Collector, key: str, instance: Any, where: str, segment: str) -> None:
    """One entry of a list: one instance, or the three of a lane segment."""
    confidence = member(instance, "confidence", where, collector.error) if collector.has_confidence else None
    if key == "lane_segment":
        lines = [(name, name) for name in _SEGMENT]
    elif key == "lane_centerline":
        lines = [("points", "centerline")]
    else:
        category = member(instance, "category", where, collector.error)
        lines = [("points", collector.class_of(category, f"{where}.category"))]
    for name, class_name in lines:
        points = member(instance, name, where, collector.error)
        track = "" if collector.has_confidence else _track(collector, instance, where, f"{segment}/{class_name}")
        collector.instance(points, class_name=class_name, confidence=confidence, track=track)


def _track(collector: Collector, instance: Any, where: str, within: str) -> str:
    number = instance.get("id")
    if number is None:
        return ""
    if isinstance(number, bool) or not isinstance(number, str | int | np.integer):
        raise collector.error(f"{where}.id is a {type(number).__name__}, expected a whole number or a text")
    return f"{within}/{number}"


RESULTS = Format(
    "openlanev2",
    "predictions: submissions of OpenLane-V2 (result.pkl), with centrelines or lane segments and areas, in 3-D",
    _is_results,
    _read_results,
)
TRUTH = Format(
    "openlanev2-truth",
    "truth: data_dict_*.pkl of OpenLane-V2, with centrelines or lane segments and areas, in 3-D",
    _is_truth,
    _read_truth,
)
