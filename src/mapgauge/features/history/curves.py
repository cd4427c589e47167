"""The curve of a value over many nights, and what changed in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mapgauge.features.history.inputs import InputChange
from mapgauge.features.history.scenes import OnScenes
from mapgauge.features.history.steps import Autocorrelation, FittedLevel, HistoryChange
from mapgauge.metrics.metric import ValueKey
from mapgauge.metrics.table import value_named


@dataclass(frozen=True, kw_only=True)
class HistoryCurve:
    """One value over all nights."""

    class_name: str  # or "mean"
    key: str
    values: tuple[float | None, ...]  # of each night
    intervals: tuple[tuple[float, float] | None, ...]  # of 95 %, over scenes or frames
    changes: tuple[HistoryChange, ...] = ()  # their nights are indices into all nights
    stretches: tuple[FittedLevel, ...] = ()  # in which it is constant or a line
    noise: float | None = None  # standard deviation from night to night; None if steps were not searched
    detectable: float | None = None  # the smallest jump in the last night that would be found
    autocorrelation: float | None = None  # of the noise, from one night to the next; None if it is not known
    autocorrelation_error: float | None = None  # its standard error for independent noise

    @property
    def lower_is_better(self) -> bool | None:
        """The direction of better values; None if a value has none, as a part of PLD."""
        return direction_of(self.key)

    @property
    def noise_stays(self) -> bool:
        """Whether noise of one night seems to stay in the next. Then changes are found too often."""
        if self.autocorrelation is None or self.autocorrelation_error is None:
            return False
        return Autocorrelation(self.autocorrelation, self.autocorrelation_error).is_positive

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as plain values."""
        return {
            "class": self.class_name,
            "key": self.key,
            "values": list(self.values),
            "intervals": [None if bounds is None else list(bounds) for bounds in self.intervals],
            "stretches": [[part.begin, part.end, part.first, part.last] for part in self.stretches],
            "noise": self.noise,
            "detectable": self.detectable,
            "autocorrelation": self.autocorrelation,
            "autocorrelation_error": self.autocorrelation_error,
        }


@dataclass(frozen=True, kw_only=True)
class HistoryEvent:
    """A step, one deviating night, or a slow change of a curve, with what else changed in that night."""

    class_name: str
    key: str
    change: HistoryChange
    worse: bool | None  # None if the value has no direction
    metadata: Mapping[str, str]  # what was noted in this night, and differs from the night before
    inputs: tuple[InputChange, ...]  # what changed in the inputs from the night before
    on_scenes: OnScenes | None = None  # None if scenes are not shared, or of average precision

    def to_dict(self) -> dict[str, Any]:
        """Return the event as plain values."""
        return {
            "class": self.class_name,
            "key": self.key,
            **self.change.to_dict(),
            "worse": self.worse,
            "metadata": dict(self.metadata),
            "inputs": [change.to_dict() for change in self.inputs],
            "on_scenes": None if self.on_scenes is None else self.on_scenes.to_dict(),
        }


def direction_of(key: str) -> bool | None:
    """Return whether lower values of a key are better; None if neither are, as with a part of PLD.

    >>> direction_of("pld"), direction_of("ap_chamfer@0.5"), direction_of("missed")
    (True, False, None)
    """
    found = value_named(ValueKey.parse(key).name)
    if found is None:
        return None
    metric, value = found
    if value.role == "main":
        return metric.lower_is_better
    return value.lower_is_better


def around(change: HistoryChange, changes: Sequence[HistoryChange], nights: int) -> tuple[slice, slice]:
    """Return the nights before and after one of the changes of a curve in which it has no other change."""
    if change.kind == "slow":
        third = max((change.last - change.night + 1) // 3, 1)
        return slice(change.night, change.night + third), slice(change.last + 1 - third, change.last + 1)
    # The night of a step has the new level already. A deviating night has no level.
    earlier = [other.last + (other.kind == "night") for other in changes if other.last < change.night]
    later = [other.night for other in changes if other.night > change.night]
    begin = max(earlier, default=0)
    if change.kind == "night":
        return slice(begin, change.night), slice(change.night, change.last + 1)
    return slice(begin, change.night), slice(change.night, min(later, default=nights))
