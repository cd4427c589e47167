"""Truth from a map of one's own: vector files and Lanelet2."""
