"""Maps over time: tracks, switches, flicker."""
