"""Metrics between two sets of polylines."""

from mapgauge.metrics.average_precision import average_precision
from mapgauge.metrics.pld import Parts, PldResult, pld

__all__ = ["Parts", "PldResult", "average_precision", "pld"]
