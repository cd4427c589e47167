"""The version, recorded in every result."""

__version__ = "1.0rc1"
