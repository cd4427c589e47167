"""Frames as a training loop has them: a dictionary per frame."""

from typing import Any

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.results.flat import flat

FRAMES = 24
MAPTR = ("divider", "ped_crossing", "boundary")  # MapTR's order of classes


def world() -> tuple[mg.MapFrames, mg.MapFrames]:
    """Predictions and truth of a small made-up world."""
    return demo_world(FRAMES)


def tracked_world() -> tuple[mg.MapFrames, mg.MapFrames]:
    """The same world with ids on both sides."""
    predictions, truth = world()
    return mg.track(predictions, poses=truth, confidence=None), truth


def batch_of(
    frames: mg.MapFrames, tokens: tuple[str, ...], numbers: tuple[str, ...] | None = None, *, tracks: bool = False
) -> list[Any]:
    """Some frames as dictionaries; labels are names, or numbers by an order of classes."""
    batch = []
    for token in tokens:
        instances = frames[token] if token in frames.index else []
        names = [one.class_name for one in instances]
        item: dict[str, Any] = {
            "polylines": [one.points for one in instances],
            "labels": names if numbers is None else [numbers.index(name) for name in names],
        }
        if frames.confidence is not None:
            item["confidence"] = [one.confidence for one in instances]
        if tracks:
            item["tracks"] = [one.track or "" for one in instances]
        batch.append(item)
    return batch


def of_frames(truth: mg.MapFrames, tokens: tuple[str, ...]) -> dict[str, Any]:
    """The arguments of ``update`` that say where frames belong."""
    at = [truth.index[token] for token in tokens]
    assert truth.scenes is not None
    assert truth.timestamps is not None
    assert truth.poses is not None
    scenes = [truth.scenes[i] for i in at]
    return {"scenes": scenes, "timestamps": truth.timestamps[at].tolist(), "poses": truth.poses[at]}


def values_over_time() -> dict[str, float]:
    """Return the values of all metrics over time, as ``evaluate`` computes them."""
    protocols: dict[str, Any] = {"track_pld": mg.protocol("paper-60x30", settings={"track_pld": {"switch_cost": 0.5}})}
    protocols |= {"mas": "mas-60x30", "c_map": "maptracker-c-60x30"}
    tracked = tracked_world()
    found = [mg.evaluate(*tracked, settings, metrics=[name]) for name, settings in protocols.items()]
    return {key: value for one in found for key, value in flat(one).items()}
