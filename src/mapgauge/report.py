"""Writes results as one self-contained HTML page."""

from mapgauge.views.report.page import write_report

__all__ = ["write_report"]
