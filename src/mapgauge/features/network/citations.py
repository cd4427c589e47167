"""What to cite for the metrics and rules of this feature."""

from mapgauge.metrics.citations import SOFTWARE

OWN = SOFTWARE.cited_for("network_pld", "network_completeness", "rules:map")
