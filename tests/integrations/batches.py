"""Frames as a training loop has them: a dictionary per frame."""

from typing import Any

import mapgauge as mg
from mapgauge.demo import demo_world

FRAMES = 24
MAPTR = ("divider", "ped_crossing", "boundary")  # MapTR's order of classes


def world() -> tuple[mg.MapFrames, mg.MapFrames]:
    """Predictions and truth of a small made-up world."""
    return demo_world(FRAMES)


def batch_of(frames: mg.MapFrames, tokens: tuple[str, ...], numbers: tuple[str, ...] | None = None) -> list[Any]:
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
            item["scores"] = [one.confidence for one in instances]
        batch.append(item)
    return batch
