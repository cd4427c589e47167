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
from mapgauge.evaluation.data import Data
from mapgauge.metrics.assigned import Matches, truth_of_matches
from mapgauge.metrics.average_precision import sospa_distances
from mapgauge.metrics.groups import Block, Groups
from mapgauge.protocols import Protocol
from mapgauge.results.results import Results
from mapgauge.typing import Confidences, Flags, Floats, Indices, Progress

# Frames up to which all distances are computed. The kernel that computes few of them takes seconds to compile.
FEW = 500


class BlockPairs(NamedTuple):
    """The pairs of a block of frames, from which assignments with other confidences are computed."""

    frames: slice
    bounds: Indices  # (groups, 3): first prediction, first truth, end
    order: Indices  # instances by group, predictions of each by falling confidence
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
    data: Data
    protocol: Protocol
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
        savings, start = [], 0
        for block in self.blocks:
            weight = block.weight.copy()
            count = int(np.count_nonzero(block.is_prediction))
            weight[block.is_prediction] = given[start : start + count]
            savings.append(self._savings(block, weight)[block.is_prediction])
            start += count
        return np.concatenate([np.empty(0), *savings])[self.place]

    def _savings(self, block: BlockPairs, weight: Confidences) -> Floats:
        """Return the savings of a block with other weights."""
        from mapgauge.features.confidence.kernels import assign_again

        growth, hits, assigned = _nothing(len(weight))
        lacking = np.zeros(len(block.bounds), np.bool_)
        if len(weight):
            assign_again(
                block.bounds,
                block.order,
                weight,
                block.distance,
                block.known,
                self.order,
                self.hit,
                growth,
                hits,
                assigned,
                lacking,
            )
        pairs = np.append(0, np.cumsum(np.prod(np.diff(block.bounds, axis=1), axis=1)))
        for g in np.flatnonzero(lacking).tolist():  # few: they need a distance that no threshold needed
            frame, label = divmod(g, self.true.shape[1])
            frame += block.frames.start
            every = self.data.block(slice(frame, frame + 1)).groups
            groups = every.pick(np.array([label]))
            rows, of_group = slice(*block.bounds[g, [0, 2]]), slice(pairs[g], pairs[g + 1])
            alone = BlockPairs(
                frames=slice(frame, frame + 1),
                bounds=groups.bounds,
                order=block.order[rows] - rows.start,
                distance=block.distance[of_group],
                known=block.known[of_group],
                weight=weight[rows],
                is_prediction=block.is_prediction[rows],
            )
            growth[rows] = _assigned(alone, groups, self.protocol, self.hit)[0]
        return growth


