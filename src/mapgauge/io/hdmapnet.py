"""HDMapNet's results, which its export scripts also write for truth, with a confidence of 1.

::

    {"meta": {"vector": true, ...}, "results": {token: [{"pts": [[x, y], ...], "pts_num": 20, "type": 0,
                                                         "confidence_level": 0.9}, ...]}}

Coordinates are metres in the frame of the ego vehicle, x forward, y to the left.
"""

import re

import msgspec

from mapgauge.errors import InvalidInput
from mapgauge.files.source import Content, Pairs
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._collect import Collector, Settings
from mapgauge.io._format import Format
from mapgauge.io._json import collector_paused
from mapgauge.io._written import confidences_of, ids_of

CLASSES = ("divider", "ped_crossing", "boundary")  # its authors call the last one contours
_FRAMES_ARE_LISTS = re.compile(rb'"results"\s*:\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[')
_HEAD = 1 << 16  # bytes in which the first frame begins


def _is_results(content: Content) -> bool:
    return content.kind == "json" and _FRAMES_ARE_LISTS.search(content.text, 0, _HEAD) is not None


def _read(content: Content, settings: Settings) -> MapFrames:
    collector = Collector(
        str(content.path),
        RESULTS.name,
        settings,
        locate=lambda frame, token, instance: f'$.results["{token}"][{instance}].pts',
        classes=CLASSES,
        confidence=True,
    )
    if content.kind == "pickle":
        raise collector.error("a pickle, expected JSON. Dump it with a name that ends in .json")
    document = content.document
    results = document.get("results") if isinstance(document, dict) else None
    if not isinstance(results, Pairs):
        raise collector.error('no object "results" at the top, expected {"results": {token: [instance, ...]}}')
    with collector_paused():
        for token, instances in results.every():
            _add_frame(collector, token, instances)
    return collector.finish()


def _add_frame(collector: Collector, token: str, instances: object) -> None:
    where = f'$.results["{token}"]'
    collector.frame(collector.text(token, f"{where}: the token"))
    if isinstance(instances, dict) and "map" in instances:
        raise collector.error(f"{where} is a raster, expected a list of instances. Export with vectors instead")
    if not isinstance(instances, list):
        raise collector.error(f"{where} is not a list of instances")
    for i, instance in enumerate(instances):
        place = f"{where}[{i}]"
        if not isinstance(instance, dict):
            raise collector.error(f"{place} is not an object with pts, type and confidence_level")
        missing = [key for key in ("pts", "type", "confidence_level") if key not in instance]
        if missing:
            raise collector.error(f"{place} has no {', '.join(missing)}")
        points = instance["pts"]
        if isinstance(points, list) and instance.get("pts_num", len(points)) != len(points):
            collector.odd_count(place)
        collector.instance(
            points,
            class_name=collector.class_of(instance["type"], f"{place}.type"),
            confidence=collector.number(instance["confidence_level"], f"{place}.confidence_level"),
            where=f"{place}.pts",
        )


def _write(frames: MapFrames, classes: dict[int, str] | None) -> bytes:
    ids = ids_of(frames, CLASSES, classes, RESULTS.name)
    confidence = confidences_of(frames, RESULTS.name)
    if len(frames.index) < len(frames):
        raise InvalidInput(f"{RESULTS.name} has one entry per token, and some tokens occur more than once")
    entries = []
    for i, token in enumerate(frames.tokens):
        instances = []
        for k in range(*frames.offsets[i : i + 2].tolist()):
            points = frames.polylines[k].tolist()
            number = ids[int(frames.label[k])]
            instances.append({"pts": points, "pts_num": len(points), "type": number, "confidence_level": confidence[k]})
        entries.append(msgspec.json.encode(token) + b":" + msgspec.json.encode(instances))
    # Its evaluator asks the meta data whether the file has vectors.
    return b'{"meta":{"vector":true},"results":{' + b",\n".join(entries) + b"}}"


RESULTS = Format(
    "hdmapnet",
    "predictions: JSON of HDMapNet",
    _is_results,
    _read,
    _write,
)
