"""OpenLane-V2's pickles: centrelines, lane segments and areas, in three dimensions.

Submissions, ``result.pkl``, and truth, ``data_dict_*.pkl``::

    {"method": ..., "results": {(split, segment_id, timestamp): {"predictions": {...}}}}
    {(split, segment_id, timestamp): {"pose": {"rotation": ..., "translation": ...}, "annotation": {...}, ...}}

Predictions and annotations are lists of instances, with ``confidence`` in predictions::

    "lane_centerline": [{"id": ..., "points": ...}]
    "lane_segment":    [{"id": ..., "centerline": ..., "left_laneline": ..., "right_laneline": ...}]
    "area":            [{"id": ..., "category": 1 or 2, "points": ...}]

The token of a frame is ``split/segment_id/timestamp``, and its scene is the segment. A lane segment becomes three
instances. An id of the truth means the same object in all frames of a segment, so ids become tracks named
``segment_id/class/id``. Ids of predictions do not. Traffic elements and topology are ignored. Coordinates are metres in
the frame of the ego vehicle.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from mapgauge.files.garbage import gc_paused
from mapgauge.files.source import Content
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._collect import Collector
from mapgauge.io._format import Format
from mapgauge.io._options import ReadOptions
from mapgauge.io._pose import with_poses
from mapgauge.io._values import ValueChecker

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


def _read_results(content: Content, options: ReadOptions) -> MapFrames:
    results = ValueChecker(content.error).member(content.document, "results", "the pickle")
    return _read(content, options, results, "predictions")


def _read_truth(content: Content, options: ReadOptions) -> MapFrames:
    return _read(content, options, content.document, "annotation")


def _read(content: Content, options: ReadOptions, document: Any, part: str) -> MapFrames:
    predicted = part == "predictions"
    what, prefix = ("results", "results") if predicted else ("the pickle", "")
    if not isinstance(document, dict):
        raise content.error(f"{what} is a {type(document).__name__}, expected a dictionary by frame")
    keys = [_split_key(key, what, content) for key in document]
    tokens = ["/".join(key) for key in keys]
    wheres = [f'{prefix}["{token}"].{part}' for token in tokens]
    check = ValueChecker(content.error)
    lists: list[_Lists] = []
    for token, where, frame in zip(tokens, wheres, document.values(), strict=True):
        annotation = check.member(frame, part, f'{prefix}["{token}"]')
        lists.append(_lists(annotation, where, check))
    kinds = _kinds(lists, wheres, content)

    def locate(frame: int, token: str, instance: int) -> str:
        return wheres[frame] + _place(lists[frame], instance)

    name = RESULTS.name if predicted else TRUTH.name
    classes = [name for key in kinds for name in _CLASSES[key]]
    collector = Collector(content, name, options, locate, classes, confidence=predicted)
    if options.classes is None:
        collector.table = dict(_AREAS)
    with gc_paused():
        for token, (_, segment, _), where, instances in zip(tokens, keys, wheres, lists, strict=True):
            collector.add_frame(token, scene=segment)
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
    """Return the split, the segment and the timestamp of a frame."""
    parts = key.split("/") if isinstance(key, str) else key
    plain = isinstance(parts, list | tuple) and all(isinstance(part, str | int | np.integer) for part in parts)
    texts = [str(part) for part in parts] if plain else []
    if len(texts) == 3 and all(texts):
        return texts[0], texts[1], texts[2]
    shown = "/".join(texts)[:80] if plain else f"a {type(key).__name__}"
    raise content.error(f"{what} has the key {shown}, expected (split, segment_id, timestamp)")


def _is_number(timestamp: str) -> bool:
    return timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 19


def _lists(annotation: Any, where: str, check: ValueChecker) -> _Lists:
    """Return the lists of instances of a frame."""
    if not isinstance(annotation, dict):
        raise check.error(f"{where} is a {type(annotation).__name__}, expected a dictionary of lists")
    if not any(key in annotation for key in _CLASSES):
        hint = "" if annotation else ". The truth of the test split is not public"
        raise check.error(f"{where} has none of {', '.join(_CLASSES)}{hint}")
    return {key: check.sequence(annotation[key], f"{where}.{key}") for key in _CLASSES if key in annotation}


def _kinds(lists: list[_Lists], wheres: list[str], content: Content) -> list[str]:
    """Return the keys whose classes the file has. A list without instances counts."""
    lanes, segments = (
        [where for where, instances in zip(wheres, lists, strict=True) if len(instances.get(key, ()))]
        for key in ("lane_centerline", "lane_segment")
    )
    if lanes and segments:
        raise content.error(
            f"there are centrelines in {lanes[0]}.lane_centerline and in {segments[0]}.lane_segment, "
            "so they would count twice",
            remedy="Remove one of the two lists",
        )
    idle = "lane_segment" if lanes else "lane_centerline" if segments else ""
    return [key for key in _CLASSES if key != idle and any(key in instances for instances in lists)]


def _place(lists: _Lists, instance: int) -> str:
    """Return the place of an instance within its frame."""
    lanes, lines = len(lists.get("lane_centerline", ())), len(_SEGMENT) * len(lists.get("lane_segment", ()))
    if instance < lanes:  # then there are no lane segments
        return f".lane_centerline[{instance}].points"
    if instance < lines:
        segment, line = divmod(instance, len(_SEGMENT))
        return f".lane_segment[{segment}].{_SEGMENT[line]}"
    return f".area[{instance - lanes - lines}].points"


def _add(collector: Collector, key: str, instance: Any, where: str, segment: str) -> None:
    """Add one entry of a list: an instance, or the three instances of a lane segment."""
    check = collector.check
    confidence = check.member(instance, "confidence", where) if collector.has_confidence else None
    if key == "lane_segment":
        lines = [(name, name) for name in _SEGMENT]
    elif key == "lane_centerline":
        lines = [("points", "centerline")]
    else:
        category = check.member(instance, "category", where)
        lines = [("points", collector.class_of(category, f"{where}.category"))]
    for name, class_name in lines:
        points = check.member(instance, name, where)
        track = "" if collector.has_confidence else _track(collector, instance, where, f"{segment}/{class_name}")
        collector.add_instance(points, class_name, confidence=confidence, track=track)


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
    forward="x",
)
TRUTH = Format(
    "openlanev2-truth",
    "truth: data_dict_*.pkl of OpenLane-V2, with centrelines or lane segments and areas, in 3-D",
    _is_truth,
    _read_truth,
    forward="x",
)
