"""``Metric``: the type of a row in the table ``METRICS``.

A metric defines how the rows of frames are computed and how rows pool. Everything else uses this definition: the
evaluation in memory and streamed, ``by``, the bootstrap, ``Accumulator``, torchmetrics, tables, JSON, CSV, LaTeX and
the report.

There are three kinds of rows. ``SumRows`` are numbers of a frame and class that are added over frames. ``HitRows`` are
bits of a prediction, from which average precision is computed over all predictions in the order of their confidence.
``CombinedRows`` have no rows of their own: the value is computed from the means of other metrics.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.metrics.groups import Groups
from mapgauge.metrics.settings import Settings
from mapgauge.protocols import Protocol
from mapgauge.typing import Floats

Bits: TypeAlias = NDArray[np.uint16]
Need: TypeAlias = Literal["confidences", "tracks", "every track", "truth tracks", "poses", "links"]
# The classes for which a metric has values. "lines": all but boxes. "boxes": the boxes of the protocol. Names: only
# these classes; such a metric is scored with all instances of a frame at hand, also with its boxes.
Kind: TypeAlias = Literal["lines", "boxes"] | tuple[str, ...]
# "frame": each frame is scored by itself. "scene": all frames of a scene are scored together.
Level: TypeAlias = Literal["frame", "scene"]
# "main": the value of the metric. "headline": always shown next to it. "part": a summand of the main value, shown in
# full tables. "other": only in JSON, CSV and ``Results.classes``.
Role: TypeAlias = Literal["main", "headline", "part", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One value of a metric for a class."""

    key: str  # key in ``Results.mean`` and JSON: "localisation"
    part: str  # in flat keys after metric and class: "localisation"; "" for the main value
    title: str  # title of a column: "Loc"
    role: Role = "other"
    limits: tuple[float, float] | None = None  # smallest and largest possible value, if the metric's do not apply
    # Whether lower values are better, if it is not the main value. None: a smaller part is not always better.
    lower_is_better: bool | None = None
    full_title: str = ""  # if it is not the key with spaces

    @property
    def words(self) -> str:
        """The full title for figures and the report: "matched points"."""
        if self.role == "main":
            return self.title
        return self.full_title or self.key.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Setting:
    """A field with several values. The metric is computed once for each of them."""

    field: str  # name of a field of the metric's settings ("thresholds"), or of ``Protocol`` ("cutoffs")
    word: str  # "cutoff", "threshold"
    unit: str = "m"


@dataclass(frozen=True, slots=True)
class FrameMean:
    """The mean over frames of a value that is computed for each frame and class."""

    value: Value
    of: Callable[[Floats, Protocol], Floats]  # from ``(..., columns)`` to ``(...)``


@dataclass(frozen=True, slots=True)
class SumRows:
    """Rows of numbers for each frame and class, at each setting. Frames pool by exact sums of each column."""

    columns: tuple[str, ...]
    # ``score(groups, protocol, setting)``: ``(groups, columns)``. At level "scene", the groups are the frames of one
    # scene, in the order of time.
    score: Callable[[Groups, Protocol, Any], Floats]
    # ``values(sums, protocol)``: from ``(..., columns)`` to an array of shape ``(...)`` for each value, by its key.
    # Values that do not exist for the protocol are left out. NaN means that the sums have no value.
    values: Callable[[Floats, Protocol], dict[str, Floats]]
    mass: int | None = None  # the column that is 0 if there is nothing to score; needed for rings
    rings: bool = False  # whether the metric is also computed from the points in rings around the ego vehicle
    frame_mean: FrameMean | None = None  # the mean over frames of the main value, as an alternative to pooling


@dataclass(frozen=True, slots=True)
class HitRows:
    """Rows of predictions. Bit t says whether a prediction is a true positive at the t-th setting."""

    # ``score(groups, protocol)``: bits of all instances; bits of truth are ignored.
    score: Callable[[Groups, Protocol], Bits]


