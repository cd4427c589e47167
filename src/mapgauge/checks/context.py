"""What the checks look at: both sides, what was asked for, and what several checks need, computed once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.checks.extent import Extent, extent_of
from mapgauge.checks.labels import find_exchange
from mapgauge.checks.neighbours import Neighbours, evenly, most_confident
from mapgauge.checks.turns import Turn, find_turn
from mapgauge.errors import InvalidInput
from mapgauge.frames.map_frames import MapFrames

Counts: TypeAlias = dict[str, int]  # instances by class
Box: TypeAlias = tuple[float, float, float, float]  # x_min, y_min, x_max, y_max

EXAMPLES = 3  # named in a finding
_FRAMES = 256  # looked at for extents
_COMPARED = 24  # of them, for nearest distances
_INSTANCES = 5  # of a side, at least, to speak of its extent,
ENOUGH = 20  # and to say that it is smaller than a region: a few frames need not fill one


@dataclass(frozen=True, eq=False)
class Context:
    """Both sides with the classes asked for, and what is known about them."""

    predictions: MapFrames
    truth: MapFrames
    offered: tuple[Counts, Counts]  # also of classes that were not asked for
    region: Box | None = None
    classes: tuple[str, ...] | None = None  # those asked for

    @classmethod
    def of(
        cls, predictions: MapFrames, truth: MapFrames, region: Box | None = None, classes: Sequence[str] | None = None
    ) -> "Context":
        """Leave out the classes that were not asked for."""
        if isinstance(classes, str):
            raise InvalidInput(f"classes must be a sequence of names, got the text {classes!r}. Put it in a list.")
        wanted = None if classes is None else tuple(classes)
        offered = predictions.counts, truth.counts
        return cls(_only(predictions, wanted), _only(truth, wanted), offered, region, wanted)

    @property
    def sides(self) -> tuple[tuple[str, MapFrames], tuple[str, MapFrames]]:
        """Both, with what to call them."""
        return ("predictions", self.predictions), ("truth", self.truth)

    @cached_property
    def shared(self) -> list[str]:
        """Tokens of both sides, sorted: a choice among them does not depend on the order of the files."""
        return sorted(self.predictions.index.keys() & self.truth.index.keys())

    @cached_property
    def sampled(self) -> tuple[MapFrames, MapFrames]:
        """Some frames, evenly spread: the same on both sides if any frame has instances on both."""
        met = [(self.predictions.index[token], self.truth.index[token]) for token in self.shared]
        filled = [np.diff(side.offsets) > 0 for _, side in self.sides]
        both = evenly([(i, j) for i, j in met if filled[0][i] and filled[1][j]], _FRAMES)
        if both:
            return self.predictions.at([i for i, _ in both]), self.truth.at([j for _, j in both])
        x, y = (side.at(evenly(np.flatnonzero(np.diff(side.offsets)).tolist(), _FRAMES)) for _, side in self.sides)
        return x, y

    @cached_property
    def extents(self) -> tuple[Extent, Extent] | None:
        """Of both sides, the predictions turned to the axes of the truth; None if there is too little to see.

        Only as many predictions as there are truth instances count, the most confident: others may lie anywhere.
        """
        predictions, truth = self.sampled
        everyone = np.arange(len(predictions.polylines))
        sure = predictions.keep(most_confident(predictions, everyone, len(truth.polylines)))
        x, y = extent_of(sure), extent_of(truth)
        if x is None or y is None or min(x.instances, y.instances) < _INSTANCES:
            return None
        return x.moved(self.turn), y

    @cached_property
    def neighbours(self) -> Neighbours:
        """Truth and predictions of a few frames, ready for distances; none if the tokens do not meet."""
        x, y = self.sampled
        if x.tokens != y.tokens:
            return Neighbours(())
        frames = evenly(range(len(x)), _COMPARED)
        return Neighbours.of(x.at(frames), y.at(frames))

    @cached_property
    def turn(self) -> Turn:
        """How the predictions would have to be turned; most often not at all."""
        return find_turn(self.neighbours)

    @cached_property
    def exchanged(self) -> dict[str, str]:
        """Classes of the predictions that mean each other, by what the nearest truth says; most often none."""
        return find_exchange(self.neighbours, self.turn, self.predictions.classes, self.truth.classes)


def examples(side: MapFrames, instances: NDArray[np.int64]) -> tuple[str, ...]:
    """The tokens of the first frames that have some of the instances."""
    return tuple(side.tokens[i] for i in np.unique(side.frame[instances])[:EXAMPLES].tolist())


def percent(part: int, whole: int) -> str:
    """A share, for messages."""
    return f"{100 * part / whole:.3g} %"


def _only(side: MapFrames, classes: tuple[str, ...] | None) -> MapFrames:
    if classes is None or set(side.classes) <= set(classes):
        return side
    return side.as_classes([name for name in side.classes if name in classes])
