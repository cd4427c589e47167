"""Polylines and operations on them: resampling, cropping, buffering, rigid motions."""
