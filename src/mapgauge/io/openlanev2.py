"""Placeholder."""

from mapgauge.io._format import Format

RESULTS = Format("openlanev2", "", lambda content: False, lambda content, settings: None)  # type: ignore
TRUTH = Format("openlanev2-truth", "", lambda content: False, lambda content, settings: None)  # type: ignore
