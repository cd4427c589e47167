"""Placeholder."""

from mapgauge.io._format import Format

TRACKS = Format("maptracker-tracks", "", lambda content: False, lambda content, settings: None)  # type: ignore
TRUTH_TRACKS = Format("maptracker-truth-tracks", "", lambda content: False, lambda content, settings: None)  # type: ignore
