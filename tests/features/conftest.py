"""Tests of features use the command line as the tests of ``tests/cli`` do."""

from tests.cli.conftest import call, run, world

__all__ = ["call", "run", "world"]
