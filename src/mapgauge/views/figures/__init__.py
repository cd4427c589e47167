"""Figures of results and frames."""
