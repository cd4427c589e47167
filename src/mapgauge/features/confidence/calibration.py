"""The reliability of confidences: bins, the expected calibration error, and the Brier score."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mapgauge.features.confidence.operating import plain
from mapgauge.results.curve_bands import mean_band
from mapgauge.results.estimation import estimate
from mapgauge.results.intervals import Estimate
from mapgauge.results.standard_errors import Draws
from mapgauge.typing import Floats, Indices

BINS = 10


@dataclass(frozen=True, eq=False, kw_only=True)
class Reliability:
    """Bins of confidence, the expected calibration error, and the Brier score with its parts."""

    number: Floats  # predictions of each bin
    confidence: Floats  # mean of each bin; NaN for an empty one
    target: Floats  # mean of each bin; NaN for an empty one
    error: Estimate  # expected calibration error: the mean over predictions of abs(confidence - target) of their bins
    calibrated: float  # the error that a calibrated method with such predictions would show on average; NaN if unknown
    excess: Estimate  # mean confidence less mean target; above 0, the predictions are over-confident
    brier: Estimate
    reliability: float
    resolution: float
    uncertainty: float
    remainder: float
    low: Floats  # the ends of the interval of the mean target of each bin; NaN with fewer than five scenes or frames
    high: Floats

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python values. Numbers of empty bins are None."""
        return {
            "ece": plain(self.error),
            "ece_if_calibrated": plain(self.calibrated),
            "excess": plain(self.excess),
            "brier": plain(self.brier),
            **{part: getattr(self, part) for part in ("reliability", "resolution", "uncertainty", "remainder")},
            "bins": [self._bin(k) for k in range(len(self.number))],
        }

    def _bin(self, k: int) -> dict[str, Any]:
        """Return a bin of confidence as plain Python values."""
        bins = len(self.number)
        row: dict[str, Any] = {"from": k / bins, "to": (k + 1) / bins, "predictions": int(self.number[k])}
        row |= {"confidence": None, "target": None}
        if row["predictions"]:
            row["confidence"] = float(self.confidence[k])
            row["target"] = float(self.target[k])
        return row


def bin_of(confidence: Floats, bins: int) -> Indices:
    """Return the bin of each confidence. Bins have equal width; the last one has 1 in it."""
    return np.minimum((confidence * bins).astype(np.int64), bins - 1)


def reliability_of(
    confidence: Floats, target: Floats, unit: Indices, weights: Floats, *, bins: int = BINS, level: float = 0.95
) -> Reliability:
    """Return the reliability of at least one prediction.

    The target of a hit is 1, that of a miss 0; anything between is possible. ``weights`` is ``(samples, units)``: how
    often each scene or frame was drawn.
    """
    place = bin_of(confidence, bins)
    count = len(confidence)
    number = np.bincount(place, minlength=bins).astype(np.float64)
    filled = np.maximum(number, 1)
    r = np.bincount(place, confidence, bins) / filled
    q = np.bincount(place, target, bins) / filled
    squared = (confidence - target) ** 2
    mean = float(target.mean())
    inside_r = confidence - r[place]
    inside_q = target - q[place]
    units = weights.shape[1]
    cell = unit * bins + place
    table = np.empty((units, bins, 2))
    table[..., 0] = np.bincount(cell, minlength=units * bins).reshape(units, bins)
    table[..., 1] = np.bincount(cell, confidence - target, units * bins).reshape(units, bins)
    drawn = np.einsum("su,ubc->sbc", weights, table)
    total = drawn[:, :, 0].sum(axis=1)
    every = weights
    drawn = drawn[total > 0]
    weights = weights[total > 0]
    total = total[total > 0]
    with_predictions = int(np.count_nonzero(np.bincount(unit)))
    parts = table[..., 1].sum(axis=0) / count
    samples = drawn[..., 1] / total[:, None]
    briers = np.einsum("su,u->s", weights, np.bincount(unit, squared, units)) / total
    error, calibrated = _calibration_error(parts, samples, with_predictions, level=level)
    excess = Draws(samples.sum(axis=1), with_predictions)
    low, high = mean_band(target, place, unit, weights=every, bins=bins, level=level)
    return Reliability(
        number=number,
        confidence=np.where(number > 0, r, np.nan),
        target=np.where(number > 0, q, np.nan),
        error=error,
        calibrated=calibrated,
        excess=estimate(float(parts.sum()), excess, level, limits=(-1.0, 1.0)),
        brier=estimate(float(squared.mean()), Draws(briers, with_predictions), level, limits=(0.0, 1.0)),
        reliability=float((number * (r - q) ** 2).sum() / count),
        resolution=float((number * (q - mean) ** 2).sum() / count),
        uncertainty=float(((target - mean) ** 2).mean()),
        remainder=float((inside_r**2 - 2 * inside_r * inside_q).mean()),
        low=low,
        high=high,
    )


def _calibration_error(parts: Floats, samples: Floats, units: int, level: float) -> tuple[Estimate, float]:
    """Return the calibration error with its interval, and the mean error of a calibrated method of this size.

    An error is a sum of absolute values, so noise makes it larger. The interval is the larger of two: one around the
    error as it is, and the errors ``scale * parts`` whose sum with noise is the observed error by chance. ``parts`` are
    by bin: the sum of confidences less targets, over the number of all predictions. ``samples`` have the same for each
    bootstrap sample.
    """
    error = float(np.abs(parts).sum())
    around = estimate(error, Draws(np.abs(samples).sum(axis=1), units), level, limits=(0.0, 1.0))
    if np.isnan(around.low):
        return around, float("nan")
    noise = (samples - parts) * np.sqrt(units / (units - 1))
    alone = np.abs(noise).sum(axis=1)

    def scaled(share: float) -> float:
        """Return the largest error with which a share of noise gives at most the observed error."""
        low = 0.0
        high = 0.0
        if error:
            high = 1.0 + float(alone.max()) / error
        for _ in range(40):
            middle = (low + high) / 2
            if np.quantile(np.abs(middle * parts + noise).sum(axis=1), share) <= error:
                low = middle
            else:
                high = middle
        return low * error

    # An error is not below 0, so calibrated methods are missed on one side only: the lower share is in between.
    low = min(around.low, scaled((3 * level + 1) / 4))
    high = max(around.high, scaled((1 - level) / 2))
    return Estimate(error, low, min(high, 1.0)), float(alone.mean())
