"""Counts the frames whose numbers depend on the order of the lines in the file, for protocols with ``ties="file"``.

The frames are scored again with the instances of each frame in the opposite order. Every tie is then decided the other
way.
"""

import numpy as np

from mapgauge.evaluation.in_memory import score_frames
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.protocols import Protocol
from mapgauge.scoring.scores import Scores
from mapgauge.typing import Flags

_ROUNDING = 1e-9  # sums of another order may differ by this share


def ties_by_file(
    predictions: MapFrames,
    truth: MapFrames,
    protocol: Protocol,
    metrics: tuple[str, ...],
    scores: Scores,
    workers: int | None,
) -> tuple[Finding, ...]:
    """Return a finding if ties were decided by the order of the file.

    Args:
        predictions: Aligned with the truth.
        truth: The frames.
        protocol: All settings.
        metrics: By name.
        scores: Of these frames by these metrics.
        workers: Number of threads. If None, the number of processors.
    """
    if protocol.ties == "content" or not metrics:
        return ()
    turned = score_frames(_turned(predictions), _turned(truth), protocol, metrics, (), workers=workers)
    frames = np.flatnonzero(_differ(scores, turned)).tolist()
    if not frames:
        return ()
    text = (
        f"the numbers of {len(frames)} of {len(truth)} frames depend on the order of the lines in the files, as in the "
        f"public code that {protocol.name} follows: it decides between equal distances, confidences and scores of links"
    )
    return (Finding("note", "ties-by-file", text, len(frames), tuple(truth.tokens[f] for f in frames)),)


def _turned(frames: MapFrames) -> MapFrames:
    """Return the frames with the instances of each in the opposite order."""
    return frames.keep(np.lexsort((-np.arange(len(frames.frame)), frames.frame)))


def _differ(one: Scores, other: Scores) -> Flags:
    """Return the frames in which sums differ, or hits of predictions with the same confidence."""
    found = np.zeros(one.frames, np.bool_)
    for name, sums in one.sums.items():
        same = np.isclose(sums, other.sums[name], rtol=_ROUNDING, atol=0.0, equal_nan=True)
        found |= ~same.all(axis=(0, 2, 3))
    for name in one.hits:
        bits = []
        for scores in (one, other):
            group = scores.frame * scores.predicted.shape[1] + scores.label
            bits.append(scores.hits[name][np.lexsort((scores.hits[name], scores.confidence, group))])
        found[one.frame[bits[0] != bits[1]]] = True
    return found
