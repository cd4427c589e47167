"""The version, recorded in every result."""

__version__ = "0.1.0"
