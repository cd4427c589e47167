"""Methods that were trained several times: differences with the uncertainty of scenes and of seeds.

A *run* is one training of a method, with a seed of its own. Every run is evaluated on the same scenes. The difference
of two methods, each the mean of its runs, is uncertain in two ways: other scenes and other seeds would give other
values. With the variance components

    v(run, scene) = method + scene effect + run effect + what is left,

the variance of a method's mean over ``R`` runs and ``S`` scenes is ``scenes / S + runs / R + left / (R S)``. The
bootstrap over scenes, with all runs of a draw together, measures the first and the last term. The variance between the
values of runs on all scenes measures ``runs + left / S``. The bootstrap of the distance of a run from the mean of its
method measures ``left / S``, which is subtracted once, so that it does not count twice (S. R. Searle, G. Casella and
C. E. McCulloch, "Variance Components", 1992, chapter 4). A draw of scenes and an independent draw of runs, the crossed
bootstrap (A. B. Owen, "The pigeonhole bootstrap", Annals of Applied Statistics 1, 2007), has the same sum as its
expectation but for the last term, and is too short by the factor ``(R - 1) / R`` of the runs, a third with three seeds.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.protocols import Protocol
from mapgauge.results.bootstrap import SAMPLES, check_draws, draw
from mapgauge.results.comparison import (
    Comparison,
    Differences,
    Sampled,
    are_identical,
    check_comparable,
    limits_of,
    notes_of,
    sorted_by_token,
)
from mapgauge.results.drawn_values import count_units, draws_of
from mapgauge.results.estimation import is_enough, judged
from mapgauge.results.intervals import LEVEL, Difference, Estimate
from mapgauge.results.standard_errors import Draws, standard_error

if TYPE_CHECKING:
    from mapgauge.results.results import Results


class Spread(NamedTuple):
    """Where the variance of a difference between two methods comes from."""

    seed: tuple[float, float]  # how far another seed moves the value of each method: a standard deviation
    of_seeds: float  # the share of the variance of the difference that is due to seeds
    of_scenes: float  # the share that is due to scenes
    error: float  # the standard error of the difference
    with_run: float  # what it would be with one more run of each method
    with_scenes: float  # what it would be with twice as many scenes

    def __str__(self) -> str:
        """In words."""
        scenes = f"{self.with_scenes:.4f}"
        run = f"{self.with_run:.4f}"
        text = f"{self.of_seeds:.0%} of the variance of the difference is due to seeds. "
        today = f"the standard error of {self.error:.4f} would be"
        if scenes == run:
            return f"{text}Twice as many scenes help as much as one more run of each method: {today} {run}"
        if self.with_scenes < self.with_run:
            more = "more"
        else:
            more = "less"
        return (
            f"{text}Twice as many scenes help {more} than one more run of each method: {today} {scenes} with the "
            f"scenes and {run} with the runs"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class RunComparison:
    """Values of methods with several runs, and the differences between each pair of methods."""

    names: tuple[str, ...]
    runs: tuple[int, ...]  # number of runs of each method
    estimates: tuple[dict[str, dict[str, Estimate]], ...]  # means over runs, by class name (or "mean") and key
    differences: Differences  # second minus first
    spreads: dict[tuple[str, str], dict[str, dict[str, Spread]]]  # of the differences that have an interval
    drawn: str  # "scene" or "frame"
    units: int  # number of scenes or frames
    samples: int
    level: float
    protocol: Protocol
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the methods and the numbers of their runs in one line."""
        counts = ", ".join(f"{name}: {count} runs" for name, count in zip(self.names, self.runs, strict=True))
        return f"<RunComparison {counts}>"

    @property
    def comparison(self) -> Comparison:
        """The same values and differences as those of ``compare``, for tables, plans and ranks."""
        return Comparison(
            names=self.names,
            estimates=self.estimates,
            differences=self.differences,
            drawn=self.drawn,
            units=self.units,
            samples=self.samples,
            level=self.level,
            protocol=self.protocol,
            notes=self.notes,
        )


