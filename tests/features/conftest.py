"""Fixtures of the core that tests of features share."""

from tests.cli.conftest import call, run, world
from tests.report.conftest import show, window
from tests.streaming.worlds import small_groups

__all__ = ["call", "run", "show", "small_groups", "window", "world"]
