"""Metrics between two sets of polylines."""

from mapgauge.metrics.pld import Parts, PldResult, pld

__all__ = ["Parts", "PldResult", "pld"]
