"""Placeholder."""

from mapgauge.io._format import Format

RESULTS = Format("vectormapnet", "", lambda content: False, lambda content, settings: None)  # type: ignore
