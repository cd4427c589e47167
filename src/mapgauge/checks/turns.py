"""Finds out whether the axes of the predictions are turned or mirrored relative to those of the truth.

Extents alone cannot distinguish left from right, but nearest distances can: of the eight ways to place a map on its
axes, one makes predictions and truth coincide.
"""

from dataclasses import dataclass

import numpy as np

from mapgauge.checks.neighbours import Neighbours
from mapgauge.errors import Remedy
from mapgauge.typing import Points

_INSTANCES = 10  # truth instances needed for a judgement
_APART = 1.0  # metres; if the sides are nearer than this, the axes are right
_BETTER = 0.6  # a turn must reduce the distance by this factor
_CLEARER = 0.75  # and be nearer than any other turn by this factor


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn or mirroring that moves the predictions onto the axes of the truth."""

    matrix: tuple[tuple[int, int], tuple[int, int]] = ((1, 0), (0, 1))
    what: str = ""  # what is wrong with the predictions
    degrees: int = 0  # of a turn; 0 for a mirroring
    instead: str = ""  # what to do about a mirroring
    explanation: str = ""

    def __call__(self, points: Points) -> Points:
        """Turn points ``(..., 2)``."""
        turned: Points = points @ np.array(self.matrix).T
        return turned

    def remedy(self, file: str, *, certain: bool) -> Remedy:
        """Return what to do about the predictions.

        Args:
            file: The file that they were read from.
            certain: Whether both sides know their axes, and these differ by this turn.
        """
        if not self.degrees:
            return Remedy.of(self.instead)
        only = f", or {file},rotate={self.degrees} to turn only this file" if file else ""
        auto = ('. Or pass axes="auto" to evaluate', ". Or pass --auto-axes") if certain else ("", "")
        return Remedy(f"Use predictions.rotate({self.degrees}){auto[0]}", f"Use --rotate {self.degrees}{only}{auto[1]}")


_MAPTR = "MapTR's nuScenes files have x to the right and y forward, StreamMapNet's have x forward and y to the left"
_TURNS = (
    Turn(((0, -1), (1, 0)), "turned by 90 degrees", 90, explanation=_MAPTR),
    Turn(((-1, 0), (0, -1)), "turned by 180 degrees", 180),
    Turn(((0, 1), (-1, 0)), "turned by 90 degrees", -90, explanation=_MAPTR),
    Turn(((1, 0), (0, -1)), "mirrored, y points to the other side", instead="Negate y on one side"),
    Turn(((-1, 0), (0, 1)), "mirrored, x points the other way", instead="Negate x on one side"),
    Turn(((0, 1), (1, 0)), "mirrored, x and y are swapped", instead="Swap x and y on one side"),
    Turn(((0, -1), (-1, 0)), "mirrored, x is minus y", instead="Swap and negate x and y on one side"),
)


def find_turn(neighbours: Neighbours) -> Turn:
    """Return the turn that clearly moves the predictions onto the truth; usually the one that does nothing."""
    if neighbours.count < _INSTANCES:
        return Turn()
    here = neighbours.gap()
    if not here > _APART:
        return Turn()
    (best, i), (second, _) = sorted((neighbours.gap(turn), i) for i, turn in enumerate(_TURNS))[:2]
    return _TURNS[i] if best < _BETTER * here and best < _CLEARER * second else Turn()
