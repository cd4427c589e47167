"""Distances between two polylines."""
