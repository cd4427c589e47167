"""Scores aligned frames: preparation, rows of frames, and totals over frames."""
