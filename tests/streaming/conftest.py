from tests.streaming.worlds import small_groups, world

__all__ = ["small_groups", "world"]
