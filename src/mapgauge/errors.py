"""Everything that can go wrong, as exceptions.

::

    MapgaugeError            catch this to catch all of them
    └── InvalidInput         a value that cannot be right (also a ValueError)

A message says where, what was expected, what came, and what to do about it.
"""


class MapgaugeError(Exception):
    """Base of all errors that mapgauge raises on purpose."""


class InvalidInput(MapgaugeError, ValueError):
    """An argument or a value inside one that cannot be right."""
