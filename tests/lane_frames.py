"""Frames of lanes in the form of OpenLane-V2's files, as ``MapFrames``."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import mapgauge as mg

# The classes of OpenLane-V2's files.
LANE = "centerline"
LANE_LINES = ("left_laneline", "right_laneline")
AREAS = ("ped_crossing", "boundary")  # in the order of their categories, which begin at 1
TRAFFIC_ELEMENTS = (  # in the order of their attributes
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
# The kinds of links.
SUCCESSOR = "successor"
LEFT = "left"
LEFT_LINE = "left_line"
RIGHT_LINE = "right_line"
CONTROLLED_BY = "controlled_by"


def lane_frames(document: Mapping[str, Mapping[str, Any]], *, predicted: bool) -> mg.MapFrames:
    """Return frames from lists of lanes, areas and traffic elements and from matrices, by token."""
    classes = (LANE, *LANE_LINES, *AREAS, *TRAFFIC_ELEMENTS)
    rows: list[tuple[int, str, Any, float, bool]] = []  # frame, class, points, confidence, in an intersection
    links: list[tuple[int, int, float, str]] = []

    def add(frame: int, name: str, points: Any, one: Mapping[str, Any]) -> int:
        inside = bool(one.get("is_intersection_or_connector", False))
        rows.append((frame, name, np.asarray(points, float), float(one.get("confidence", 1)), inside))
        return len(rows) - 1

    for f, frame in enumerate(document.values()):
        lanes = [add(f, LANE, one["points"], one) for one in frame.get("lane_centerline", ())]
        for one in frame.get("lane_segment", ()):
            lanes.append(add(f, LANE, one["centerline"], one))
            for name, kind in zip(LANE_LINES, (LEFT_LINE, RIGHT_LINE), strict=True):
                links.append((lanes[-1], add(f, name, one[name], one), 1.0, kind))
        for one in frame.get("area", ()):
            add(f, AREAS[one["category"] - 1], one["points"], one)
        boxes = []
        for one in frame.get("traffic_element", ()):
            corners = np.zeros((2, 3))
            corners[:, :2] = np.sort(np.asarray(one["points"], float), axis=0)
            boxes.append(add(f, TRAFFIC_ELEMENTS[one["attribute"]], corners, one))
        for columns, kind, names in ((lanes, SUCCESSOR, ("lclc", "lsls")), (boxes, CONTROLLED_BY, ("lcte", "lste"))):
            for name in names:
                matrix = np.asarray(frame.get(f"topology_{name}", np.zeros((0, 0))), float)
                links += [(lanes[i], columns[j], float(matrix[i, j]), kind) for i, j in np.argwhere(matrix).tolist()]
    weights = [link[2] for link in links]
    return mg.MapFrames(
        tokens=tuple(document),
        classes=classes,
        frame=np.array([row[0] for row in rows], np.int64),
        label=np.array([classes.index(row[1]) for row in rows], np.int64),
        polylines=mg.Polylines.of([row[2] for row in rows], dimension=3),
        confidence=np.array([row[3] for row in rows]) if predicted else None,
        links=mg.Links.of(
            [link[0] for link in links],
            [link[1] for link in links],
            weight=weights,
            kind=[link[3] for link in links],
        ),
        intersection=np.array([row[4] for row in rows], np.bool_),
        boxes=TRAFFIC_ELEMENTS,
        forward="x",
    )
