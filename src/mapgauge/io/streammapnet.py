"""StreamMapNet's files, which MapTracker and others write too.

Results, ``submission_vector.json`` (or the same as a pickle)::

    {"meta": {...}, "results": {token: {"vectors": [[[x, y], ...], ...], "scores": [...], "labels": [...]}}}

Truth, ``tmp_gts_*.pkl`` (or the same as JSON, whose keys are text)::

    {token: {label: [points, ...]}}

Coordinates are metres in the frame of the ego vehicle, x forward, y to the left. Other keys of a frame (``prop``,
``track_vectors``, ``semantic_mask``) are skipped.
"""

import pickle
from typing import Any

import msgspec
import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.files.pickles import member, sequence
from mapgauge.files.source import Content, Pairs
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._collect import Collector, Settings
from mapgauge.io._format import Format
from mapgauge.io._json import collector_paused, decode, read_points
from mapgauge.io._written import confidences_of, ids_of
from mapgauge.io.maptracker import attach_tracks

CLASSES = ("ped_crossing", "divider", "boundary")
_KEYS = ("vectors", "scores", "labels")


class _Frame(msgspec.Struct, gc=False):
    vectors: msgspec.Raw
    scores: list[float]
    labels: list[int]


class _Document(msgspec.Struct, gc=False):
    results: dict[str, _Frame]


def _is_results(content: Content) -> bool:
    if content.kind == "json":
        if "results" not in content.keys or "sample_token" in content.keys:
            return False
        return bool(content.keys & set(_KEYS)) or content.text.rstrip().endswith((b"{}}", b"{} }"))  # no frames
    if content.kind == "pickle":
        document = content.document if isinstance(content.document, dict) else {}
        results = None if "groundTruth" in document else document.get("results")
        frames = list(results.values()) if isinstance(results, dict) else [0]
        return all(isinstance(frame, dict) and ("scores" in frame or "labels" in frame) for frame in frames[:1])
    return False


def _collector(content: Content, settings: Settings) -> Collector:
    return Collector(
        str(content.path),
        RESULTS.name,
        settings,
        locate=lambda frame, token, instance: f'$.results["{token}"].vectors[{instance}]',
        classes=CLASSES,
        confidence=True,
    )


def _read_results(content: Content, settings: Settings) -> MapFrames:
    if content.kind == "json":
        frames = _read_sound_json(content, settings)
        if frames is not None:
            return frames
    return _read_objects(content, settings)


def _read_sound_json(content: Content, settings: Settings) -> MapFrames | None:
    """The fast way, for a file without any fault."""
    document = decode(content.text, _Document)
    if document is None or content.text.count(b'"vectors"') != len(document.results):  # a token that occurs twice
        return None
    frames = list(document.results.values())
    points = read_points([frame.vectors for frame in frames])
    lengths = np.array([(len(frame.scores), len(frame.labels)) for frame in frames], np.int64).reshape(-1, 2)
    if points is None or not (points.counts[:, None] == lengths).all():
        return None
    collector = _collector(content, settings)
    code = {label: collector.codes[name] for label, name in collector.table.items()}
    try:
        labels = np.array([code[label] for frame in frames for label in frame.labels], np.int64)
    except KeyError:
        return None
    collector.tokens += document.results
    collector.columns(
        np.repeat(np.arange(len(frames)), points.counts),
        labels,
        np.array([score for frame in frames for score in frame.scores], np.float64),
        points.sizes,
        points.coords,
    )
    return collector.finish()


def _read_objects(content: Content, settings: Settings) -> MapFrames:
    """The thorough way, for pickles and for JSON with a fault."""
    collector = _collector(content, settings)
    document = content.document
    if not isinstance(document, dict) or "results" not in document:
        raise collector.error('no key "results" at the top, expected {"meta": ..., "results": {token: ...}}')
    results = document["results"]
    if isinstance(results, list):
        raise collector.error(
            "$.results is a list, expected an object by token. MapTR's files have a list: format='maptr'"
        )
    if not isinstance(results, dict):
        raise collector.error("$.results is not an object by token")
    with collector_paused():
        for token, frame in results.every() if isinstance(results, Pairs) else results.items():
            where = f'$.results["{token}"]'
            collector.frame(collector.text(token, f"{where}: token"))
            lists: dict[str, Any] = {}
            for key in _KEYS:
                lists[key] = sequence(member(frame, key, where, collector.error), f"{where}.{key}", collector.error)
            collector.same_length(where, **lists)
            for i, (points, score, label) in enumerate(zip(*lists.values(), strict=True)):
                if isinstance(label, str):
                    raise collector.error(f"{where}.labels[{i}] is the text {label!r}, expected a whole number")
                collector.instance(points, label=label, confidence=score)
    return collector.finish()


