from tests.cli.conftest import call, world
from tests.streaming.worlds import small_groups

__all__ = ["call", "small_groups", "world"]
