"""Places numbers beside lines, so that they cover little of the drawing and do not overlap."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapgauge.typing import Floats, Points

SHARES = (0.5, 0.35, 0.65, 0.2, 0.8, 0.08, 0.92, 0.0, 1.0)  # of the length of a line; the middle comes first
GAP = 1.2  # points between a line and its number
DISTANCES = (1, 2, 4, 7)  # from a line, as multiples of the smallest distance


class Box(NamedTuple):
    """A rectangle of text, in points."""

    x: float  # of its centre
    y: float
    width: float
    height: float


def place_beside(
    lines: Sequence[Points], size: tuple[float, float], ink: Points, weight: Floats, panel: Box, taken: Sequence[Box]
) -> list[Box]:
    """Return a box for each line, beside it and where it covers the least.

    Boxes are placed one after the other, so the first lines get the best places. A line outside the panel has its box
    at the nearest place inside. All lengths are in points of the page.

    Args:
        lines: ``(n, 2)`` points each.
        size: Width and height of the boxes.
        ink: Points that should not be covered.
        weight: Cost of covering each of them.
        panel: The box that all boxes must lie in.
        taken: Boxes that are already placed.
    """
    boxes = np.array(taken, np.float64).reshape(-1, 4)
    room = np.array([panel.width - size[0], panel.height - size[1]]) / 2 - 1
    centre = np.array([panel.x, panel.y])
    placed = []
    for line in lines:
        near = np.abs(line - centre) <= np.array([panel.width, panel.height]) / 2
        inside = line[near.all(axis=1)]
        wanted = _beside(inside if len(inside) else line, size)
        spots = np.clip(wanted, centre - room, centre + room)
        cost = 0.02 * np.arange(len(spots)) + 0.2 * np.abs(spots - wanted).sum(axis=1)
        cost += (np.abs(ink[None] - spots[:, None]) < np.array(size) / 2 + 0.5).all(axis=2) @ weight
        apart = np.abs(boxes[None, :, :2] - spots[:, None])
        overlap = np.maximum((boxes[None, :, 2:] + size) / 2 - apart, 0).prod(axis=2).sum(axis=1)
        cost += 100 * overlap / (size[0] * size[1])
        x, y = spots[np.argmin(cost)].tolist()
        best = Box(x, y, *size)
        boxes = np.vstack([boxes, best])
        placed.append(best)
    return placed


def _beside(line: Points, size: tuple[float, float]) -> Points:
    """Return centres of boxes on both sides of a line, the nearest first."""
    at = np.array(list(dict.fromkeys(round(share * (len(line) - 1)) for share in SHARES)))
    step = line[np.minimum(at + 1, len(line) - 1)] - line[np.maximum(at - 1, 0)]
    length = np.hypot(*step.T)[:, None]
    along = np.divide(step, length, out=np.tile([1.0, 0.0], (len(at), 1)), where=length > 0)
    normal = np.stack([-along[:, 1], along[:, 0]], axis=1)
    reach = (np.abs(normal) * np.array(size) / 2).sum(axis=1, keepdims=True) + GAP
    offsets = [sign * times * reach * normal for times in DISTANCES for sign in (1, -1)]
    return np.concatenate([line[at] + offset for offset in offsets])
