"""What maps and other projects call the classes."""

# Types of Lanelet2 are among them. Maps of one's own are read with these names, and the checks know them.
SYNONYMS = {
    "divider": ("lane_marking", "lane_divider", "road_divider", "line_thin", "line_thick"),
    "boundary": ("road_edge", "road_boundary", "road_border", "curb", "curbstone"),
    "ped_crossing": ("crosswalk", "crossing", "pedestrian_crossing", "ped"),
}
