"""The table of metrics, and the table of the parts of instances that protocols can name. Manifests name both rows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from mapgauge.manifest import RowTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.metrics.metric import Metric
    from mapgauge.protocols import Protocol

# ``select(predictions, truth, protocol)``: aligned sides without the instances that are not compared.
Select: TypeAlias = "Callable[[MapFrames, MapFrames, Protocol], tuple[MapFrames, MapFrames]]"

# Results, tables and files list the metrics in this order.
METRICS: "RowTable[Metric]" = RowTable("metrics", "mapgauge.metrics.metric:Metric", order=lambda metric: metric.order)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """A part of the instances. A protocol whose ``part`` is its name compares only this part."""

    name: str  # "near"
    of: str  # what has this part, in words: "lanes"
    # A protocol with settings of one of these metrics has another name with the part: "openlanev2-v1.1-near".
    metrics: tuple[str, ...]
    select: Select


SELECTIONS: RowTable[Selection] = RowTable("selections", "mapgauge.metrics.rows:Selection", rows=lambda made: made())


def selected(predictions: "MapFrames", truth: "MapFrames", protocol: "Protocol") -> "tuple[MapFrames, MapFrames]":
    """Return aligned sides without the instances that the protocol does not compare."""
    if protocol.part is None:
        return predictions, truth
    return SELECTIONS[protocol.part].select(predictions, truth, protocol)
