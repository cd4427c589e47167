from tests.metrics.conftest import call, small_groups, world

__all__ = ["call", "small_groups", "world"]
