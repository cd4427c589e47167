"""Which causes explain the difference in PLD between two methods, with intervals from the bootstrap."""

import numpy as np

from mapgauge.causes.anatomy import sums_by_cause
from mapgauge.errors import InvalidInput
from mapgauge.metrics.causes import CAUSES, PLD_BY_CAUSE, normalised_costs
from mapgauge.results.comparison import LEVEL, SAMPLES
from mapgauge.results.intervals import Difference, Draws, difference
from mapgauge.results.results import Results
from mapgauge.typing import Floats, Indices


def compare_causes(
    first: Results, second: Results, *, samples: int = SAMPLES, level: float = LEVEL, seed: int = 0
) -> dict[str, dict[str, Difference]]:
    """Split the difference in PLD between two methods by cause, with intervals.

    Args:
        first: Results of a method. They need the geometry, or the metric ``causes``.
        second: Results of another method on the same frames, with the same protocol.
        samples: Number of bootstrap samples.
        level: The probability with which an interval covers the true value.
        seed: Seed of the draws.

    Returns:
        By class (or ``"mean"``) and cause, the part of PLD of the second method minus that of the first. The causes of
        a class add up to its difference in PLD, which has the key ``"pld"``. Scenes are drawn if they are known,
        otherwise frames.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({f"t{i}": {"divider": [[[0, i], [9, i]]]} for i in range(8)})
    >>> settings = mg.protocol("paper-60x30", classes=["divider"])
    >>> good, poor = (mg.evaluate(truth.with_confidence(sure), truth, settings) for sure in (0.9, 0.5))
    >>> found = mg.compare_causes(good, poor)["mean"]
    >>> print(found["under_confident"]), found["missed"].value
    +0.400 [+0.400, +0.400]
    (None, 0.0)
    """
    if first.protocol != second.protocol or set(first.tokens) != set(second.tokens):
        raise InvalidInput(
            "the results come from different settings or frames and cannot be compared",
            remedy="Evaluate both with the same protocol and truth",
        )
    tokens = sorted(first.tokens)
    scenes = first.scenes or second.scenes
    owner = first if first.scenes is not None else second
    scene_of = dict(zip(owner.tokens, scenes or owner.tokens, strict=True))
    units = {unit: k for k, unit in enumerate(sorted(set(scene_of.values())))}
    unit_of_frame = np.array([units[scene_of[token]] for token in tokens], np.int64)
    draws = np.random.default_rng(seed).multinomial(len(units), np.full(len(units), 1 / len(units)), samples)
    weights = np.concatenate([np.ones((1, len(units))), draws.astype(np.float64)])  # the first sample is all units
    parts = [_drawn(method, tokens, unit_of_frame, weights) for method in (first, second)]
    kept = [
        (c, name)
        for c, name in enumerate(first.class_names)
        if PLD_BY_CAUSE.covers(name, first.protocol)
        and not (name in first.without_value and name in second.without_value)
    ]
    apart = parts[1] - parts[0]
    columns = {name: apart[:, c] for c, name in kept}
    columns["mean"] = np.mean(np.stack(list(columns.values())), axis=0) if columns else np.zeros_like(apart[:, 0])
    return {
        name: {
            cause: difference(float(values[0, k]), Draws(values[1:, k], len(units)), level)
            for k, cause in enumerate((*CAUSES, "pld"))
        }
        for name, values in columns.items()
    }


def _drawn(method: Results, tokens: list[str], unit_of_frame: Indices, weights: Floats) -> Floats:
    """Return the causes and PLD of each sample, ``(samples, classes, causes + 1)``."""
    place = {token: k for k, token in enumerate(method.tokens)}
    sums = sums_by_cause(method)[[place[token] for token in tokens]]
    of_unit = np.zeros((weights.shape[1], *sums.shape[1:]))
    np.add.at(of_unit, unit_of_frame, sums)
    parts = normalised_costs(np.einsum("su,uck->sck", weights, of_unit))
    return np.concatenate([parts, parts.sum(axis=2, keepdims=True)], axis=2)
