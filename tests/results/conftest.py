from tests.cli.conftest import call, world

__all__ = ["call", "world"]
