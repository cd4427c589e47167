"""Bootstrap over scenes, and intervals with Student's distribution."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.arguments import check_whole
from mapgauge.errors import InvalidInput
from mapgauge.metrics.average_precision import RECALLS
from mapgauge.metrics.metric import CombinedRows, Metric, SumRows, ValueKey
from mapgauge.metrics.table import METRICS, hit_metrics, sum_metrics, value_named
from mapgauge.scoring.data import in_threads
from mapgauge.scoring.scores import bits_of, flags_of
from mapgauge.typing import Flags, Floats, Indices

if TYPE_CHECKING:
    from mapgauge.results.results import Results


def share_within(t: float, freedom: int) -> float:
    """Return the probability that Student's t with some degrees of freedom lies between ``-t`` and ``t``.

    >>> round(share_within(2.262157, 9), 6)
    0.95
    """
    angle = math.atan2(t, math.sqrt(freedom))
    if freedom == 1:
        return 2 * angle / math.pi
    odd = freedom % 2
    cosine = math.cos(angle)
    # The sum has the powers 0, 2, ... or 1, 3, ... of the cosine, up to freedom - 2.
    power = np.arange(2 + odd, freedom, 2)
    terms = cosine**odd * np.cumprod(np.append(1.0, (power - 1) / power * cosine**2))
    total = math.sin(angle) * math.fsum(terms.tolist())
    return min(2 / math.pi * (angle + total) if odd else total, 1.0)


@lru_cache(maxsize=256)
def quantile(level: float, freedom: int) -> float:
    """Return the number ``t`` for which Student's t lies between ``-t`` and ``t`` with probability ``level``.

    >>> round(quantile(0.95, 9), 6)
    2.262157
    """
    low = 0.0
    high = 1.0
    while share_within(high, freedom) < level:
        low = high
        high = 2 * high
    while low < (middle := (low + high) / 2) < high:
        if share_within(middle, freedom) < level:
            low = middle
        else:
            high = middle
    return high


FEWEST = 5  # scenes or frames; with fewer, no difference is decided
# Degrees of freedom of a class in fewer units than that, because it borrows from other classes. Chosen by simulation:
# see docs/explanation/intervals.md.
_RARE = 3
_ROUNDING = 1e-12  # differences up to this size are rounding, because values are of the order of 1
_UNBOUNDED = (-math.inf, math.inf)


class Estimate(NamedTuple):
    """A value and its confidence interval. The bounds are NaN if there is no interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """As ``0.790 [0.771, 0.812]``, ``0.790 [-]`` without an interval, or ``-`` without a value."""
        return _with_interval(self.value, self.low, self.high, form=".3f")


class Difference(NamedTuple):
    """The difference of a value between two methods, on the same draws."""

    value: float
    low: float
    high: float
    told_apart: bool | None  # whether it is decided: p is below 1 - level; None if there are too few scenes or frames
    p: float  # the p-value of equal methods, corrected if a correction was chosen; NaN if there is no interval

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if math.isnan(self.value):
            return "no value to compare"
        if self.told_apart is None:
            return "too few scenes to decide"
        return "decided" if self.told_apart else "cannot be decided"

    @property
    def numbers(self) -> str:
        """The difference and its interval, as ``+0.012 [+0.004, +0.021]``; a dash if there is none."""
        return _with_interval(self.value, self.low, self.high, form="+.3f")

    def __str__(self) -> str:
        """As ``+0.012 [+0.004, +0.021]``, with the verdict if it is not decided."""
        if self.told_apart:
            return self.numbers
        return f"{self.numbers} ({self.verdict})"


def _with_interval(value: float, low: float, high: float, form: str) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:{form}} {bracket(low, high, form)}"


def bracket(low: float, high: float, form: str = ".3f") -> str:
    """Return an interval in brackets, or a dash in brackets if there is none."""
    if math.isfinite(low) and math.isfinite(high):
        return f"[{low:{form}}, {high:{form}}]"
    return "[-]"


class Draws(NamedTuple):
    """The values of the bootstrap samples, and how many units they rest on."""

    samples: Floats  # samples without a value are NaN and do not count
    units: int  # number of scenes or frames that have a part in the value
    classes: "tuple[Draws, ...]" = ()  # the draws of each class, if this is the mean over classes


