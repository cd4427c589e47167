"""Placeholder."""

from mapgauge.io._format import Format

RESULTS = Format("streammapnet", "", lambda content: False, lambda content, settings: None)  # type: ignore
TRUTH = Format("streammapnet-truth", "", lambda content: False, lambda content, settings: None)  # type: ignore
