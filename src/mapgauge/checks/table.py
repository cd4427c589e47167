"""The table of checks. Manifests name functions that return its rows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from mapgauge.checks.context import Context
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.manifest import RowTable

Find: TypeAlias = Callable[[Context], Iterable[Finding]]
# ``find(name, frames)``: the name is ``"predictions"`` or ``"truth"``, for messages.
FindInSide: TypeAlias = Callable[[str, MapFrames], Iterable[Finding]]

# Places in the table. Findings about the sides as a whole come first, those about single lines last.
SIDES = 100
TRACKS = 200
LINKS = 300
LINES = 400


@dataclass(frozen=True, kw_only=True)
class Check:
    """A check: what it looks for in both sides, and in one file if that is enough."""

    name: str  # "tracks.unusual"
    find: Find  # for ``mapgauge.check`` and evaluations
    find_in_side: FindInSide | None = None  # for ``mapgauge inspect``, which has one side only
    order: int = SIDES  # findings of the same level are listed in this order; those of plug-ins come last


CHECKS: RowTable[Check] = RowTable(
    "checks", "mapgauge.checks.table:Check", rows=lambda made: made(), order=lambda check: check.order
)
