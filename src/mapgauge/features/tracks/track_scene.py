"""Solves T-PLD of one scene: the assignment of tracks in all frames, its parts and its switches.

T-PLD is PLD of all frames plus half the switch cost for each pair of tracks whose assignment begins or ends between two
frames. A pair saves something in the frames where both tracks are present and near. The numbers do not depend on the
order of the instances or on the names of the tracks: tracks are numbered by their content before they are assigned.

Three reductions keep the optimum:

- A pair that never saves anything is not assigned.
- A stretch of frames in which a pair saves nothing needs one variable. Replace the assignments of the stretch by their
  smallest value: no row of the problem grows, and the changes do not cost more. So the variable of a stretch is not
  larger than its neighbours, and its cost is linear: no term is needed.
- Tracks that no chain of pairs connects do not influence each other.
"""

import hashlib
from typing import NamedTuple

import numpy as np

from mapgauge import kernels
from mapgauge.geometry.polylines import ranges
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.pld import Parts, score_groups
from mapgauge.solver import Problem, Sparse, components_of, solve
from mapgauge.typing import Flags, Floats, Indices

PARTS = (*Parts._fields, "switches")
# The five parts and the switches, the mass, the parts of PLD without switch costs, and two counts.
COLUMNS = (*PARTS, "mass", *(f"pld_{name}" for name in Parts._fields), "switch_count", "fragmentations")
MASS = len(PARTS)
PLD = slice(len(PARTS) + 1, len(PARTS) + 6)
COUNTS = slice(len(PARTS) + 6, len(PARTS) + 8)


class SceneAssignment(NamedTuple):
    """Who is assigned to whom in the frames of a scene. Instances are those of the groups."""

    prediction: Indices  # (pairs,)
    truth: Indices  # (pairs,)
    weight: Floats  # (pairs,), in (0, 1]; 1 unless the linear programme has no 0/1 solution
    track: Indices  # (instances,): the number of the track, by class and side
    frame: Indices  # (instances,)


def solve_scene(
    groups: Groups, *, directed: bool, cutoff: float, switch_cost: float, binary: bool = False
) -> tuple[Floats, SceneAssignment]:
    """Return the numbers of ``COLUMNS`` for each group of a scene, and the assignment.

    The groups are in the order of time and have tracks. The cost of a switch belongs to the frame after it.
    """
    plain, truth_of = score_groups(groups, directed, cutoff, order=1.0)
    rows = np.zeros((len(groups.bounds), len(COLUMNS)))
    rows[:, MASS] = plain[:, 5]
    rows[:, PLD] = plain[:, :5]
    frame = groups.side // 2 // groups.classes
    track = np.empty(len(groups.confidence), np.int64)
    for side in range(2 * groups.classes):  # predictions and truth of each class
        rows_of_side = np.flatnonzero(groups.side % (2 * groups.classes) == side)
        track[rows_of_side] = number_tracks(groups, rows_of_side, frame[rows_of_side])
    if switch_cost == 0:
        rows[:, :5] = plain[:, :5]
        x = np.flatnonzero(truth_of >= 0)
        assignment = SceneAssignment(x, truth_of[x], np.ones(len(x)), track=track, frame=frame)
        rows[:, COUNTS] = _counts(groups, assignment)
        return rows, assignment
    confidence = groups.confidence
    pairs = kernels.pld.near_pairs(groups.lines, confidence, groups.bounds, cutoff=cutoff)
    long = kernels.sospa.is_long(groups.lines, groups.closed)
    numbers = kernels.pld.savings_of_pairs(
        groups.lines, groups.closed, confidence, pairs=pairs, directed=directed, cutoff=cutoff, long=long
    )
    # A pair that saves nothing is not a match. It may carry an assignment from frame to frame, without any cost.
    pairs = pairs[numbers[:, 0] > 0]
    numbers = numbers[numbers[:, 0] > 0]
    label = groups.side[pairs[:, 0]] // 2 % groups.classes
    frames = len(groups.bounds) // groups.classes
    weight = np.empty(len(pairs))
    order = np.lexsort((frame[pairs[:, 0]], track[pairs[:, 1]], track[pairs[:, 0]], label))
    pairs = pairs[order]
    numbers = numbers[order]
    label = label[order]
    for c in range(groups.classes):
        of_class = np.flatnonzero(label == c)
        x, y = pairs[of_class].T
        candidates = Candidates(track[x], track[y], frame[x], saving=numbers[of_class, 0])
        weight[of_class], changes = assign_over_time(candidates, frames, switch_cost, binary=binary)
        rows[c :: groups.classes, 5] = 0.5 * switch_cost * changes
    x, y = pairs.T
    group = groups.side[x] // 2
    count = len(rows)
    apart = 0.5 * np.abs(confidence[x] - confidence[y])
    for k, cost in enumerate((numbers[:, 1], numbers[:, 2], apart)):
        rows[:, k] = np.bincount(group, weight * cost, minlength=count)
    left = np.ones(len(confidence))
    for instances in (x, y):
        left -= np.bincount(instances, weight, minlength=len(left))
    unmatched = 0.5 * confidence * np.maximum(left, 0.0)
    ordered = np.lexsort((track, groups.side))
    sides = np.bincount(groups.side[ordered], unmatched[ordered], minlength=2 * count).reshape(-1, 2)
    rows[:, 3] = sides[:, 1]
    rows[:, 4] = sides[:, 0]
    chosen = weight > 0
    assignment = SceneAssignment(x[chosen], y[chosen], weight[chosen], track=track, frame=frame)
    rows[:, COUNTS] = _counts(groups, assignment)
    return rows, assignment


