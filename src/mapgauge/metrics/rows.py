"""The table of metrics, and the choice of instances that a protocol compares. Manifests name the rows of both."""

from typing import TYPE_CHECKING
from typing import Protocol as Interface

from mapgauge.manifest import RowTable, each_object

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.metrics.metric import Metric
    from mapgauge.protocols import Protocol

# Results, tables and files list the metrics in this order.
METRICS: "RowTable[Metric]" = RowTable("metrics", "mapgauge.metrics.metric:Metric", order=lambda metric: metric.order)


class Selection(Interface):
    """Leaves out instances that a protocol does not compare."""

    def __call__(
        self, predictions: "MapFrames", truth: "MapFrames", protocol: "Protocol", /
    ) -> "tuple[MapFrames, MapFrames]":
        """Return aligned sides without these instances."""


def selected(predictions: "MapFrames", truth: "MapFrames", protocol: "Protocol") -> "tuple[MapFrames, MapFrames]":
    """Return aligned sides without the instances that the protocol does not compare."""
    for _, select in each_object("selections"):
        predictions, truth = select(predictions, truth, protocol)
    return predictions, truth
