"""Several results side by side, with confidence intervals from the bootstrap.

Frames pool by sums, so a bootstrap sample is a weighted sum of the same rows. Frames of one scene look alike; whole
scenes are drawn where scenes are known, because drawing single frames would make the intervals too narrow. All results
are drawn alike, so that a difference between two methods does not carry the luck of the draw twice.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.display.tables import text_table
from mapgauge.errors import InvalidInput
from mapgauge.results.results import Results
from mapgauge.scoring.score import thresholds_of

SAMPLES = 1000
LEVEL = 0.95
Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """A value and its confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """As ``0.790 [0.771, 0.812]``."""
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


class Difference(NamedTuple):
    """How much a value of one method differs from that of the first, on the same draws."""

    value: float
    low: float
    high: float

    @property
    def told_apart(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        """As ``+0.012 [+0.004, +0.021]``."""
        plain = f"{self.value:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"
        return plain if self.told_apart else plain + " (cannot be told apart)"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Values of several methods with intervals, and the differences between each two of them."""

    names: tuple[str, ...]
    estimates: tuple[dict[str, dict[str, Estimate]], ...]  # of each method: by class (and "mean"), by key
    differences: dict[tuple[str, str], dict[str, dict[str, Difference]]]  # second minus first
    drawn: str  # "scene" or "frame"
    units: int  # how many of those there are
    samples: int
    level: float
    notes: tuple[str, ...] = ()

    def table(self, keys: Sequence[str] | None = None, class_name: str = "mean") -> str:
        """The values of each method side by side, and what can be said about the differences.

        Args:
            keys: Which values; the main one of each metric if None.
            class_name: Of which class; the mean over classes if not given.
        """
        shown = [key for key in self.estimates[0]["mean"] if "@" not in key] if keys is None else list(keys)
        for found in self.estimates:
            if class_name not in found:
                raise InvalidInput(f"no values of {class_name!r} for every method. There are: {', '.join(found)}")
            unknown = [key for key in shown if key not in found[class_name]]
            if unknown:
                raise InvalidInput(f"no value {', '.join(unknown)}. There are: {', '.join(found[class_name])}")
        rows = [
            [name, *(str(found[class_name][key]) for key in shown)]
            for name, found in zip(self.names, self.estimates, strict=True)
        ]
        draws = f"{class_name}, {self.level:.0%} of {self.samples} draws of {self.units} {self.drawn}s"
        text = [text_table([draws, *shown], rows)]
        for (first, second), apart in self.differences.items():
            text.append(f"{second} minus {first}: " + "; ".join(f"{key} {apart[class_name][key]}" for key in shown))
        return "\n".join([*text, *self.notes])


def compare(
    results: Sequence[Results],
    *,
    names: Sequence[str] | None = None,
    samples: int = SAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> Comparison:
    """Put results side by side, with a confidence interval for each value and for each difference.

    Args:
        results: What ``evaluate`` gave, for one or several methods on the same frames and by the same protocol.
        names: What to call the methods; the names of their files if None.
        samples: Number of bootstrap samples.
        level: Share of the samples that an interval covers.
        seed: Of the draws; the same seed gives the same intervals.

    Returns:
        Estimates and differences. Scenes are drawn if one of the results knows them, else frames.

    >>> import mapgauge as mg
    >>> lines = {f"t{i}": {"divider": [[[0, i], [9, i]]]} for i in range(8)}
    >>> truth = mg.MapFrames.of(lines)
    >>> settings = mg.protocol("paper-60x30", classes=["divider"])
    >>> good = mg.evaluate(truth.with_confidence(0.9), truth, settings)
    >>> poor = mg.evaluate(truth.with_confidence(0.5), truth, settings)
    >>> print(compare([good, poor], names=["good", "poor"]).differences["good", "poor"]["mean"]["pld"])
    +0.400 [+0.400, +0.400]
    """
    if isinstance(results, Results):
        raise InvalidInput("results must be a sequence of results. Put it in a list")
    methods = _same_frames(list(results))
    called = names_of(methods, names)
    if not isinstance(samples, int) or samples < 1 or not isinstance(level, float | int) or not 0 < level < 1:
        raise InvalidInput(f"samples must be at least 1 and level between 0 and 1, got {samples!r} and {level!r}")
    if not isinstance(seed, int) or seed < 0:
        raise InvalidInput(f"seed must be a whole number of at least 0, got {seed!r}")
    scenes = next((method.scenes for method in methods if method.scenes is not None), None)
    keys = methods[0].tokens if scenes is None else scenes
    units = {unit: i for i, unit in enumerate(sorted(set(keys)))}
    unit_of_frame = np.array([units[key] for key in keys], np.int64)
    draws = np.random.default_rng(seed).multinomial(len(units), np.full(len(units), 1 / len(units)), samples)
    columns = [_drawn(method, unit_of_frame, draws.astype(np.float64)) for method in methods]
    values: list[dict[str, dict[str, Any]]] = [method.classes | {"mean": method.mean} for method in methods]
    estimates = tuple(
        {
            name: {key: Estimate(value[name][key], *_interval(column, level)) for key, column in by_key.items()}
            for name, by_key in found.items()
        }
        for found, value in zip(columns, values, strict=True)
    )
    differences = {
        (called[i], called[j]): {
            name: {
                key: Difference(
                    values[j][name][key] - values[i][name][key], *_interval(column - columns[i][name][key], level)
                )
                for key, column in by_key.items()
                if key in columns[i][name]
            }
            for name, by_key in columns[j].items()
            if name in columns[i]
        }
        for i, j in combinations(range(len(methods)), 2)
    }
    truths = len({method.inputs[1].hash for method in methods})
    notes = () if truths == 1 else (f"note: the methods were compared with {truths} different truths",)
    drawn = "frame" if scenes is None else "scene"
    return Comparison(called, estimates, differences, drawn, len(units), samples, level, notes)


def _same_frames(methods: list[Results]) -> list[Results]:
    """The results with their frames in one order."""
    if not methods:
        raise InvalidInput("no results to compare")
    first = methods[0]
    place = {token: i for i, token in enumerate(first.tokens)}
    aligned = [first]
    for k, method in enumerate(methods[1:], 1):
        if method.protocol != first.protocol or method.metrics != first.metrics:
            raise InvalidInput(
                f"results 0 and {k} come from different settings ({first.protocol.name}, {method.protocol.name}, or "
                "other metrics): their numbers do not compare. Evaluate both by one protocol"
            )
        if set(method.tokens) != set(first.tokens):
            lacking = len(set(first.tokens) ^ set(method.tokens))
            raise InvalidInput(f"results 0 and {k} differ in {lacking} frames. Evaluate both on the same truth")
        order = np.argsort([place[token] for token in method.tokens])
        aligned.append(method if method.tokens == first.tokens else method.of_frames(order.tolist()))
    return aligned


def names_of(methods: list[Results], names: Sequence[str] | None) -> tuple[str, ...]:
    """What to call the methods: as given, or by their files."""
    if names is None:
        stems = [Path(method.inputs[0].name).stem for method in methods]
        names = [stem if stem and stems.count(stem) == 1 else f"{stem or 'method'} {k}" for k, stem in enumerate(stems)]
    if len(names) != len(methods) or len(set(names)) < len(names):
        raise InvalidInput(f"names must be {len(methods)} different texts, got {names!r}")
    return tuple(names)


def _interval(column: Floats, level: float) -> tuple[float, float]:
    """The range of the middle of the samples; samples without a value do not count."""
    there = column[np.isfinite(column)]
    if not len(there):
        return math.nan, math.nan
    low, high = np.percentile(there, [50 * (1 - level), 50 * (1 + level)])
    return float(low), float(high)


def _drawn(results: Results, unit_of_frame: NDArray[np.int64], weights: Floats) -> dict[str, dict[str, Floats]]:
    """All values of all bootstrap samples: by class and for the mean, by key."""
    units = weights.shape[1]
    found: dict[str, dict[str, Floats]] = {}
    for c, name in enumerate(results.class_names):
        if name in results.without_value:
            continue
        values: dict[str, Floats] = {}
        if "pld" in results.metrics:
            sums = np.zeros((units, 6))
            np.add.at(sums, unit_of_frame, results.scores.parts[0][:, c])
            values |= _pld_values(weights @ sums, results.protocol.order)
        for metric in results.metrics:
            if metric != "pld":
                values |= _precisions(results, metric, c, unit_of_frame, weights)
        found[name] = values
    mean = {key: _mean([values[key] for values in found.values()]) for key in next(iter(found.values()), {})}
    return found | {"mean": mean}


def _mean(columns: Sequence[Floats]) -> Floats:
    """The mean over classes, in each sample over those that have a value there."""
    stacked = np.stack(columns)
    there = np.isfinite(stacked)
    total, number = np.where(there, stacked, 0.0).sum(axis=0), there.sum(axis=0)
    mean: Floats = np.divide(total, number, out=np.full(len(total), np.nan), where=number > 0)
    return mean


def _pld_values(sums: Floats, order: float) -> dict[str, Floats]:
    """Normalised PLD and its groups from sums of parts and masses ``(samples, 6)``."""
    value, mass = sums[:, :5].sum(axis=1) ** (1 / order), sums[:, 5] ** (1 / order)
    total = mass + value
    share = np.divide(2.0, total, out=np.full_like(total, np.nan), where=mass > 0)
    if order != 1:
        return {"pld": value * share}
    return {"pld": value * share, "localisation": sums[:, 0] * share, "detection": sums[:, 1:5].sum(axis=1) * share}


def _precisions(
    results: Results, metric: str, c: int, unit_of_frame: NDArray[np.int64], weights: Floats
) -> dict[str, Floats]:
    """Average precision at each threshold, and the mean over them."""
    frame, label = results.places_of_records
    mine = label == c
    order = np.argsort(-results.scores.confidence[mine], kind="stable")
    confidence = results.scores.confidence[mine][order]
    last = np.append(confidence[1:] != confidence[:-1], True)[: len(confidence)]
    owner = unit_of_frame[frame[mine][order]]
    truth = np.bincount(unit_of_frame, weights=results.scores.true[:, c], minlength=weights.shape[1])
    thresholds = thresholds_of(results.protocol, metric)
    values = {}
    for t, threshold in enumerate(thresholds):
        hit = ((results.scores.hits[metric][mine][order] >> t) & 1).astype(np.float64)
        values[f"{metric}@{threshold}"] = np.empty(len(weights))
        out = values[f"{metric}@{threshold}"]
        kernels.bootstrap.weighted_average_precision(owner, hit, last, weights, truth, out, False)
    return {metric: np.mean(list(values.values()), axis=0)} | values