def number_tracks(groups: Groups, instances: Indices, frame: Indices) -> Indices:
    """Return the number of the track of each instance of one class and side. Numbers follow the content of tracks.

    A track that occurs several times in a frame is divided: its longest instance in each frame is the track, and the
    second longest another track, and so on.
    """
    names, code = np.unique(groups.column("track")[instances], return_inverse=True)
    offsets = groups.polylines.offsets
    content = [
        groups.confidence[i].tobytes() + groups.polylines.coords[offsets[i] : offsets[i + 1]].tobytes()
        for i in instances.tolist()
    ]
    if len(set(zip(code.tolist(), frame.tolist(), strict=True))) < len(code):
        seen: dict[tuple[int, int], int] = {}
        for k in sorted(range(len(code)), key=lambda k: (-len(content[k]), content[k])):
            place = int(code[k]), int(frame[k])
            seen[place] = seen.get(place, -1) + 1
            code[k] += len(names) * seen[place]
    digests = {number: hashlib.blake2b(digest_size=16) for number in dict.fromkeys(code.tolist())}
    for k in np.argsort(frame, kind="stable").tolist():
        digests[int(code[k])].update(int(frame[k]).to_bytes(8, "big") + content[k])
    # Equal tracks can be exchanged without changing a number. Their names decide.
    order = sorted(digests, key=lambda number: (digests[number].digest(), number))
    place_of = {number: place for place, number in enumerate(order)}
    return np.array([place_of[number] for number in code.tolist()], np.int64)


def partners(groups: Groups, assignment: SceneAssignment) -> tuple[Indices, Indices]:
    """Return all true instances, sorted by class, track and frame, and the prediction assigned to each, or -1."""
    true = np.flatnonzero(~groups.is_prediction)
    label = groups.side[true] // 2 % groups.classes
    true = true[np.lexsort((assignment.frame[true], assignment.track[true], label))]
    partner = np.full(len(groups.confidence), -1)
    sure = assignment.weight > 0.5
    partner[assignment.truth[sure]] = assignment.prediction[sure]
    return true, partner[true]


def _counts(groups: Groups, assignment: SceneAssignment) -> Floats:
    """Return the numbers of switches and of fragmentations of each group.

    A switch: a true track is matched, and the last time it was matched, it was matched with another track.
    A fragmentation: a true track is matched again after frames in which it was there and not matched.
    """
    true, partner = partners(groups, assignment)
    key = groups.side[true] // 2 % groups.classes, assignment.track[true]
    matched = np.flatnonzero(partner >= 0)
    before = matched[:-1]
    after = matched[1:]
    same = np.logical_and.reduce([column[before] == column[after] for column in key])
    switched = same & (assignment.track[partner[before]] != assignment.track[partner[after]])
    interrupted = same & (after - before > 1)
    group = groups.side[true[after]] // 2
    count = len(groups.bounds)
    return np.stack([np.bincount(group, which, minlength=count) for which in (switched, interrupted)], axis=1)


class Candidates(NamedTuple):
    """Pairs of tracks in frames where they save something, sorted by pair, then frame."""

    first: Indices  # track of the first side
    second: Indices  # track of the second side
    frame: Indices
    saving: Floats  # above 0


class _Variables(NamedTuple):
    """The variables: candidates, and stretches of frames without savings. Sorted by pair, then frame."""

    pair: Indices
    start: Indices  # first frame
    candidate: Indices  # -1 for a stretch without savings
    idle: Flags  # whether it is such a stretch


