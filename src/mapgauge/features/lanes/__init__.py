"""Lane graphs: lanes, links, traffic elements."""
