"""Scenes of made-up predictions, with the precision at some recalls and the share of hits over the confidence."""

import numpy as np
from tests.arrays import Flags, Floats, Indices

from mapgauge.metrics.average_precision import curve, envelope
from mapgauge.results.bootstrap import Drawn, draw_units
from mapgauge.results.curve_bands import mean_band, precision_band

RECALLS = np.array([0.1, 0.3, 0.5, 0.6])
BINS = 5


def scenes(count: int, rng: np.random.Generator) -> tuple[Floats, Flags, Indices, Floats]:
    """Confidences, hits and scenes of predictions, and the number of true instances of each scene."""
    hard = rng.normal(0, 0.6, count)
    truth = rng.poisson(20, count) + 1
    found = rng.binomial(truth, 0.8)
    false = rng.poisson(12, count)
    unit = np.repeat(np.arange(count), found + false)
    hits = np.concatenate([np.arange(a + b) < a for a, b in zip(found.tolist(), false.tolist(), strict=True)])
    odds = np.where(hits, 1.0, -0.5) + np.where(hits, -hard[unit], hard[unit]) + rng.normal(0, 1.2, len(unit))
    return 1 / (1 + np.exp(-odds)), hits, unit, truth.astype(np.float64)


def drawn_of(count: int, samples: int, rng: np.random.Generator) -> Drawn:
    unit, weights = draw_units([f"{k:05d}" for k in range(count)], samples, rng)
    return Drawn("scene", unit, weights)


def precision_at(confidence: Floats, hits: Flags, truth: Floats) -> Floats:
    """Return the highest precision at some recalls or any higher ones."""
    levels = np.sort(confidence[hits])[::-1]
    number = len(confidence) - np.searchsorted(np.sort(confidence), levels)
    recall, precision = curve(levels, number, int(truth.sum()))
    highest: Floats = envelope(precision)[np.searchsorted(recall, RECALLS)]
    return highest


def share_of_hits(confidence: Floats, hits: Flags) -> Floats:
    place = (confidence * BINS).astype(np.int64)
    shares: Floats = np.bincount(place, hits, BINS) / np.bincount(place, minlength=BINS)
    return shares


def covered(worlds: int, count: int, rng: np.random.Generator, samples: int = 150) -> tuple[Floats, Floats]:
    """Return how often bands cover the true precision at each recall, and the true share of hits in each bin."""
    many = scenes(20_000, rng)
    true_precision = precision_at(many[0], many[1], many[3])
    true_share = share_of_hits(many[0], many[1])
    of_precision = []
    of_share = []
    for _ in range(worlds):
        confidence, hits, unit, truth = scenes(count, rng)
        drawn = drawn_of(count, samples, rng)
        precision = precision_at(confidence, hits, truth)
        band = precision_band(confidence, hits, unit, truth, drawn, at=RECALLS, precision=precision)
        of_precision.append((band.low <= true_precision) & (true_precision <= band.high))
        place = (confidence * BINS).astype(np.int64)
        band = mean_band(hits.astype(np.float64), place, unit, drawn.weights, bins=BINS)
        of_share.append((band.low <= true_share) & (true_share <= band.high))
    return np.mean(of_precision, axis=0), np.mean(of_share, axis=0)
