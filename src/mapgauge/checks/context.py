"""The input of the checks: both sides, the settings, and values that several checks need, computed once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.arguments import check_class_names
from mapgauge.checks.extent import Extent, extent_of, is_geographic
from mapgauge.checks.neighbours import Neighbours, Turn, evenly, find_exchange, find_turn, most_confident
from mapgauge.frames.instances import without_boxes
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.cropping import Region, check_region
from mapgauge.geometry.poses import turns_between
from mapgauge.protocols import Protocol
from mapgauge.typing import Bounds

Counts: TypeAlias = dict[str, int]  # number of instances per class

EXAMPLES = 3  # examples per finding
_FRAMES = 256  # at most this many frames are used for extents
_COMPARED = 24  # at most this many of them are used for nearest distances
_COMPARED_INSTANCES = 5  # a side needs at least this many instances to have an extent
ENOUGH = 20  # and this many to be called smaller than a region, because a few frames need not fill one


@dataclass(frozen=True, eq=False)
class Context:
    """Both sides, reduced to the requested classes, and values derived from them."""

    predictions: MapFrames
    truth: MapFrames
    offered: tuple[Counts, Counts]  # instances per class, including classes that were not requested
    region: Bounds | None = None
    classes: tuple[str, ...] | None = None  # the requested classes
    protocol: Protocol | None = None  # which compares them

    @classmethod
    def of(
        cls,
        predictions: MapFrames,
        truth: MapFrames,
        region: Region | None = None,
        classes: Sequence[str] | None = None,
        protocol: Protocol | None = None,
    ) -> "Context":
        """Make a context; classes that were not requested are left out."""
        bounds = None if region is None else check_region(region, truth.forward or predictions.forward)
        wanted = None if classes is None else check_class_names(classes)
        predictions, truth = without_boxes(predictions), without_boxes(truth)
        offered = predictions.counts, truth.counts
        return cls(_only(predictions, wanted), _only(truth, wanted), offered, bounds, wanted, protocol)

    @property
    def sides(self) -> tuple[tuple[str, MapFrames], tuple[str, MapFrames]]:
        """Both sides with their names in messages."""
        return ("predictions", self.predictions), ("truth", self.truth)

    @cached_property
    def shared(self) -> list[str]:
        """Tokens that both sides have, sorted, so that a sample does not depend on the order in the files."""
        return sorted(self.predictions.index.keys() & self.truth.index.keys())

    @cached_property
    def sampled(self) -> tuple[MapFrames, MapFrames]:
        """An even sample of frames: the same on both sides if any frame has instances on both."""
        pairs = [(self.predictions.index[token], self.truth.index[token]) for token in self.shared]
        filled = [np.diff(side.offsets) > 0 for _, side in self.sides]
        both = evenly([(i, j) for i, j in pairs if filled[0][i] and filled[1][j]], _FRAMES)
        if both:
            return self.predictions.at([i for i, _ in both]), self.truth.at([j for _, j in both])
        x, y = (side.at(evenly(np.flatnonzero(np.diff(side.offsets)).tolist(), _FRAMES)) for _, side in self.sides)
        return x, y

    @cached_property
    def extents(self) -> tuple[Extent, Extent] | None:
        """Extents of both sides, the predictions turned to the axes of the truth; None if there are too few instances.

        Only the most confident predictions are used, as many as there are truth instances: others may lie anywhere.
        """
        predictions, truth = self.sampled
        everyone = np.arange(len(predictions.polylines))
        sure = predictions.keep(most_confident(predictions, everyone, len(truth.polylines)))
        x, y = extent_of(sure), extent_of(truth)
        if x is None or y is None or min(x.instances, y.instances) < _COMPARED_INSTANCES:
            return None
        return x.moved(self.turn), y

    @cached_property
    def geographic(self) -> tuple[bool, bool]:
        """Whether the sides have longitude and latitude. A few lines tell it only if both sides have it."""
        x, y = self.sampled
        both = is_geographic(x, least=1) and is_geographic(y, least=1)
        return (True, True) if both else (is_geographic(x), is_geographic(y))

    @cached_property
    def neighbours(self) -> Neighbours:
        """Truth and predictions of a few frames, prepared for distances; empty if no tokens match."""
        x, y = self.sampled
        if x.tokens != y.tokens:
            return Neighbours(())
        frames = evenly(range(len(x)), _COMPARED)
        return Neighbours.of(x.at(frames), y.at(frames))

    @cached_property
    def turn(self) -> Turn:
        """The turn that moves the predictions onto the truth; usually none."""
        return find_turn(self.neighbours)

    @property
    def known_turns(self) -> int | None:
        """Quarter turns from the axes of the predictions to the axes of the truth; None if one side does not say."""
        return turns_between(self.predictions.forward, self.truth.forward)

    @cached_property
    def exchanged(self) -> dict[str, str]:
        """Predicted classes that seem to be swapped, judged by the class of the nearest truth; usually empty."""
        return find_exchange(self.neighbours, self.turn, self.predictions.classes, self.truth.classes)


def examples(side: MapFrames, instances: NDArray[np.int64]) -> tuple[str, ...]:
    """Return the tokens of the first frames that contain some of the instances."""
    return tuple(side.tokens[i] for i in np.unique(side.frame[instances])[:EXAMPLES].tolist())


def percent(part: int, whole: int) -> str:
    """Format a share for messages."""
    return f"{100 * part / whole:.3g} %"


def _only(side: MapFrames, classes: tuple[str, ...] | None) -> MapFrames:
    if classes is None or set(side.classes) <= set(classes):
        return side
    return side.as_classes([name for name in side.classes if name in classes])
