"""Polylines and what is done to them: resampling, cropping, buffering, rigid motions."""
