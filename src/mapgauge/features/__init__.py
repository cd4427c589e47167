"""Features as slices: each folder has the metric, the figures, the report section and the command of one feature."""