def estimate(value: float, draws: Draws, level: float, limits: tuple[float, float] = _UNBOUNDED) -> Estimate:
    """Return a value with its interval within limits. It covers the true value with the probability ``level``."""
    error, freedom = _error(draws)
    if math.isnan(error) or math.isnan(value):
        return Estimate(value, math.nan, math.nan)
    half = quantile(level, freedom) * error
    smallest, largest = limits
    if math.isfinite(largest - smallest) and smallest < value < largest:
        low, high = _on_logit_scale(value, half, limits)
    else:
        low = max(value - half, smallest)
        high = min(value + half, largest)
    # Rounding must not leave the value outside its own interval.
    return Estimate(value, min(low, value), max(high, value))


def _on_logit_scale(value: float, half: float, limits: tuple[float, float]) -> tuple[float, float]:
    """Return the interval around a share whose standard error was multiplied by a quantile to ``half``.

    The logit of a share ``v`` is ``log(v / (1 - v))``. Its standard error is that of ``v`` divided by ``v (1 - v)``, by
    the delta method. An interval on this scale stays within the limits, and is longer on the side of the limit that is
    farther away. K. Boyd, K. H. Eng and C. D. Page recommend it for average precision ("Area under the
    precision-recall curve: point estimates and confidence intervals", ECML PKDD 2013).

    >>> [round(end, 3) for end in _on_logit_scale(0.8, 0.1, (0.0, 1.0))]
    [0.682, 0.882]
    """
    smallest, largest = limits
    share = (value - smallest) / (largest - smallest)
    rest = (largest - value) / (largest - smallest)
    away = half / (largest - smallest) / (share * rest)
    # With the odds v / (1 - v) times exp(away) or exp(-away), written so that nothing overflows.
    shrunk = math.exp(-away)
    low = share * shrunk / (share * shrunk + rest)
    high = share / (share + rest * shrunk)
    return smallest + low * (largest - smallest), smallest + high * (largest - smallest)


def difference(value: float, draws: Draws, level: float, limits: tuple[float, float] = _UNBOUNDED) -> Difference:
    """Return a difference with its interval within limits, its p-value and the verdict."""
    error, freedom = _error(draws)
    return _judged(value, error, freedom, enough=_enough(draws), level=level, limits=limits)


def unpaired_difference(
    value: float, first: Draws, second: Draws, level: float, limits: tuple[float, float] = _UNBOUNDED
) -> Difference:
    """Return a difference between values of different units, which were drawn independently.

    The variances add up. The degrees of freedom follow from Welch and Satterthwaite's equation.
    """
    one, of_one = _error(first)
    other, of_other = _error(second)
    variance = one**2 + other**2
    spread = 0.0
    if not math.isnan(variance):
        spread = one**4 / of_one + other**4 / of_other
    if spread > 0:
        freedom = max(int(variance**2 / spread), 1)
    else:
        freedom = max(of_one + of_other, 1)
    enough = _enough(first) and _enough(second)
    return _judged(value, math.sqrt(variance), freedom, enough=enough, level=level, limits=limits)


def _enough(draws: Draws) -> bool:
    """Whether there are enough units. A class that occurs in one unit tells nothing about its spread."""
    return draws.units >= FEWEST and all(part.units > 1 for part in draws.classes)


def _judged(
    value: float, error: float, freedom: int, *, enough: bool, level: float, limits: tuple[float, float]
) -> Difference:
    """Return a difference with its interval, its p-value and the verdict, from its standard error.

    The interval is symmetric, unlike that of a value: both limits of a difference are far from the differences of
    methods that are worth a comparison. It ends at the limits.
    """
    if math.isnan(error) or math.isnan(value):
        return Difference(value, math.nan, math.nan, told_apart=None, p=math.nan)
    half = quantile(level, freedom) * error
    if error > 0:
        p = 1 - share_within(abs(value) / error, freedom)
    else:
        p = 0.0
    p = 1.0 if abs(value) <= _ROUNDING else p
    low = min(max(value - half, limits[0]), value)
    high = max(min(value + half, limits[1]), value)
    if enough:
        told_apart = p < 1 - level
    else:
        told_apart = None
    return Difference(value, low, high, told_apart=told_apart, p=p)


def too_few(units: int, drawn: str) -> str:
    """Return that there are too few scenes or frames, in words; "" if there are enough.

    >>> too_few(3, "scene"), too_few(5, "scene")
    ('3 scenes are too few to decide which method is better', '')
    """
    if units == 1:
        return f"there is only one {drawn}, so there are no intervals and no verdicts"
    if units < FEWEST:
        return f"{units} {drawn}s are too few to decide which method is better"
    return ""