def _write_results(frames: MapFrames, classes: dict[int, str] | None) -> bytes:
    label = np.array([*ids_of(frames, CLASSES, classes, RESULTS.name), -1])[frames.label].tolist()
    confidence = confidences_of(frames, RESULTS.name)
    if len(frames.index) < len(frames):
        raise InvalidInput(f"{RESULTS.name} has one entry per token, and some tokens occur more than once")
    entries = []
    for i, token in enumerate(frames.tokens):
        start, stop = frames.offsets[i : i + 2].tolist()
        vectors = [frames.polylines[k].tolist() for k in range(start, stop)]
        entry = {"vectors": vectors, "scores": confidence[start:stop], "labels": label[start:stop]}
        entries.append(msgspec.json.encode(token) + b":" + msgspec.json.encode(entry))
    return b'{"meta":{"output_format":"vector"},"results":{' + b",\n".join(entries) + b"}}"


def _is_truth(content: Content) -> bool:
    if content.kind not in ("json", "pickle"):
        return False
    if content.kind == "json" and (content.keys & {"results", "GTs", "features"} or not content.text.startswith(b"{")):
        return False
    document = content.document
    if not isinstance(document, dict):
        return False
    return all(
        isinstance(frame, dict) and all(_id_of(label) is not None for label in frame)
        for frame in list(document.values())[:8]
    )


def _id_of(label: Any) -> int | None:
    """A numeric id, also as the text that JSON makes of it."""
    if isinstance(label, str):
        return int(label) if label.isascii() and label.isdigit() and len(label) < 10 else None
    whole = isinstance(label, int | np.integer) and not isinstance(label, bool)
    return int(label) if whole else None


def _read_truth(content: Content, settings: Settings) -> MapFrames:
    collector = Collector(
        str(content.path),
        TRUTH.name,
        settings,
        locate=lambda frame, token, instance: f'["{token}"], instance {instance} counted over its classes',
        classes=CLASSES,
        confidence=False,
    )
    document = content.document
    if not isinstance(document, dict):
        raise collector.error(f"a {type(document).__name__}, expected {{token: {{label: [points, ...]}}}}")
    with collector_paused():
        for token, groups in document.every() if isinstance(document, Pairs) else document.items():
            collector.frame(collector.text(token, f"token {token!r}"))
            if not isinstance(groups, dict):
                raise collector.error(f'["{token}"] is not an object by label')
            for key, group in groups.items():
                where = f'["{token}"][{key!r}]'
                label = _id_of(key)
                if label is None:
                    raise collector.error(f"{where}: the label is {key!r}, expected a whole number")
                class_name = collector.class_of(label, where)
                for i, points in enumerate(sequence(group, where, collector.error)):
                    collector.instance(points, class_name=class_name, where=f"{where}[{i}]")
    frames = collector.finish()
    tracks = settings.options.get("tracks")
    return frames if tracks is None else attach_tracks(frames, Content(tracks), collector.table)


def _write_truth(frames: MapFrames, classes: dict[int, str] | None) -> bytes:
    ids = ids_of(frames, CLASSES, classes, TRUTH.name)
    if len(frames.index) < len(frames):
        raise InvalidInput(f"{TRUTH.name} has one entry per token, and some tokens occur more than once")
    known = range(len(CLASSES)) if classes is None else sorted(classes)
    document: dict[str, dict[int, list[Any]]] = {token: {number: [] for number in known} for token in frames.tokens}
    for points, frame, label in zip(frames.polylines, frames.frame.tolist(), frames.label.tolist(), strict=True):
        document[frames.tokens[frame]][ids[label]].append(points.copy())
    return pickle.dumps(document, protocol=4)


RESULTS = Format(
    "streammapnet",
    "predictions: submission_vector.json of StreamMapNet, MapTracker, SQD-MapNet and others, also as a pickle",
    _is_results,
    _read_results,
    _write_results,
)
TRUTH = Format(
    "streammapnet-truth",
    "truth: tmp_gts_*.pkl of StreamMapNet and MapTracker, also as JSON",
    _is_truth,
    _read_truth,
    _write_truth,
    options=("tracks",),
)
