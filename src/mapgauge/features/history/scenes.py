"""How much a value changed on the scenes that nights share: the paired difference, and in which scenes.

The values of some nights before and some nights after are pooled, so that the noise of single nights is smaller. The
standard error is that of the jackknife over scenes (B. Efron, "The jackknife, the bootstrap and other resampling
plans", SIAM, 1982): each scene is left out in turn, from both sides.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mapgauge.features.history.nights import Night
from mapgauge.metrics.metric import SumRows
from mapgauge.metrics.table import METRICS
from mapgauge.results.comparison import limits_of
from mapgauge.results.drawn_values import MEAN, mean_over_classes
from mapgauge.results.estimation import judged
from mapgauge.results.intervals import FEWEST, LEVEL, Difference
from mapgauge.typing import Floats

WINDOW = 5  # nights on each side that are pooled, at most
_ROUNDING = 1e-9  # differences up to this size are no change


@dataclass(frozen=True)
class OnScenes:
    """How much a value changed on shared scenes."""

    difference: Difference  # of the pooled values, with its interval over scenes
    scenes: int  # that both sides have, and in which the class has a value
    rose: int  # scenes in which the value rose
    fell: int
    groups: Mapping[str, float]  # how much it changed in each group of scenes, such as cities

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "difference": self.difference.value,
            "low": _finite(self.difference.low),
            "high": _finite(self.difference.high),
            "decided": self.difference.decided,
            "scenes": self.scenes,
            "rose": self.rose,
            "fell": self.fell,
            "groups": dict(self.groups),
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def on_scenes(
    before: Sequence[Night], after: Sequence[Night], class_name: str, key: str, groups: Mapping[str, str]
) -> OnScenes | None:
    """Return how much the value of a metric with sums changed; None if its scenes are not known or not shared.

    Args:
        before: Nights before the change; the last ones are used.
        after: Nights from the change on; the first ones are used.
        class_name: A class, or ``"mean"``.
        key: The key of a value without a setting.
        groups: The group of each scene, as far as known.
    """
    nights = [*before[-WINDOW:], *after[:WINDOW]]
    metric = _metric_of(key, nights)
    if metric is None:
        return None
    shared = _shared_scenes(nights)
    if len(shared) < 2:
        return None
    first = _SummedNights.of(before[-WINDOW:], metric, shared)
    second = _SummedNights.of(after[:WINDOW], metric, shared)
    if first is None or second is None:
        return None
    classes = nights[0].pooled.class_names
    chosen = classes if class_name == MEAN else (class_name,)

    def changes(rows: Floats) -> Floats:
        """Return the change of the value for each row of weights of scenes."""
        return second.values(rows, chosen, key) - first.values(rows, chosen, key)

    whole = float(changes(np.ones((1, len(shared))))[0])
    each = changes(np.eye(len(shared)))
    known = np.isfinite(each)
    count = int(known.sum())
    if not math.isfinite(whole) or count < 2:
        return None
    left_out = changes(1 - np.eye(len(shared)))[known]
    left_out = left_out[np.isfinite(left_out)]
    error = math.nan
    if len(left_out) > 1:
        spread = float(((left_out - left_out.mean()) ** 2).sum())
        error = math.sqrt((len(left_out) - 1) / len(left_out) * spread)
    smallest, largest = limits_of(key)
    difference = judged(
        whole,
        error,
        max(count - 1, 1),
        enough=count >= FEWEST,
        level=LEVEL,
        limits=(smallest - largest, largest - smallest),
    )
    return OnScenes(
        difference=difference,
        scenes=count,
        rose=int((each[known] > _ROUNDING).sum()),
        fell=int((each[known] < -_ROUNDING).sum()),
        groups=_by_group(shared, groups, changes),
    )


def _by_group(shared: Sequence[str], groups: Mapping[str, str], changes: Any) -> dict[str, float]:
    names = sorted({groups[scene] for scene in shared if scene in groups})
    if not names:
        return {}
    rows = np.array([[float(groups.get(scene) == name) for scene in shared] for name in names])
    found = changes(rows)
    return {name: float(value) for name, value in zip(names, found, strict=True) if math.isfinite(value)}


def _metric_of(key: str, nights: Sequence[Night]) -> str | None:
    """Return the name of the metric with sums that has a value, if all nights have it."""
    for name in nights[0].pooled.metrics:
        metric = METRICS.get(name)
        if metric is None or not isinstance(metric.rows, SumRows):
            continue
        if any(value.key == key for value in metric.values):
            if all(name in night.pooled.metrics for night in nights):
                return name
            return None
    return None


def _shared_scenes(nights: Sequence[Night]) -> list[str]:
    """Return the scenes that all nights have, with as many frames."""
    found: set[tuple[str, int]] | None = None
    for night in nights:
        of_scenes = night.pooled.of_scenes
        if of_scenes is None or night.pooled.class_names != nights[0].pooled.class_names:
            return []
        scenes = set(zip(of_scenes.scenes, np.frombuffer(of_scenes.frames, "<i8").tolist(), strict=True))
        found = scenes if found is None else found & scenes
    return sorted(name for name, _ in found or ())


@dataclass(frozen=True, eq=False)
class _SummedNights:
    """The sums of some nights over shared scenes."""

    night: Night  # one of them, for its protocol and classes
    metric: str
    sums: Floats  # (scenes, classes, columns)
    instances: Floats  # (scenes, classes)

    @classmethod
    def of(cls, nights: Sequence[Night], metric: str, shared: Sequence[str]) -> "_SummedNights | None":
        sums: Floats | None = None
        instances: Floats | None = None
        for night in nights:
            own = night.sums_of_scenes(metric)
            counts = night.instances_of_scenes()
            of_scenes = night.pooled.of_scenes
            if own is None or counts is None or of_scenes is None:
                return None
            place = {scene: k for k, scene in enumerate(of_scenes.scenes)}
            rows = [place[scene] for scene in shared]
            sums = own[rows] if sums is None else sums + own[rows]
            instances = counts[rows] if instances is None else instances + counts[rows]
        if sums is None or instances is None:
            return None
        return cls(nights[0], metric, sums, instances)

    def values(self, weights: Floats, classes: Sequence[str], key: str) -> Floats:
        """Return a value for each row of weights ``(rows, scenes)``: of a class, or the mean over several."""
        metric = METRICS[self.metric]
        rows = metric.rows
        assert isinstance(rows, SumRows)  # ``_metric_of`` chooses such a metric
        protocol = self.night.protocol
        columns = []
        for name in classes:
            if not metric.covers(name, protocol):
                continue
            c = self.night.pooled.class_names.index(name)
            # einsum adds in an order that does not depend on threads.
            pooled = np.einsum("rs,sc->rc", weights, self.sums[:, c])
            occurs = np.einsum("rs,s->r", weights, self.instances[:, c]) > 0
            column = rows.values(pooled, protocol).get(key, np.full(len(weights), np.nan))
            columns.append(np.where(occurs, column, np.nan))
        if not columns:
            return np.full(len(weights), np.nan)
        return mean_over_classes(columns)
