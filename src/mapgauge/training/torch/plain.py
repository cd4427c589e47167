"""SOSPA of many pairs of lines in plain torch operations, for any device.

All pairs advance together. The gain of the best matching of the first i points of x and the first j of y needs the
cells (i - 1, j), (i, j - 1) and (i - 1, j - 1) only. So the cells with equal i + j are one step. Gains are in units of
the cutoff: a matched pair gains ``1 - d / c``, and ``sospa / c`` is half the number of points less the gain.

A reading is ``2 * shift + backward``: x is read from its shift-th point (counted in the direction of reading), forwards
or backwards. The points of padding gain nothing, wherever they are read. So all shifts of the padded line are tried.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

NOTHING = -1  # the partner of an unmatched point
_CELLS = {"cpu": 2**18}  # numbers in one state of the recurrence; small enough for the cache of a processor
_MANY_CELLS = 2**25  # the same on all other devices


class SospaProblem(NamedTuple):
    """All pairs of a batch of lines x and y, with the settings of SOSPA."""

    x: Any  # (batch, queries, points, dimension), float32 or float64
    y: Any  # (batch, truths, points, dimension)
    x_points: Any  # (batch, queries) numbers of points, or None if no line is padded
    y_points: Any  # (batch, truths), or None
    closed: Any  # bool, or (batch, truths)
    undirected: Any  # bool, or (batch, truths)
    cutoff: float
    normalised: bool

    @property
    def shape(self) -> tuple[int, int, int]:
        """Batch, queries, truths."""
        return self.x.shape[0], self.x.shape[1], self.y.shape[1]


def costs(problem: SospaProblem) -> tuple[Any, Any]:
    """Return SOSPA and the best reading of every pair, both of shape ``(batch, queries, truths)``."""
    solved = [
        (index, *_best_reading(gain, _flags_of(closed, y_line), _flags_of(problem.undirected, y_line)))
        for pairs, closed in _parts(problem)
        for index, _, y_line, gain in _chunks(problem, pairs, closed)
    ]
    index, gain, read = (torch.cat(values) for values in zip(*solved, strict=True))
    size = math.prod(problem.shape)
    gain, read = (value.new_zeros(size).scatter(0, index, value) for value in (gain, read))  # 0 where lines are far
    cost = _cost_of(problem, gain.reshape(problem.shape)) + poison(problem)
    return cost, read.reshape(problem.shape).to(torch.int32)


def matchings(problem: SospaProblem, reading: Any) -> Any:
    """Return the partner in y of each point of x, or -1: ``(batch, queries, truths, points of x)``."""
    chunks = _chunks(problem, _pairs(problem), closed=False)
    partners = [_match(gain, reading.reshape(-1)[index]) for index, _, _, gain in chunks]
    return torch.cat(partners, dim=1).T.reshape(*problem.shape, problem.x.shape[2])


def gradients(problem: SospaProblem, reading: Any, cost: Any, weight: Any, of_y: bool) -> tuple[Any, Any]:
    """Return the gradients for x and y (None unless ``of_y``), given the gradient ``weight`` of the costs.

    A matched point moves towards its partner, or away from it, by a unit vector. A point at the place of its partner
    does not move.
    """
    x = problem.x.flatten(0, 1)
    y = problem.y.flatten(0, 1)
    grad_x = torch.zeros_like(x)
    grad_y = torch.zeros_like(y)
    pull = _pull_of(problem, cost, weight).reshape(-1)
    pairs = _pairs(problem)
    if _may_choose(problem):
        pairs = pairs[_near(problem).reshape(-1) & (pull != 0)]
    for index, x_line, y_line, gain in _chunks(problem, pairs, closed=False):
        partner = _match(gain, reading.reshape(-1)[index]).T  # (pairs, points of x)
        place = partner.clamp(min=0)[..., None].expand(*partner.shape, x.shape[-1])
        apart = x[x_line] - y[y_line].gather(1, place)
        distance = apart.square().sum(-1, keepdim=True).sqrt()
        moved = (partner >= 0)[..., None] & (distance > 0)
        unit = torch.where(moved, apart / torch.where(moved, distance, 1.0), 0.0)
        force = torch.where(moved, unit * pull[index][:, None, None], 0.0)
        grad_x = grad_x.index_add(0, x_line, force)
        if of_y:
            back = torch.zeros_like(y[y_line]).scatter_add(1, place, -force)
            grad_y = grad_y.index_add(0, y_line, back)
    grad_x = grad_x.view_as(problem.x) + _masked(problem.x, problem.x_points) * 0.0
    return grad_x, grad_y.view_as(problem.y) + _masked(problem.y, problem.y_points) * 0.0 if of_y else None


def _cost_of(problem: SospaProblem, gain: Any) -> Any:
    """Return SOSPA from the gain of the best matching."""
    most = _half_points(problem)
    left = (most - gain).clamp(min=0)
    if problem.normalised:
        return 2 * left / torch.where(most + left > 0, most + left, 1.0)
    return problem.cutoff * left


def _pull_of(problem: SospaProblem, cost: Any, weight: Any) -> Any:
    """Return the gradient of the distance of each matched point of a pair, from the gradient of its cost."""
    if not problem.normalised:
        return weight
    most = _half_points(problem)
    left = most * cost / (2 - cost)  # in units of the cutoff
    total = torch.where(most > 0, most + left, 1.0)
    return weight * 2 * most / (total * total * problem.cutoff)


def _half_points(problem: SospaProblem) -> Any:
    """Return half the number of points of each pair, ``(batch, queries, truths)``."""
    counts = [
        points.new_full((1, 1), float(points.shape[2])) if given is None else given.to(points.dtype)
        for points, given in ((problem.x, problem.x_points), (problem.y, problem.y_points))
    ]
    return ((counts[0][:, :, None] + counts[1][:, None, :]) / 2).expand(problem.shape)


def poison(problem: SospaProblem) -> Any:
    """Return NaN for pairs with a coordinate that is not finite, and 0 for others."""
    x = (_masked(problem.x, problem.x_points) * 0.0).sum((-1, -2))
    y = (_masked(problem.y, problem.y_points) * 0.0).sum((-1, -2))
    return x[:, :, None] + y[:, None, :]


def _masked(points: Any, given: Any, value: float = 0.0) -> Any:
    """Return the points, with a value in place of the padding."""
    if given is None:
        return points
    place = torch.arange(points.shape[2], device=points.device)
    return torch.where((place < given[..., None])[..., None], points, value)


def _pairs(problem: SospaProblem) -> Any:
    batch, queries, truths = problem.shape
    return torch.arange(batch * queries * truths, device=problem.x.device)


def _parts(problem: SospaProblem) -> Iterator[tuple[Any, Any]]:
    """Yield pairs and their flag ``closed``.

    On a CPU, pairs that are too far apart for a match are left out, and open pairs are separated: they need one shift.
    """
    pairs = _pairs(problem)
    closed = problem.closed
    if not _may_choose(problem):
        yield pairs, closed
        return
    pairs = pairs[_near(problem).reshape(-1)]
    if isinstance(closed, bool):
        yield pairs, closed
        return
    flags = _flags_of(closed, _lines(problem, pairs)[1])
    for flag in (False, True):
        some = pairs[flags == flag]
        if len(some) or not flag:
            yield some, flag


def _may_choose(problem: SospaProblem) -> bool:
    """Whether pairs may be chosen by their values. On other devices this would wait for the device."""
    return problem.x.device.type == "cpu" and not torch.compiler.is_compiling()


def _near(problem: SospaProblem) -> Any:
    """Whether the boxes around the lines of each pair are within the cutoff, or are not finite."""
    if not problem.x.shape[2] or not problem.y.shape[2]:
        return torch.zeros(problem.shape, dtype=torch.bool)
    sides = ((problem.x, problem.x_points), (problem.y, problem.y_points))
    (x0, x1), (y0, y1) = (
        (_masked(points, count, math.inf).amin(2), _masked(points, count, -math.inf).amax(2)) for points, count in sides
    )
    gap = torch.maximum(x0[:, :, None] - y1[:, None], y0[:, None] - x1[:, :, None]).clamp(min=0)
    return ~(gap.square().sum(-1) > 1.001 * problem.cutoff**2)


def _lines(problem: SospaProblem, pairs: Any) -> tuple[Any, Any]:
    """Return the line of x and the line of y of pairs, in the flat batch."""
    _, queries, truths = problem.shape
    return pairs // max(truths, 1), pairs // max(queries * truths, 1) * truths + pairs % max(truths, 1)


def _flags_of(flag: Any, y_line: Any) -> Any:
    if isinstance(flag, bool):
        return flag
    return flag.reshape(-1)[y_line]


def _chunks(problem: SospaProblem, pairs: Any, closed: Any) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield pairs in chunks that bound the memory: their indices, their lines of x and of y, and their gains."""
    x, y = (line.flatten(0, 1).permute(2, 1, 0) for line in (problem.x, problem.y))
    n = x.shape[1]
    m = y.shape[1]
    width = n * max(m, n if closed is not False else 1, 1)
    step = max(_CELLS.get(x.device.type, _MANY_CELLS) // max(width, 1), 1)
    for start in range(0, max(len(pairs), 1), step):
        index = pairs[start : start + step]
        x_line, y_line = _lines(problem, index)
        square = x.new_zeros(n, m, len(index))
        for u, v in zip(x, y, strict=True):
            apart = u[:, None, x_line] - v[None, :, y_line]
            square = square + apart * apart
        gain = (1 - square.sqrt() / problem.cutoff).clamp(min=0)  # (points of x, points of y, pairs)
        for count, line, dim in ((problem.x_points, x_line, 0), (problem.y_points, y_line, 1)):
            if count is not None:
                place = torch.arange(gain.shape[dim], device=gain.device)[:, None]
                gain = torch.where((place < count.reshape(-1)[line]).unsqueeze(1 - dim), gain, 0.0)
        yield index, x_line, y_line, gain


def _best_reading(gain: Any, closed: Any, undirected: Any) -> tuple[Any, Any]:
    """Return the largest gain of pairs over their readings, and that reading. The first of equal readings wins."""
    best, shift = _best_shift(gain, closed)
    if undirected is False:
        return best, 2 * shift
    other, other_shift = _best_shift(gain.flip(0), closed)
    if undirected is True:
        better = other > best
    else:
        better = (other > best) & undirected
    return torch.where(better, other, best), torch.where(better, 2 * other_shift + 1, 2 * shift)


def _best_shift(gain: Any, closed: Any) -> tuple[Any, Any]:
    gains = heaviest(gain, gain.shape[0] if closed is not False else 1)
    if not isinstance(closed, bool):
        first = torch.arange(len(gains), device=gain.device)[:, None] == 0
        gains = torch.where(first | closed, gains, -1.0)
    best, shift = gains.max(0)
    return best, shift


def heaviest(gain: Any, shifts: int) -> Any:
    """Return the gain of the best matching, ``(shifts, pairs)``, if x is read from its first, second, ... point."""
    n, m, pairs = gain.shape
    if n == 0 or m == 0:
        return gain.new_zeros(1, pairs)
    twice = torch.cat([gain, gain[: shifts - 1]]).flip(1)
    windows = twice.unfold(0, n, 1)  # (shifts, points of y from the last, pairs, points of x)
    before, last, this = (gain.new_zeros(n + 1, shifts, pairs) for _ in range(3))
    for both in range(2, n + m + 1):  # cells with i + j = both
        start = max(1, both - m)
        stop = min(n, both - 1) + 1
        matched = torch.diagonal(windows, m - both + 1, 3, 1).permute(2, 0, 1)
        # Rows from ``stop`` on are still 0. Rows before ``start`` are not needed any more, and hold anything.
        before, last, this = last, this, before
        here = torch.maximum(last[start - 1 : stop - 1], last[start:stop])
        this[start:stop] = torch.maximum(here, before[start - 1 : stop - 1] + matched)
    return this[n]


def _match(gain: Any, reading: Any) -> Any:
    """Return the partner of each point of x in the best matching of a reading, or -1: ``(points of x, pairs)``."""
    n, m, pairs = gain.shape
    order = reading_order(n, reading)
    gain = gain.gather(0, order[:, None, :].expand(n, m, pairs))
    rows = [gain.new_zeros(m + 1, pairs)]
    for i in range(n):
        row = torch.maximum(rows[-1][1:], rows[-1][:-1] + gain[i])
        rows.append(torch.cat([rows[-1][:1], torch.cummax(row, 0).values if m else row]))
    column = torch.full_like(reading, m, dtype=torch.int64)  # points of y that are still free
    partner = []
    for i in range(n, 0, -1):
        value = rows[i].gather(0, column[None])[0]
        used = value > rows[i - 1].gather(0, column[None])[0]
        first = (rows[i] < value).sum(0)  # the first column at which the row reaches the value
        partner.append(torch.where(used, first - 1, NOTHING))
        column = torch.where(used, first - 1, column)
    if partner:
        partners = torch.stack(partner[::-1])
    else:
        partners = gain.new_zeros((0, pairs), dtype=torch.int64)
    return torch.zeros_like(partners).scatter(0, order, partners)


def reading_order(n: int, reading: Any) -> Any:
    """Return the points of x in the order in which they are read: ``(points, pairs)``."""
    place = (torch.arange(n, device=reading.device)[:, None] + reading // 2) % max(n, 1)
    return torch.where(reading % 2 == 1, n - 1 - place, place).to(torch.int64)
