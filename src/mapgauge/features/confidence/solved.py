"""Assigns predictions to truth for all thresholds on the confidence, from distances that are computed once.

Two forms of a threshold t are followed. *Dropped*: predictions below t are left out, the others keep their confidence.
*Rounded*: predictions below t are left out, the others become certain.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.metrics.average_precision import sospa_distances
from mapgauge.metrics.groups import Block
from mapgauge.protocols import Protocol
from mapgauge.results.results import Results
from mapgauge.scoring.data import BlockWork
from mapgauge.typing import Confidences, Flags, Floats, Indices, Progress


class BlockPairs(NamedTuple):
    """The pairs of a block of frames, from which assignments with other confidences are computed."""

    bounds: Indices  # (groups, 3): first prediction, first truth, end
    order: Indices  # instances by group, predictions of each by falling confidence
    distance: Floats  # normalised SOSPA of all pairs of each group
    weight: Confidences  # of all instances
    is_prediction: Flags

    def assigned(self, weight: Confidences, order: float, hit: float) -> tuple[Floats, Indices, Floats]:
        """Return what ``assign_by_confidence`` writes for all instances, if they have these confidences."""
        from mapgauge.features.confidence.kernels import assign_by_confidence

        count = len(weight)
        growth = np.zeros(count)
        hits = np.zeros(count, np.int64)
        assigned = np.full(count, np.nan)
        if count:
            assign_by_confidence(
                self.bounds,
                self.order,
                weight,
                distance=self.distance,
                power=order,
                level=hit,
                growth=growth,
                hits=hits,
                assigned=assigned,
            )
        return growth, hits, assigned


@dataclass(frozen=True, eq=False, kw_only=True)
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
    blocks: tuple[BlockPairs, ...]

    @cached_property
    def by_confidence(self) -> list[Indices]:
        """The predictions of each class, from high confidence to low."""
        by_class = [np.flatnonzero(self.label == label) for label in range(self.true.shape[1])]
        return [rows[np.argsort(-self.confidence[rows], kind="stable")] for rows in by_class]

    def with_confidences(self, confidence: Confidences) -> Floats:
        """Return the saving of each prediction if all predictions had other confidences. Only sums have a meaning."""
        given = np.empty_like(confidence)
        given[self.place] = confidence
        savings = []
        start = 0
        for block in self.blocks:
            weight = block.weight.copy()
            count = int(np.count_nonzero(block.is_prediction))
            weight[block.is_prediction] = given[start : start + count]
            savings.append(block.assigned(weight, self.order, self.hit)[0][block.is_prediction])
            start += count
        return np.concatenate([np.empty(0), *savings])[self.place]


def work_of(protocol: Protocol, cutoff: float, hit: float) -> BlockWork:
    """Return what ``solve`` needs from every block of frames."""
    settings = protocol.replace(cutoffs=(cutoff,))
    return BlockWork(("confidence", cutoff, hit), lambda block: _solved(block, settings, hit))


def solve(
    results: Results,
    cutoff: float,
    hit: float,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Solved:
    """Assign the predictions of results for all thresholds. A hit has a normalised SOSPA of at most ``hit``."""
    data = results.need_data()
    settings = results.protocol.replace(cutoffs=(cutoff,))
    work = work_of(results.protocol, cutoff, hit)
    parts: list[_SolvedPart] = data.outcomes_of(work, workers=workers, progress=progress)
    # Frames are sorted by token, so that sums do not depend on the order of the input.
    order = sorted(range(len(results.tokens)), key=results.tokens.__getitem__)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    group, confidence, dropped, rounded, hits, distance = (
        np.concatenate(columns) for columns in zip(*(part.columns for part in parts), strict=True)
    )
    y = data.sides[1]
    frame = rank[group // max(len(y.classes), 1)]
    label = group % max(len(y.classes), 1)
    place = _in_order([part.block for part in parts], (frame, label, confidence), (dropped, rounded, distance))
    shape = (len(order), len(y.classes))
    true = np.zeros(shape, np.int64)
    mass = np.zeros(shape)
    np.add.at(true, (rank[y.frame], y.label), 1)
    np.add.at(mass, (rank[y.frame], y.label), 0.5 if y.confidence is None else 0.5 * y.confidence)
    return Solved(
        tokens=tuple(results.tokens[frame] for frame in order),
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


def _in_order(
    blocks: Sequence[BlockPairs], keys: tuple[Indices, Indices, Confidences], further: tuple[Floats, Floats, Floats]
) -> Indices:
    """Return the order of predictions by frame, class and falling confidence. Further keys decide between equals.

    Sums must not depend on the order of instances in the file, so predictions are sorted by their content.
    """
    sizes = [int(np.count_nonzero(block.is_prediction)) for block in blocks]
    ranks = (np.cumsum(block.is_prediction)[block.order[block.is_prediction]] - 1 for block in blocks)
    starts = np.cumsum([0, *sizes])
    place = np.concatenate([np.empty(0, np.int64), *map(np.add, ranks, starts[:-1])])
    place = place[np.argsort(keys[0][place], kind="stable")]
    same = np.logical_and.reduce([key[place[1:]] == key[place[:-1]] for key in keys])
    ties = np.flatnonzero(np.append(same, False) | np.append(False, same))
    equal = place[ties]
    frame, label, confidence = (key[equal] for key in keys)
    place[ties] = equal[np.lexsort([equal, *(key[equal] for key in further[::-1]), -confidence, label, frame])]
    return place


class _SolvedPart(NamedTuple):
    """The predictions of a block of frames."""

    block: BlockPairs
    columns: tuple[NDArray[Any], ...]  # of predictions: the group, then the columns of ``Solved`` in their order


def _solved(block: Block, protocol: Protocol, hit: float) -> _SolvedPart:
    """Return the columns of the predictions of a block."""
    lines = block.lines
    distance = sospa_distances(lines, protocol, own=None, limit=1.0)
    # Equal confidences are sorted by their distances, not by their order in the file.
    near = np.zeros(len(lines.confidence))
    np.add.at(near, kernels.gains.pairs_of_groups(lines.bounds)[:, 0].astype(np.int64), 1.0 - distance)
    order = np.lexsort((-near, -lines.confidence, lines.side))
    pairs = BlockPairs(lines.bounds, order, distance, weight=lines.confidence, is_prediction=lines.is_prediction)
    dropped, _, assigned = pairs.assigned(pairs.weight, protocol.order, hit)
    certain = np.where(lines.is_prediction, 1.0, lines.confidence)
    rounded, hits, _ = pairs.assigned(certain, protocol.order, hit)
    group = lines.side // 2 + block.frames.start * lines.classes
    columns = (group, lines.confidence, dropped, rounded, hits, assigned)
    return _SolvedPart(pairs, tuple(column[lines.is_prediction] for column in columns))
