"""What to cite for the metrics and rules of this feature."""

from mapgauge.metrics.citations import SOFTWARE

OWN = SOFTWARE.cited_for("lane_graph_pld", "rules:lane-graph")
