"""The parts of lanes that a protocol can name."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mapgauge.metrics.rows import Selection

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.protocols import Protocol


def parts_of_lanes() -> Iterable[Selection]:
    """Yield the parts of lanes."""
    for name in ("near", "far", "intersection", "elsewhere"):
        yield Selection(name=name, of="lanes", metrics=("det_l", "det_ls"), select=_select)


def _select(predictions: "MapFrames", truth: "MapFrames", protocol: "Protocol") -> "tuple[MapFrames, MapFrames]":
    """Return aligned sides with the lanes of the part that the protocol names."""
    # Names of protocols are looked up more often than lanes are selected, and should not import distances.
    from mapgauge.features.openlane.lane_parts import lanes_of_part

    return lanes_of_part(predictions, truth, protocol)
