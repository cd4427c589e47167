"""Cuts the elements of a map at the region of each frame."""
