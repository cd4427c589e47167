"""``compare``: several methods on the same frames, with paired intervals over scenes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.markup import shortened, text_table
from mapgauge.metrics.metric import ValueKey
from mapgauge.metrics.table import METRICS, setting_of, value_named
from mapgauge.protocols import Protocol
from mapgauge.results.bootstrap import SAMPLES, check_draws, draw
from mapgauge.results.differences import not_comparable
from mapgauge.results.drawn_values import (
    Lacking,
    Samples,
    count_units,
    drawn_values,
    draws_of,
    lacking_units,
    units_with_class,
)
from mapgauge.results.estimation import difference, estimate, unpaired_difference
from mapgauge.results.families import Correction, Tested, TestedDifferences, check_correction, correct_together
from mapgauge.results.intervals import FEWEST, LEVEL, Difference, Estimate, too_few
from mapgauge.results.notebook import comparison_html, comparison_text
from mapgauge.typing import Flags, Floats, Indices
from mapgauge.words import did_you_mean

if TYPE_CHECKING:
    from mapgauge.results.results import Results


def check_comparable(methods: Sequence["Results"], names: Sequence[str], *, metrics: bool = True) -> None:
    """Refuse results that are not of the same frames and protocol, and of the same metrics unless those are ignored."""
    if not methods:
        raise InvalidInput("no results to compare")
    first = methods[0]
    if not first.tokens:
        raise InvalidInput("the results have no frames to compare")
    for name, method in zip(names[1:], methods[1:], strict=True):
        other_settings = method.protocol != first.protocol or (metrics and method.metrics != first.metrics)
        lacking = len(set(first.tokens) ^ set(method.tokens))
        if not other_settings and not lacking:
            continue
        if other_settings:
            why = "come from different settings"
            same = f"with the same protocol{' and metrics' if metrics else ''}"
        else:
            why = f"differ in {lacking} frames"
            same = "on the same truth"
        raise InvalidInput(
            f"{names[0]} and {name} {why} and cannot be compared. {not_comparable(first, method)}",
            remedy=f"Evaluate both {same}",
        )


def are_identical(one: "Results", other: "Results") -> bool:
    """Whether the predictions of two methods are the same. Hashes take long, so values are compared first."""
    if one.mean != other.mean or one.classes != other.classes:
        return False
    return one.inputs[0].hash == other.inputs[0].hash


def with_errors(names: Sequence[str], methods: Sequence["Results"]) -> list[str]:
    """Return the names of the results whose findings say that the numbers are wrong."""
    wrong = (any(finding.level == "error" for finding in method.findings) for method in methods)
    return [name for name, is_wrong in zip(names, wrong, strict=True) if is_wrong]


Differences: TypeAlias = dict[tuple[str, str], dict[str, dict[str, Difference]]]  # by methods, class and key
Pairs: TypeAlias = Literal["all", "first"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison(TestedDifferences):
    """Values of several methods with intervals, and the differences between each pair of methods."""

    names: tuple[str, ...]
    estimates: tuple[dict[str, dict[str, Estimate]], ...]  # for each method, by class name (or "mean") and key
    differences: Differences  # second minus first
    drawn: str  # "scene" or "frame"
    units: int  # number of scenes or frames
    samples: int
    level: float
    protocol: Protocol  # of all methods
    notes: tuple[str, ...] = ()
    correction: Correction = "none"
    family: Tested | None = None  # all differences that are tested together, if there are others than these

    def __repr__(self) -> str:
        """Return the methods and their first value in one line."""
        return f"<Comparison {shortened(comparison_text(self), longest=300)}>"

    def _repr_html_(self) -> str:
        return comparison_html(self, plain_keys(self.estimates[0]["mean"]))

    @property
    def _all_differences(self) -> Differences:
        """The differences that are tested."""
        return self.differences

    def with_first(self) -> "Comparison":
        """Return the comparison with the differences to the first method only."""
        first = {pair: changes for pair, changes in self.differences.items() if pair[0] == self.names[0]}
        return replace(self, differences=first)

    def table(self, keys: Sequence[str] | None = None, class_name: str = "mean") -> str:
        """Return the values of all methods and their differences as text.

        Args:
            keys: Keys of the values. If None, the main and headline values of each metric.
            class_name: The class, or ``"mean"`` for the mean over classes.
        """
        if keys is None:
            shown = plain_keys(self.estimates[0]["mean"])
        else:
            shown = list(keys)
        for by_class in self.estimates:
            if class_name not in by_class:
                hint = did_you_mean(class_name, by_class)
                available = ", ".join(by_class)
                raise InvalidInput(f"not every method has values of {class_name!r}. Available: {available}{hint}")
            unknown = [key for key in shown if key not in by_class[class_name]]
            if unknown:
                raise InvalidInput(f"no value {', '.join(unknown)}. Available: {', '.join(by_class[class_name])}")
        rows = [
            [name, *(str(by_class[class_name][key]) for key in shown)]
            for name, by_class in zip(self.names, self.estimates, strict=True)
        ]
        draws = f"{class_name}, {self.level:.0%} of {self.samples} draws of {self.units} {self.drawn}s"
        text = [text_table([draws, *(key + setting_of(key, self.protocol) for key in shown)], rows)]
        for (first, second), apart in self.differences.items():
            text.append(f"{second} minus {first}: " + "; ".join(f"{key} {apart[class_name][key]}" for key in shown))
        return "\n".join([*text, *filter(None, [self.tests]), *self.notes])


def compare(
    results: Sequence["Results"],
    *,
    names: Sequence[str] | None = None,
    samples: int = SAMPLES,
    level: float = LEVEL,
    seed: int = 0,
    correction: Correction = "none",
    pairs: Pairs = "all",
    keys: Sequence[str] | None = None,
) -> Comparison:
    """Compare results, with a confidence interval for each value and for each difference.

    Args:
        results: "Results" of one or several methods on the same frames, with the same protocol.
        names: Names of the methods. If None, the names of their files.
        samples: Number of bootstrap samples.
        level: The probability with which an interval covers the true value.
        seed: Seed of the draws. The same seed gives the same intervals.
        correction: ``"holm"`` corrects p-values and verdicts for the number of differences, over all classes,
            keys and pairs of methods. ``"none"`` tests each difference alone. To correct other differences together
            with these, such as those of ``compare_causes``, pass both to ``correct_together``.
        pairs: ``"all"`` compares each two methods, ``"first"`` the others with the first.
        keys: The values to compare, such as ``["pld"]``. If None, all. Fewer take less time with hundreds of methods.

    Returns:
        Estimates and differences. Scenes are drawn if one of the results has scenes, or if all tokens are from
        Argoverse 2, where a token begins with the log; otherwise frames are drawn. With fewer than 5 of them,
        nothing is decided: ``decided`` is None. With one, there are no intervals.

    >>> import mapgauge as mg
    >>> lines = {f"t{i}": {"divider": [[[0, i], [9, i]]]} for i in range(8)}
    >>> truth = mg.MapFrames.of(lines)
    >>> settings = mg.protocol("paper-60x30", classes=["divider"])
    >>> good = mg.evaluate(truth.with_confidence(0.9), truth, settings)
    >>> poor = mg.evaluate(truth.with_confidence(0.5), truth, settings)
    >>> print(compare([good, poor], names=["good", "poor"]).differences["good", "poor"]["mean"]["pld"])
    +0.400 [+0.400, +0.400]
    """
    if not isinstance(results, Sequence):
        raise InvalidInput("results must be a sequence of results, got one result", remedy="Put it in a list")
    called = method_names(results, names)
    check_comparable(results, called)
    methods = [sorted_by_token(method) for method in results]
    check_draws(samples, level, seed)
    check_correction(correction)
    if pairs not in ("all", "first"):
        raise InvalidInput(f"pairs must be 'all' or 'first', got {pairs!r}")
    drawn = draw(methods, samples, seed)
    sampled = [Sampled.of(method, drawn.unit_of_frame, drawn.weights) for method in methods]
    if keys is not None:
        sampled = [of_method.only(keys) for of_method in sampled]
    estimates = tuple(of_method.estimates(level) for of_method in sampled)
    differences: Differences = {
        (called[i], called[j]): sampled[j].minus(sampled[i], level)
        for i, j in combinations(range(len(methods)), 2)
        if i == 0 or pairs == "all"
    }
    if correction == "holm":
        (differences,) = correct_together(differences, level=level)
    counts = count_units([of_method.occurs for of_method in sampled])
    notes = tuple(notes_of(called, methods, drawn.kind, units=drawn.count, count=counts))
    return Comparison(
        names=called,
        estimates=estimates,
        differences=differences,
        drawn=drawn.kind,
        units=drawn.count,
        samples=samples,
        level=level,
        protocol=methods[0].protocol,
        notes=notes,
        correction=correction,
    )


class Sampled(NamedTuple):
    """The values of results, and of their bootstrap samples."""

    values: dict[str, dict[str, float]]  # by class name (or "mean") and key; NaN if there is no value
    samples: Samples
    occurs: dict[str, Flags]  # by class: which units have instances
    lacking: Lacking  # numbers of units that have a class, but no value

    @classmethod
    def of(cls, results: "Results", unit_of_frame: Indices, weights: Floats) -> "Sampled":
        """Draw the values of results. The arguments are as in ``drawn_values``."""
        values = {
            name: {key: np.nan if value is None else value for key, value in by_key.items()}
            for name, by_key in (results.classes | {"mean": results.mean}).items()
        }
        occurs = units_with_class(results, unit_of_frame, weights.shape[1])
        return cls(
            values=values,
            samples=drawn_values(results, unit_of_frame, weights),
            occurs=occurs,
            lacking=lacking_units(results, unit_of_frame, weights.shape[1]),
        )

    def only(self, keys: Sequence[str]) -> "Sampled":
        """Return the samples of some values, of all classes."""
        unknown = [key for key in keys if not any(key in by_key for by_key in self.samples.values())]
        if unknown:
            available = ", ".join(plain_keys(self.samples["mean"]))
            raise InvalidInput(f"no value {', '.join(unknown)}. Available: {available}")
        samples = {name: {key: by_key[key] for key in keys if key in by_key} for name, by_key in self.samples.items()}
        return self._replace(samples=samples)

    def estimates(self, level: float) -> dict[str, dict[str, Estimate]]:
        """Return all values with intervals."""
        count = count_units([self.occurs])
        return {
            name: {
                key: estimate(
                    self.values[name][key],
                    draws_of(self.samples, name, key, count=count, lacking=[self.lacking]),
                    level,
                    limits=limits_of(key),
                )
                for key in by_key
            }
            for name, by_key in self.samples.items()
        }

    def minus(self, other: "Sampled", level: float, *, paired: bool = True) -> dict[str, dict[str, Difference]]:
        """Return the differences to other results where both have values. Paired results have the same draws."""
        apart = {
            name: {key: column - subtracted[key] for key, column in by_key.items() if key in subtracted}
            for name, by_key in self.samples.items()
            if (subtracted := other.samples.get(name)) is not None
        }
        if paired:
            sides = [[self.occurs, other.occurs]]
        else:
            sides = [[other.occurs], [self.occurs]]
        counts = [count_units(side) for side in sides]

        def change(name: str, key: str) -> Difference:
            value = self.values[name][key] - other.values[name][key]
            smallest, largest = limits_of(key)
            limits = (smallest - largest, largest - smallest)
            if paired:
                draws = draws_of(apart, name, key, count=counts[0], lacking=[self.lacking, other.lacking])
                return difference(value, draws, level, limits=limits)
            first = draws_of(other.samples, name, key, count=counts[0], lacking=[other.lacking])
            second = draws_of(self.samples, name, key, count=counts[1], lacking=[self.lacking])
            return unpaired_difference(value, first, second, level=level, limits=limits)

        return {name: {key: change(name, key) for key in by_key} for name, by_key in apart.items()}


def limits_of(key: str) -> tuple[float, float]:
    """Return the smallest and the largest possible value of a key."""
    metric, value = value_named(ValueKey.parse(key).name) or (None, None)
    if metric is None or value is None:
        return (-np.inf, np.inf)
    return value.limits or metric.limits


def notes_of(
    names: Sequence[str], methods: Sequence["Results"], drawn: str, units: int, count: dict[str, int]
) -> Iterator[str]:
    """Yield remarks about what limits the comparison."""
    wrong = with_errors(names, methods)
    if wrong:
        yield f"error: there are errors among the findings of {', '.join(wrong)}: do not trust the numbers"
    truths = len({method.inputs[1].hash for method in methods})
    if truths > 1:
        yield f"note: the methods were compared with {truths} different truths"
    yield from _other_classes(names, methods)
    if few := too_few(units, drawn):
        yield f"warning: {few}. Evaluate at least {FEWEST} {drawn}s"
    rare = [f"{name} in {count[name]}" for name in count if name != "mean" and 0 < count[name] < FEWEST]
    if rare and units >= FEWEST:
        yield (
            f"warning: some classes occur in few of the {units} {drawn}s: {', '.join(rare)}. Their own differences "
            "have no verdict, and the intervals of the mean over classes are wide. With one of them, the mean has no "
            "verdict either"
        )
    if drawn == "frame" and units > 1:
        yield (
            "warning: the scenes are not known, so single frames were drawn. Frames of one scene are similar, so the "
            "intervals are too narrow if several frames are of one scene. Pass scenes= to evaluate (in the shell: "
            "TRUTH,scenes=FILE)"
        )


def _other_classes(names: Sequence[str], methods: Sequence["Results"]) -> Iterator[str]:
    """Yield a warning if some methods have values of a class that others lack: their means are of other classes.

    A class has no value without predictions and truth. Where the truth lacks it, one false prediction gives it a value.
    """
    if all(METRICS[metric].absent is not None for metric in methods[0].metrics):
        return  # a class without values counts in these means
    for class_name in methods[0].class_names:
        having = [name for name, method in zip(names, methods, strict=True) if class_name not in method.without_value]
        if having and len(having) < len(methods):
            yield (
                f"warning: {class_name} has values of {', '.join(having)} only, because there is no truth of it and "
                "the others predict none. So their means over classes are of different classes"
            )


def verdict_of(difference: Difference, key: str, first: str, second: str) -> str:
    """Return the verdict about a difference, second minus first, in words: who is better, if it is decided.

    Of a value for which better has no direction, such as a part of PLD, it says who is lower.

    >>> verdict_of(Difference(-0.02, -0.03, -0.01, True, 0.01), "pld", "before", "after")
    'after is better'
    >>> verdict_of(Difference(-0.02, -0.03, -0.01, True, 0.01), "localisation", "before", "after")
    'after is lower'
    >>> verdict_of(Difference(-0.02, -0.05, 0.01, False, 0.2), "pld", "before", "after")
    'cannot be decided'
    """
    if not difference.decided:
        return difference.verdict
    if difference.value < 0:
        lower = second
        higher = first
    else:
        lower = first
        higher = second
    metric, value = value_named(ValueKey.parse(key).name) or (None, None)
    if metric is None or value is None:
        arrow = ""
    else:
        arrow = metric.arrow_of(value).strip()
    if not arrow:
        return f"{lower} is lower"
    return f"{lower if arrow == '↓' else higher} is better"


def sorted_by_token(method: "Results") -> "Results":
    """Return results with their frames sorted by token, so that no sum depends on the order in a file."""
    order = sorted(range(len(method.tokens)), key=method.tokens.__getitem__)
    if order == list(range(len(order))):
        return method
    return method.of_frames(order)


def method_names(methods: Sequence["Results"], names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the methods: as given, or from their files."""
    if names is None:
        stems = [Path(method.input_names[0]).stem for method in methods]
        names = [stem if stem and stems.count(stem) == 1 else f"{stem or 'method'} {k}" for k, stem in enumerate(stems)]
    if len(names) != len(methods) or len(set(names)) < len(names):
        raise InvalidInput(f"names must be {len(methods)} different strings, got {names!r}")
    return tuple(names)


def plain_keys(keys: Iterable[str]) -> list[str]:
    """Return the keys that tables show by default: without the keys of single settings and rings."""
    return [key for key in keys if ValueKey.parse(key).plain]
