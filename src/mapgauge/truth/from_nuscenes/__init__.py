"""Scenes and maps of nuScenes, read from its own files."""
