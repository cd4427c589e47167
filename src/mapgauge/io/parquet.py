"""Placeholder."""

from mapgauge.io._format import Format

PARQUET = Format("parquet", "", lambda content: False, lambda content, settings: None)  # type: ignore
