"""Which causes explain the difference in PLD between two methods, with intervals from the bootstrap."""

import numpy as np

from mapgauge.causes.anatomy import sums_by_cause
from mapgauge.metrics.causes import CAUSES, PLD_BY_CAUSE, normalised_costs
from mapgauge.results.bootstrap import draw, mean_over_classes
from mapgauge.results.comparison import LEVEL, SAMPLES, draws_of, sorted_by_token, units_by_class
from mapgauge.results.intervals import Difference, difference
from mapgauge.results.results import Results
from mapgauge.results.settings import check_comparable
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
    check_comparable([first, second], ("the first results", "the second"), metrics=False)
    methods = [sorted_by_token(method) for method in (first, second)]
    drawn = draw(methods, samples, seed)
    unit_of_frame = drawn.unit_of_frame
    weights = np.concatenate([np.ones((1, drawn.units)), drawn.weights])  # the first sample is all units
    parts = [_drawn(method, unit_of_frame, weights) for method in methods]
    apart = {name: parts[1][name] - values for name, values in parts[0].items() if name in parts[1]}
    count = units_by_class(unit_of_frame, methods)
    by_key = {
        name: {cause: values[1:, k] for k, cause in enumerate((*CAUSES, "pld"))} for name, values in apart.items()
    }
    return {
        name: {
            cause: difference(float(apart[name][0, k]), draws_of(by_key, name, cause, count), level)
            for k, cause in enumerate(by_cause)
        }
        for name, by_cause in by_key.items()
    }


def _drawn(method: Results, unit_of_frame: Indices, weights: Floats) -> dict[str, Floats]:
    """Return the causes and PLD of each sample, ``(samples, causes + 1)``, by class (or ``"mean"``).

    They are NaN where a sample has no instances of the class.
    """
    sums = sums_by_cause(method)
    of_unit = np.zeros((weights.shape[1], *sums.shape[1:]))
    np.add.at(of_unit, unit_of_frame, sums)
    drawn = np.einsum("su,uck->sck", weights, of_unit)
    parts = np.where(drawn[..., -1:] > 0, normalised_costs(drawn), np.nan)
    parts = np.concatenate([parts, parts.sum(axis=2, keepdims=True)], axis=2)
    found = {
        name: parts[:, c]
        for c, name in enumerate(method.class_names)
        if PLD_BY_CAUSE.covers(name, method.protocol) and name not in method.without_value
    }
    nothing = np.full(parts.shape[::2], np.nan)
    return found | {"mean": mean_over_classes(list(found.values()) or [nothing])}
