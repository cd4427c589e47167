"""Fixtures of the core that tests of this feature share."""

from tests.plot.conftest import methods

__all__ = ["methods"]
