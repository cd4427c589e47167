"""Values of a class at every threshold on the confidence, recommended thresholds and recalibration."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapgauge.features.confidence.solved import Solved
from mapgauge.metrics.average_precision import RECALLS, recall_and_precision
from mapgauge.metrics.metric import HitRows, ValueKey
from mapgauge.metrics.table import METRICS
from mapgauge.results.intervals import Drawn, Draws, Estimate, draw_units, estimate
from mapgauge.results.results import Results
from mapgauge.typing import Confidences, Flags, Floats, Indices

Form: TypeAlias = Literal["dropped", "rounded"]


def normalised(cost: Floats, mass: Floats, order: float) -> Floats:
    """Return normalised PLD from p-th powers of the cost and the mass; 0 if there is no mass."""
    d = np.maximum(cost, 0.0)
    bound = np.asarray(mass)
    if order != 1.0:
        d = d ** (1 / order)
        bound = bound ** (1 / order)
    value: Floats = np.divide(2 * d, bound + d, out=np.zeros_like(bound), where=bound > 0)
    return np.minimum(value, 1.0)


@dataclass(frozen=True, eq=False)
class Levels:
    """Values of one class if only predictions of at least a confidence count.

    Entry 0 is a threshold above all confidences: nothing is left. The other entries are the confidences that occur,
    from high to low. The last entry keeps all predictions.
    """

    threshold: Floats  # infinity first
    kept: Indices  # number of predictions
    hits: Indices  # pairs of the rounded map that are hits
    true: int  # number of true instances
    cost: dict[Form, Floats]  # unnormalised PLD, to the power of the order
    mass: dict[Form, Floats]
    order: float
    ap: dict[str, Floats]  # average precision of the predictions that are kept, by key

    def pld(self, form: Form) -> Floats:
        """Return normalised PLD at each threshold."""
        return normalised(self.cost[form], self.mass[form], self.order)

    @property
    def precision(self) -> Floats:
        """The share of kept predictions that are hits; NaN where none is kept."""
        share: Floats = np.divide(self.hits, self.kept, out=np.full(len(self.kept), np.nan), where=self.kept > 0)
        return share

    @property
    def recall(self) -> Floats:
        """The share of truth that is hit; NaN without truth."""
        if self.true:
            return self.hits / self.true
        return np.full(len(self.kept), np.nan)

    @property
    def f1(self) -> Floats:
        """The harmonic mean of precision and recall; NaN without truth and predictions."""
        total = self.kept + self.true
        value: Floats = np.divide(2 * self.hits, total, out=np.full(len(self.kept), np.nan), where=total > 0)
        return value

    def place(self, threshold: float | Floats) -> NDArray[np.int64]:
        """Return the entry of a threshold: predictions of at least this confidence are kept."""
        rising = self.threshold[::-1]
        return len(rising) - 1 - np.searchsorted(rising, threshold, side="left")


def levels_of(solved: Solved, label: int, frames: Flags | None = None, results: Results | None = None) -> Levels:
    """Return the values of one class over the threshold, in all frames or in some.

    Without results, there are no average precisions.
    """
    if frames is None:
        chosen = np.ones(len(solved.tokens), np.bool_)
    else:
        chosen = frames
    rows = solved.by_confidence[label]
    if frames is not None:
        rows = rows[chosen[solved.frame[rows]]]
    confidence = solved.confidence[rows]
    last = np.flatnonzero(np.append(confidence[1:] != confidence[:-1], True)[: len(confidence)])
    truth = float(solved.true_mass[chosen, label].sum())

    def steps(column: NDArray[np.generic]) -> Floats:
        """Return the sums of a column over the predictions that are kept at each threshold."""
        return np.concatenate([[0.0], np.cumsum(column)[last]])

    kept = np.concatenate([[0], last + 1])
    mass: dict[Form, Floats] = {"dropped": truth + 0.5 * steps(confidence), "rounded": truth + 0.5 * kept}
    cost: dict[Form, Floats] = {
        "dropped": mass["dropped"] - steps(solved.dropped[rows]),
        "rounded": mass["rounded"] - steps(solved.rounded[rows]),
    }
    threshold = np.concatenate([[np.inf], confidence[last]])
    hits = steps(solved.hits[rows]).astype(np.int64)
    true = int(solved.true[chosen, label].sum())
    if results is None:
        ap = {}
    else:
        ap = _precisions(results, label, threshold)
    return Levels(threshold=threshold, kept=kept, hits=hits, true=true, cost=cost, mass=mass, order=solved.order, ap=ap)


def _precisions(results: Results, label: int, threshold: Floats) -> dict[str, Floats]:
    """Return average precision over the threshold, by key. A prediction below the threshold never changes other hits.

    Metrics of scenes are left out, because their hits depend on the predictions of other frames.
    """
    scores = results.scores
    protocol = results.protocol
    precisions: dict[str, Floats] = {}
    counted = scores.counted(label, protocol)
    given = scores.confidence[counted]
    confidence = np.sort(given)
    true = int(scores.true[:, label].sum())
    for name, bits in scores.hits.items():
        metric = METRICS[name]
        if metric.level != "frame" or not metric.covers(results.class_names[label], protocol):
            continue
        settings = metric.settings(protocol)
        of_class = bits[counted]
        each = []
        for t, setting in enumerate(settings):
            hitting = np.sort(given[(of_class >> t) & 1 == 1])[::-1]
            steps = np.append(hitting[1:] != hitting[:-1], True)[: len(hitting)]
            # Rising numbers are found faster.
            number = len(confidence) - np.searchsorted(confidence, hitting[steps][::-1])[::-1]
            recall, precision = recall_and_precision(np.flatnonzero(steps) + 1, number, true)
            values = np.append(
                0.0, _so_far[protocol.settings[name].interpolation](recall, precision) if true else 0.0 * recall
            )
            place = len(number) - np.searchsorted(hitting[steps][::-1], threshold[::-1], side="left")[::-1]
            precisions[str(ValueKey(metric.main.key, setting))] = column = values[place]
            each.append(column)
        if each and isinstance(metric.rows, HitRows):
            precisions[metric.main.key] = np.mean(each, axis=0)
    return precisions


def _areas(recall: Floats, precision: Floats) -> Floats:
    from mapgauge.features.confidence.kernels import areas_so_far

    out = np.empty(len(recall))
    if len(recall):
        areas_so_far(recall, precision, out)
    return out


def _at_recalls(levels: Floats, recall: Floats, precision: Floats) -> Floats:
    """Return the mean of the highest precision at some recalls, for the first k points."""
    total = np.zeros(len(recall))
    for level in levels:
        total += np.maximum.accumulate(np.where(recall >= level, precision, 0.0))
    return total / len(levels)


_so_far: dict[str, Callable[[Floats, Floats], Floats]] = {
    "area": _areas,
    **{how: partial(_at_recalls, levels) for how, levels in RECALLS.items()},
}


@dataclass(frozen=True, eq=False)
class Units(Drawn):
    """Scenes or frames, with bootstrap draws and two halves. Frames are sorted by token."""

    halves: tuple[Flags, Flags] | None  # which frames are in each half; None if there are fewer than two units

    @classmethod
    def of(cls, results: Results, samples: int, seed: int) -> "Units":
        """Return the units of results. The halves and the draws depend on the seed only, not on the order of frames."""
        scenes = results.scenes
        by_token = dict(zip(results.tokens, results.tokens if scenes is None else scenes, strict=True))
        rng = np.random.default_rng(seed)
        unit_of_frame, weights = draw_units([by_token[token] for token in sorted(by_token)], samples, rng)
        count = weights.shape[1]
        first = np.zeros(count, np.bool_)
        first[rng.permutation(count)[: (count + 1) // 2]] = True
        halves = None
        if count > 1:
            halves = (first[unit_of_frame], ~first[unit_of_frame])
        return cls("frame" if scenes is None else "scene", unit_of_frame, weights, halves)


_PASSES = 3  # over all levels at once, which leave few blocks for the loop


class Isotonic(NamedTuple):
    """A function that never falls: straight lines between points, constant beyond them."""

    confidence: Floats  # rising
    value: Floats  # never falling

    def __call__(self, confidence: ArrayLike) -> Floats:
        """Return the recalibrated confidences."""
        return np.interp(np.asarray(confidence, np.float64), self.confidence, self.value)


def fit_isotonic(confidence: Floats, target: Floats) -> Isotonic:
    """Fit a monotone function by pooling adjacent violators.

    The values at the given confidences minimise the sum of squared differences to the targets: 1 for a hit, 0 for none,
    or anything between.

    >>> fit = fit_isotonic(np.array([0.1, 0.2, 0.6, 0.9]), np.array([0.0, 1.0, 0.0, 1.0]))
    >>> fit([0.1, 0.2, 0.4, 0.6, 1.0]).tolist()
    [0.0, 0.5, 0.5, 0.5, 1.0]
    """
    levels, place = np.unique(confidence, return_inverse=True)
    number = np.bincount(place).astype(np.float64)
    total = np.bincount(place, target)
    starts = np.arange(len(levels))
    for _ in range(_PASSES):  # adjacent violators may be pooled in any order: first those of all runs that fall
        falls = total[1:] * number[:-1] <= total[:-1] * number[1:]
        kept = np.flatnonzero(np.append(True, ~falls))
        starts = starts[kept]
        number = np.add.reduceat(number, kept)
        total = np.add.reduceat(total, kept)
    first: list[int] = []  # first level of each block, and the number and total of its targets
    counts: list[float] = []
    totals: list[float] = []
    for start, n, t in zip(starts.tolist(), number.tolist(), total.tolist(), strict=True):
        begin = start
        count = n
        added = t
        while first and totals[-1] * count >= added * counts[-1]:  # the mean before is not below this mean
            begin = first.pop()
            count += counts.pop()
            added += totals.pop()
        first.append(begin)
        counts.append(count)
        totals.append(added)
    ends = [*(begin - 1 for begin in first[1:]), len(levels) - 1]
    means = np.array(totals) / np.array(counts)
    # A block is two points, so that the function is constant inside.
    points = np.stack([levels[first], levels[ends]], axis=1).ravel()
    values = np.repeat(means, 2)
    double = np.append(points[1:] != points[:-1], True)
    return Isotonic(points[double], values[double])


CRITERIA = ("best_pld", "best_f1", "equal_counts")


class HeldOut(NamedTuple):
    """PLD with thresholds that were chosen on the other half. Intervals hold the thresholds fixed."""

    thresholds: tuple[float, float]  # chosen on the first and on the second half
    pld: Estimate  # rounded, both halves judged by the threshold of the other and pooled
    price: Estimate  # PLD as it is, less this


class Recalibrated(NamedTuple):
    """What isotonic recalibration changes. It was fitted on one half and judged on the other, both ways.

    Intervals hold the two fits fixed.
    """

    pld_before: Estimate
    pld_after: Estimate
    pld_change: Estimate  # after less before
    brier_before: Estimate
    brier_after: Estimate
    brier_change: Estimate


@dataclass(frozen=True, eq=False)
class ClassConfidence:
    """What the confidences of one class are worth."""

    name: str
    predictions: int
    truth: int
    levels: Levels  # values at every threshold
    pld: Estimate  # as it is
    thresholds: dict[str, float]  # by criterion; empty without truth or predictions
    best: Estimate | None  # PLD if confidences are rounded at the best threshold, chosen on the same frames
    price: Estimate | None  # PLD less ``best``, with the threshold held fixed in the interval
    held_out: HeldOut | None
    recalibrated: Recalibrated | None

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python values. Intervals without bounds have None."""
        return {
            "predictions": self.predictions,
            "truth": self.truth,
            "pld": plain(self.pld),
            "thresholds": self.thresholds,
            "rounded": plain(self.best),
            "price": plain(self.price),
            "held_out": plain(self.held_out),
            "recalibrated": plain(self.recalibrated),
        }


