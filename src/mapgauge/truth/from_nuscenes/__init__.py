"""Reads the scenes and maps of nuScenes from its files, without its development kit."""
