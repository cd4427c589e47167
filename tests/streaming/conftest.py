from tests.streaming.worlds import few, few_sides, small_groups, world

__all__ = ["few", "few_sides", "small_groups", "world"]
