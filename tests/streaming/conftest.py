from tests.streaming.worlds import few, few_sides, in_memory, sides, world, written

__all__ = ["few", "few_sides", "in_memory", "sides", "world", "written"]
