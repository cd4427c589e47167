"""Frames to scores: groups, metrics of each frame and class, and their exact sums."""