def plain(given: Any) -> Any:
    """Return a named tuple of numbers, tuples and named tuples as a dictionary, with None in place of NaN."""
    if hasattr(given, "_asdict"):
        return {key: plain(value) for key, value in given._asdict().items()}
    if isinstance(given, tuple):
        return list(given)
    if given is None or np.isnan(given):
        return None
    return float(given)


def thresholds_of(levels: Levels) -> dict[str, float]:
    """Return the recommended thresholds by criterion: keep predictions of at least this confidence.

    ``best_pld`` has the smallest rounded PLD, ``best_f1`` the largest F1. With ``equal_counts``, the number of
    predictions is nearest to the number of true instances. The highest of several equally good thresholds is taken.
    """
    if not levels.true or len(levels.threshold) < 2:
        return {}
    away = np.abs(levels.kept - levels.true)
    places = (levels.pld("rounded")[1:].argmin(), levels.f1[1:].argmax(), away[1:].argmin())
    return {key: float(levels.threshold[1 + place]) for key, place in zip(CRITERIA, places, strict=True)}


def class_confidence(
    solved: Solved,
    label: int,
    name: str,
    levels: Levels,
    units: Units,
    recalibrated: Confidences | None,
    savings: Floats | None,
    level: float,
) -> ClassConfidence:
    """Return everything about one class.

    ``recalibrated`` has new confidences of all predictions, NaN for those without; it is None if there are no halves.
    ``savings`` are the savings with these confidences.
    """
    of_class = solved.label == label
    occurs = np.bincount(units.unit_of_frame, solved.true[:, label], units.count) > 0
    occurs[units.unit_of_frame[solved.frame[of_class]]] = True
    thresholds = thresholds_of(levels)
    drawn = _Drawn(units, int(np.count_nonzero(occurs)), solved.order, level=level)
    pld = drawn.pld(float(levels.pld("dropped")[-1]), _sums(solved, label, units, form="dropped", threshold=-np.inf))
    best = price = None
    if thresholds:
        at = thresholds["best_pld"]
        value = float(levels.pld("rounded")[levels.place(at)])
        best = drawn.pld(value, _sums(solved, label, units, form="rounded", threshold=at))
        price = drawn.less(pld, best)
    return ClassConfidence(
        name=name,
        predictions=int(np.count_nonzero(of_class)),
        truth=levels.true,
        levels=levels,
        pld=drawn.estimate(pld),
        thresholds=thresholds,
        best=None if best is None else drawn.estimate(best),
        price=price,
        held_out=_held_out(solved, label, units, pld=pld, drawn=drawn),
        recalibrated=_recalibrated(
            solved, label, of_class, before=pld, confidence=recalibrated, savings=savings, drawn=drawn
        ),
    )