def _error(draws: Draws) -> tuple[float, int]:
    """Return the standard error and its degrees of freedom; NaN if there are no two units or samples with values.

    The factor ``sqrt(n / (n - 1))`` mends that draws from n units vary less than n new units do (T. C. Hesterberg,
    "What teachers should know about the bootstrap", The American Statistician 69, 2015).
    """
    finite = draws.samples[np.isfinite(draws.samples)]
    count = min(draws.units, len(finite))
    if count < 2:
        return math.nan, 0
    if len(draws.classes) > 1 and any(part.units < draws.units for part in draws.classes):
        return _error_of_mean(draws.classes, count - 1)
    return float(np.std(finite, ddof=1)) * math.sqrt(draws.units / (draws.units - 1)), count - 1


def _error_of_mean(classes: Sequence[Draws], most: int) -> tuple[float, int]:
    """Return the standard error of a mean over classes that occur in different numbers of units.

    The variance of the mean is the sum of the shares of the classes. The share of a rare class has the degrees of
    freedom of its own units. The degrees of freedom of the sum follow from F. E. Satterthwaite's equation ("An
    approximate distribution of estimates of variance components", Biometrics Bulletin 2, 1946), at most
    the degrees of freedom of all units. The equation is for independent variances. Here the shares have covariances of
    classes in them, so it is an approximation, which the simulation in docs/explanation/intervals.md checks.

    Few units can be similar by chance, so a unit of a rare class varies at least as much as a unit of all classes on
    average. This rule is this tool's own, and was chosen with the same simulation.
    """
    units = np.array([of_class.units for of_class in classes], np.float64)
    total = float((units - 1).sum())
    if total < 1:
        return math.nan, 0
    samples = np.stack([of_class.samples for of_class in classes])
    finite = np.isfinite(samples).astype(np.float64)
    filled = np.where(finite > 0, samples, 0.0)
    centre = filled.sum(axis=1) / np.maximum(finite.sum(axis=1), 1)
    away = (filled - centre[:, None]) * finite
    pairs = np.maximum(np.einsum("is,js->ij", finite, finite) - 1, 1)
    wider = np.sqrt(units / np.maximum(units - 1, 1))
    covariance = np.einsum("is,js->ij", away, away) / pairs * wider[:, None] * wider
    own = np.diag(covariance)
    of_unit = (own * units * (units - 1)).sum() / total
    with np.errstate(divide="ignore", invalid="ignore"):  # a class without units: the error of the mean is not known
        least = of_unit / units
    covariance += np.diag(np.where(units < FEWEST, np.maximum(least - own, 0.0), 0.0))
    shares = covariance.sum(axis=1) / len(classes) ** 2
    variance = max(float(shares.sum()), 0.0)
    spread = float((shares**2 / np.maximum(units - 1, min(_RARE, total))).sum())
    return math.sqrt(variance), min(max(int(variance**2 / spread) if spread > 0 else most, 1), most)


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's method. NaN stays, and does not count.

    >>> [round(value, 6) for value in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    corrected = [math.nan] * len(p)
    order = sorted((k for k in range(len(p)) if not math.isnan(p[k])), key=lambda k: p[k])
    largest = 0.0
    for rank, k in enumerate(order):
        largest = max(largest, min((len(order) - rank) * p[k], 1.0))
        corrected[k] = largest
    return corrected


class _Curve(NamedTuple):
    """The predictions of a class from high confidence to low, and counts of each unit."""

    owner: Indices  # (predictions,): the unit of each prediction
    flags: Flags  # (predictions, settings): whether it is a true positive
    some: Flags  # whether a prediction of each confidence is a true positive at some setting
    starts: Indices  # the first prediction of each confidence, and the number of predictions
    counts: Floats  # (units, 2 + settings): numbers of true instances, predictions and true positives


def precisions(
    results: "Results", classes: Sequence[tuple[int, str]], unit_of_frame: Indices, weights: Floats
) -> dict[tuple[str, int], dict[str, Floats]]:
    """Return average precisions of all samples at each setting and the means, by metric and class, then by key.

    A sample without predictions and truth has NaN. ``weights`` are ``(samples, units)``, whole numbers.
    """
    protocol = results.protocol
    metrics = [metric for metric, _ in hit_metrics(results.metrics)]
    interpolation = {row.name: protocol.settings[row.name].interpolation for row in metrics}
    covered = [
        (c, how, [row for row in metrics if row.covers(name, protocol) and interpolation[row.name] == how])
        for c, name in classes
        for how in ("area", *RECALLS)
    ]
    wanted = [(c, of_class) for c, _, of_class in covered if of_class]
    if not wanted:
        return {}
    blocks = _blocks(weights)
    curves = in_threads(lambda task: _curve(results, *task, unit_of_frame, weights.shape[1]), wanted, None)
    recalls = [RECALLS.get(how, np.empty(0)) for _, how, of_class in covered if of_class]
    tasks = [(curve, block, levels) for curve, levels in zip(curves, recalls, strict=True) for block in blocks]
    done = in_threads(lambda task: _of_block(*task), tasks, None)
    values = {}
    for k, (c, of_class) in enumerate(wanted):
        columns = iter(np.concatenate(done[k * len(blocks) : (k + 1) * len(blocks)], axis=1)[:, : len(weights)])
        for metric in of_class:
            each = {str(ValueKey(metric.main.key, setting)): next(columns) for setting in metric.settings(protocol)}
            values[metric.name, c] = {metric.main.key: np.mean(list(each.values()), axis=0)} | each
    return values


def _blocks(weights: Floats) -> NDArray[np.float32]:
    """Return the weights as ``(blocks, units, LANES)``. Samples that fill the last block have no units."""
    lanes = kernels.average_precision.LANES
    samples, units = weights.shape
    padded = np.zeros((-(-samples // lanes) * lanes, units), np.float32)
    padded[:samples] = weights
    return np.ascontiguousarray(padded.reshape(-1, lanes, units).swapaxes(1, 2))


def _curve(results: "Results", c: int, metrics: Sequence[Metric], unit_of_frame: Indices, units: int) -> _Curve:
    scores = results.scores
    protocol = results.protocol
    rows = np.flatnonzero(scores.counted(c, protocol))
    rows = rows[np.argsort(-scores.confidence[rows], kind="stable")]
    confidence = scores.confidence[rows]
    starts = np.flatnonzero(np.append(True, confidence[1:] != confidence[:-1])[: len(confidence)])
    owner = unit_of_frame[scores.frame[rows]]
    names = [metric.name for metric in metrics]
    flags = flags_of([scores.hits[name][rows] for name in names], bits_of(protocol, names))
    counts = [
        np.bincount(unit_of_frame, scores.true[:, c], units),
        np.bincount(owner, minlength=units).astype(np.float64),
        *(np.bincount(owner, column, units) for column in flags.T),
    ]
    if len(starts):
        some = np.logical_or.reduceat(flags.any(axis=1), starts)
    else:
        some = np.empty(0, np.bool_)
    return _Curve(owner, flags, some, starts=np.append(starts, len(owner)), counts=np.stack(counts, axis=1))


def _of_block(curve: _Curve, weights: NDArray[np.float32], recalls: Floats) -> Floats:
    """Return the average precisions of one block of samples, ``(settings, samples)``; areas without ``recalls``."""
    # The terms are whole numbers, so the sums are exact and do not depend on the order.
    drawn = np.ascontiguousarray((weights.T.astype(np.float64) @ curve.counts).T)
    total = drawn[0]
    number = drawn[1]
    hits = drawn[2:]
    empty = np.where(number > 0, 0.0, np.nan)  # predictions without truth have the value 0
    state = np.zeros((len(hits), 3, len(total)))
    state[:, 0] = hits
    level = np.full(hits.shape, len(recalls) - 1)
    kernels.average_precision.weighted_precisions(
        curve.owner,
        curve.flags,
        curve.some,
        curve.starts,
        weights,
        total,
        number,
        state.ravel(),
        level,
        np.empty(len(total)),
        recalls,
    )
    if len(recalls):
        value = state[:, 2]
    else:
        value = state[:, 2] / np.where(total > 0, total, 1.0)
    return np.where(total > 0, value, empty)


SAMPLES = 1000
LEVEL = 0.95
Samples: TypeAlias = dict[str, dict[str, Floats]]  # values of bootstrap samples by class (or "mean") and key
Lacking: TypeAlias = dict[str, dict[str, int]]  # numbers of units without a value by class (or "mean") and key
Kind: TypeAlias = Literal["scene", "frame"]


def check_draws(samples: int, level: float, seed: int) -> None:
    """Refuse settings of a bootstrap that are out of range."""
    if not isinstance(samples, int) or samples < 1:
        raise InvalidInput(f"samples must be at least 1, a whole number, got {samples!r}")
    if not isinstance(level, float | int) or not 0 < level < 1:
        raise InvalidInput(f"level must be between 0 and 1, got {level!r}")
    check_whole("seed", seed, 0)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Bootstrap samples of scenes, or of frames if the scenes are not known."""

    kind: Kind
    unit_of_frame: Indices  # (frames,): the scene or frame that each frame belongs to
    weights: Floats  # (samples, units): how often each unit was drawn

    @property
    def count(self) -> int:
        """Number of scenes or frames."""
        return int(self.weights.shape[1])


def draw_units(keys: Sequence[str], samples: int, rng: np.random.Generator) -> tuple[Indices, Floats]:
    """Return the unit of each key and how often each unit was drawn, ``(samples, units)``.

    Units are numbered in the order of their names, so that the order of the keys does not matter.
    """
    units = {unit: i for i, unit in enumerate(sorted(set(keys)))}
    weights = np.zeros((samples, 0))
    if units:
        weights = rng.multinomial(len(units), np.full(len(units), 1 / len(units)), samples).astype(np.float64)
    return np.array([units[key] for key in keys], np.int64), weights


def draw(methods: Sequence["Results"], samples: int, seed: int) -> Drawn:
    """Draw scenes, or frames if the scenes are not known. The methods must have the same tokens in the same order."""
    known = (method.rows.scenes for method in methods if method.rows.scenes is not None)
    scenes = next(known, None) or methods[0].scenes  # scenes in the data before scenes in the tokens
    if scenes is None:
        keys = methods[0].tokens
    else:
        keys = scenes
    return Drawn("frame" if scenes is None else "scene", *draw_units(keys, samples, np.random.default_rng(seed)))


def drawn_values(results: "Results", unit_of_frame: Indices, weights: Floats) -> dict[str, dict[str, Floats]]:
    """Return the values of all samples by class name (or "mean") and key. NaN where a sample has no value."""
    classes = [(c, name) for c, name in enumerate(results.class_names) if name not in results.without_value]
    of_sums = _sum_values(results, classes, unit_of_frame, weights=weights)
    of_hits = precisions(results, classes, unit_of_frame, weights=weights)
    by_class = {
        name: {
            key: column
            for metric in results.metrics
            for key, column in (of_sums.get((metric, c)) or of_hits.get((metric, c)) or {}).items()
        }
        for c, name in classes
    }
    return by_class | {"mean": _means(results, by_class)}


def _means(results: "Results", by_class: dict[str, dict[str, Floats]]) -> dict[str, Floats]:
    """Return the means over classes, in the order of the metrics, and the values of combined metrics."""
    mean: dict[str, Floats] = {}
    for metric in map(METRICS.__getitem__, results.metrics):
        covered = [name for name in results.class_names if metric.covers(name, results.protocol)]
        present = [by_class[name] for name in covered if name in by_class]
        for key in next(iter(present), {}):
            of = value_named(ValueKey.parse(key).name)
            if of is None or of[0] is not metric:
                continue
            columns = [values[key] for values in present]
            if metric.absent is not None:
                columns = [np.where(np.isnan(column), metric.absent, column) for column in columns]
                columns += [np.full_like(columns[0], metric.absent)] * (len(covered) - len(present))
            mean[key] = mean_over_classes(columns)
        if isinstance(metric.rows, CombinedRows):
            mean[metric.main.key] = metric.rows.of_means(mean)
    return mean


def units_with_class(results: "Results", unit_of_frame: Indices, units: int | None = None) -> dict[str, Flags]:
    """Return for each class which units have predictions or truth of it. Only these have a part in its values."""
    if units is None:
        count = int(unit_of_frame.max()) + 1
    else:
        count = units
    occurs = np.zeros((count, len(results.class_names)), np.bool_)
    np.logical_or.at(occurs, unit_of_frame, results.scores.predicted + results.scores.true > 0)
    return dict(zip(results.class_names, occurs.T, strict=True))


def count_units(occurs: Sequence[dict[str, Flags]]) -> dict[str, int]:
    """Return how many units have each class in one of some results, and how many have any class as ``"mean"``."""
    by_class = {name: np.logical_or.reduce([flags[name] for flags in occurs]) for name in occurs[0]}
    counts = {name: int(np.count_nonzero(flags)) for name, flags in by_class.items()}
    return counts | {"mean": int(np.count_nonzero(np.logical_or.reduce(list(by_class.values()))))}


def mean_over_classes(columns: Sequence[Floats]) -> Floats:
    """Return the mean over classes. Each sample averages over the classes that have a value in it."""
    stacked = np.stack(columns)
    finite = np.isfinite(stacked)
    total = np.where(finite, stacked, 0.0).sum(axis=0)
    number = finite.sum(axis=0)
    mean: Floats = np.divide(total, number, out=np.full_like(total, np.nan), where=number > 0)
    return mean


def draws_of(samples: Samples, name: str, key: str, count: dict[str, int], lacking: Sequence[Lacking] = ()) -> Draws:
    """Return the draws of one value, and for a mean the draws of all classes.

    Args:
        samples: The values of the bootstrap samples.
        name: A class, or ``"mean"``.
        key: The key of the value.
        count: How many units have each class, from ``count_units``.
        lacking: For each method, how many of these units have no value. The units of the method that lacks most count:
            a value that comes from a single scene says nothing about its spread, whatever the other method has.
    """

    def units(of: str) -> int:
        return count[of] - max((each.get(of, {}).get(key, 0) for each in lacking), default=0)

    if name == "mean":
        classes = [other for other in samples if other != "mean"]
    else:
        classes = []
    parts = tuple(Draws(samples[other][key], units(other)) for other in classes if key in samples[other])
    return Draws(samples[name][key], units(name), parts)


def lacking_units(results: "Results", unit_of_frame: Indices, units: int) -> Lacking:
    """Return in how many units a class occurs without having a value, by class (or "mean") and key.

    An offset is such a value: it exists where something is matched. Keys that no unit lacks are left out.
    """
    occurs = units_with_class(results, unit_of_frame, units)
    having: dict[str, dict[str, Flags]] = {}
    for metric, rows in sum_metrics(results.metrics):
        shown = [value.key for value in metric.with_role("main", "headline")]
        for c, name in enumerate(results.class_names):
            if name in results.without_value or not metric.covers(name, results.protocol):
                continue
            of_unit = added_by_unit(results.scores.sums[metric.name][0][:, c], unit_of_frame, units)
            values = rows.values(of_unit, results.protocol)
            for key in shown:
                if key in values:
                    having.setdefault(key, {})[name] = np.isfinite(values[key]) & occurs[name]
    counts: Lacking = {}
    for key, by_class in having.items():
        anywhere = {name: occurs[name] for name in by_class}
        anywhere["mean"] = np.logical_or.reduce(list(anywhere.values()))
        by_class["mean"] = np.logical_or.reduce(list(by_class.values()))
        for name, flags in by_class.items():
            missing = int(np.count_nonzero(anywhere[name] & ~flags))
            if missing:
                counts.setdefault(name, {})[key] = missing
    return counts


def added_by_unit(rows: Floats, unit_of_frame: Indices, units: int) -> Floats:
    """Return the sums of the rows of each unit, ``(units, ...)``."""
    sums = np.zeros((units, *rows.shape[1:]))
    np.add.at(sums, unit_of_frame, rows)
    return sums


def drawn_sums(weights: Floats, sums: Floats) -> Floats:
    """Return the sums of each sample. Unlike ``@``, the order of additions does not depend on the number of threads."""
    drawn: Floats = np.einsum("su,uc->sc", weights, sums)
    return drawn


def _sum_values(
    results: "Results", classes: Sequence[tuple[int, str]], unit_of_frame: Indices, weights: Floats
) -> dict[tuple[str, int], dict[str, Floats]]:
    """Return the main and headline values from weighted sums at the first setting, by metric and class."""
    scores = results.scores
    protocol = results.protocol
    units = weights.shape[1]
    instances = added_by_unit((scores.predicted + scores.true).astype(np.float64), unit_of_frame, units)
    occurs = drawn_sums(weights, instances) > 0
    tasks = [
        (metric, rows, c)
        for metric, rows in sum_metrics(results.metrics)
        for c, name in classes
        if metric.covers(name, protocol)
    ]

    def work(task: tuple[Metric, SumRows, int]) -> dict[str, Floats]:
        metric, rows, c = task
        of_unit = added_by_unit(scores.sums[metric.name][0][:, c], unit_of_frame, units)
        values = rows.values(drawn_sums(weights, of_unit), protocol)
        shown = [value.key for value in metric.with_role("main", "headline") if value.key in values]
        return {key: np.where(occurs[:, c], values[key], np.nan) for key in shown}

    of_tasks = in_threads(work, tasks, None)
    return {(metric.name, c): values for (metric, _, c), values in zip(tasks, of_tasks, strict=True)}
