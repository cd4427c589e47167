"""Placeholder."""

from mapgauge.io._format import Format

GEOJSON = Format("geojson", "", lambda content: False, lambda content, settings: None)  # type: ignore
