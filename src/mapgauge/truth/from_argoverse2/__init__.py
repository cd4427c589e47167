"""Logs and maps of Argoverse 2, read from its own files."""
