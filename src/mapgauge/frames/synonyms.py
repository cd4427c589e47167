"""What maps and other projects call the classes."""

# Types of Lanelet2 are among them. Maps of one's own are read with these names, and the checks know them.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "divider": ("lane_marking", "lane_divider", "road_divider", "line_thin", "line_thick"),
    "boundary": ("road_edge", "road_boundary", "road_border", "curb", "curbstone"),
    "ped_crossing": ("crosswalk", "crossing", "pedestrian_crossing", "ped"),
}


def usual_class(name: str) -> str | None:
    """Return the class that a usual name means; None for other names.

    >>> usual_class("Lane marking"), usual_class("stop_line")
    ('divider', None)
    """
    return _CLASSES.get(_folded(name))


def _folded(name: str) -> str:
    """Return a name without capitals, blanks and signs: "Lane marking" is ``lane_marking``."""
    return "".join(filter(str.isalnum, name.lower()))


_CLASSES = {_folded(name): class_name for class_name, names in SYNONYMS.items() for name in (class_name, *names)}
