"""Values of a class at every threshold on the confidence."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.features.confidence.solved import Solved
from mapgauge.metrics.average_precision import RECALLS, recall_and_precision
from mapgauge.metrics.metric import HitRows, ValueKey
from mapgauge.metrics.table import METRICS
from mapgauge.results.results import Results
from mapgauge.typing import Flags, Floats, Indices

Form: TypeAlias = Literal["dropped", "rounded"]
_Areas: TypeAlias = Callable[[Floats, Floats], Floats]  # from recall and precision


def normalised(cost: Floats, mass: Floats, order: float) -> Floats:
    """Return normalised PLD from p-th powers of the cost and the mass; 0 if there is no mass."""
    d = np.maximum(cost, 0.0)
    bound = np.asarray(mass)
    if order != 1.0:
        d = d ** (1 / order)
        bound = bound ** (1 / order)
    value: Floats = np.divide(2 * d, bound + d, out=np.zeros_like(bound), where=bound > 0)
    return np.minimum(value, 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
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
    rows = solved.by_confidence[label]
    if frames is None:
        chosen = np.ones(len(solved.tokens), np.bool_)
    else:
        chosen = frames
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
    ap = {}
    if results is not None:
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
        areas = _so_far[protocol.settings[name].interpolation]
        of_class = bits[counted]
        each = []
        for t, setting in enumerate(metric.settings(protocol)):
            hitting = given[(of_class >> t) & 1 == 1]
            column = _precision(hitting, confidence, threshold, true=true, areas=areas)
            precisions[str(ValueKey(metric.main.key, setting))] = column
            each.append(column)
        if each and isinstance(metric.rows, HitRows):
            precisions[metric.main.key] = np.mean(each, axis=0)
    return precisions


def _precision(hitting: Floats, confidence: Floats, threshold: Floats, *, true: int, areas: _Areas) -> Floats:
    """Return average precision at each threshold.

    Args:
        hitting: Confidences of the hits.
        confidence: Confidences of all predictions, rising.
        threshold: Falling.
        true: Number of true instances.
        areas: Returns average precision of the first k levels, for every k.
    """
    falling = np.sort(hitting)[::-1]
    is_last = np.append(falling[1:] != falling[:-1], True)[: len(falling)]  # of the hits with the same confidence
    rising_levels = falling[is_last][::-1]
    # Rising numbers are found faster.
    number = len(confidence) - np.searchsorted(confidence, rising_levels)[::-1]
    recall, precision = recall_and_precision(np.flatnonzero(is_last) + 1, number, true)
    if true:
        so_far = areas(recall, precision)
    else:
        so_far = 0.0 * recall
    values = np.append(0.0, so_far)
    place = len(number) - np.searchsorted(rising_levels, threshold[::-1], side="left")[::-1]
    return values[place]


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


_so_far: dict[str, _Areas] = {
    "area": _areas,
    **{how: partial(_at_recalls, levels) for how, levels in RECALLS.items()},
}
