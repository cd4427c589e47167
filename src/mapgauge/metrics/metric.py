"""What the package knows about a metric: one row of the table ``METRICS``.

A metric says how the rows of frames are computed and how rows pool. Everything else follows from that: evaluation in
memory and streamed, ``by``, the bootstrap, ``Accumulator``, torchmetrics, tables, JSON, CSV, LaTeX and the report.

Rows are of one of two kinds. ``SumRows`` are numbers of a frame and class that add up over frames. ``HitRows`` are bits
of a prediction, from which average precision is computed over all predictions in the order of their confidence.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.frames.groups import Groups
from mapgauge.protocols import Protocol

Floats: TypeAlias = NDArray[np.float64]
Bits: TypeAlias = NDArray[np.uint16]
Need: TypeAlias = Literal["confidences", "tracks", "links"]
# A frame is scored by itself; a scene is scored with all its frames at once.
Level: TypeAlias = Literal["frame", "scene"]
# "main": the value itself. "headline": shown beside it everywhere. "part": adds up to it; shown in full tables.
# "other": only in JSON, CSV and ``Results.classes``.
Role: TypeAlias = Literal["main", "headline", "part", "other"]


@dataclass(frozen=True, slots=True)
class Value:
    """One value that a metric gives for a class."""

    key: str  # in ``Results.mean`` and JSON: "localisation"
    part: str  # in flat keys, after metric and class: "localisation"; "" for the main value
    title: str  # at the head of a column: "Loc"
    role: Role = "other"

    @property
    def words(self) -> str:
        """In full, for figures and the report: "matched points"."""
        return self.title if self.role == "main" else self.key.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Setting:
    """The field of a protocol that a metric is computed at, once for each of its values."""

    field: str  # of ``Protocol``: "cutoffs"
    word: str  # "cutoff", "threshold"
    unit: str = "m"


@dataclass(frozen=True, slots=True)
class FrameMean:
    """The mean over frames of a value that is computed for each frame and class."""

    value: Value
    of: Callable[[Floats, Protocol], Floats]  # from ``(..., columns)`` to ``(...)``


@dataclass(frozen=True, slots=True)
class SumRows:
    """Rows that add up: ``columns`` numbers for each frame and class, at each setting. Frames pool by exact sums."""

    columns: tuple[str, ...]
    # ``score(groups, protocol, setting)``: ``(groups, columns)``. At level "scene", groups are those of one scene.
    score: Callable[[Groups, Protocol, Any], Floats]
    # ``values(sums, protocol)``: from ``(..., columns)`` to an array of shape ``(...)`` for each value, by its key.
    # A value that does not exist for the protocol is left out.
    values: Callable[[Floats, Protocol], dict[str, Floats]]
    mass: int | None = None  # the column that is 0 where there is nothing to score; needed for rings
    rings: bool = False  # whether it can also be computed from the points in rings around the ego
    frame_mean: FrameMean | None = None  # the mean over frames of the main value, as an alternative to pooling


@dataclass(frozen=True, slots=True)
class HitRows:
    """Rows of predictions: bit t says whether a prediction is a true positive at the t-th setting."""

    # ``score(groups, protocol)``: bits of all instances; those of truth are not looked at.
    score: Callable[[Groups, Protocol], Bits]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: everything the rest of the package knows about it."""

    name: str  # in options, keys and files: "pld"
    title: str  # "PLD", "Chamfer-AP"
    symbol: str  # of the value at the head of a column: "PLD", "AP"
    lower_is_better: bool
    values: tuple[Value, ...]  # the main value first
    rows: SumRows | HitRows
    setting: Setting | None = None  # None: computed once, without a setting of the protocol
    unit: str = ""  # of the value; "" for a pure number
    level: Level = "frame"
    needs: frozenset[Need] = frozenset({"confidences"})
    # What a title says about the settings: "cutoff 1.5 m, order 1".
    stated: Callable[[Protocol], str] = lambda _: ""
    default: bool = True  # whether it is computed when no metrics are named

    def settings(self, protocol: Protocol) -> tuple[Any, ...]:
        """The settings it is computed at; empty if the protocol has none for it."""
        return (None,) if self.setting is None else tuple(getattr(protocol, self.setting.field))

    @property
    def main(self) -> Value:
        """The value itself."""
        return self.values[0]

    def with_role(self, *roles: Role) -> tuple[Value, ...]:
        """The values of some roles, in order."""
        return tuple(value for value in self.values if value.role in roles)

    @property
    def arrow(self) -> str:
        """Which direction is better, as an arrow."""
        return "↓" if self.lower_is_better else "↑"

    @property
    def better(self) -> str:
        """Which direction is better, in words."""
        return "lower is better" if self.lower_is_better else "higher is better"
