"""Packs the rows of an accumulator into arrays of integers, and unpacks them.

The first array has a row per frame: its tally, its hashes, its counts and the bits of its sums. The second has a row
per prediction: the bits of its confidence, and its hits. The third has the token and the scene of each frame in UTF-8,
each followed by 0. With metrics of scenes, a fourth has the bytes of the frames. Arrays of several batches or processes
are concatenated.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.evaluation.batch_rows import TALLIES, BatchRows, ScoringSettings
from mapgauge.evaluation.scene_frames import SceneFrames
from mapgauge.frames.content_hash import HASH_BYTES
from mapgauge.metrics.table import hit_metrics, sum_metrics
from mapgauge.scoring.scores import Scores

_HASHES = 2 * HASH_BYTES // 8  # columns of the hashes of both sides, as 64-bit integers


def packed(rows: BatchRows) -> list[NDArray[Any]]:
    """Return the rows of some frames as arrays."""
    scores = rows.scores
    blocks = [np.moveaxis(block, 1, 0).reshape(len(rows.tokens), -1) for block in scores.sums.values()]
    bits = [np.ascontiguousarray(block).view(np.int64) for block in blocks]
    hashes = np.ascontiguousarray(rows.hashes).reshape(len(rows.tokens), -1).view(np.int64)
    names = "".join(f"{token}\0{scene}\0" for token, scene in zip(rows.tokens, rows.scenes, strict=True))
    return [
        np.concatenate([rows.tally, hashes, scores.predicted, scores.true, *bits], axis=1),
        np.stack([scores.confidence.view(np.int64), *(hits.astype(np.int64) for hits in scores.hits.values())], axis=1),
        np.array(bytearray(names.encode()), np.uint8),
        *(() if rows.kept is None else (rows.kept.packed(),)),
    ]


def unpacked(arrays: list[NDArray[Any]], settings: ScoringSettings) -> BatchRows:
    """Return the rows of arrays.

    Args:
        arrays: Those of ``packed``, or several of them concatenated.
        settings: The settings with which the rows were computed.
    """
    frames, records, names, *kept = arrays
    metrics, classes = settings.of_frames, settings.classes
    shapes = _shapes(settings)
    sizes = [TALLIES, _HASHES, len(classes), len(classes), *(math.prod(shape) for shape in shapes.values())]
    tally, hashes, predicted, true, *bits = np.split(frames, np.cumsum(sizes)[:-1], axis=1)
    sums = {}
    for (name, shape), block in zip(shapes.items(), bits, strict=True):
        numbers = np.ascontiguousarray(block).view(np.float64).reshape(len(frames), *shape)
        sums[name] = np.ascontiguousarray(np.moveaxis(numbers, 0, 1))
    rings = {
        metric.name: np.zeros((0, len(frames), len(classes), len(rows.columns)))
        for metric, rows in sum_metrics(metrics)
        if rows.rings
    }
    hits = [metric.name for metric, _ in hit_metrics(metrics)]
    scores = Scores(
        predicted,
        true,
        np.ascontiguousarray(records[:, 0]).view(np.float64),
        sums,
        rings,
        {name: records[:, k].astype(np.uint16) for k, name in enumerate(hits, 1)},
    )
    texts = names.tobytes().decode().split("\0")[:-1]
    bits_of_hashes = np.ascontiguousarray(hashes).view(np.uint8).reshape(len(frames), 2, HASH_BYTES)
    of_scenes = SceneFrames.unpacked(kept[0], classes) if kept else None
    return BatchRows(scores, tally, tuple(texts[::2]), tuple(texts[1::2]), bits_of_hashes, of_scenes)


def _shapes(settings: ScoringSettings) -> dict[str, tuple[int, int, int]]:
    """Return the shape of the sums of a frame, by metric: settings, classes, columns."""
    return {
        metric.name: (len(metric.settings(settings.protocol)), len(settings.classes), len(rows.columns))
        for metric, rows in sum_metrics(settings.of_frames)
    }


def widths_of(settings: ScoringSettings) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the arrays for no frames."""
    sums = sum(math.prod(shape) for shape in _shapes(settings).values())
    hits = sum(1 for _ in hit_metrics(settings.of_frames))
    kept = ((0,),) if settings.of_scenes else ()
    return (0, TALLIES + _HASHES + 2 * len(settings.classes) + sums), (0, 1 + hits), (0,), *kept
