"""VectorMapNet's pickle, which holds both predictions and truth.

::

    {"meta": ..., "results":     {token: {"vectors": [{"pts": points, "pts_num": n, "type": label,
                                                       "confidence_level": confidence}, ...]}},
                  "groundTruth": {token: {"vectors": [the same, ...]}}}

Coordinates are metres in the frame of the ego vehicle, x forward, but shrunk towards a corner of the region: the
network's input is scaled by a region that is 2 m longer and wider than the one that scales its output.
``unshrink=True`` undoes this. Positions are also rounded to a grid of about 0.3 m, which cannot be undone.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from mapgauge.arguments import check_flag
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.findings import Finding, findings_about
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.io._collect import Collector
from mapgauge.io._format import Format, ReadOptions
from mapgauge.io.files.json_documents import gc_paused
from mapgauge.io.files.source import Content
from mapgauge.io.pickles.tree import PickleTree, Rows, expect, points_of

CLASSES = ("ped_crossing", "divider", "boundary")  # its authors call the last one contours
_PARTS = {"predictions": "results", "truth": "groundTruth"}
_REGION = np.array([60.0, 30.0])  # x_file = (x + 30) * 60 / 62 - 30, and y likewise
_MARGIN = 2.0  # metres that the public code adds before it divides, and does not add again when it multiplies


def _is_results(content: Content) -> bool:
    return content.is_pickled(dict) and all(isinstance(content.outline.get(part), dict) for part in _PARTS.values())


def _read(content: Content, options: ReadOptions) -> MapFrames:
    part = options.extra.get("part", "predictions")
    if part not in tuple(_PARTS):  # not the dictionary, which would raise a TypeError for a list
        raise InvalidInput(f"part must be {' or '.join(map(repr, _PARTS))}, got {part!r}")
    unshrink = check_flag("unshrink", options.extra.get("unshrink", False))
    key = _PARTS[part]
    predicted = part == "predictions"

    def locate(frame: int, token: str, instance: int) -> str:
        return f'{key}["{token}"].vectors[{instance}].pts'

    collector = partial(Collector, content, RESULTS.name, options, locate, CLASSES, confidence=predicted)
    columns = collector()
    tokens = content.columns(_read_columns, columns)
    if tokens is None:
        columns = collector()
        tokens = _read_objects(content, columns, key)
    _add_notes(columns, *tokens, predicted=predicted, unshrink=unshrink)
    frames = columns.finish()
    if not unshrink:
        return frames
    coords = frames.polylines.coords.copy()
    corner = -_REGION / 2
    coords[:, :2] = (coords[:, :2] - corner) * ((_REGION + _MARGIN) / _REGION) + corner
    return replace(frames, polylines=Polylines(coords, frames.polylines.offsets))


def _read_columns(tree: PickleTree, collector: Collector) -> tuple[list[str], list[str]]:
    """Read a file without faults, fast. Return the tokens of the results and of the truth."""
    parts = [tree.member(tree.root, name) for name in _PARTS.values()]
    results, truth = (dict(_frames(tree, part)) for part in parts)
    if collector.has_confidence:
        chosen = dict.fromkeys(truth, -1) | results
    else:
        chosen = truth
    rows = np.array(list(chosen.values()), np.int64)
    has_results = rows >= 0
    counts = np.zeros(len(rows), np.int64)
    counts[has_results], vectors = tree.items(tree.member(rows[has_results], "vectors"))
    points, types, levels, stated = tree.find_all(vectors, "pts", "type", "confidence_level", "pts_num")
    expect(points >= 0, types >= 0, not collector.has_confidence or (levels >= 0).all())
    sizes, coords = points_of(tree, points)
    code = collector.codes_of(tree.wholes(types))
    expect(code >= 0)
    if collector.has_confidence:
        confidence = tree.numbers(levels)
    else:
        confidence = None
    counted = np.flatnonzero(stated >= 0)
    collector.tokens += chosen
    frame = np.repeat(np.arange(len(rows)), counts)
    collector.add_columns(frame, code, confidence, sizes=sizes, coords=coords)
    collector.note_wrong_counts(frame, counted[tree.numbers(stated[counted]) != sizes[counted]])
    return list(results), list(truth)


def _frames(tree: PickleTree, part: Rows) -> Iterator[tuple[str, int]]:
    return zip(tree.text_keys(int(part[0])), tree.pairs(part)[2].tolist(), strict=True)


def _read_objects(content: Content, collector: Collector, key: str) -> tuple[list[str], list[str]]:
    """Read a file with a fault, slowly. Return the tokens of the results and of the truth."""
    results, truth = (collector.check.member(content.document, name, "the pickle") for name in _PARTS.values())
    if not isinstance(results, dict) or not isinstance(truth, dict):
        raise content.error("results and groundTruth must be dictionaries by token")
    if collector.has_confidence:
        chosen = {token: {"vectors": ()} for token in truth} | results
    else:
        chosen = truth
    check = collector.check
    required = ["pts", "type", *(["confidence_level"] if collector.has_confidence else [])]
    with gc_paused():
        for token, frame in chosen.items():
            where = f'{key}["{token}"]'
            collector.add_frame(check.text(token, f"{where}: token"))
            for i, vector in enumerate(check.sequence(check.member(frame, "vectors", where), f"{where}.vectors")):
                place = f"{where}.vectors[{i}]"
                for name in required:
                    check.member(vector, name, place)
                check.number(vector.get("pts_num"), f"{place}.pts_num")
                collector.add_vector(vector, collector.class_of(vector["type"], place), place)
    return list(results), list(truth)


def _add_notes(collector: Collector, results: list[str], truth: list[str], predicted: bool, unshrink: bool) -> None:
    """Add what users of these files should know."""
    with_results = set(results)
    if predicted:
        lacking = [token for token in truth if token not in with_results]
    else:
        lacking = []
    text = (
        f"{collector.name}: {len(lacking)} of {len(truth)} frames of the truth have no results and are read as frames "
        "without predictions. VectorMapNet leaves out frames for which it predicts nothing"
    )
    collector.findings += findings_about(lacking, "note", "frames-left-out", text=text)
    if not unshrink:
        text = f"{collector.name}: coordinates are shrunk by 60/62 and 30/32, as VectorMapNet writes them"
        remedy = Remedy(
            "Pass unshrink=True before you compare them with other methods",
            "Before you compare them with other methods, write FILE,unshrink",
        )
        collector.findings.append(Finding("note", "shrunk", text, count=len(collector.tokens), remedy=remedy))


RESULTS = Format(
    name="vectormapnet",
    about="predictions or truth (part=): results_nuscence.pkl of VectorMapNet, which holds both",
    recognise=_is_results,
    read=_read,
    holds_both=True,
    options=("part", "unshrink"),
    forward="x",
    project="VectorMapNet",
    leaves_out_empty_frames=True,
    shrinks=((62.0, 32.0), (60.0, 30.0)),
)
