"""Placeholder."""

from mapgauge.io._format import Format

RESULTS = Format("hdmapnet", "", lambda content: False, lambda content, settings: None)  # type: ignore
