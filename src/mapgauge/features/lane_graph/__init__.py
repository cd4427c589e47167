"""Lane-graph PLD: lanes, their links and traffic elements."""

from mapgauge.manifest import Feature

FEATURE = Feature(
    metrics=("lane_graph_pld:LANE_GRAPH_PLD",),
    protocols=("protocols:protocols_of_lane_graphs",),
    citations=("citations:OWN",),
    links=("lane_graph_frame:DRAWN",),
    names={
        "ElementMatch": "lane_graph_pld:ElementMatch",
        "LaneGraphParts": "lane_graph_pld:LaneGraphParts",
        "LaneGraphPldResult": "lane_graph_pld:LaneGraphPldResult",
        "LinkCounts": "lane_graph_pld:LinkCounts",
        "WrongLink": "lane_graph_pld:WrongLink",
        "lane_graph_pld": "lane_graph_pld:lane_graph_pld",
    },
)
