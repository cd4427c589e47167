"""Draws the links of a lane graph as arrows from the end of a lane to the start of the next one.

Right links are thin and grey. False links are red. Missing links are dashed. Half links, to a lane without a match, are
pale.
"""

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch

from mapgauge.frames.links import LINK_STATES, FrameLink
from mapgauge.results.assignment import Assignment
from mapgauge.typing import Points
from mapgauge.views.figures.style import GREY, INK

INSIDE = 2.5  # metres: an arrow begins so far before the end of a lane, and ends so far behind the start of the next
RED = "#C8102E"
LOOKS: dict[str, dict[str, Any]] = {
    "right": {"color": GREY, "linewidth": 0.6, "alpha": 0.8},
    "half": {"color": RED, "linewidth": 0.8, "alpha": 0.4},
    "missing": {"color": INK, "linewidth": 1.0, "linestyle": (0, (2, 1.5))},
    "false": {"color": RED, "linewidth": 1.1},
}
NAMES = {"right": "right link", "half": "half link", "missing": "missing link", "false": "false link"}


def arrow_ends(frame: Assignment, link: FrameLink) -> tuple[Points, Points]:
    """Return where the arrow of a link begins and ends, in metres."""
    lines = frame.predictions if link.predicted else frame.truth
    before, after = lines[link.source].points[::-1, :2], lines[link.target].points[:, :2]
    return inside(before), inside(after)


def inside(points: Points) -> Points:
    """Return the point ``INSIDE`` metres behind the start of a line, or its middle if the line is short.

    >>> inside(np.array([[0.0, 0.0], [8.0, 0.0]])).tolist(), inside(np.array([[0.0, 0.0], [3.0, 0.0]])).tolist()
    ([2.5, 0.0], [1.5, 0.0])
    """
    walked = np.concatenate([[0.0], np.sqrt(np.square(np.diff(points, axis=0)).sum(axis=1)).cumsum()])
    at = min(INSIDE, walked[-1] / 2)
    return np.array([np.interp(at, walked, points[:, k]) for k in (0, 1)])


def draw_links(
    axes: Axes, frame: Assignment, drawn: Any, place: int, *, predictions: bool, truth: bool, confidence: float
) -> None:
    """Draw the links of a panel.

    Args:
        axes: The axes.
        frame: The frame.
        drawn: Turns points in metres into points of the axes.
        place: The number of the panel.
        predictions: Whether predicted links are drawn.
        truth: Whether true links are drawn.
        confidence: Links of predictions with a lower confidence are not drawn.
    """
    for link in frame.links:
        if not (predictions if link.predicted else truth):
            continue
        if link.predicted and min(_sure(frame, link.source), _sure(frame, link.target)) < confidence:
            continue
        begin, end = drawn(np.stack(arrow_ends(frame, link)))
        side = "prediction" if link.predicted else "truth"
        axes.add_patch(
            FancyArrowPatch(
                tuple(begin),
                tuple(end),
                arrowstyle="-|>,head_length=2.2,head_width=1.2",
                connectionstyle="arc3,rad=0.15",
                mutation_scale=1.6,
                shrinkA=0,
                shrinkB=0,
                zorder=7 if link.state != "right" else 5,
                gid=f"link-{link.state}-{side}-{link.source}-{link.target}-{place}",
                **LOOKS[link.state],
            )
        )


def _sure(frame: Assignment, place: int) -> float:
    confidence = frame.predictions[place].confidence
    return 1.0 if confidence is None else confidence


def link_handles(panels: list[tuple[Assignment, bool, bool]]) -> list[tuple[str, Artist]]:
    """Return the entries of the legend for the links of some panels.

    Args:
        panels: For each panel its frame, and whether it shows predictions and truth.
    """
    states = {
        link.state
        for assignment, predictions, truth in panels
        for link in assignment.links
        if (predictions if link.predicted else truth)
    }
    return [(NAMES[state], Line2D([], [], **LOOKS[state])) for state in LINK_STATES if state in states]
