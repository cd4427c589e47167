"""What the panel of a report needs from every block of frames. An answer alone imports nothing of it."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from mapgauge.errors import InvalidInput

if TYPE_CHECKING:
    from mapgauge.scoring.data import BlockWork, Data


def ahead(data: "Data", metrics: Sequence[str], *, report: bool) -> "BlockWork | None":
    """Return what the panel needs from every block of frames. Only the report has it."""
    protocol = data.protocol
    if not report or not protocol.cutoffs:
        return None
    from mapgauge.features.error_map import around
    from mapgauge.features.error_map.error_map import drive_of_sides, motions_of, work_of
    from mapgauge.views.report.drawings import is_map_data

    cutoff = protocol.cutoffs[0]
    drive = drive_of_sides(data.sides)
    if drive is not None:
        with suppress(InvalidInput):
            return work_of(protocol, cutoff, motions_of(drive))
    if protocol.region is None or is_map_data(data):
        return None
    return around.work_of(protocol, cutoff)