@dataclass(frozen=True, slots=True)
class CombinedRows:
    """A value that is computed from the means over classes of other metrics. It has no values for classes."""

    of: tuple[str, ...]  # names of the other metrics
    # ``value(means)``: from arrays of the main values, by name of metric, to an array of the same shape. NaN means that
    # there is no value.
    value: Callable[[Mapping[str, Floats]], Floats]

    def of_means(self, means: Mapping[str, Floats]) -> Floats:
        """Return the value from the means of the other metrics. A metric without a mean counts as NaN."""
        shape = np.shape(next(iter(means.values()), np.nan))
        return self.value({name: np.asarray(means.get(name, np.full(shape, np.nan))) for name in self.of})


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """The definition of a metric."""

    name: str  # in options, keys and files: "pld"
    title: str  # "PLD", "Chamfer-AP"
    symbol: str  # title of the main value in a column: "PLD", "AP"
    lower_is_better: bool
    values: tuple[Value, ...]  # the main value first
    rows: SumRows | HitRows | CombinedRows
    setting: Setting | None = None  # None if the metric is computed once
    also_at: str = ""  # a field of its settings: values over all of them and at each, in JSON; not with ``setting``
    settings_type: type[Settings] | None = None  # the metric's own settings, which ``Protocol.settings`` has by name
    repeats: str = ""  # name of the metric whose main value this one has again, only in other parts
    unit: str = ""  # unit of the value; "" for a number without unit
    level: Level = "frame"
    needs: frozenset[Need] = frozenset({"confidences"})
    # The settings in words for titles: "cutoff 1.5 m, order 1".
    stated: Callable[[Protocol], str] = lambda _: ""
    ignores: bool = False  # whether it has a meaning for what is left when ignored truth is taken out
    default: bool = True  # whether it is computed when no metrics are named
    limits: tuple[float, float] = (-math.inf, math.inf)  # smallest and largest possible value; intervals end there
    percent: bool = False  # whether papers print it in percent, as they do with every average precision
    of: Kind = "lines"
    # The value of a class without predictions and truth, if another class of the metric has some. None: no value.
    absent: float | None = None
    order: int = 100  # place in tables and files: lower numbers come first; rows of plug-ins come last
    at_first_cutoff: bool = False  # whether it needs a cutoff, and takes the first one of the protocol

    def covers(self, class_name: str, protocol: Protocol) -> bool:
        """Whether the metric has values for a class."""
        if isinstance(self.rows, CombinedRows):
            return False
        if self.of == "boxes" or class_name in protocol.boxes:
            return self.of == "boxes" and class_name in protocol.boxes
        return self.of == "lines" or class_name in self.of

    def settings(self, protocol: Protocol) -> tuple[Any, ...]:
        """Return the settings at which the metric is computed; empty if the protocol has none for it."""
        if self.settings_type is not None and self.name not in protocol.settings:
            return ()
        if self.at_cutoffs:
            return tuple(protocol.cutoffs)
        if self.setting is not None:
            return tuple(getattr(protocol.settings[self.name], self.setting.field))
        if self.also_at:
            return (None, *getattr(protocol.settings[self.name], self.also_at))
        return (None,)

    @property
    def at_cutoffs(self) -> bool:
        """Whether the metric is computed at each cutoff of the protocol."""
        return self.setting is not None and self.setting.field == "cutoffs"

    @property
    def has_cutoff(self) -> bool:
        """Whether a cutoff of the protocol changes its values."""
        return self.at_cutoffs or self.at_first_cutoff

    @property
    def shows_first(self) -> bool:
        """Whether tables and figures show the value at the first of several settings, not the mean over them."""
        return self.setting is not None and isinstance(self.rows, SumRows)

    @property
    def main(self) -> Value:
        """The main value."""
        return self.values[0]

    def with_role(self, *roles: Role) -> tuple[Value, ...]:
        """Return the values with some roles, in order."""
        return tuple(value for value in self.values if value.role in roles)

    def arrow_of(self, value: Value) -> str:
        """Return the direction of better values as an arrow after a title; "" if a value has none."""
        lower = value.lower_is_better
        if value.role == "main":
            lower = self.lower_is_better
        return {None: "", True: " ↓", False: " ↑"}[lower]

    @property
    def better(self) -> str:
        """The direction of better values, in words."""
        if any(value.lower_is_better not in (None, self.lower_is_better) for value in self.values):
            return "arrows point to better values"
        if self.lower_is_better:
            return "lower is better"
        return "higher is better"


@dataclass(frozen=True, slots=True)
class ValueKey:
    """The key of a value: its name, and the setting or the ring at which it was computed.

    >>> str(ValueKey("localisation", setting=0.5)), str(ValueKey("pld", ring=(0.0, 10.0)))
    ('localisation@0.5', 'pld:0-10m')
    >>> ValueKey.parse("hits:ap_chamfer@1.0")
    ValueKey(name='ap_chamfer', setting='1.0', ring='', hits=True)
    """

    name: str  # the key of a ``Value``: "pld", "localisation", "ap_chamfer"
    setting: str = ""  # a cutoff or a threshold, in the notation of Python
    ring: str = ""  # "0-10m"
    hits: bool = False  # whether it is the number of true positives in a frame

    def __init__(
        self,
        name: str,
        setting: float | str | None = None,
        ring: tuple[float, float] | str | None = None,
        *,
        hits: bool = False,
    ) -> None:
        """Accept settings and rings as numbers or as text."""
        if isinstance(ring, tuple):
            ring = f"{ring[0]:g}-{ring[1]:g}m"
        values = {"name": name, "setting": "" if setting is None else str(setting), "ring": ring or "", "hits": hits}
        for field, value in values.items():
            object.__setattr__(self, field, value)

    def __str__(self) -> str:
        """Return the key of ``Results.mean``, ``Results.frames`` and JSON."""
        if self.hits:
            text = f"hits:{self.name}"
        else:
            text = self.name
        if self.setting:
            text += f"@{self.setting}"
        return text + (f":{self.ring}" if self.ring else "")

    @classmethod
    def parse(cls, text: "str | ValueKey") -> "ValueKey":
        """Parse a key, unless it is parsed."""
        if isinstance(text, ValueKey):
            return text
        hits = text.startswith("hits:")
        name, _, ring = text.removeprefix("hits:").partition(":")
        name, _, setting = name.partition("@")
        return cls(name, setting, ring, hits=hits)

    @property
    def plain(self) -> bool:
        """Whether it is a value without a setting and without a ring."""
        return not (self.setting or self.ring or self.hits)
