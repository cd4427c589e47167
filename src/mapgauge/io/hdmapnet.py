"""HDMapNet's results. Its export scripts write the truth in the same format, with a confidence of 1.

::

    {"meta": {"vector": true, ...}, "results": {token: [{"pts": [[x, y], ...], "pts_num": 20, "type": 0,
                                                         "confidence_level": 0.9}, ...]}}

Coordinates are metres in the frame of the ego vehicle, x forward, y to the left.
"""

import re
from functools import partial
from typing import Annotated

import msgspec
import numpy as np

from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._collect import Collector
from mapgauge.io._format import Format, ReadOptions, check_tokens_differ, confidences_of, ids_of, points_by_frame
from mapgauge.io._json import NumberLists, Place, decode, decoded_keys_are_all
from mapgauge.io.files.json_documents import gc_paused
from mapgauge.io.files.source import Content

CLASSES = ("divider", "ped_crossing", "boundary")  # its authors call the last one contours
_REQUIRED = ("pts", "type", "confidence_level")
_FRAMES_ARE_LISTS = re.compile(rb'"results"\s*:\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[')
_HEAD = 1 << 16  # the first frame begins within this number of bytes

_Whole = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]


class _Vector(msgspec.Struct, gc=False):
    pts: Place
    type: _Whole
    confidence_level: float
    pts_num: _Whole | msgspec.UnsetType = msgspec.UNSET


class _HdMapNetDocument(msgspec.Struct, gc=False):
    results: dict[str, list[_Vector]]
    meta: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _is_results(content: Content) -> bool:
    return content.kind == "json" and _FRAMES_ARE_LISTS.search(content.text, 0, _HEAD) is not None


def _read(content: Content, options: ReadOptions) -> MapFrames:
    if content.kind == "pickle":
        raise content.error("a pickle, expected JSON", remedy="Export it to a name that ends in .json")

    def locate(frame: int, token: str, instance: int) -> str:
        return f'$.results["{token}"][{instance}].pts'

    collector = partial(Collector, content, RESULTS.name, options, locate, CLASSES, confidence=True)
    sound = _read_sound_json(content, collector())
    if sound is None:
        return _read_objects(content, collector())
    return sound


def _read_sound_json(content: Content, collector: Collector) -> MapFrames | None:
    """Read a file without faults, fast."""
    lists = NumberLists.of(content.text, collector.options.workers)
    if lists is None:
        document = None
    else:
        document = decode(lists.text, _HdMapNetDocument)
    if lists is None or document is None or not all(document.results):
        return None
    vectors = [vector for frame in document.results.values() for vector in frame]
    points = lists.points([vector.pts for vector in vectors])
    if points is None:
        return None
    labels = collector.codes_of(np.array([vector.type for vector in vectors], np.int64))
    stated = [vector.pts_num for vector in vectors]
    keys = 1 + len(document.results) + (len(_REQUIRED) + 1) * len(vectors) - stated.count(msgspec.UNSET)
    if (labels < 0).any() or not decoded_keys_are_all(lists.text, keys, (), document.meta):
        return None
    collector.tokens += document.results
    counts = [len(frame) for frame in document.results.values()]
    confidence = np.array([vector.confidence_level for vector in vectors], np.float64)
    frame = np.repeat(np.arange(len(counts)), counts)
    collector.add_columns(frame, labels, confidence, sizes=points.sizes, coords=points.coords)
    sizes = zip(stated, points.sizes.tolist(), strict=True)
    wrong = [number not in (msgspec.UNSET, size) for number, size in sizes]
    collector.note_wrong_counts(frame, np.flatnonzero(wrong))
    return collector.finish()


def _read_objects(content: Content, collector: Collector) -> MapFrames:
    """Read a file with a fault, slowly."""
    document = content.document
    if isinstance(document, dict):
        results = document.get("results")
    else:
        results = None
    if not isinstance(results, dict):
        raise content.error('no object "results" at the top, expected {"results": {token: [instance, ...]}}')
    with gc_paused():
        for token, instances in results.items():
            where = f'$.results["{token}"]'
            collector.add_frame(collector.check.text(token, f"{where}: the token"))
            if isinstance(instances, dict) and "map" in instances:
                raise content.error(
                    f"{where} is a raster, expected a list of instances", remedy="Export vectors instead"
                )
            if not isinstance(instances, list):
                raise content.error(f"{where} is not a list of instances")
            for i, instance in enumerate(instances):
                place = f"{where}[{i}]"
                if not isinstance(instance, dict):
                    raise content.error(f"{place} is not an object with {', '.join(_REQUIRED)}")
                missing = [key for key in _REQUIRED if key not in instance]
                if missing:
                    raise content.error(f"{place} has no {', '.join(missing)}")
                collector.add_vector(instance, collector.class_of(instance["type"], f"{place}.type"), place)
    return collector.finish()


def _write(frames: MapFrames, classes: dict[int, str] | None) -> bytes:
    ids = ids_of(frames, CLASSES, classes, format_name=RESULTS.name)
    confidence = iter(confidences_of(frames, RESULTS.name))
    label = iter(frames.label.tolist())
    check_tokens_differ(frames, RESULTS.name)
    entries = []
    for token, lines in zip(frames.tokens, points_by_frame(frames), strict=True):
        instances = [
            {"pts": points, "pts_num": len(points), "type": ids[next(label)], "confidence_level": next(confidence)}
            for points in lines
        ]
        entries.append(msgspec.json.encode(token) + b":" + msgspec.json.encode(instances))
    # HDMapNet's evaluator looks in the metadata to see whether the file has vectors.
    return b'{"meta":{"vector":true},"results":{' + b",\n".join(entries) + b"}}"


RESULTS = Format(
    name="hdmapnet", about="predictions: JSON of HDMapNet", recognise=_is_results, read=_read, write=_write, forward="x"
)
