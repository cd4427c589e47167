"""Assigns predictions to truth for all thresholds on the confidence, from distances that are computed once.

Two forms of a threshold t are followed. *Dropped*: predictions below t are left out, the others keep their confidence.
*Rounded*: predictions below t are left out, the others become certain.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.boxes import is_box
from mapgauge.frames.groups import Groups, group
from mapgauge.protocols import Protocol
from mapgauge.results.geometry import Sides
from mapgauge.results.results import Results
from mapgauge.scoring.score import BLOCK
from mapgauge.scoring.threads import Progress, in_threads
from mapgauge.typing import Confidences, Flags, Floats, Indices


class Block(NamedTuple):
    """The pairs of some frames, from which assignments with other confidences are computed."""

    bounds: Indices  # (groups, 3): first prediction, first truth, end
    order: Indices  # instances by group, predictions by falling confidence
    distance: Floats  # normalised SOSPA of all pairs of each group, or lower bounds
    known: Flags  # which of them are exact
    weight: Confidences  # of all instances
    is_prediction: Flags


@dataclass(frozen=True, eq=False)
class Solved:
    """The predictions of all classes, as columns, and the truth of each frame and class.

    Predictions are sorted by frame, class and falling confidence.
    """

    tokens: tuple[str, ...]  # sorted
    label: Indices  # class of each prediction
    frame: Indices  # frame of each prediction, an index into tokens
    confidence: Confidences
    dropped: Floats  # how much the prediction adds to the savings of those with at least its confidence
    rounded: Floats  # the same if all of them are certain
    hits: Indices  # how many more pairs at a distance up to ``hit`` there are then
    distance: Floats  # to the assigned truth, with all predictions as they are; NaN for unassigned predictions
    true: Indices  # (frames, classes): number of true instances
    true_mass: Floats  # (frames, classes): half the sum of their confidences
    order: float  # of PLD
    hit: float  # largest distance of a hit
    place: Indices  # of each prediction among those of all blocks
    blocks: tuple[Block, ...]

    def with_confidences(self, confidence: Confidences) -> Floats:
        """Return the saving of each prediction if all predictions had other confidences. Only sums have a meaning."""
        given = np.empty_like(confidence)
        given[self.place] = confidence
        found, start = [], 0
        for block in self.blocks:
            weight = block.weight.copy()
            count = int(np.count_nonzero(block.is_prediction))
            weight[block.is_prediction] = given[start : start + count]
            found.append(_assigned(block._replace(weight=weight), self.order, self.hit)[0][block.is_prediction])
            start += count
        return np.concatenate([np.empty(0), *found])[self.place]


def solve(
    results: Results,
    cutoff: float,
    hit: float,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Solved:
    """Assign the predictions of results for all thresholds.

    Args:
        results: Results with their data.
        cutoff: Cutoff of SOSPA in metres.
        hit: Largest normalised SOSPA of a hit.
        workers: Number of threads. If None, the number of processors.
        progress: A function that is called with the number of finished blocks and the number of all blocks.
    """
    data = results.data
    if data is None:
        raise InvalidInput(
            "these results came from a file, which does not hold the geometry",
            remedy=Remedy(
                'Call with_data() to read the evaluated files again, or save with geometry="original"',
                "Evaluate with -o RESULTS.mg --with-geometry, or give the predictions and the truth",
            ),
        )
    tokens = sorted(results.tokens)
    places = [data[1].index[token] for token in tokens]
    x, y = data[0].at(places), data[1].at(places)
    settings = results.protocol.replace(cutoffs=(cutoff,))
    starts = range(0, len(tokens), BLOCK)

    def work(start: int) -> _Part:
        block = slice(start, start + BLOCK)
        return _solved((x.between(block), y.between(block)), settings, hit)

    parts = in_threads(work, starts, workers, progress)
    confidence, dropped, rounded, hits, distance = (
        np.concatenate(columns) for columns in zip(*(part.columns for part in parts), strict=True)
    )
    lines = ~is_box(x)
    frame, label = x.frame[lines], x.label[lines]
    # Sums must not depend on the order of instances in the file, so predictions are sorted by their content.
    place = np.lexsort((distance, rounded, dropped, -confidence, label, frame))
    shape = (len(tokens), len(y.classes))
    true, mass = np.zeros(shape, np.int64), np.zeros(shape)
    np.add.at(true, (y.frame, y.label), 1)
    np.add.at(mass, (y.frame, y.label), 0.5 if y.confidence is None else 0.5 * y.confidence)
    return Solved(
        tokens=tuple(tokens),
        label=label[place],
        frame=frame[place],
        confidence=confidence[place],
        dropped=dropped[place],
        rounded=rounded[place],
        hits=hits[place],
        distance=distance[place],
        true=true,
        true_mass=mass,
        order=settings.order,
        hit=hit,
        place=place,
        blocks=tuple(part.block for part in parts),
    )


class _Part(NamedTuple):
    """The predictions of some frames."""

    block: Block
    columns: tuple[NDArray[Any], ...]  # of predictions, in the order of those of ``Solved``


def _solved(sides: Sides, protocol: Protocol, hit: float) -> _Part:
    """Return the columns of the predictions of some frames."""
    groups = group(*sides, protocol)
    if groups.boxes:
        groups, _ = groups.of_lines()
    distance, known = np.empty(groups.pairs), np.zeros(groups.pairs, np.bool_)
    kernels.thresholds.bound_distances(
        groups.lines, groups.bounds, protocol.cutoffs[0], protocol.order, distance, known
    )
    order = groups.by_confidence.copy()
    block = Block(groups.bounds, order, distance, known, groups.confidence, groups.is_prediction)
    dropped, _, assigned = _assigned(block, groups, protocol, hit, equals=True)
    certain = block._replace(weight=np.where(block.is_prediction, 1.0, block.weight))
    rounded, hits, _ = _assigned(certain, groups, protocol, hit)
    columns = (groups.confidence, dropped, rounded, hits, assigned)
    return _Part(block, tuple(column[block.is_prediction] for column in columns))


def _assigned(
    block: Block, groups: Groups, protocol: Protocol, hit: float, *, equals: bool = False
) -> tuple[Floats, Indices, Floats]:
    """Return what ``kernels.thresholds.assign_by_confidence`` writes, for all instances."""
    count = len(block.weight)
    growth, hits, assigned = np.zeros(count), np.zeros(count, np.int64), np.full(count, np.nan)
    if count:
        kernels.thresholds.assign_by_confidence(
            *(groups.lines, groups.closed, protocol.directed, protocol.cutoffs[0]),
            *(kernels.sospa.is_long(groups.lines, groups.closed), equals, block.bounds, block.order, block.weight),
            *(block.distance, block.known, protocol.order, hit, growth, hits, assigned),
        )
    return growth, hits, assigned
