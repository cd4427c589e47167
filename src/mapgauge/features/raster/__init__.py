"""Raster scores: average precision and IoU of drawn polylines."""
