"""Are the axes of the predictions turned or mirrored against those of the truth?

Extents alone cannot tell left from right. The nearest distances can: of the eight ways to lay a map on its axes, one
brings predictions and truth together.
"""

from dataclasses import dataclass

import numpy as np

from mapgauge.checks.neighbours import Neighbours
from mapgauge.typing import Points

_INSTANCES = 10  # of the truth, at least, to judge by
_APART = 1.0  # metres; nearer than this nothing is wrong with the axes
_BETTER = 0.6  # a turn must bring the sides this much nearer,
_CLEARER = 0.75  # and this much nearer than any other turn


@dataclass(frozen=True, slots=True)
class Turn:
    """A way to lay the predictions on the axes of the truth."""

    matrix: tuple[tuple[int, int], tuple[int, int]] = ((1, 0), (0, 1))
    what: str = ""  # is wrong
    remedy: str = ""

    def __call__(self, points: Points) -> Points:
        """Turn points ``(..., 2)``."""
        turned: Points = points @ np.array(self.matrix).T
        return turned


_MAPTR = "MapTR's nuScenes files have x to the right and y forward, StreamMapNet's x forward and y to the left"
_TURNS = (
    Turn(((0, -1), (1, 0)), "turned by 90 degrees", f"Use predictions.rotate(90). {_MAPTR}"),
    Turn(((-1, 0), (0, -1)), "turned by 180 degrees", "Use predictions.rotate(180)"),
    Turn(((0, 1), (-1, 0)), "turned by 90 degrees", f"Use predictions.rotate(-90). {_MAPTR}"),
    Turn(((1, 0), (0, -1)), "mirrored, y points to the other side", "Negate the y of one side"),
    Turn(((-1, 0), (0, 1)), "mirrored, x points the other way", "Negate the x of one side"),
    Turn(((0, 1), (1, 0)), "mirrored, x and y are exchanged", "Exchange x and y of one side"),
    Turn(((0, -1), (-1, 0)), "mirrored, x is minus y", "Exchange and negate x and y of one side"),
)


def find_turn(neighbours: Neighbours) -> Turn:
    """The turn that clearly brings the predictions to the truth; most often none."""
    if neighbours.count < _INSTANCES:
        return Turn()
    here = neighbours.gap()
    if not here > _APART:
        return Turn()
    (best, i), (second, _) = sorted((neighbours.gap(turn), i) for i, turn in enumerate(_TURNS))[:2]
    return _TURNS[i] if best < _BETTER * here and best < _CLEARER * second else Turn()
