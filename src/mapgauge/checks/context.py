"""The input of the checks: both sides, the settings, and values that several checks need, computed once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.arguments import check_class_names
from mapgauge.checks.extent import Extent, extent_of, is_geographic
from mapgauge.checks.neighbours import Motion, Neighbours, evenly, most_confident
from mapgauge.errors import Remedy
from mapgauge.frames.boxes import without_boxes
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.cropping import Region, check_region
from mapgauge.geometry.poses import turns_between
from mapgauge.protocols import Protocol
from mapgauge.typing import Bounds, Points

_NEAR = 2.0  # metres; a truth instance votes for the class of its nearest prediction within this distance
_VOTES = 3  # number of votes needed per class
_WON = 0.6  # share of the votes that a class needs
_OWN = 0.25  # with a larger share for the right class, nothing is swapped


def find_exchange(
    neighbours: Neighbours, motion: Motion, predicted: Sequence[str], true: Sequence[str]
) -> dict[str, str]:
    """Return predicted class names and the classes they stand for, if some are clearly permuted."""
    votes = np.zeros((len(true), len(predicted)), np.int64)
    for frame, distance in zip(neighbours.frames, neighbours.distances(motion), strict=True):
        near = distance.min(axis=1) < _NEAR
        np.add.at(votes, (frame.truth_label[near], frame.label[distance.argmin(axis=1)[near]]), 1)
    meant: dict[str, str] = {}
    for name, row in zip(true, votes, strict=True):
        total = row.sum()
        own = row[predicted.index(name)] if name in predicted else 0
        if total >= _VOTES and row.max() >= _WON * total and own <= _OWN * total:
            meant[predicted[int(row.argmax())]] = name
    return meant if set(meant) == set(meant.values()) else {}


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
        file = file or "FILE"
        auto = ('. Or pass axes="auto" to evaluate', f" or {file},rotate=auto") if certain else ("", "")
        return Remedy(f"Use predictions.rotate({self.degrees}){auto[0]}", f"Use {file},rotate={self.degrees}{auto[1]}")


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
        met = [(self.predictions.index[token], self.truth.index[token]) for token in self.shared]
        filled = [np.diff(side.offsets) > 0 for _, side in self.sides]
        both = evenly([(i, j) for i, j in met if filled[0][i] and filled[1][j]], _FRAMES)
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
        """Quarter turns from the axes of the predictions to those of the truth; None if one side does not say."""
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
