"""Graph scores of lanes: GEO, TOPO, JTOPO, APLS, split points and reachability."""

from mapgauge.manifest import Feature

FEATURE = Feature(
    metrics=(
        "graph_scores:GEO",
        "graph_scores:TOPO",
        "graph_scores:JTOPO",
        "graph_scores:APLS",
        "graph_scores:SDA",
        "graph_scores:REACH",
    ),
    protocols=("protocols:protocols_of_graphs",),
    citations=("citations:CGNET", "citations:TOPO_PAPER", "citations:APLS_PAPER", "citations:OWN"),
    formats=("graph_files:GRAPHS",),
    checks=("checks:checks_of_graphs",),
    names={
        "Graph": "graph:Graph",
        "frames_from_graphs": "graph:frames_from_graphs",
        "graphs_from_frames": "graph:graphs_from_frames",
        "GraphScore": "graph_sampling:GraphScore",
        "GraphSettings": "graph_sampling:GraphSettings",
        "GraphScores": "graph_scores:GraphScores",
        "graph_scores": "graph_scores:graph_scores",
    },
)