def compare_runs(
    methods: Mapping[str, Sequence["Results"]],
    *,
    samples: int = SAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> RunComparison:
    """Compare methods that were trained several times, with intervals over scenes and seeds.

    Args:
        methods: The results of all runs of each method, by its name: two or more of each, on the same frames and with
            the same protocol.
        samples: Number of bootstrap samples of the scenes.
        level: The probability with which an interval covers the true value.
        seed: Seed of the draws of scenes.

    Returns:
        The mean over runs of each value, and the differences. An interval covers the difference of the methods on
        other scenes of this kind, and with other seeds.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({f"t{i}": {"divider": [[[0, i], [9, i]]]} for i in range(8)})
    >>> settings = mg.protocol("paper-60x30", classes=["divider"])
    >>> runs = {c: mg.evaluate(truth.with_confidence(c), truth, settings) for c in (0.5, 0.6, 0.8, 0.9)}
    >>> compared = compare_runs({"before": [runs[0.5], runs[0.6]], "after": [runs[0.8], runs[0.9]]})
    >>> str(compared.differences["before", "after"]["mean"]["pld"])
    '-0.300 [-0.604, +0.004] (cannot be decided)'
    """
    names = tuple(methods)
    counts = [len(of_method) for of_method in methods.values()]
    if not counts:
        raise InvalidInput("no methods to compare")
    for name, count in zip(names, counts, strict=True):
        if count < 2:  # nothing would say how much seeds change
            raise InvalidInput(
                f"{name} has {count} run{'' if count == 1 else 's'}, expected two or more of each method",
                remedy="Give the results of several trainings of the method, with different seeds",
            )
    check_draws(samples, level, seed)
    for name, runs in methods.items():
        _refuse_copies(name, runs)
    every = list(chain.from_iterable(methods.values()))
    labels = [f"run {k + 1} of {name}" for name, count in zip(names, counts, strict=True) for k in range(count)]
    check_comparable(every, labels)
    ordered = [sorted_by_token(result) for result in every]
    drawn = draw(ordered, samples, seed)
    sampled = iter([Sampled.of(result, drawn.unit_of_frame, drawn.weights) for result in ordered])
    of_methods = [_Runs([next(sampled) for _ in range(count)]) for count in counts]
    occurs = [flags for of_method in of_methods for flags in of_method.occurs]

    estimates = tuple(_estimates(of_method, level) for of_method in of_methods)
    differences: Differences = {}
    spreads: dict[tuple[str, str], dict[str, dict[str, Spread]]] = {}
    for i, j in combinations(range(len(names)), 2):
        pair = (names[i], names[j])
        differences[pair] = {}
        spreads[pair] = {}
        for name, key in _shared(of_methods[i], of_methods[j]):
            _add(differences[pair], spreads[pair], of_methods[i], second=of_methods[j], name=name, key=key, level=level)
    return RunComparison(
        names=names,
        runs=tuple(counts),
        estimates=estimates,
        differences=differences,
        spreads=spreads,
        drawn=drawn.kind,
        units=drawn.count,
        samples=samples,
        level=level,
        protocol=every[0].protocol,
        notes=(
            *notes_of(labels, every, drawn.kind, units=drawn.count, count=count_units(occurs)),
            *_few_runs(names, counts),
        ),
    )


def _few_runs(names: Sequence[str], counts: Sequence[int]) -> Iterator[str]:
    """Yield a warning if two runs are all that says what seeds do."""
    few = [name for name, count in zip(names, counts, strict=True) if count == 2]
    if few:
        yield (
            f"warning: two runs say little about what seeds do ({', '.join(few)}), so the intervals are long. A third "
            "run makes them much shorter in most cases"
        )


def _refuse_copies(name: str, runs: Sequence["Results"]) -> None:
    """Refuse a run that is given twice. Copies say that seeds change nothing."""
    for (i, first), (j, second) in combinations(enumerate(runs, 1), 2):
        if are_identical(first, second):
            raise InvalidInput(
                f"{name}: the predictions of run {i} and run {j} are the same, expected trainings with different seeds",
                remedy="Give every run once",
            )


class _VarianceParts(NamedTuple):
    """Variances of the values of single runs of one method."""

    observed: float  # the variance between runs; NaN if it is not known
    seeds: float  # what seeds do: the same without what the choice of scenes does
    left: float  # what the choice of scenes does to single runs, but not to all runs of the method alike


class _Runs:
    """The runs of one method: means over runs, of values and of draws."""

    def __init__(self, runs: Sequence[Sampled]) -> None:
        self.runs = runs
        first = runs[0]
        self.keys = [
            (name, key)
            for name, by_key in first.samples.items()
            for key in by_key
            if all(key in run.samples.get(name, {}) for run in runs)
        ]
        self.values: dict[str, dict[str, float]] = {}
        self.samples: dict[str, dict[str, np.ndarray]] = {}
        for name, key in self.keys:
            self.values.setdefault(name, {})[key] = math.fsum(run.values[name][key] for run in runs) / len(runs)
            self.samples.setdefault(name, {})[key] = np.mean([run.samples[name][key] for run in runs], axis=0)
        self.occurs = [run.occurs for run in runs]
        self.lacking = [run.lacking for run in runs]
        self._parts: dict[tuple[str, str], _VarianceParts] = {}

    def parts(self, name: str, key: str) -> _VarianceParts:
        """Return what seeds do to single runs, and what the choice of scenes does to them."""
        found = self._parts.get((name, key))
        if found is None:
            found = self._measured(name, key)
            self._parts[name, key] = found
        return found

    def _measured(self, name: str, key: str) -> _VarianceParts:
        count = len(self.runs)
        values = [run.values[name][key] for run in self.runs]
        if not all(map(math.isfinite, values)):
            return _VarianceParts(math.nan, math.nan, math.nan)
        observed = float(np.var(values, ddof=1))
        # What the scenes do to single runs: the variance of their distance from the mean of all runs.
        left = 0.0
        for run in self.runs:
            away = {
                class_name: {key: run.samples[class_name][key] - of_mean[key]}
                for class_name, of_mean in self.samples.items()
                if key in of_mean
            }
            error, _ = standard_error(draws_of(away, name, key, count=count_units(self.occurs), lacking=self.lacking))
            if not math.isnan(error):
                left += error**2 / (count - 1)
        return _VarianceParts(observed=observed, seeds=max(observed - left, 0.0), left=left)


def _shared(*methods: _Runs) -> Iterable[tuple[str, str]]:
    """Return the classes and keys that all methods have."""
    others = [set(method.keys) for method in methods[1:]]
    return [pair for pair in methods[0].keys if all(pair in other for other in others)]


def _estimates(method: _Runs, level: float) -> dict[str, dict[str, Estimate]]:
    """Return the means over runs with intervals."""
    estimates: dict[str, dict[str, Estimate]] = {}
    counts = count_units(method.occurs)
    for name, key in method.keys:
        value = method.values[name][key]
        draws = draws_of(method.samples, name, key, count=counts, lacking=method.lacking)
        total = _total(draws, [method], name, key=key)
        found = judged(value, total.error, total.freedom, enough=True, level=level, limits=limits_of(key))
        estimates.setdefault(name, {})[key] = Estimate(value, found.low, found.high)
    return estimates


def _add(
    differences: dict[str, dict[str, Difference]],
    spreads: dict[str, dict[str, Spread]],
    first: _Runs,
    second: _Runs,
    name: str,
    key: str,
    *,
    level: float,
) -> None:
    """Add the difference of one value between two methods, and where its variance comes from."""
    apart = {
        class_name: {key: of_second[key] - first.samples[class_name][key]}
        for class_name, of_second in second.samples.items()
        if key in of_second and key in first.samples.get(class_name, {})
    }
    counts = count_units([*first.occurs, *second.occurs])
    draws = draws_of(apart, name, key, count=counts, lacking=[*first.lacking, *second.lacking])
    total = _total(draws, [first, second], name, key=key)
    smallest, largest = limits_of(key)
    differences.setdefault(name, {})[key] = judged(
        second.values[name][key] - first.values[name][key],
        total.error,
        total.freedom,
        enough=is_enough(draws),
        level=level,
        limits=(smallest - largest, largest - smallest),
    )
    if total.error > 0:
        spreads.setdefault(name, {})[key] = _spread(total, first, second, name=name, key=key)


def _spread(total: "_Total", first: _Runs, second: _Runs, *, name: str, key: str) -> Spread:
    """Return where the variance of a difference comes from, and what would make it smaller."""
    parts = [method.parts(name, key) for method in (first, second)]
    counts = [len(method.runs) for method in (first, second)]
    of_seeds = total.of_seeds * total.error**2
    of_scenes = total.error**2 - of_seeds
    fewer = of_scenes
    for part, count in zip(parts, counts, strict=True):
        fewer -= part.left / count - part.left / (count + 1)
    with_run = max(fewer, 0.0) + math.fsum(part.seeds / (count + 1) for part, count in zip(parts, counts, strict=True))
    return Spread(
        seed=(math.sqrt(parts[0].seeds), math.sqrt(parts[1].seeds)),
        of_seeds=total.of_seeds,
        of_scenes=1 - total.of_seeds,
        error=total.error,
        with_run=math.sqrt(with_run),
        with_scenes=math.sqrt(of_scenes / 2 + of_seeds),
    )


class _Total(NamedTuple):
    """The uncertainty of a mean over runs, or of the difference of two."""

    error: float  # the standard error; NaN if there is none
    freedom: int
    of_seeds: float  # the share of its square that is due to seeds


def _total(draws: Draws, methods: Sequence[_Runs], name: str, key: str) -> _Total:
    """Add up what scenes and the seeds of one or two methods contribute.

    The degrees of freedom follow from F. E. Satterthwaite's equation ("An approximate distribution of estimates of
    variance components", Biometrics Bulletin 2, 1946). It takes the variances as they were observed: the variance
    between runs, and not what remains of it for seeds. If little remains by chance, seeds would count as well known,
    and intervals would be too short. The number is rounded to the nearest, because the quantile falls from 12.7 to 4.3
    between 1 and 2.
    """
    of_scenes, freedom = standard_error(draws)
    parts = [method.parts(name, key) for method in methods]
    counts = [len(method.runs) for method in methods]
    of_seeds = math.fsum(part.seeds / count for part, count in zip(parts, counts, strict=True))
    if math.isnan(of_scenes) or math.isnan(of_seeds):
        return _Total(math.nan, 0, math.nan)
    variance = of_scenes**2 + of_seeds
    if variance == 0:
        return _Total(0.0, freedom, 0.0)
    spread = of_scenes**4 / freedom
    for part, count in zip(parts, counts, strict=True):
        spread += (part.observed / count) ** 2 / (count - 1)
    return _Total(math.sqrt(variance), max(round(variance**2 / spread), 1), of_seeds / variance)
