"""The assignment of tracks over time, reduced without loss.

Tracks of two sides are assigned to each other in every frame. A pair of tracks saves something in the frames where both
are present and near. A change of the assignment between two frames costs half the switch cost for each pair that
begins or ends.

Three reductions keep the optimum:

- A pair that never saves anything is not assigned.
- A stretch of frames in which a pair saves nothing needs one variable. Replace the assignments of the stretch by their
  smallest value: no row of the problem grows, and the changes do not cost more. So the variable of a stretch is not
  larger than its neighbours, and its cost is linear: no term is needed.
- Tracks that no chain of pairs connects do not influence each other.
"""

from dataclasses import dataclass

import numpy as np

from mapgauge.features.solver.problem import Problem, Sparse, components_of
from mapgauge.features.solver.solver import solve
from mapgauge.geometry.polylines import ranges
from mapgauge.typing import Flags, Floats, Indices


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Pairs of tracks in frames where they save something, sorted by pair, then frame."""

    first: Indices  # track of the first side
    second: Indices  # track of the second side
    frame: Indices
    saving: Floats  # above 0


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """The variables: candidates, and stretches of frames without savings. Sorted by pair, then frame."""

    pair: Indices
    start: Indices  # first frame
    candidate: Indices  # -1 for a stretch without savings

    @property
    def idle(self) -> Flags:
        flags: Flags = self.candidate < 0
        return flags


def assign_over_time(
    candidates: Candidates, frames: int, switch_cost: float, *, binary: bool = False
) -> tuple[Floats, Floats]:
    """Return the best assignment of each candidate, in [0, 1], and the sum of all changes before each frame.

    A switch is two changes. The switch cost must be above 0.
    """
    changes = np.zeros(frames)
    count = len(candidates.saving)
    new = np.ones(count, np.bool_)
    new[1:] = (np.diff(candidates.first) != 0) | (np.diff(candidates.second) != 0)
    pair_of = new.cumsum() - 1
    first, second = candidates.first[new], candidates.second[new]
    part = components_of(first, second)
    # A pair without rivals is assigned in all frames.
    contested = np.bincount(part, minlength=1)[part] > 1
    assigned = np.ones(count)
    if not contested.any():
        return assigned, changes
    rivals = np.flatnonzero(contested[pair_of])
    number = contested.cumsum() - 1
    columns = _columns(number[pair_of[rivals]], candidates.frame[rivals], frames)
    problem = _problem(columns, first[contested], second[contested], candidates.saving[rivals], frames, switch_cost)
    _, component = np.unique(part[contested], return_inverse=True)
    value = np.empty(len(columns.pair))
    for variables, part_of_problem in problem.components(component[columns.pair]):
        value[variables] = solve(part_of_problem, binary=binary)
    assigned[rivals[columns.candidate[~columns.idle]]] = value[~columns.idle]
    same = columns.pair[1:] == columns.pair[:-1]
    np.add.at(changes, columns.start[1:][same], np.abs(np.diff(value))[same])
    return assigned, changes


def _columns(pair: Indices, frame: Indices, frames: int) -> _Columns:
    """Return the variables of candidates, which are sorted by pair and frame."""
    begins = np.ones(len(pair), np.bool_)
    begins[1:] = pair[1:] != pair[:-1]
    ends = np.roll(begins, -1)
    before = np.where(begins, 0, np.roll(frame, 1) + 1)  # the first frame of the stretch before a candidate
    gap, tail = before < frame, ends & (frame < frames - 1)
    own = np.arange(len(pair))
    none = np.full(len(pair), -1)
    columns = np.concatenate(
        [
            np.stack([pair, before, none])[:, gap],
            np.stack([pair, frame, own]),
            np.stack([pair, frame + 1, none])[:, tail],
        ],
        axis=1,
    )
    return _Columns(*columns[:, np.lexsort((columns[1], columns[0]))])


def _problem(
    columns: _Columns, first: Indices, second: Indices, saving: Floats, frames: int, switch_cost: float
) -> Problem:
    """Return the problem of all variables. ``first`` and ``second`` are the tracks of each pair."""
    idle, half = columns.idle, 0.5 * switch_cost
    gain = np.where(idle, 0.0, saving[columns.candidate])
    left = np.flatnonzero(columns.pair[1:] == columns.pair[:-1])  # a link to the next variable of the pair
    right = left + 1
    plain = ~idle[left] & ~idle[right]
    # Beside a stretch without savings, the change is the larger neighbour less the stretch.
    low, high = np.where(idle[left], left, right)[~plain], np.where(idle[left], right, left)[~plain]
    np.add.at(gain, low, half)
    np.add.at(gain, high, -half)
    below = Sparse.of(
        np.tile(np.arange(len(low)), 2),
        np.concatenate([low, high]),
        np.repeat([1.0, -1.0], len(low)),
        len(low),
    )
    once = [_once(columns, tracks, frames) for tracks in (first, second)]
    rows = Sparse.stack([*once, below])
    limit = np.concatenate([np.ones(len(once[0]) + len(once[1])), np.zeros(len(low))])
    links = int(np.count_nonzero(plain))
    terms = Sparse.of(
        np.tile(np.arange(links), 2),
        np.concatenate([left[plain], right[plain]]),
        np.repeat([-1.0, 1.0], links),
        links,
    )
    return Problem(gain, rows, limit, terms, np.full(links, half))


def _once(columns: _Columns, tracks: Indices, frames: int) -> Sparse:
    """Return the rows that say that each track is assigned once in each frame.

    Frames with the same variables have the same row. A row is also left out if it follows from that of a neighbouring
    frame: the variable of a stretch without savings is not larger than its neighbours.
    """
    count = np.bincount(tracks)
    rivals = count[tracks[columns.pair]] > 1
    track, start = tracks[columns.pair][rivals], columns.start[rivals]
    first_of_pair = np.concatenate([[True], columns.pair[1:] != columns.pair[:-1]])
    falls = columns.idle & ~first_of_pair
    rises = ~columns.idle & np.concatenate([[False], columns.idle[:-1]]) & ~first_of_pair
    key = track * frames + start
    event, inverse = np.unique(key, return_inverse=True)
    begun = np.bincount(inverse, minlength=len(event))
    only_falls = np.bincount(inverse, falls[rivals], minlength=len(event)) == begun
    only_rises = np.bincount(inverse, rises[rivals], minlength=len(event)) == begun
    last = np.ones(len(event), np.bool_)
    last[:-1] = event[1:] // frames != event[:-1] // frames
    needed = ~only_falls
    needed[:-1] &= last[:-1] | ~only_rises[1:]
    event = event[needed]
    # Each row has one variable of each pair of its track: the one that covers the frame.
    by_track = np.argsort(tracks, kind="stable")
    begin = np.concatenate([[0], count.cumsum()])
    sizes = count[event // frames]
    pair = by_track[ranges(begin[event // frames], sizes)]
    at = np.repeat(event % frames, sizes)
    covering = np.searchsorted(columns.pair * frames + columns.start, pair * frames + at, "right") - 1
    return Sparse(np.concatenate([[0], sizes.cumsum()]), covering, np.ones(len(covering)))