def solve(
    results: Results,
    cutoff: float,
    hit: float,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Solved:
    """Assign the predictions of results for all thresholds. A hit has a normalised SOSPA of at most ``hit``."""
    data, scores = results.need_data(), results.scores
    settings = results.protocol.replace(cutoffs=(cutoff,))
    few, same_cutoff = len(results.tokens) <= FEW, results.protocol.cutoffs[:1] == (cutoff,)

    def work(block: Block) -> _Part:
        scored = scores.scored_matches(block.frames) if same_cutoff else None
        return _solved(block, settings, hit, None if scored is None else scored.matches, few=few)

    parts = data.in_blocks(work, known=scores, workers=workers, progress=progress)
    # Frames are sorted by token, so that sums do not depend on the order of the input.
    order = sorted(range(len(results.tokens)), key=results.tokens.__getitem__)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    group, confidence, dropped, rounded, hits, distance = (
        np.concatenate(columns) for columns in zip(*(part.columns for part in parts), strict=True)
    )
    y = data.sides[1]
    frame, label = rank[group // max(len(y.classes), 1)], group % max(len(y.classes), 1)
    place = _in_order([part.block for part in parts], (frame, label, confidence), (dropped, rounded, distance))
    shape = (len(order), len(y.classes))
    true, mass = np.zeros(shape, np.int64), np.zeros(shape)
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
        data=data,
        protocol=settings,
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


class _Part(NamedTuple):
    """The predictions of a block of frames."""

    block: BlockPairs
    columns: tuple[NDArray[Any], ...]  # of predictions: the group, then the columns of ``Solved`` in their order


def _solved(block: Block, protocol: Protocol, hit: float, matches: Matches | None, *, few: bool) -> _Part:
    """Return the columns of the predictions of a block. Its matches may be known already."""
    lines = block.lines
    distance, known, order = _all_distances(lines, protocol) if few else _bounds(lines, protocol)
    if matches is not None and matches.distance is not None and not few:
        truth_of = truth_of_matches(block, matches)
        assert truth_of is not None
        of_all = np.full(len(block.groups.row), np.nan)
        of_all[block.groups.predictions] = matches.distance
        of_lines = of_all if block.of_lines is None else of_all[block.of_lines]
        matched = np.flatnonzero(truth_of >= 0)
        pairs = _pair_of(lines, matched, truth_of[matched])
        distance[pairs], known[pairs] = of_lines[matched], True
    pairs_of = BlockPairs(block.frames, lines.bounds, order, distance, known, lines.confidence, lines.is_prediction)
    dropped, _, assigned = _assigned(pairs_of, lines, protocol, hit, equals=True)
    certain = pairs_of._replace(weight=np.where(lines.is_prediction, 1.0, lines.confidence))
    rounded, hits, _ = _assigned(certain, lines, protocol, hit)
    group = lines.side // 2 + block.frames.start * lines.classes
    columns = (group, lines.confidence, dropped, rounded, hits, assigned)
    return _Part(pairs_of, tuple(column[lines.is_prediction] for column in columns))


def _all_distances(groups: Groups, protocol: Protocol) -> tuple[Floats, Flags, Indices]:
    """Return the distances of all pairs, that all are known, and the order of instances."""
    distance = sospa_distances(groups, protocol, None, 1.0)
    # Equal confidences are sorted by their distances, not by their order in the file.
    near = np.zeros(len(groups.confidence))
    np.add.at(near, kernels.gains.pairs_of_groups(groups.bounds)[:, 0].astype(np.int64), 1.0 - distance)
    order = np.lexsort((-near, -groups.confidence, groups.side))
    return distance, np.ones(len(distance), np.bool_), order


def _bounds(groups: Groups, protocol: Protocol) -> tuple[Floats, Flags, Indices]:
    """Return bounds of the distances of all pairs, which are exact, and the order of instances.

    Instances of equal confidence are not sorted yet.
    """
    from mapgauge.features.confidence.kernels import bound_distances

    distance, known = np.empty(groups.pairs), np.zeros(groups.pairs, np.bool_)
    order = np.arange(len(groups.confidence))
    bound_distances(
        groups.lines, groups.bounds, groups.confidence, protocol.cutoffs[0], protocol.order, distance, known, order
    )
    return distance, known, order


def _pair_of(groups: Groups, rows: Indices, truth: Indices) -> Indices:
    """Return the places of pairs among the pairs of all groups."""
    first, split, end = groups.bounds.T
    columns = end - split
    starts = np.cumsum((split - first) * columns) - (split - first) * columns
    of = groups.side[rows] // 2
    places: Indices = starts[of] + (rows - first[of]) * columns[of] + truth - split[of]
    return places


def _assigned(
    block: BlockPairs, groups: Groups, protocol: Protocol, hit: float, *, equals: bool = False
) -> tuple[Floats, Indices, Floats]:
    """Return what ``kernels.assign_by_confidence`` writes, for all instances."""
    from mapgauge.features.confidence.kernels import assign_again, assign_by_confidence

    growth, hits, assigned = _nothing(len(block.weight))
    if len(block.weight) and block.known.all():
        assign_again(
            block.bounds,
            block.order,
            block.weight,
            block.distance,
            block.known,
            protocol.order,
            hit,
            growth,
            hits,
            assigned,
            np.zeros(len(block.bounds), np.bool_),
        )
    elif len(block.weight):
        assign_by_confidence(
            groups.lines,
            groups.closed,
            protocol.directed,
            protocol.cutoffs[0],
            kernels.sospa.is_long(groups.lines, groups.closed),
            equals,
            block.bounds,
            block.order,
            block.weight,
            block.distance,
            block.known,
            protocol.order,
            hit,
            growth,
            hits,
            assigned,
        )
    return growth, hits, assigned


def _nothing(count: int) -> tuple[Floats, Indices, Floats]:
    """Return the columns of instances that add nothing."""
    return np.zeros(count), np.zeros(count, np.int64), np.full(count, np.nan)