class _Value(NamedTuple):
    """A value, and the same value of each bootstrap sample."""

    value: float
    samples: Floats


@dataclass(frozen=True)
class _Drawn:
    """Values of one class with their bootstrap samples."""

    units: Units
    there: int  # number of units with the class
    order: float
    level: float

    def pld(self, value: float, sums: Floats) -> _Value:
        """Return a PLD from the cost and the mass of each unit. Samples without predictions and truth have NaN."""
        cost, mass = np.einsum("su,uc->cs", self.units.weights, sums)
        return _Value(value, np.where(mass > 0, normalised(cost, mass, self.order), np.nan))

    def mean(self, values: Floats, unit: Indices) -> _Value:
        """Return the mean of a number of each prediction."""
        sums = np.stack([np.bincount(unit, values, self.units.count), np.bincount(unit, minlength=self.units.count)])
        total, number = np.einsum("su,cu->cs", self.units.weights, sums)
        return _Value(float(values.mean()), np.divide(total, number, out=np.full(len(total), np.nan), where=number > 0))

    def estimate(self, value_of: _Value, limits: tuple[float, float] = (0.0, 1.0)) -> Estimate:
        """Return a value with its interval."""
        return estimate(value_of.value, Draws(value_of.samples, self.there), self.level, limits=limits)

    def less(self, first: _Value, second: _Value) -> Estimate:
        """Return a difference of two values with its interval."""
        return self.estimate(_Value(first.value - second.value, first.samples - second.samples), (-1.0, 1.0))


