"""Distances between two polylines."""

from mapgauge.distances.chamfer_and_frechet import chamfer, frechet
from mapgauge.distances.sospa import Alignment, sospa, sospa_align, sospa_from_distances, sospa_matrix

__all__ = ["Alignment", "chamfer", "frechet", "sospa", "sospa_align", "sospa_from_distances", "sospa_matrix"]