def assign_over_time(
    candidates: Candidates, frames: int, switch_cost: float, *, binary: bool = False
) -> tuple[Floats, Floats]:
    """Return the best assignment of each candidate, in [0, 1], and the sum of all changes before each frame.

    A switch is two changes. The switch cost must be above 0.
    """
    changes = np.zeros(frames)
    assigned = np.ones(len(candidates.saving))
    new = np.ones(len(assigned), np.bool_)
    new[1:] = (np.diff(candidates.first) != 0) | (np.diff(candidates.second) != 0)
    pair_of = new.cumsum() - 1
    first = candidates.first[new]
    second = candidates.second[new]
    part = components_of(first, second)
    # A pair without rivals is assigned in all frames.
    contested = np.bincount(part, minlength=1)[part] > 1
    if not contested.any():
        return assigned, changes
    rivals = np.flatnonzero(contested[pair_of])
    number = contested.cumsum() - 1
    columns = _columns(number[pair_of[rivals]], candidates.frame[rivals], frames)
    problem = _problem(
        columns,
        first[contested],
        second[contested],
        saving=candidates.saving[rivals],
        frames=frames,
        switch_cost=switch_cost,
    )
    _, component = np.unique(part[contested], return_inverse=True)
    value = np.empty(len(columns.pair))
    for variables, part_of_problem in problem.components(component[columns.pair]):
        value[variables] = solve(part_of_problem, binary=binary)
    assigned[rivals[columns.candidate[~columns.idle]]] = value[~columns.idle]
    same = columns.pair[1:] == columns.pair[:-1]
    np.add.at(changes, columns.start[1:][same], np.abs(np.diff(value))[same])
    return assigned, changes


def _columns(pair: Indices, frame: Indices, frames: int) -> _Variables:
    """Return the variables of candidates, which are sorted by pair and frame."""
    begins = np.ones(len(pair), np.bool_)
    begins[1:] = pair[1:] != pair[:-1]
    ends = np.roll(begins, -1)
    before = np.where(begins, 0, np.roll(frame, 1) + 1)  # the first frame of the stretch before a candidate
    gap = before < frame
    tail = ends & (frame < frames - 1)
    none = np.full(len(pair), -1)
    stretches = np.stack([pair, before, none])[:, gap], np.stack([pair, frame + 1, none])[:, tail]
    columns = np.concatenate([stretches[0], np.stack([pair, frame, np.arange(len(pair))]), stretches[1]], axis=1)
    columns = columns[:, np.lexsort((columns[1], columns[0]))]
    return _Variables(columns[0], columns[1], columns[2], idle=columns[2] < 0)


def _problem(
    columns: _Variables, first: Indices, second: Indices, saving: Floats, frames: int, switch_cost: float
) -> Problem:
    """Return the problem of all variables. ``first`` and ``second`` are the tracks of each pair."""
    idle = columns.idle
    half = 0.5 * switch_cost
    gain = np.where(idle, 0.0, saving[columns.candidate])
    left = np.flatnonzero(columns.pair[1:] == columns.pair[:-1])  # a link to the next variable of the pair
    right = left + 1
    plain = ~idle[left] & ~idle[right]
    # Beside a stretch without savings, the change is the larger neighbour less the stretch.
    low = np.where(idle[left], left, right)[~plain]
    high = np.where(idle[left], right, left)[~plain]
    np.add.at(gain, low, half)
    np.add.at(gain, high, -half)
    below = _rows_of_two(low, high, (1.0, -1.0))
    once = [_once(columns, tracks, frames) for tracks in (first, second)]
    rows = Sparse.stack([*once, below])
    limit = np.concatenate([np.ones(len(once[0]) + len(once[1])), np.zeros(len(low))])
    terms = _rows_of_two(left[plain], right[plain], (-1.0, 1.0))
    return Problem(gain, rows, limit, terms=terms, weight=np.full(len(terms), half))


def _rows_of_two(first: Indices, second: Indices, values: tuple[float, float]) -> Sparse:
    """Return rows with two variables each."""
    count = len(first)
    return Sparse.of(np.tile(np.arange(count), 2), np.append(first, second), np.repeat(values, count), rows=count)


def _once(columns: _Variables, tracks: Indices, frames: int) -> Sparse:
    """Return the rows that say that each track is assigned once in each frame.

    Frames with the same variables have the same row. A row is also left out if it follows from that of a neighbouring
    frame: the variable of a stretch without savings is not larger than its neighbours.
    """
    count = np.bincount(tracks)
    rivals = count[tracks[columns.pair]] > 1
    track = tracks[columns.pair][rivals]
    start = columns.start[rivals]
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
