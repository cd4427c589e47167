"""Bytes of files: where they are, how they are read, and what may be written."""
