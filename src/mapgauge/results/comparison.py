"""Compares several results, with confidence intervals from the bootstrap.

Frames pool by sums, so a bootstrap sample is a weighted sum of the same rows. Frames of one scene are similar. Whole
scenes are drawn if scenes are known, because drawing single frames would make the intervals too narrow. All results
use the same draws, so a difference between two methods does not contain the randomness of two draws.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mapgauge.display.tables import text_table
from mapgauge.errors import InvalidInput
from mapgauge.metrics.keys import ValueKey
from mapgauge.metrics.metric import Floats
from mapgauge.results.bootstrap import drawn_values
from mapgauge.results.results import Results

SAMPLES = 1000
LEVEL = 0.95


class Estimate(NamedTuple):
    """A value and its confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """As ``0.790 [0.771, 0.812]``."""
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


class Difference(NamedTuple):
    """The difference of a value between two methods, on the same draws."""

    value: float
    low: float
    high: float

    @property
    def told_apart(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        """As ``+0.012 [+0.004, +0.021]``."""
        plain = f"{self.value:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"
        return plain if self.told_apart else plain + " (cannot be told apart)"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Values of several methods with intervals, and the differences between each pair of methods."""

    names: tuple[str, ...]
    estimates: tuple[dict[str, dict[str, Estimate]], ...]  # for each method, by class name (or "mean") and key
    differences: dict[tuple[str, str], dict[str, dict[str, Difference]]]  # second minus first
    drawn: str  # "scene" or "frame"
    units: int  # number of scenes or frames
    samples: int
    level: float
    notes: tuple[str, ...] = ()

    def table(self, keys: Sequence[str] | None = None, class_name: str = "mean") -> str:
        """Return the values of all methods and their differences as text.

        Args:
            keys: Keys of the values. If None, the main and headline values of each metric.
            class_name: The class, or ``"mean"`` for the mean over classes.
        """
        shown = plain_keys(self.estimates[0]["mean"]) if keys is None else list(keys)
        for found in self.estimates:
            if class_name not in found:
                raise InvalidInput(f"not every method has values of {class_name!r}. Available: {', '.join(found)}")
            unknown = [key for key in shown if key not in found[class_name]]
            if unknown:
                raise InvalidInput(f"no value {', '.join(unknown)}. Available: {', '.join(found[class_name])}")
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
    """Compare results, with a confidence interval for each value and for each difference.

    Args:
        results: Results of one or several methods on the same frames, with the same protocol.
        names: Names of the methods. If None, the names of their files.
        samples: Number of bootstrap samples.
        level: Share of the samples that an interval covers.
        seed: Seed of the draws. The same seed gives the same intervals.

    Returns:
        Estimates and differences. Scenes are drawn if one of the results has scenes, otherwise frames.

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
        raise InvalidInput("results must be a sequence of results, got one result", remedy="Put it in a list")
    methods = _same_frames(list(results))
    called = method_names(methods, names)
    if not isinstance(samples, int) or samples < 1 or not isinstance(level, float | int) or not 0 < level < 1:
        raise InvalidInput(f"samples must be at least 1 and level between 0 and 1, got {samples!r} and {level!r}")
    if not isinstance(seed, int) or seed < 0:
        raise InvalidInput(f"seed must be a whole number of at least 0, got {seed!r}")
    scenes = next((method.scenes for method in methods if method.scenes is not None), None)
    keys = methods[0].tokens if scenes is None else scenes
    units = {unit: i for i, unit in enumerate(sorted(set(keys)))}
    unit_of_frame = np.array([units[key] for key in keys], np.int64)
    draws = np.random.default_rng(seed).multinomial(len(units), np.full(len(units), 1 / len(units)), samples)
    columns = [drawn_values(method, unit_of_frame, draws.astype(np.float64)) for method in methods]
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
    """Return the results with their frames in the same order."""
    if not methods:
        raise InvalidInput("no results to compare")
    first = methods[0]
    place = {token: i for i, token in enumerate(first.tokens)}
    aligned = [first]
    for k, method in enumerate(methods[1:], 1):
        if method.protocol != first.protocol or method.metrics != first.metrics:
            raise InvalidInput(
                f"results 0 and {k} come from different settings ({first.protocol.name}, {method.protocol.name}, or "
                "other metrics) and cannot be compared",
                remedy="Evaluate both with the same protocol",
            )
        if set(method.tokens) != set(first.tokens):
            lacking = len(set(first.tokens) ^ set(method.tokens))
            raise InvalidInput(
                f"results 0 and {k} differ in {lacking} frames", remedy="Evaluate both on the same truth"
            )
        order = np.argsort([place[token] for token in method.tokens])
        aligned.append(method if method.tokens == first.tokens else method.of_frames(order.tolist()))
    return aligned


def method_names(methods: list[Results], names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the methods: as given, or from their files."""
    if names is None:
        stems = [Path(method.inputs[0].name).stem for method in methods]
        names = [stem if stem and stems.count(stem) == 1 else f"{stem or 'method'} {k}" for k, stem in enumerate(stems)]
    if len(names) != len(methods) or len(set(names)) < len(names):
        raise InvalidInput(f"names must be {len(methods)} different strings, got {names!r}")
    return tuple(names)


def _interval(column: Floats, level: float) -> tuple[float, float]:
    """Return the interval that holds the middle share of the samples. Samples without a value do not count."""
    there = column[np.isfinite(column)]
    if not len(there):
        return math.nan, math.nan
    low, high = np.percentile(there, [50 * (1 - level), 50 * (1 + level)])
    return float(low), float(high)


def plain_keys(keys: Iterable[str]) -> list[str]:
    """Return the keys without those of single settings and rings. Tables show these by default."""
    return [key for key in keys if ValueKey.parse(key).plain]
