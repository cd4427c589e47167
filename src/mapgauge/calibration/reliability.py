"""Reliability: how the confidences of predictions compare with what they hit, by bins of confidence.

The Brier score is the mean of ``(confidence - target)^2``. It is a proper score: no other confidence than the true
probability of a hit has a smaller expectation. Bins of confidence split it into

    Brier = reliability - resolution + uncertainty + remainder

where *reliability* compares mean confidence and mean target of each bin, *resolution* is the variance of the mean
targets, *uncertainty* is the variance of all targets, and the *remainder* comes from different confidences inside a
bin. It is 0 if the confidences of each bin are equal.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mapgauge.results.intervals import Draws, Estimate, estimate
from mapgauge.typing import Floats, Indices

BINS = 10


@dataclass(frozen=True, eq=False)
class Reliability:
    """Bins of confidence, the expected calibration error, and the Brier score with its parts."""

    number: Floats  # predictions of each bin
    confidence: Floats  # mean of each bin; NaN for an empty one
    target: Floats  # mean of each bin; NaN for an empty one
    error: Estimate  # expected calibration error: the mean over predictions of abs(confidence - target) of their bins
    brier: Estimate
    reliability: float
    resolution: float
    uncertainty: float
    remainder: float

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python values. Numbers of empty bins are None."""
        bins = len(self.number)
        return {
            "ece": _plain(self.error),
            "brier": _plain(self.brier),
            "reliability": self.reliability,
            "resolution": self.resolution,
            "uncertainty": self.uncertainty,
            "remainder": self.remainder,
            "bins": [
                {"from": k / bins, "to": (k + 1) / bins, "predictions": int(n)}
                | {"confidence": float(r) if n else None, "target": float(q) if n else None}
                for k, (n, r, q) in enumerate(zip(self.number, self.confidence, self.target, strict=True))
            ],
        }


def _plain(found: Estimate) -> dict[str, float | None]:
    return {key: float(value) if np.isfinite(value) else None for key, value in found._asdict().items()}


def bin_of(confidence: Floats, bins: int) -> Indices:
    """Return the bin of each confidence. Bins have equal width; the last one has 1 in it."""
    return np.minimum((confidence * bins).astype(np.int64), bins - 1)


def reliability_of(
    confidence: Floats, target: Floats, unit: Indices, weights: Floats, *, bins: int = BINS, level: float = 0.95
) -> Reliability:
    """Return the reliability of at least one prediction.

    Args:
        confidence: One number in [0, 1] per prediction.
        target: What each should have been: 1 for a hit, 0 for none, or anything between.
        unit: The scene or frame of each prediction.
        weights: ``(samples, units)``: how often each unit was drawn.
        bins: Number of bins of equal width.
        level: The probability with which an interval covers the true value.
    """
    place, count = bin_of(confidence, bins), len(confidence)
    number = np.bincount(place, minlength=bins).astype(np.float64)
    filled = np.maximum(number, 1)
    r, q = np.bincount(place, confidence, bins) / filled, np.bincount(place, target, bins) / filled
    squared = (confidence - target) ** 2
    mean = float(target.mean())
    inside_r, inside_q = confidence - r[place], target - q[place]
    units = weights.shape[1]
    cell = unit * bins + place
    table = np.empty((units, bins, 2))
    table[..., 0] = np.bincount(cell, minlength=units * bins).reshape(units, bins)
    table[..., 1] = np.bincount(cell, confidence - target, units * bins).reshape(units, bins)
    drawn = np.einsum("su,ubc->sbc", weights, table)
    total = drawn[:, :, 0].sum(axis=1)
    errors = _ratio(np.abs(drawn[:, :, 1]).sum(axis=1), total)
    briers = _ratio(np.einsum("su,u->s", weights, np.bincount(unit, squared, units)), total)
    there = int(np.count_nonzero(np.bincount(unit)))
    return Reliability(
        number,
        np.where(number > 0, r, np.nan),
        np.where(number > 0, q, np.nan),
        estimate(float((number * np.abs(r - q)).sum() / count), Draws(errors, there), level, (0.0, 1.0)),
        estimate(float(squared.mean()), Draws(briers, there), level, (0.0, 1.0)),
        float((number * (r - q) ** 2).sum() / count),
        float((number * (q - mean) ** 2).sum() / count),
        float(((target - mean) ** 2).mean()),
        float((inside_r**2 - 2 * inside_r * inside_q).mean()),
    )


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Return the quotients; NaN where a sample has no predictions."""
    quotients: Floats = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
    return quotients
