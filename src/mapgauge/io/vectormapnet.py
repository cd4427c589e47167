"""VectorMapNet's pickle, which holds predictions and truth.

::

    {"meta": ..., "results":     {token: {"vectors": [{"pts": points, "pts_num": n, "type": label,
                                                       "confidence_level": confidence}, ...]}},
                  "groundTruth": {token: {"vectors": [the same, ...]}}}

Coordinates are metres in the frame of the ego vehicle, x forward, but shrunk towards a corner of the region: the
network's input is scaled by a region 2 m longer and wider than the one that scales its output. ``unshrink=True`` undoes
it. Positions are also rounded to a grid of about 0.3 m, which cannot be undone.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from mapgauge.arguments import check_flag
from mapgauge.errors import InvalidInput
from mapgauge.files.pickles import member, sequence
from mapgauge.files.source import Content
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.io._collect import EXAMPLES, Collector, Settings
from mapgauge.io._format import Format
from mapgauge.io._json import collector_paused

CLASSES = ("ped_crossing", "divider", "boundary")  # which the file's authors call contours
_PARTS = {"predictions": "results", "truth": "groundTruth"}
_REGION = np.array([60.0, 30.0])  # x_file = (x + 30) * 60 / 62 - 30, and y likewise
_MARGIN = 2.0


def _is_results(content: Content) -> bool:
    if content.kind != "pickle" or not isinstance(content.document, dict):
        return False
    return all(isinstance(content.document.get(part), dict) for part in _PARTS.values())


def _read(content: Content, settings: Settings) -> MapFrames:
    part = settings.options.get("part", "predictions")
    if part not in tuple(_PARTS):  # not a dictionary, which would refuse a list in its own words
        raise InvalidInput(f"part must be {' or '.join(map(repr, _PARTS))}, got {part!r}")
    unshrink = check_flag("unshrink", settings.options.get("unshrink", False))
    key = _PARTS[part]
    collector = Collector(
        str(content.path),
        RESULTS.name,
        settings,
        locate=lambda frame, token, instance: f'{key}["{token}"].vectors[{instance}].pts',
        classes=CLASSES,
        confidence=part == "predictions",
    )
    results, truth = (member(content.document, name, "the pickle", collector.error) for name in _PARTS.values())
    if not isinstance(results, dict) or not isinstance(truth, dict):
        raise collector.error("results and groundTruth must be dictionaries by token")
    chosen = truth if part == "truth" else {token: {"vectors": ()} for token in truth} | results
    with collector_paused():
        for token, frame in chosen.items():
            _read_frame(collector, token, frame, key)
    lacking = [token for token in truth if token not in results] if part == "predictions" else []
    if lacking:
        text = (
            f"{collector.name}: {len(lacking)} of {len(truth)} frames of its truth are not in its results and have no "
            "predictions here. VectorMapNet leaves frames out for which it predicted nothing"
        )
        collector.findings.append(Finding("note", "frames-left-out", text, len(lacking), tuple(lacking[:EXAMPLES])))
    if not unshrink:
        text = (
            f"{collector.name}: coordinates are shrunk by 60/62 and 30/32, as VectorMapNet writes them. "
            "Pass unshrink=True to compare them with those of others"
        )
        collector.findings.append(Finding("note", "shrunk", text, len(chosen)))
    frames = collector.finish()
    return _unshrunk(frames) if unshrink else frames


def _read_frame(collector: Collector, token: Any, frame: Any, key: str) -> None:
    where = f'{key}["{token}"]'
    collector.frame(collector.text(token, f"{where}: token"))
    vectors = sequence(member(frame, "vectors", where, collector.error), f"{where}.vectors", collector.error)
    for i, instance in enumerate(vectors):
        place = f"{where}.vectors[{i}]"
        points = member(instance, "pts", place, collector.error)
        confidence = member(instance, "confidence_level", place, collector.error) if collector.has_confidence else None
        class_name = collector.class_of(member(instance, "type", place, collector.error), place)
        collector.instance(points, class_name=class_name, confidence=confidence)
        if "pts_num" in instance and collector.number(instance["pts_num"], f"{place}.pts_num") != len(points):
            collector.odd_count(place)


def _unshrunk(frames: MapFrames) -> MapFrames:
    coords = frames.polylines.coords.copy()
    corner = -_REGION / 2
    coords[:, :2] = (coords[:, :2] - corner) * ((_REGION + _MARGIN) / _REGION) + corner
    return replace(frames, polylines=Polylines(coords, frames.polylines.offsets))


RESULTS = Format(
    "vectormapnet",
    "predictions or truth (part=): results_nuscence.pkl of VectorMapNet, which holds both",
    _is_results,
    _read,
    options=("part", "unshrink"),
)
