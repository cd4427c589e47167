"""Everything that can go wrong, as exceptions.

::

    MapgaugeError            catch this to catch all of them
    ├── InvalidInput         a value that cannot be right (also a ValueError)
    │   └── UnreadableFile   a file that is missing, broken, or not what it should be
    └── MissingDependency    an optional package that this needs is not installed (also an ImportError)

A message says where, what was expected, what came, and what to do about it.
"""


class MapgaugeError(Exception):
    """Base of all errors that mapgauge raises on purpose."""


class InvalidInput(MapgaugeError, ValueError):
    """An argument or a value inside one that cannot be right."""


class UnreadableFile(InvalidInput):
    """A file that is missing, broken, or not what it should be. The message begins with its path."""


class MissingDependency(MapgaugeError, ImportError):
    """An optional package that this needs is not installed."""
