"""Lane graphs: the centrelines of lanes, and which lane leads into which, from the maps of a data set."""
