"""StreamMapNet's files. MapTracker and others write the same format.

Results, ``submission_vector.json`` (or the same as a pickle)::

    {"meta": {...}, "results": {token: {"vectors": [[[x, y], ...], ...], "scores": [...], "labels": [...]}}}

Truth, ``tmp_gts_*.pkl`` (or the same as JSON, where labels are text)::

    {token: {label: [points, ...]}}

Coordinates are metres in the frame of the ego vehicle, x forward, y to the left. Other keys of a frame (``prop``,
``track_vectors``, ``semantic_mask``) are ignored.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
import numpy as np

from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding, findings_about
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._collect import Collector
from mapgauge.io._format import Format, ReadOptions, check_tokens_differ, confidences_of, ids_of, points_by_frame
from mapgauge.io._json import NumberLists, Place, decode, decoded_keys_are_all
from mapgauge.io.files.json_documents import gc_paused
from mapgauge.io.files.source import Content
from mapgauge.io.files.writing import portable_pickle
from mapgauge.io.maptracker import attach_tracks
from mapgauge.io.pickles.tree import PickleTree, expect, numbers_of, points_of, stacked_points_of, wholes_of

CLASSES = ("ped_crossing", "divider", "boundary")
_KEYS = ("vectors", "scores", "labels")


class _StreamMapNetFrame(msgspec.Struct, gc=False):
    vectors: Place
    scores: Place
    labels: Place


class _StreamMapNetDocument(msgspec.Struct, gc=False):
    results: dict[str, _StreamMapNetFrame]
    meta: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _is_results(content: Content) -> bool:
    if content.kind == "json":
        if "results" not in content.keys or "sample_token" in content.keys:
            return False
        return bool(content.keys & set(_KEYS)) or content.text.rstrip().endswith((b"{}}", b"{} }"))  # no frames
    if content.kind == "pickle":
        if isinstance(content.outline, dict):
            document = content.outline
        else:
            document = {}
        if "groundTruth" in document:
            results = None
        else:
            results = document.get("results")
        if isinstance(results, dict):
            frames = list(results.values())
        else:
            frames = [0]
        return all(isinstance(frame, dict) and ("scores" in frame or "labels" in frame) for frame in frames[:1])
    return False


def _read_results(content: Content, options: ReadOptions) -> MapFrames:
    def locate(frame: int, token: str, instance: int) -> str:
        return f'$.results["{token}"].vectors[{instance}]'

    collector = partial(Collector, content, RESULTS.name, options, locate, CLASSES, confidence=True)
    if content.kind == "json":
        sound = _read_sound_json(content, collector())
    else:
        columns = content.columns(_add_results, collector())
        if columns is None:
            sound = None
        else:
            sound = columns.finish()
    if sound is None:
        return _read_objects(content, collector())
    return sound


def _read_sound_json(content: Content, collector: Collector) -> MapFrames | None:
    """Read a file without faults, fast."""
    lists = NumberLists.of(content.text, collector.options.workers)
    if lists is None:
        document = None
    else:
        document = decode(lists.text, _StreamMapNetDocument)
    if lists is None or document is None:
        return None
    frames = list(document.results.values())
    points = lists.polylines([frame.vectors for frame in frames])
    scores = lists.numbers([frame.scores for frame in frames])
    labels = lists.numbers([frame.labels for frame in frames])
    if points is None or scores is None or labels is None:
        return None
    if not decoded_keys_are_all(lists.text, 1 + (1 + len(_KEYS)) * len(frames), (), document.meta):
        return None
    if not (points.counts == scores[0]).all() or not (points.counts == labels[0]).all():
        return None
    codes = collector.codes_of(labels[1])
    if (codes < 0).any():
        return None
    collector.tokens += document.results
    frame = np.repeat(np.arange(len(frames)), points.counts)
    collector.add_columns(frame, codes, scores[1], sizes=points.sizes, coords=points.coords)
    return collector.finish()


def _add_results(tree: PickleTree, collector: Collector) -> Collector:
    """Add the frames and instances of predictions."""
    results = tree.member(tree.root, "results")
    collector.tokens += tree.text_keys(int(results[0]))
    frames = tree.pairs(results)[2]
    vectors, confidences, classes = tree.members(frames, "vectors", "scores", "labels")
    if len(vectors) and tree.only(vectors, "ARRAY"):
        counts, sizes, coords = stacked_points_of(tree, vectors)
    else:
        counts, lines = tree.items(vectors)
        sizes, coords = points_of(tree, lines)
    scored, scores = numbers_of(tree, confidences)
    lengths, labels = wholes_of(tree, classes)
    codes = collector.codes_of(labels)
    expect(scored == counts, lengths == counts, codes >= 0)
    frame = np.repeat(np.arange(len(frames)), counts)
    collector.add_columns(frame, codes, scores, sizes=sizes, coords=coords)
    return collector


def _read_objects(content: Content, collector: Collector) -> MapFrames:
    """Read a file with a fault, slowly."""
    document = content.document
    if not isinstance(document, dict) or "results" not in document:
        raise content.error('no key "results" at the top, expected {"meta": ..., "results": {token: ...}}')
    results = document["results"]
    if isinstance(results, list):
        raise content.error(
            "$.results is a list, as in MapTR's files, expected an object by token",
            remedy=Remedy("Pass format='maptr' for files of MapTR", "Write FILE,format=maptr for files of MapTR"),
        )
    if not isinstance(results, dict):
        raise content.error("$.results is not an object by token")
    check = collector.check
    with gc_paused():
        for token, frame in results.items():
            where = f'$.results["{token}"]'
            collector.add_frame(check.text(token, f"{where}: token"))
            lists = check.sequences(frame, _KEYS, where)
            for i, (points, score, label) in enumerate(zip(*lists.values(), strict=True)):
                if isinstance(label, str):
                    raise content.error(f"{where}.labels[{i}] is the text {label!r}, expected a whole number")
                collector.add_instance(points, collector.class_of(label, collector.next_place), confidence=score)
    return collector.finish()


def _write_results(frames: MapFrames, classes: dict[int, str] | None) -> bytes:
    label = np.array([*ids_of(frames, CLASSES, classes, format_name=RESULTS.name), -1])[frames.label].tolist()
    confidence = confidences_of(frames, RESULTS.name)
    check_tokens_differ(frames, RESULTS.name)
    entries = []
    start = 0
    for token, lines in zip(frames.tokens, points_by_frame(frames), strict=True):
        stop = start + len(lines)
        entry = {"vectors": lines, "scores": confidence[start:stop], "labels": label[start:stop]}
        entries.append(msgspec.json.encode(token) + b":" + msgspec.json.encode(entry))
        start = stop
    return b'{"meta":{"output_format":"vector"},"results":{' + b",\n".join(entries) + b"}}"


def _is_truth(content: Content) -> bool:
    if content.kind not in ("json", "pickle"):
        return False
    if content.kind == "json" and (content.keys & {"results", "GTs", "features"} or not content.text.startswith(b"{")):
        return False
    document = content.outline
    if not isinstance(document, dict):
        return False
    return all(
        isinstance(frame, dict) and all(_id_of(label) is not None for label in frame)
        for frame in list(document.values())[:8]
    )


def _id_of(label: Any) -> int | None:
    """Return a numeric id, which is a text in JSON; None if it is something else."""
    if isinstance(label, str):
        if label.isascii() and label.isdigit() and len(label) < 10:
            return int(label)
        return None
    whole = isinstance(label, int | np.integer) and not isinstance(label, bool)
    if not whole:
        return None
    return int(label)


def _read_truth(content: Content, options: ReadOptions) -> MapFrames:
    def locate(frame: int, token: str, instance: int) -> str:
        return f'["{token}"], instance {instance} counted over its classes'

    make = partial(Collector, content, TRUTH.name, options, locate, CLASSES, confidence=False)
    collector = make()
    labels_of = content.columns(_add_truth, collector)
    if labels_of is None:
        collector = make()
        labels_of = _read_truth_objects(content, collector)
    collector.findings += _lacking_keys(labels_of, collector.table)
    frames = collector.finish()
    tracks = options.extra.get("tracks")
    if tracks is None:
        return frames
    return attach_tracks(frames, Content(tracks), collector.table)


def _add_truth(tree: PickleTree, collector: Collector) -> dict[str, set[int]]:
    """Add the frames and instances of truth. Return the labels that each frame has."""
    tokens = tree.text_keys(int(tree.root[0]))
    collector.tokens += tokens
    counts, keys, groups = tree.pairs(tree.pairs(tree.root)[2])
    tree.expect(keys, "WHOLE")
    labels = tree.wholes(keys)
    code = collector.codes_of(labels)
    expect(code >= 0)
    ends = counts.cumsum().tolist()
    listed = zip(tokens, counts.tolist(), ends, strict=True)
    labels_of = {token: set(labels[end - count : end].tolist()) for token, count, end in listed}
    expect(sum(map(len, labels_of.values())) == len(labels))  # no key occurs twice
    lengths, lines = tree.items(groups)
    sizes, coords = points_of(tree, lines)
    frame = np.repeat(np.repeat(np.arange(len(tokens)), counts), lengths)
    collector.add_columns(frame, np.repeat(code, lengths), confidence=None, sizes=sizes, coords=coords)
    return labels_of


def _read_truth_objects(content: Content, collector: Collector) -> dict[str, set[int]]:
    """Read JSON, or a pickle with a fault, slowly. Return the labels that each frame has."""
    check = collector.check
    document = check.top(content.document, dict, "{token: {label: [points, ...]}}")
    labels_of: dict[str, set[int]] = {}
    with gc_paused():
        for token, groups in document.items():
            collector.add_frame(check.text(token, f"token {token!r}"))
            labels = labels_of[token] = set()
            if not isinstance(groups, dict):
                raise collector.error(f'["{token}"] is not an object by label')
            for key, group in groups.items():
                where = f'["{token}"][{key!r}]'
                label = _id_of(key)
                if label is None:
                    raise collector.error(f"{where}: the label is {key!r}, expected a whole number")
                labels.add(label)
                class_name = collector.class_of(label, where)
                for i, points in enumerate(check.sequence(group, where)):
                    collector.add_instance(points, class_name, where=f"{where}[{i}]")
    return labels_of


def _lacking_keys(labels_of: dict[str, set[int]], table: Mapping[int, str]) -> list[Finding]:
    """Return a finding for frames that lack the key of a class that others have. A frame without any key is empty."""
    known = set().union(*labels_of.values())
    lacking = {token: known - labels for token, labels in labels_of.items() if labels and labels < known}
    names = ", ".join(table.get(label, str(label)) for label in sorted(set().union(*lacking.values())))
    text = (
        f"{len(lacking)} of {len(labels_of)} frames lack the key of a class that other frames have ({names}). They "
        "count as frames without instances of it"
    )
    return findings_about(list(lacking), "note", "class-keys-missing", text=text)


def _write_truth(frames: MapFrames, classes: dict[int, str] | None) -> bytes:
    ids = ids_of(frames, CLASSES, classes, format_name=TRUTH.name)
    check_tokens_differ(frames, TRUTH.name)
    for token in frames.tokens:
        token.encode()  # a pickle could hold a token that cannot be printed, but it would not be read again
    if classes is None:
        known = list(range(len(CLASSES)))
    else:
        known = sorted(classes)
    document: dict[str, dict[int, list[Any]]] = {token: {number: [] for number in known} for token in frames.tokens}
    for points, frame, label in zip(frames.polylines, frames.frame.tolist(), frames.label.tolist(), strict=True):
        document[frames.tokens[frame]][ids[label]].append(points.copy())
    return portable_pickle(document)


RESULTS = Format(
    name="streammapnet",
    about="predictions: submission_vector.json of StreamMapNet, MapTracker, SQD-MapNet and others, also as a pickle",
    recognise=_is_results,
    read=_read_results,
    write=_write_results,
    forward="x",
)
TRUTH = Format(
    name="streammapnet-truth",
    about="truth: tmp_gts_*.pkl of StreamMapNet and MapTracker, also as JSON",
    recognise=_is_truth,
    read=_read_truth,
    write=_write_truth,
    options=("tracks",),
    forward="x",
    order=300,  # a dictionary of tokens is all that it recognises
)
