"""Fixtures of the core that tests of features share."""

from tests.cli.conftest import call, run, world
from tests.report.conftest import show, window

__all__ = ["call", "run", "show", "window", "world"]
