"""``Joint``: the error of a method over the distances of validation frames to training frames.

The names ``O_loc`` and ``O_geom`` are those of Hubbertz et al. (2026). The paper leaves the matching and the slope
open. The definitions here are ours.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mapgauge.metrics.metric import ValueKey
from mapgauge.metrics.table import value_named
from mapgauge.results.bootstrap import draw_units
from mapgauge.results.drawn_values import drawn_values
from mapgauge.results.estimation import estimate
from mapgauge.results.intervals import FEWEST, Estimate
from mapgauge.results.results import Results
from mapgauge.results.slices import Slices
from mapgauge.results.standard_errors import Draws
from mapgauge.typing import Floats, Indices

CLOSE = 5.0  # metres, as in the field
BINS = 5  # of the distance in shape


@dataclass(frozen=True, eq=False)
class Joint:
    """The error of a method over the distances of its frames to training frames."""

    key: str  # the value, such as ``pld``
    place: Slices | None  # close and far frames; None without poses
    shape: Slices  # frames in bins of the distance in shape; far frames only, if places are known
    location: Estimate | None  # O_loc: how much worse far frames are than close frames with the same distances in shape
    geometry: Estimate  # O_geom: how much worse the last bin of the distance in shape is than the first, by a line
    matched: tuple[tuple[str, ...], tuple[str, ...]]  # tokens of the close and far frames of O_loc


def joint_of(
    results: Results, key: str, place: Floats | None, shape: Floats, *, samples: int, level: float, seed: int
) -> Joint:
    """Return the error over the distances of the frames of results. ``SplitOverlap.joint`` has the other arguments."""
    draws = _Sampler(results, key, samples, seed=seed, level=level)

    def sliced(masks: dict[str, Any]) -> Slices:
        tokens = {name: [results.tokens[frame] for frame in np.flatnonzero(mask)] for name, mask in masks.items()}
        return results.by(tokens, samples=samples, level=level, seed=seed)

    if place is None:
        near = np.zeros(len(shape), np.bool_)
    else:
        near = place < CLOSE
    far = ~near
    by_place = None
    if place is not None:
        by_place = sliced({f"closer than {CLOSE:g} m": near, f"at least {CLOSE:g} m": far})
    matched = _matched(results.tokens, shape, near, far=far, seed=seed)
    location = None
    if len(matched[0]):
        close, away = (draws.of(frames) for frames in matched)
        location = draws.estimate(_ratio(away - close, close), np.concatenate(matched))
    if far.any():
        chosen = far
    else:
        chosen = near
    edges = np.linspace(shape[chosen].min(), shape[chosen].max(), BINS + 1)
    which = np.clip(np.digitize(shape, edges[1:-1]), 0, BINS - 1)
    bins = [chosen & (which == k) for k in range(BINS)]
    filled = [k for k in range(BINS) if bins[k].any()]
    middle = (edges[:-1] + edges[1:]) / 2
    values = np.stack([draws.of(np.flatnonzero(bins[k])) for k in filled])
    rise = _rise(middle[filled], values, np.array([bins[k].sum() for k in filled]))
    centre = middle[which[chosen]]
    geometry = draws.estimate(rise, np.flatnonzero(chosen), centre - centre.mean())
    # Names have as many digits as tell the edges apart.
    digits = 2
    if edges[0] < edges[1]:
        digits = max(2, math.ceil(-math.log10(edges[1] - edges[0])))
    names = [f"{low:.{digits}f} to {high:.{digits}f}" for low, high in pairwise(edges)]
    by_shape = sliced(dict(zip(names, bins, strict=True)))
    tokens = [tuple(results.tokens[frame] for frame in side) for side in matched]
    return Joint(key, by_place, by_shape, location=location, geometry=geometry, matched=(tokens[0], tokens[1]))


def _matched(tokens: Sequence[str], shape: Floats, near: Any, far: Any, seed: int) -> tuple[Indices, Indices]:
    """Return as many close as far frames in each of ten bins of the distance in shape."""
    rng = np.random.default_rng(seed)
    order = np.argsort(np.array(tokens))  # the choice does not depend on the order of the frames
    edges = np.linspace(shape.min(), shape.max(), 2 * BINS + 1)
    which = np.clip(np.digitize(shape, edges[1:-1]), 0, 2 * BINS - 1)[order]
    kept: tuple[list[int], list[int]] = ([], [])
    for k in range(2 * BINS):
        sides = [order[(which == k) & mask[order]] for mask in (near, far)]
        count = min(map(len, sides))
        for side, frames in zip(kept, sides, strict=True):
            side += rng.permutation(frames)[:count].tolist()
    close, away = (np.array(sorted(side), np.int64) for side in kept)
    return close, away


def _rise(middle: Floats, values: Floats, count: Indices) -> Floats:
    """Return the relative change from the first to the last bin of straight lines through ``(bins, samples)`` values.

    Bins weigh by their numbers of frames. A sample without frames in a bin leaves it out. One bin has no line: NaN.
    """
    weight = np.where(np.isfinite(values), count[:, None], 0).astype(np.float64)
    value = np.where(np.isfinite(values), values, 0.0)
    total = weight.sum(axis=0)
    x = middle[:, None]
    mean_x, mean_y = (_ratio((weight * of).sum(axis=0), total) for of in (x, value))
    spread = (weight * np.square(x - mean_x)).sum(axis=0)
    covariance = (weight * (x - mean_x) * (value - mean_y)).sum(axis=0)
    slope = _ratio(covariance, spread)
    return _ratio(slope * (middle[-1] - middle[0]), mean_y + slope * (middle[0] - mean_x))


def _ratio(value: Floats, base: Floats) -> Floats:
    """Return values divided by others above 0; NaN where these are 0 or less."""
    return np.divide(value, base, out=np.full_like(base, np.nan), where=base > 0)


class _Sampler:
    """The values of subsets of frames in the same bootstrap samples of scenes."""

    def __init__(self, results: Results, key: str, samples: int, seed: int, level: float) -> None:
        """Draw scenes, or frames if the scenes are not known."""
        self._results = results
        self._key = key
        self._level = level
        if results.scenes is None:
            keys = results.tokens
        else:
            keys = results.scenes
        self._unit, self._weights = draw_units(keys, samples, np.random.default_rng(seed))

    def of(self, frames: Indices) -> Floats:
        """Return the value of some frames, and their values in all samples."""
        part = self._results.of_frames(frames.tolist())
        value = part.mean[self._key]
        drawn = drawn_values(part, self._unit[frames], self._weights)["mean"][self._key]
        return np.append(np.nan if value is None else value, drawn)

    def estimate(self, changes: Floats, frames: Indices, weight: Floats | float = 1.0) -> Estimate:
        """Return a relative change, the first of the values, so that above 0 is worse; the others give the interval.

        ``weight`` is how much each frame moves the change. The interval rests on as many scenes of equal weight as give
        the same sum of squared weights (Kish), because the spread of few scenes with much weight is uncertain.
        """
        named = value_named(ValueKey.parse(self._key).name)
        own = None
        if named is not None:
            own = named[1].lower_is_better
        lower = named is None or (named[0].lower_is_better if own is None else own)
        if lower:
            worse = changes
        else:
            worse = -changes
        squares = np.square(np.bincount(self._unit[frames], np.broadcast_to(weight, frames.shape)))
        units = squares.sum() ** 2 / max(np.square(squares).sum(), 1e-300)
        if np.count_nonzero(squares) >= FEWEST:
            samples = worse[1:]
        else:
            samples = worse[:0]
        return estimate(float(worse[0]), Draws(samples, int(units)), self._level)