def _sums(solved: Solved, label: int, units: Units, form: Form, threshold: float) -> Floats:
    """Return cost and mass of each unit at a threshold, ``(units, 2)``."""
    chosen = (solved.label == label) & (solved.confidence >= threshold)
    unit = units.unit_of_frame[solved.frame[chosen]]
    if form == "dropped":
        weight = solved.confidence[chosen]
        saving = solved.dropped[chosen]
    else:
        weight = np.ones(len(unit))
        saving = solved.rounded[chosen]
    return _unit_sums(solved, label, units, unit=unit, confidence=weight, saving=saving)


def _unit_sums(
    solved: Solved, label: int, units: Units, unit: Indices, confidence: Confidences, saving: Floats
) -> Floats:
    """Return cost and mass of each unit, ``(units, 2)``, from the unit, confidence and saving of each prediction."""
    mass = np.bincount(units.unit_of_frame, solved.true_mass[:, label], units.count)
    mass += np.bincount(unit, 0.5 * confidence, units.count)
    return np.stack([mass - np.bincount(unit, saving, units.count), mass], axis=1)


def _held_out(solved: Solved, label: int, units: Units, pld: _Value, drawn: _Drawn) -> HeldOut | None:
    """Return the PLD of both halves with the threshold of the other; None if a half has no truth or predictions."""
    if units.halves is None:
        return None
    halves = [levels_of(solved, label, half) for half in units.halves]
    chosen = [thresholds_of(half) for half in halves]
    if not all(chosen):
        return None
    first, second = (thresholds["best_pld"] for thresholds in chosen)
    cost = mass = 0.0
    for half, threshold in zip(halves, (second, first), strict=True):
        place = half.place(threshold)
        cost += float(half.cost["rounded"][place])
        mass += float(half.mass["rounded"][place])
    in_first = np.zeros((units.count, 1), np.bool_)
    in_first[units.unit_of_frame[units.halves[0]]] = True
    sums = np.where(in_first, *(_sums(solved, label, units, form="rounded", threshold=at) for at in (second, first)))
    judged = drawn.pld(float(normalised(np.array(cost), np.array(mass), solved.order)), sums)
    return HeldOut((first, second), drawn.estimate(judged), drawn.less(pld, judged))


