"""Names of classes in files of OpenLane-V2, which readers, checks and metrics of lanes share."""

LANE = "centerline"
LANE_LINES = ("left_laneline", "right_laneline")  # the lines on both sides of a lane segment
AREAS = ("ped_crossing", "boundary")  # in the order of their categories, which begin at 1
# Traffic elements, which are boxes in an image, by attribute.
TRAFFIC_ELEMENTS = (
    "unknown",
    "red",
    "green",
    "yellow",
    "go_straight",
    "turn_left",
    "turn_right",
    "no_left_turn",
    "no_right_turn",
    "u_turn",
    "no_u_turn",
    "slight_left",
    "slight_right",
)
