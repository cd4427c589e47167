from tests.metrics.conftest import call, small_groups

__all__ = ["call", "small_groups"]
