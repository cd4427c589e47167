"""The values of every frame, as the page's list shows them.

The page gets the sums that values are made of: five parts and the mass of each frame and class. So it can pool
classes as it likes, by the same rule as ``Results``.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.results.results import Results
from mapgauge.scoring.score import thresholds_of


def hit_keys(results: Results) -> list[str]:
    """Names of the numbers of hits, as ``Results.frames`` has them."""
    return [
        f"hits:{name}@{threshold}"
        for name in results.scores.hits
        for threshold in thresholds_of(results.protocol, name)
    ]


def scalars(results: Results) -> dict[str, NDArray[Any]]:
    """Columns ``(frames, classes)`` of one method: counts, sums of PLD at the first cutoff, and hits."""
    scores = results.scores
    frames, classes = scores.predicted.shape
    frame, label = results.places_of_records
    hits = [
        np.bincount(frame * classes + label, weights=(bits >> t) & 1, minlength=frames * classes)
        for name, bits in scores.hits.items()
        for t in range(len(thresholds_of(results.protocol, name)))
    ]
    columns: dict[str, NDArray[Any]] = {
        "predicted": scores.predicted.astype(np.int32),
        "true": scores.true.astype(np.int32),
        "hits": np.array(hits, np.int32),  # (keys, frames * classes)
    }
    if "pld" in results.metrics:
        columns["parts"] = scores.parts[0].astype(np.float32)
    return columns


def frame_pld(results: Results) -> NDArray[np.float64] | None:
    """Normalised PLD of each frame, its classes pooled; None if PLD was not computed."""
    if "pld" not in results.metrics:
        return None
    sums = results.scores.parts[0].sum(axis=1)
    value, mass = (part ** (1 / results.protocol.order) for part in (sums[:, :5].sum(axis=1), sums[:, 5]))
    values: NDArray[np.float64] = np.divide(2 * value, mass + value, out=np.zeros_like(mass), where=mass > 0)
    return values
