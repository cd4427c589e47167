"""Placeholder."""

from mapgauge.io._format import Format

RESULTS = Format("maptr", "", lambda content: False, lambda content, settings: None)  # type: ignore
TRUTH = Format("maptr-truth", "", lambda content: False, lambda content, settings: None)  # type: ignore
