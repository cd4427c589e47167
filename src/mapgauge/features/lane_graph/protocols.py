"""The protocol of lane-graph PLD."""

from collections.abc import Iterable

from mapgauge.frames.lane_classes import LANE, TRAFFIC_ELEMENTS
from mapgauge.protocols.protocol import Protocol


def protocols_of_lane_graphs() -> Iterable[Protocol]:
    """Yield the protocol of lane graphs."""
    lanes = Protocol(name="", classes=(LANE,), closed=False, directed=True)
    yield lanes.replace(
        name="lane-graph",
        about="lane-graph PLD of centrelines, their links and traffic elements, and PLD of the centrelines",
        classes=(LANE, *TRAFFIC_ELEMENTS),
        boxes=TRAFFIC_ELEMENTS,
        spacing=0.5,
        cutoffs=(1.5,),
        settings={"lane_graph_pld": {"link_cost": 0.1, "link_floor": 0.1}},
    )
