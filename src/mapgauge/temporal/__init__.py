"""Frames over time: ids for predictions without tracks, and consistency without truth."""