def recalibrate(solved: Solved, units: Units) -> Confidences | None:
    """Return confidences from an isotonic fit on the other half, class by class; None if there are no halves.

    The target is 1 for a hit and 0 otherwise. Predictions of a class that occurs in one half only are NaN.
    """
    if units.halves is None:
        return None
    recalibrated = np.full(len(solved.confidence), np.nan)
    target = hits_of(solved)
    for label in range(solved.true.shape[1]):
        first, second = (np.flatnonzero((solved.label == label) & half[solved.frame]) for half in units.halves)
        for judged, fitted in ((first, second), (second, first)):
            if len(judged) and len(fitted):
                fit = fit_isotonic(solved.confidence[fitted], target[fitted])
                recalibrated[judged] = fit(solved.confidence[judged])
    return recalibrated


def hits_of(solved: Solved) -> Floats:
    """Return 1 for predictions that are assigned at a distance of a hit, with all predictions as they are, else 0."""
    return (solved.distance <= solved.hit).astype(np.float64)  # a comparison with NaN is false


def _recalibrated(
    solved: Solved,
    label: int,
    of_class: Flags,
    before: _Value,
    confidence: Confidences | None,
    savings: Floats | None,
    drawn: _Drawn,
) -> Recalibrated | None:
    if confidence is None or savings is None or not of_class.any() or np.isnan(confidence[of_class]).any():
        return None
    target = hits_of(solved)[of_class]
    unit = drawn.units.unit_of_frame[solved.frame[of_class]]
    units = drawn.units
    mass = float(solved.true_mass[:, label].sum()) + 0.5 * float(confidence[of_class].sum())
    cost = mass - float(savings[of_class].sum())
    sums = _unit_sums(solved, label, units, unit=unit, confidence=confidence[of_class], saving=savings[of_class])
    after = drawn.pld(float(normalised(np.array(cost), np.array(mass), solved.order)), sums)
    brier, new = (drawn.mean((values[of_class] - target) ** 2, unit) for values in (solved.confidence, confidence))
    return Recalibrated(
        drawn.estimate(before),
        drawn.estimate(after),
        drawn.less(after, before),
        brier_before=drawn.estimate(brier),
        brier_after=drawn.estimate(new),
        brier_change=drawn.less(new, brier),
    )
