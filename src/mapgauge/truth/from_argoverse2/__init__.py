"""Reads the logs and maps of Argoverse 2 from its files, without its development kit."""
