"""Scores frames in memory, block by block, in threads."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.table import METRICS
from mapgauge.protocols import Protocol
from mapgauge.scoring.score import BLOCK, score
from mapgauge.scoring.scores import Scores
from mapgauge.scoring.threads import Progress, in_threads


def score_frames(
    predictions: MapFrames,
    truth: MapFrames,
    protocol: Protocol,
    metrics: tuple[str, ...],
    rings: tuple[float, ...],
    *,
    workers: int | None = 1,
    progress: Progress | None = None,
    beside: Sequence[Callable[[], None]] = (),
    known: Scores | None = None,
) -> Scores:
    """Score all frames of aligned sides.

    Kernels release the GIL, and threads share the data without copies. The result does not depend on the number of
    threads.

    Args:
        predictions: Aligned with the truth.
        truth: The frames.
        protocol: All settings.
        metrics: By name.
        rings: Bounds of rings around the ego vehicle, rising.
        workers: Number of threads. If None, the number of processors.
        progress: A function that is called with the number of finished frames and the number of all frames.
        beside: Functions that run at the same time; see ``in_threads``.
        known: Scores of the same frames by other metrics. Their matches are used again, if they have them.
    """
    order = _whole_scenes(truth, metrics)
    if order is not None:
        x, y = predictions.at(order.tolist()), truth.at(order.tolist())
        before = None if known is None else known.at(order)
        how: dict[str, Any] = {"workers": workers, "progress": progress, "beside": beside, "known": before}
        sorted_scores = score_frames(x, y, protocol, metrics, rings, **how)
        return sorted_scores.at(np.argsort(order))
    blocks = _blocks(truth, metrics) or [slice(0, 0)]

    def work(block: slice) -> Scores:
        x, y = predictions.between(block), truth.between(block)
        return score(x, y, protocol, metrics, rings, None if known is None else known.known(block))

    def advance(done: int, _: int) -> None:
        if progress is not None:
            progress(blocks[done - 1].stop, len(truth))

    return Scores.concatenate(in_threads(work, blocks, workers, advance, beside))


def _per_scene(metrics: tuple[str, ...]) -> bool:
    return any(METRICS[name].level == "scene" for name in metrics)


def _whole_scenes(truth: MapFrames, metrics: tuple[str, ...]) -> NDArray[np.int64] | None:
    """Return an order in which the frames of each scene are consecutive; None if no reordering is needed."""
    if not _per_scene(metrics) or truth.scenes is None:
        return None
    first: dict[str, int] = {}
    rank = np.array([first.setdefault(scene, len(first)) for scene in truth.scenes], np.int64)
    return None if (np.diff(rank) >= 0).all() else np.argsort(rank, kind="stable")


def _blocks(truth: MapFrames, metrics: tuple[str, ...]) -> list[slice]:
    """Return the blocks of frames. With metrics per scene, a block ends where a scene ends."""
    if not _per_scene(metrics) or truth.scenes is None:
        return [slice(start, min(start + BLOCK, len(truth))) for start in range(0, len(truth), BLOCK)]
    ends = [i for i in range(1, len(truth)) if truth.scenes[i] != truth.scenes[i - 1]] + [len(truth)]
    blocks, start = [], 0
    for k, end in enumerate(ends):
        if end - start >= BLOCK or k == len(ends) - 1:
            blocks.append(slice(start, end))
            start = end
    return blocks
