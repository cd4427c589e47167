from tests.streaming.worlds import few, few_sides, world

__all__ = ["few", "few_sides", "world"]
