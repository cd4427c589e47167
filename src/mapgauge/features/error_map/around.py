"""The map around the vehicle: how often true lines were not found ahead, beside and behind. It needs no poses."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.geometry.polylines import ranges
from mapgauge.metrics.assigned import assigned
from mapgauge.metrics.groups import Block
from mapgauge.protocols import Protocol
from mapgauge.results.results import Results
from mapgauge.scoring.data import BlockWork
from mapgauge.typing import Floats, Indices, Progress

CELL = 2.0  # metres
LEVELS = tuple(k / 10 for k in range(10))  # least confidences for which found lengths are kept
_MILLIMETRES = 1000
_SIDES = ("ahead", "beside", "behind")


class AroundEgo(NamedTuple):
    """Lengths of true lines in the cells of a grid around the vehicle, over all frames, in millimetres.

    Whole numbers add up to the same sums in any order of the frames. The vehicle is at the origin, x points forward and
    y to the left.
    """

    left: float  # metres: the smallest x of the grid
    bottom: float  # metres: the smallest y
    seen: Indices  # (classes, columns, rows)
    found: Indices  # (levels, classes, columns, rows): matched, by the least confidence of the prediction

    def share(self, level: int = 0) -> Floats:
        """Return the share of each cell that was not found, ``(columns, rows)``; NaN without truth."""
        seen = self.seen.sum(axis=0)
        found = self.found[level].sum(axis=0)
        return np.where(seen > 0, 1 - found / np.maximum(seen, 1), np.nan)

    def sides(self, level: int = 0) -> dict[str, float]:
        """Return the share that was not found ahead, beside and behind: in thirds of the grid along x."""
        columns = self.seen.shape[1]
        middle = self.left + CELL * (np.arange(columns) + 0.5)
        third = np.abs(self.left) / 3
        parts = (middle > third, np.abs(middle) <= third, middle < -third)
        shares = {}
        for name, part in zip(_SIDES, parts, strict=True):
            seen = int(self.seen[:, part].sum())
            found = int(self.found[level][:, part].sum())
            shares[name] = 1 - found / seen if seen else float("nan")
        return shares


def around_ego(
    results: Results, cutoff: float | None = None, workers: int | None = None, progress: Progress | None = None
) -> AroundEgo:
    """Return how often true lines around the vehicle were not found. The results must have their data and a region."""
    if results.protocol.region is None:
        raise InvalidInput("the protocol has no region, so there is no area around the vehicle")
    work = work_of(results.protocol, results.cutoff_or_first(cutoff))
    parts = results.need_data().outcomes_of(work, known=results.scores, workers=workers, progress=progress)
    seen = np.sum([part[0] for part in parts], axis=0)
    found = np.sum([part[1] for part in parts], axis=0)
    left, bottom = _corner_of(*_shape_of(results.protocol))
    return AroundEgo(left=left, bottom=bottom, seen=seen, found=found)


def work_of(protocol: Protocol, cutoff: float) -> BlockWork:
    """Return what ``around_ego`` needs from every block of frames. The protocol must have a region."""
    shape = _shape_of(protocol)
    corner = _corner_of(*shape)

    def of_block(block: Block) -> tuple[Indices, Indices]:
        return _of_block(block, protocol, cutoff, corner=corner, shape=shape)

    return BlockWork(("around the vehicle", cutoff), of_block)


def _shape_of(protocol: Protocol) -> tuple[int, int]:
    """Return the numbers of columns and rows of the grid."""
    assert protocol.region is not None
    long, wide = protocol.region[:2]
    return int(np.ceil(long / CELL)), int(np.ceil(wide / CELL))


def _corner_of(columns: int, rows: int) -> tuple[float, float]:
    """Return the smallest x and y of the grid, in metres."""
    return -CELL * columns / 2, -CELL * rows / 2


def _of_block(
    block: Block, protocol: Protocol, cutoff: float, corner: tuple[float, float], shape: tuple[int, int]
) -> tuple[Indices, Indices]:
    """Return seen and found lengths of some frames."""
    groups = block.lines
    matches = assigned(groups, protocol, cutoff)
    prediction_of = np.full(len(groups.row), -1)
    predicted, true = matches.pairs
    prediction_of[true] = predicted
    rows = np.flatnonzero(~groups.is_prediction)
    count = np.diff(groups.offsets)[rows]
    point = ranges(groups.offsets[rows], count)
    line = np.repeat(rows, count)
    coords = groups.points[:2]
    # A point stands for half of the two pieces of the line beside it.
    steps = np.sqrt(np.square(np.diff(coords, axis=1)).sum(axis=0))
    steps[groups.offsets[1:-1] - 1] = 0.0  # from one line to the next
    length = np.zeros(coords.shape[1])
    length[:-1] += steps / 2
    length[1:] += steps / 2
    # The last point of a closed line repeats the first, and only the first is matched.
    last = groups.offsets[line + 1] - 1
    matched_as = np.where(groups.repeats[line] & (point == last), groups.offsets[line], point)
    is_found = (matches.partner[matched_as] >= 0) & (prediction_of[line] >= 0)
    confidence = np.where(is_found, groups.confidence[prediction_of[line]], -1.0)
    x, y = coords[:, point]
    if groups.forward == "y":
        x, y = y, -x
    column = np.clip(np.floor((x - corner[0]) / CELL).astype(np.int64), 0, shape[0] - 1)
    row = np.clip(np.floor((y - corner[1]) / CELL).astype(np.int64), 0, shape[1] - 1)
    classes = groups.classes
    cell = (groups.label[groups.side[line] // 2] * shape[0] + column) * shape[1] + row
    whole: NDArray[np.int64] = np.rint(length[point] * _MILLIMETRES).astype(np.int64)
    size = classes * shape[0] * shape[1]

    def added(lengths: NDArray[np.int64]) -> Indices:
        sums = np.zeros(size, np.int64)
        np.add.at(sums, cell, lengths)
        return sums.reshape(classes, *shape)

    found = [added(np.where(confidence >= level, whole, 0)) for level in LEVELS]
    return added(whole), np.stack(found)


def in_words(maps: Sequence[AroundEgo], names: Sequence[str], level: int = 0) -> list[str]:
    """Return a sentence for each method."""
    sentences = []
    for name, made in zip(names, maps, strict=True):
        parts = [f"{100 * share:.0f} % {side}" for side, share in made.sides(level).items() if share == share]
        sentences.append(f"{name} does not find {', '.join(parts)} of the vehicle" if parts else f"{name}: no truth")
    return sentences
