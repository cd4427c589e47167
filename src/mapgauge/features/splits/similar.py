"""Frames that are alike, for ``mapgauge frames --like`` and ``mapgauge view``."""

from mapgauge.features.splits.neighbours import neighbours
from mapgauge.frames.map_frames import MapFrames
from mapgauge.hooks import Nearest
from mapgauge.protocols import Protocol
from mapgauge.typing import Floats


def similar(truth: MapFrames, protocol: Protocol) -> Nearest:
    """Return a function that finds the frames whose truth is nearest to that of a frame."""

    def nearest(token: str, count: int) -> tuple[list[str], Floats]:
        near = neighbours(truth, tokens=[token], count=count, protocol=protocol)
        found = near.nearest[0][near.nearest[0] >= 0]
        return [near.among[k] for k in found], near.distance[0][: len(found)]

    return nearest
