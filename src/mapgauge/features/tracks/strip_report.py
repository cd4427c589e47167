"""Packs the tracks of scenes over time."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from mapgauge.errors import MissingDependency
from mapgauge.features.tracks.strips import Strip, has_tracks, scene_values, strips_of
from mapgauge.features.tracks.track_pld import TRACK_PLD
from mapgauge.results.results import Results
from mapgauge.results.scene_order import frames_by_scene
from mapgauge.views.report.pack import Added, Arrays, Section

SCENES = 50  # scenes of which the page has the tracks


def worst_scenes(methods: Sequence[Results]) -> dict[str, list[int]]:
    """Return the frames of each scene, from the highest T-PLD of a method. There are none without T-PLD."""
    if not all(_has_strips(method) and method.scenes == methods[0].scenes for method in methods):
        return {}
    values: dict[str, float] = {}
    for method in methods:
        for scene, value in scene_values(method).items():
            values[scene] = max(value, values.get(scene, value))
    order = sorted(values, key=lambda scene: (-values[scene], scene))
    frames = frames_by_scene(methods[0])
    return {scene: frames[scene] for scene in order}


def strip_data(methods: Sequence[Results], drawn: Sequence[int]) -> Added:
    """Return the tracks of the scenes that have a drawn frame, at most ``SCENES``, from the highest T-PLD."""
    by_scene = worst_scenes(methods)
    can_draw = set(drawn)
    scenes = [scene for scene, frames in by_scene.items() if not can_draw.isdisjoint(frames)][:SCENES]
    if not scenes:
        return Added(about=_hint(methods))
    arrays: Arrays = {}
    try:
        for k, method in enumerate(methods):
            strips = [strip for scene in scenes for strip in strips_of(method, scene)]
            text = json.dumps([_described(strip) for strip in strips], separators=(",", ":"))
            cells = [row.cells.astype(np.int16) for strip in strips for row in (*strip.truth, *strip.false)]
            arrays[f"{k}.strip.text"] = np.frombuffer(text.encode(), np.uint8)
            arrays[f"{k}.strip.cells"] = np.concatenate([np.empty(0, np.int16), *cells])
    except MissingDependency as error:
        return Added(about=f"Tracks are not shown over time: {error}.")
    frames = [by_scene[scene] for scene in scenes]
    return Added({"strips": {"scenes": scenes, "frames": frames, "all": len(by_scene)}}, arrays)


def _described(strip: Strip) -> dict[str, Any]:
    """Return what the page needs to know about a strip besides its cells."""
    return {
        "scene": strip.scene,
        "of": strip.class_name,
        "seconds": None if strip.seconds is None else [round(second, 3) for second in strip.seconds],
        "value": None if strip.value is None else round(strip.value, 4),
        "names": strip.names,
        "colours": strip.colours,
        "truth": [row.track for row in strip.truth],
        "false": [[row.track, round(row.confidence, 3)] for row in strip.false],
        "falseCount": strip.false_count,
    }


def _has_strips(results: Results) -> bool:
    return TRACK_PLD.name in results.metrics and results.scenes is not None and has_tracks(results)


def _hint(methods: Sequence[Results]) -> str:
    """Return how to get the tracks over time, if both sides of all methods have tracks and T-PLD was not computed."""
    for method in methods:
        if not has_tracks(method) or TRACK_PLD.name in method.metrics or method.scenes is None:
            return ""
    return (
        "The tracks can be shown over time if T-PLD is computed: in Python with a protocol that has switch_cost=0.5, "
        "in the shell with mapgauge evaluate --set track_pld.switch_cost=0.5."
    )


class TracksSection(Section):
    """The tracks of scenes over time."""

    resource = "strip"

    def scenes(self, methods: Sequence[Results]) -> list[list[int]]:
        """Return the frames of each scene, from the highest T-PLD."""
        return list(worst_scenes(methods).values())

    def added(self, methods: Sequence[Results], drawn: Sequence[int], wanted: bool | None) -> Added:
        """Return the tracks of the scenes that have a drawn frame."""
        return strip_data(methods, drawn)


SECTION = TracksSection()
