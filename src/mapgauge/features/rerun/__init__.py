"""Results as a recording for the viewer of Rerun."""
