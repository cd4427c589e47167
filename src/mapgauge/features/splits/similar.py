"""Frames that are alike, for ``mapgauge frames --like`` and ``mapgauge view``."""

import numpy as np

from mapgauge.features.splits.neighbours import FrameIndex, prepared_truth
from mapgauge.frames.map_frames import MapFrames
from mapgauge.hooks import Nearest
from mapgauge.protocols import Protocol
from mapgauge.typing import Floats


def similar(truth: MapFrames, protocol: Protocol) -> Nearest:
    """Return a function that finds the frames whose truth is nearest to that of a frame.

    The truth is prepared once. Answers are those of ``neighbours(truth, tokens=[token], count=count)``.
    """
    frames = prepared_truth(truth, protocol)
    index = FrameIndex.of(frames, frames, protocol)

    def nearest(token: str, count: int) -> tuple[list[str], Floats]:
        (known,) = frames.of_tokens([token]).tokens  # an unknown token is refused
        frame = frames.index[known]
        skipped = np.zeros(len(frames), np.bool_)
        skipped[frame] = True  # a frame is not its own neighbour
        found, distance, _ = index.nearest(frame, count, skipped)
        return [frames.tokens[k] for k in found.tolist()], distance

    return nearest
