"""Geometry of truth: elements of a map cut at the region of each frame."""
