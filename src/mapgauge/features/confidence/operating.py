"""What the confidences of a class are worth: recommended thresholds, both on held-out halves, and recalibration."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from mapgauge.features.confidence.isotonic import fit_isotonic
from mapgauge.features.confidence.levels import Form, Levels, levels_of, normalised
from mapgauge.features.confidence.solved import Solved
from mapgauge.results.bootstrap import Drawn, draw_units
from mapgauge.results.estimation import estimate
from mapgauge.results.intervals import Estimate
from mapgauge.results.results import Results
from mapgauge.results.standard_errors import Draws
from mapgauge.typing import Confidences, Flags, Floats, Indices

CRITERIA = ("best_pld", "best_f1", "equal_counts")


@dataclass(frozen=True, eq=False)
class Units(Drawn):
    """Scenes or frames, with bootstrap draws and two halves. Frames are sorted by token."""

    halves: tuple[Flags, Flags] | None  # which frames are in each half; None if there are fewer than two units

    @classmethod
    def of(cls, results: Results, samples: int, seed: int) -> "Units":
        """Return the units of results. The halves and the draws depend on the seed only, not on the order of frames."""
        scenes = results.scenes
        name: Literal["scene", "frame"] = "scene"
        if scenes is None:
            name = "frame"
            scenes = results.tokens
        by_token = dict(zip(results.tokens, scenes, strict=True))
        rng = np.random.default_rng(seed)
        unit_of_frame, weights = draw_units([by_token[token] for token in sorted(by_token)], samples, rng)
        count = weights.shape[1]
        first = np.zeros(count, np.bool_)
        first[rng.permutation(count)[: (count + 1) // 2]] = True
        halves = None
        if count > 1:
            halves = (first[unit_of_frame], ~first[unit_of_frame])
        return cls(name, unit_of_frame, weights, halves=halves)


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


@dataclass(frozen=True, eq=False, kw_only=True)
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
    drawn = _ClassSamples(units, int(np.count_nonzero(occurs)), solved.order, level=level)
    pld = drawn.pld(float(levels.pld("dropped")[-1]), _sums(solved, label, units, form="dropped", threshold=-np.inf))
    best = None
    price = None
    if thresholds:
        at = thresholds["best_pld"]
        value = float(levels.pld("rounded")[levels.place(at)])
        rounded = drawn.pld(value, _sums(solved, label, units, form="rounded", threshold=at))
        best = drawn.estimate(rounded)
        price = drawn.less(pld, rounded)
    return ClassConfidence(
        name=name,
        predictions=int(np.count_nonzero(of_class)),
        truth=levels.true,
        levels=levels,
        pld=drawn.estimate(pld),
        thresholds=thresholds,
        best=best,
        price=price,
        held_out=_held_out(solved, label, units, pld=pld, drawn=drawn),
        recalibrated=_recalibrated(
            solved, label, of_class, before=pld, confidence=recalibrated, savings=savings, drawn=drawn
        ),
    )


class _SampledValue(NamedTuple):
    """A value, and the same value of each bootstrap sample."""

    value: float
    samples: Floats


@dataclass(frozen=True)
class _ClassSamples:
    """Values of one class with their bootstrap samples."""

    units: Units
    there: int  # number of units with the class
    order: float
    level: float

    def pld(self, value: float, sums: Floats) -> _SampledValue:
        """Return a PLD from the cost and the mass of each unit. Samples without predictions and truth have NaN."""
        cost, mass = np.einsum("su,uc->cs", self.units.weights, sums)
        return _SampledValue(value, np.where(mass > 0, normalised(cost, mass, self.order), np.nan))

    def mean(self, values: Floats, unit: Indices) -> _SampledValue:
        """Return the mean of a number of each prediction."""
        sums = np.stack([np.bincount(unit, values, self.units.count), np.bincount(unit, minlength=self.units.count)])
        total, number = np.einsum("su,cu->cs", self.units.weights, sums)
        return _SampledValue(
            float(values.mean()), np.divide(total, number, out=np.full(len(total), np.nan), where=number > 0)
        )

    def estimate(self, value_of: _SampledValue, limits: tuple[float, float] = (0.0, 1.0)) -> Estimate:
        """Return a value with its interval."""
        return estimate(value_of.value, Draws(value_of.samples, self.there), self.level, limits=limits)

    def less(self, first: _SampledValue, second: _SampledValue) -> Estimate:
        """Return a difference of two values with its interval."""
        return self.estimate(_SampledValue(first.value - second.value, first.samples - second.samples), (-1.0, 1.0))


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


def _held_out(solved: Solved, label: int, units: Units, pld: _SampledValue, drawn: _ClassSamples) -> HeldOut | None:
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
    # Each half is judged by the threshold of the other.
    of_first = _sums(solved, label, units, form="rounded", threshold=second)
    of_second = _sums(solved, label, units, form="rounded", threshold=first)
    sums = np.where(in_first, of_first, of_second)
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
    before: _SampledValue,
    confidence: Confidences | None,
    savings: Floats | None,
    drawn: _ClassSamples,
) -> Recalibrated | None:
    """Return what recalibration changes for a class; None if one of its predictions has no new confidence."""
    if confidence is None or savings is None:
        return None
    if not of_class.any() or np.isnan(confidence[of_class]).any():
        return None
    units = drawn.units
    unit = units.unit_of_frame[solved.frame[of_class]]
    target = hits_of(solved)[of_class]
    mass = float(solved.true_mass[:, label].sum()) + 0.5 * float(confidence[of_class].sum())
    cost = mass - float(savings[of_class].sum())
    sums = _unit_sums(solved, label, units, unit=unit, confidence=confidence[of_class], saving=savings[of_class])
    after = drawn.pld(float(normalised(np.array(cost), np.array(mass), solved.order)), sums)
    brier_before = drawn.mean((solved.confidence[of_class] - target) ** 2, unit)
    brier_after = drawn.mean((confidence[of_class] - target) ** 2, unit)
    return Recalibrated(
        pld_before=drawn.estimate(before),
        pld_after=drawn.estimate(after),
        pld_change=drawn.less(after, before),
        brier_before=drawn.estimate(brier_before),
        brier_after=drawn.estimate(brier_after),
        brier_change=drawn.less(brier_after, brier_before),
    )
