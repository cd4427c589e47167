"""The backend for CUDA: Triton kernels for SOSPA of pairs of lines, its matching and its gradient, and their launch.

A tile has a column per lane and a row per point of y. A lane is one pair in one reading, and a whole column lies in the
registers of one thread. So the recurrence of a lane needs no other thread. ``F[j]`` is the gain of the best matching of
the points of x so far that ends with point j of y, and ``E[j]`` is the largest ``F`` before j. A new point of x gives
``F = max(F, E + gain)``. The padding of y lies far away, so that it gains nothing. Gains and readings are as in
``plain.py``.

A closed pair has twice as many readings as x has points. First the best chain of x read twice is computed in both
directions. It is at least as heavy as that of any reading of its direction. So pairs without a chain are done, and the
second direction is left out if its bound is below what the first one reached. The other readings run side by side.

Nothing waits for the device. Sums are taken in a fixed order, so that results are the same in every run.
"""

import math
import struct
from contextlib import nullcontext
from typing import Any

import torch
import triton
import triton.language as tl

from mapgauge.training.torch.plain import NOTHING, SospaProblem

LONGEST = 128  # points of y; the tile of a longer line does not fit into registers
_PROGRAMS = 2048  # of the matching, which bounds its scratch
_RING_PROGRAMS = 8192  # each takes many closed pairs, because most of them are soon done

# The columns of a tile, by its rows: for the costs, and for the matching, which has fewer tiles. The interpreter
# of Triton takes a millisecond per element, so its test has fewer columns.
LANES = {32: 32, 64: 32, 128: 8}
MATCHING_LANES = {32: 16, 64: 8, 128: 8}


def fits(problem: SospaProblem) -> bool:
    """Whether the kernels can take lines of this length."""
    return int(problem.y.shape[2]) <= LONGEST and int(problem.x.shape[2]) < 2**15


def costs(problem: SospaProblem) -> tuple[Any, Any]:
    """Return SOSPA and the best reading of every pair, both of shape ``(batch, queries, truths)``."""
    x = problem.x.contiguous()
    y = problem.y.contiguous()
    n = x.shape[2]
    m = y.shape[2]
    pairs = math.prod(problem.shape)
    cost = x.new_empty(problem.shape)
    reading = torch.empty(problem.shape, dtype=torch.int32, device=x.device)
    if not pairs:
        return cost, reading
    cyclic = problem.closed is not False and n > 0
    both = problem.undirected is not False
    if cyclic:
        bound = x.new_empty(problem.shape)
    else:
        bound = x
    lanes = LANES[_rows(m)]
    ways = 1
    if both:
        ways = 2
    flags = (problem.closed, problem.undirected)
    closed, undirected = (None if isinstance(flag, bool) else flag.view(torch.uint8) for flag in flags)
    arguments = (
        x, y, *or_placeholder(x, problem.x_points, problem.y_points), cost, reading, bound,
        pairs, x.shape[1], y.shape[1], n, m, *_cutoff(problem),
    )  # fmt: skip
    settings = {
        "D": x.shape[3], "MP": _rows(m), "HAS_N": problem.x_points is not None, "HAS_M": problem.y_points is not None,
        "NORMALISED": problem.normalised, "num_warps": 1,
    }  # fmt: skip
    with on_device_of(x):
        costs_kernel[(-(-pairs * ways // lanes),)](
            *arguments, *or_placeholder(x, closed, undirected),
            PAIRS=lanes // ways, WAYS=ways, HAS_CLOSED=closed is not None,
            HAS_UNDIRECTED=undirected is not None, CYCLIC=cyclic, **settings,
        )  # fmt: skip
        if cyclic:
            programs = min(pairs, _RING_PROGRAMS)
            rings_kernel[(programs,)](*arguments, programs, WAYS=ways, BLOCK=lanes, **settings)
    return cost, reading


def matchings(problem: SospaProblem, reading: Any) -> Any:
    """Return the partner in y of each point of x, or -1: ``(batch, queries, truths, points of x)``."""
    return _matchings(problem, reading, weight=None, of_y=False)[0]


def gradients(problem: SospaProblem, reading: Any, cost: Any, weight: Any, of_y: bool) -> tuple[Any, Any]:
    """Return the gradients for x and y (None unless ``of_y``), given the gradient ``weight`` of the costs."""
    weight = weight.contiguous()
    partners = _matchings(problem, reading, weight, of_y=of_y)
    batch, queries, truths = problem.shape
    x = problem.x.contiguous()
    y = problem.y.contiguous()
    sides = [(x, y, problem.x_points, problem.y_points, truths, 1)]
    if of_y:
        sides.append((y, x, problem.y_points, problem.x_points, 1, truths))
    grads = []
    for partner, (own, other, own_points, other_points, step, other_step) in zip(partners, sides, strict=False):
        grad = torch.empty_like(own)
        if own.numel():
            with on_device_of(own):
                gradient_kernel[(batch * own.shape[1],)](
                    own, other, *or_placeholder(own, own_points, other_points), partner, cost, weight, grad,
                    own.shape[1], other.shape[1], own.shape[2], other.shape[2],
                    step, other_step, queries * truths, *_cutoff(problem),
                    D=own.shape[3], NP=_rows(own.shape[2]),
                    HAS_N=own_points is not None, HAS_M=other_points is not None,
                    NORMALISED=problem.normalised, num_warps=1,
                )  # fmt: skip
        grads.append(grad)
    return grads[0], grads[1] if of_y else None


def _matchings(problem: SospaProblem, reading: Any, weight: Any, of_y: bool) -> tuple[Any, Any]:
    x = problem.x.contiguous()
    y = problem.y.contiguous()
    n = x.shape[2]
    m = y.shape[2]
    pairs = math.prod(problem.shape)
    partner_x = torch.empty((*problem.shape, n), dtype=torch.int16, device=x.device)
    if of_y:
        partner_y = torch.full((*problem.shape, m), NOTHING, dtype=torch.int16, device=x.device)
    else:
        partner_y = partner_x
    lanes = MATCHING_LANES[_rows(m)]
    programs = min(-(-pairs // lanes), _PROGRAMS)
    if pairs and n:
        moves = torch.empty(programs * n * 2 * _rows(m) // 32 * lanes, dtype=torch.int32, device=x.device)
        with on_device_of(x):
            matchings_kernel[(programs,)](
                x, y, *or_placeholder(x, problem.x_points, problem.y_points), reading.contiguous(),
                *or_placeholder(x, weight), moves,
                partner_x, partner_y, pairs, x.shape[1], y.shape[1], n, m, *_cutoff(problem), programs,
                D=x.shape[3], MP=_rows(m), BLOCK=lanes,
                HAS_N=problem.x_points is not None, HAS_M=problem.y_points is not None,
                HAS_WEIGHT=weight is not None, OF_Y=of_y, num_warps=1,
            )  # fmt: skip
    return partner_x, partner_y


def _cutoff(problem: SospaProblem) -> tuple[float, float]:
    """Return the cutoff as a float32 and the remainder."""
    near = struct.unpack("f", struct.pack("f", problem.cutoff))[0]
    return near, problem.cutoff - near


def _rows(points: int) -> int:
    """Return the rows of a tile for lines with this number of points: a power of two, and whole words of bits."""
    if not points:
        return 32
    return max(1 << (points - 1).bit_length(), 32)


def or_placeholder(other: Any, *values: Any) -> list[Any]:
    """Return tensors. A tensor that is None is not read, and ``other`` takes its place."""
    return [other if value is None else value.contiguous() for value in values]


def on_device_of(tensor: Any) -> Any:
    """Launch on the device of a tensor."""
    if not tensor.is_cuda:
        return nullcontext()
    if tensor.device.index in (None, torch.cuda.current_device()):
        return nullcontext()
    return torch.cuda.device_of(tensor)


FAR = tl.constexpr(1e15)  # metres; the square is an ordinary float32
DONE = tl.constexpr(-2.0)  # a bound that no gain has


@triton.jit
def _before(p, q, p_next, q_next):
    """Combine (largest but the last, last) of two stretches."""
    return tl.maximum(tl.maximum(p, q), p_next), q_next


@triton.jit
def _largest_before(f):
    """For each row of a tile, the largest value in the rows before it, at least 0."""
    largest, _ = tl.associative_scan((tl.zeros_like(f), f), 0, _before)
    return largest


@triton.jit
def _whole(cutoff, rest, like):
    """The cutoff in the type of the lines. Triton takes numbers in float32, so its rest comes apart."""
    return tl.sum((tl.zeros((1,), like.dtype) + cutoff + rest).to(like.dtype), axis=0)


@triton.jit
def lines_of(lane_pair, Q, T):
    """The lines and the place in the output of a pair. Pairs of the same y are neighbours."""
    y_line = lane_pair // Q
    x_line = (y_line // T) * Q + lane_pair % Q
    return x_line, y_line, x_line * T + y_line % T


@triton.jit
def _row_of(i, shift, backward, N):
    """The point of x that is read at step i."""
    place = shift + i
    place = tl.where(place >= N, place - N, place)
    return tl.where(backward, N - 1 - place, place)


@triton.jit
def _load_y(y, y_line, count, live, M, d, D: tl.constexpr, MP: tl.constexpr):
    """One coordinate of the points of y as a tile, far away where there is no point; and NaN if one is not finite."""
    j = tl.arange(0, MP)[:, None]
    exists = (j < count[None, :]) & live[None, :]
    value = tl.load(y + (y_line[None, :].to(tl.int64) * M + j) * D + d, mask=exists, other=0.0)
    return tl.where(exists, value, FAR), tl.sum(value * 0.0, axis=0)


@triton.jit
def _load_all_of_y(y, y_line, count, live, M, D: tl.constexpr, MP: tl.constexpr):
    """All coordinates of the points of y; the third is the second again in a plane."""
    y0, poison = _load_y(y, y_line, count, live, M, 0, D, MP)
    y1, more = _load_y(y, y_line, count, live, M, 1, D, MP)
    poison += more
    y2 = y1
    if D == 3:
        y2, more = _load_y(y, y_line, count, live, M, 2, D, MP)
        poison += more
    return y0, y1, y2, poison


@triton.jit
def _load_x(x, x_line, row, exists, N, d, D: tl.constexpr):
    return tl.load(x + (x_line.to(tl.int64) * N + row) * D + d, mask=exists, other=-FAR)


@triton.jit
def _count(points, line, live, full, GIVEN: tl.constexpr):
    """The numbers of points of lines."""
    count = tl.where(live, full, 0)
    if GIVEN:
        count = tl.load(points + line, mask=live, other=0)
    return count


@triton.jit
def _next_gains(f, x, x_line, row, exists, y0, y1, y2, N, inverse, D: tl.constexpr):
    """The gains after one more point of x, and NaN if this point is not finite."""
    x0 = _load_x(x, x_line, row, exists, N, 0, D)
    x1 = _load_x(x, x_line, row, exists, N, 1, D)
    bad = tl.where(exists, x0 * 0.0 + x1 * 0.0, 0.0)
    a = x0[None, :] - y0
    b = x1[None, :] - y1
    square = a * a + b * b
    if D == 3:
        x2 = _load_x(x, x_line, row, exists, N, 2, D)
        bad += tl.where(exists, x2 * 0.0, 0.0)
        e = x2[None, :] - y2
        square += e * e
    return tl.maximum(f, _largest_before(f) + (1.0 - tl.sqrt(square) * inverse)), bad


@triton.jit
def _value_of(gain, most, c, NORMALISED: tl.constexpr):
    """SOSPA from the gain of the best matching and half the number of points."""
    left = tl.maximum(most - gain, 0.0)
    value = c * left
    if NORMALISED:
        value = 2.0 * left / tl.where(most + left > 0.0, most + left, 1.0)
    return value


@triton.jit(do_not_specialize=["pairs", "Q", "T", "N", "M"])
def costs_kernel(
    x, y, x_points, y_points, cost, reading, bound,
    pairs, Q, T, N, M, cutoff, rest, closed, undirected,
    D: tl.constexpr, MP: tl.constexpr, PAIRS: tl.constexpr, WAYS: tl.constexpr,
    HAS_N: tl.constexpr, HAS_M: tl.constexpr, HAS_CLOSED: tl.constexpr, HAS_UNDIRECTED: tl.constexpr,
    CYCLIC: tl.constexpr, NORMALISED: tl.constexpr,
):  # fmt: skip
    """Write cost and best reading of all pairs but closed ones with a chain, which are left to ``rings_kernel``.

    For these the bound of the forward gain is written as the cost, and the one of the backward gain as the bound. It is
    at least -1. Pairs that are done have the bound ``DONE``.
    """
    lane = tl.arange(0, PAIRS * WAYS)
    pair = tl.program_id(0) * PAIRS + lane // WAYS
    live = pair < pairs
    x_line, y_line, place = lines_of(tl.where(live, pair, 0), Q, T)
    n = _count(x_points, x_line, live, N, HAS_N)
    m = _count(y_points, y_line, live, M, HAS_M)
    y0, y1, y2, poison = _load_all_of_y(y, y_line, m, live, M, D, MP)
    c = _whole(cutoff, rest, poison)
    inverse = 1.0 / c
    backward = lane % WAYS == 1
    allowed = live
    if HAS_UNDIRECTED:
        allowed = allowed & (~backward | (tl.load(undirected + y_line, mask=live, other=0) != 0))
    ring = live
    if HAS_CLOSED:
        ring = ring & (tl.load(closed + y_line, mask=live, other=0) != 0)
    zero = tl.zeros_like(lane)
    f = tl.zeros_like(y0)
    steps = N
    if CYCLIC:  # read x twice if there is a closed line
        steps = tl.where(tl.max(ring.to(tl.int32), axis=0) > 0, 2 * N, N)
    for i in range(steps):
        row = _row_of(i, zero, backward, N)
        exists = allowed & (row < n) & (ring | (i < N))
        f, bad = _next_gains(f, x, x_line, row, exists, y0, y1, y2, N, inverse, D)
        poison += bad
    gain = tl.where(allowed, tl.max(f, axis=0), -1.0)
    # Among readings with the same gain, the forward one wins.
    gains = tl.reshape(gain, (PAIRS, WAYS))
    top = tl.max(gains, axis=1)
    way = tl.min(tl.where(gains == top[:, None], tl.reshape(lane % WAYS, (PAIRS, WAYS)), WAYS), axis=1)
    most = tl.max(tl.reshape(0.5 * (n + m).to(poison.dtype), (PAIRS, WAYS)), axis=1)
    value = _value_of(top, most, c, NORMALISED) + tl.sum(tl.reshape(poison, (PAIRS, WAYS)), axis=1)
    out = tl.max(tl.reshape(tl.where(live, place, -1), (PAIRS, WAYS)), axis=1)
    if CYCLIC:
        number = tl.reshape(lane % WAYS, (PAIRS, WAYS))
        open_ring = (tl.max(tl.reshape(ring.to(tl.int32), (PAIRS, WAYS)), axis=1) > 0) & (top > 0.0)
        value = tl.where(open_ring, tl.sum(tl.where(number == 0, gains, 0.0), axis=1), value)
        if WAYS == 2:
            back = tl.sum(tl.where(number == 1, gains, 0.0), axis=1)
        else:
            back = top * 0.0 - 1.0
        tl.store(bound + out, tl.where(open_ring, back, DONE), mask=out >= 0)
    tl.store(cost + out, value, mask=out >= 0)
    tl.store(reading + out, way, mask=out >= 0)


@triton.jit(do_not_specialize=["pairs", "Q", "T", "N", "M", "programs"])
def rings_kernel(
    x, y, x_points, y_points, cost, reading, bound,
    pairs, Q, T, N, M, cutoff, rest, programs,
    D: tl.constexpr, MP: tl.constexpr, BLOCK: tl.constexpr, WAYS: tl.constexpr,
    HAS_N: tl.constexpr, HAS_M: tl.constexpr, NORMALISED: tl.constexpr,
):  # fmt: skip
    """Write cost and best reading of the closed pairs that are not done. ``BLOCK`` shifts run side by side."""
    lane = tl.arange(0, BLOCK)
    for pair in range(tl.program_id(0), pairs, programs):
        x_line, y_line, place = lines_of(lane * 0 + pair, Q, T)
        out = tl.max(place, axis=0)
        back = tl.load(bound + out)
        if back != DONE:
            ahead = tl.load(cost + out)
            every = lane >= 0
            n = _count(x_points, x_line, every, N, HAS_N)
            m = _count(y_points, y_line, every, M, HAS_M)
            y0, y1, y2, poison = _load_all_of_y(y, y_line, m, every, M, D, MP)
            c = _whole(cutoff, rest, poison)
            inverse = 1.0 / c
            best = tl.zeros_like(poison) - 1.0
            best_rank = tl.zeros_like(lane) + 2 * N
            for turn in range(WAYS):
                backward = (back > ahead) ^ (turn == 1)
                limit = tl.where(backward, back, ahead)
                # Bounds are sums in another order, so that their rounding needs a margin.
                if limit * 1.001 >= tl.max(best, axis=0):
                    for base in range(0, N, BLOCK):
                        shift = base + lane
                        f = tl.zeros_like(y0)
                        for i in range(N):
                            row = _row_of(i, shift, backward, N)
                            exists = (shift < N) & (row < n)
                            f, bad = _next_gains(f, x, x_line, row, exists, y0, y1, y2, N, inverse, D)
                            poison += bad
                        gain = tl.where(shift < N, tl.max(f, axis=0), -1.0)
                        # Among readings with the same gain, forward readings win, and then the smallest shift.
                        rank = tl.where(backward, shift + N, shift)
                        better = (gain > best) | ((gain == best) & (rank < best_rank))
                        best = tl.where(better, gain, best)
                        best_rank = tl.where(better, rank, best_rank)
            top = tl.max(best, axis=0)
            first = tl.min(tl.where(best == top, best_rank, 2 * N), axis=0)
            most = 0.5 * tl.max(n + m, axis=0).to(poison.dtype)
            tl.store(cost + out, _value_of(top, most, c, NORMALISED) + tl.sum(poison, axis=0))
            tl.store(reading + out, tl.where(first >= N, 2 * (first - N) + 1, 2 * first))


@triton.jit
def _words(flag, W: tl.constexpr, BLOCK: tl.constexpr):
    """The rows of a tile of flags as bits of W words of each column."""
    bit = tl.arange(0, 32)[None, :, None]
    return tl.sum(tl.reshape(flag.to(tl.int32), (W, 32, BLOCK)) << bit, axis=1)


@triton.jit
def _highest_bit(word):
    """The place of the highest bit of words that are not 0."""
    number = word.to(tl.uint32, bitcast=True).to(tl.float64)
    return ((number.to(tl.int64, bitcast=True) >> 52) - 1023).to(tl.int32)


@triton.jit(do_not_specialize=["pairs", "Q", "T", "N", "M", "programs"])
def matchings_kernel(
    x, y, x_points, y_points, reading, weight, moves, partner_x, partner_y,
    pairs, Q, T, N, M, cutoff, rest, programs,
    D: tl.constexpr, MP: tl.constexpr, BLOCK: tl.constexpr,
    HAS_N: tl.constexpr, HAS_M: tl.constexpr, HAS_WEIGHT: tl.constexpr, OF_Y: tl.constexpr,
):  # fmt: skip
    """Write the partner of each point. ``moves`` is the scratch of the programs: two bits per cell.

    The first bit says that point i of x raised the gain of the points of y up to j, the second that the gain rises at
    j. From the last point of x back, a point that raised the gain is matched at the last rise.
    """
    W: tl.constexpr = MP // 32
    lane = tl.arange(0, BLOCK)
    own = moves + tl.program_id(0) * N * 2 * W * BLOCK + lane
    for block in range(tl.program_id(0), tl.cdiv(pairs, BLOCK), programs):
        pair = block * BLOCK + lane
        live = pair < pairs
        x_line, y_line, place = lines_of(tl.where(live, pair, 0), Q, T)
        wanted = live
        if HAS_WEIGHT:
            wanted = live & (tl.load(weight + place, mask=live, other=0.0) != 0.0)
        read = tl.load(reading + place, mask=live, other=0)
        backward = read % 2 == 1
        shift = read // 2
        free = tl.zeros_like(read)
        some = tl.max(wanted.to(tl.int32), axis=0) > 0
        if some:
            n = _count(x_points, x_line, wanted, N, HAS_N)
            m = _count(y_points, y_line, wanted, M, HAS_M)
            y0, y1, y2, _ = _load_all_of_y(y, y_line, m, wanted, M, D, MP)
            inverse = 1.0 / _whole(cutoff, rest, y0)
            f = tl.zeros_like(y0)
            before = tl.zeros_like(y0)
            last = tl.zeros_like(y0)
            for i in range(N):
                row = _row_of(i, shift, backward, N)
                exists = wanted & (row < n)
                a = _load_x(x, x_line, row, exists, N, 0, D)[None, :] - y0
                b = _load_x(x, x_line, row, exists, N, 1, D)[None, :] - y1
                square = a * a + b * b
                if D == 3:
                    c = _load_x(x, x_line, row, exists, N, 2, D)[None, :] - y2
                    square += c * c
                f = tl.maximum(f, before + (1.0 - tl.sqrt(square) * inverse))
                before = _largest_before(f)
                whole = tl.maximum(before, f)
                raised = _words(whole > last, W, BLOCK)
                rises = _words(f > before, W, BLOCK)
                last = whole
                word = tl.arange(0, W)[:, None]
                here = own[None, :] + (2 * i * W + word) * BLOCK
                tl.store(here, raised)
                tl.store(here + W * BLOCK, rises)
            free = tl.where(wanted, MP, 0)
        tl.debug_barrier()  # words are read by other threads than wrote them
        for back in range(N):
            i = N - 1 - back
            at = free - 1
            used = free < 0
            chosen = tl.zeros_like(free) - 1
            if some:
                for step in tl.static_range(W):
                    w = W - 1 - step
                    raised = tl.load(own + (2 * i * W + w) * BLOCK)
                    rises = tl.load(own + (2 * i * W + W + w) * BLOCK)
                    used = used | ((at >= 0) & (at // 32 == w) & (((raised >> (at % 32)) & 1) == 1))
                    below = tl.minimum(tl.maximum(free - 32 * w, 0), 32)
                    mask = tl.where(below >= 32, -1, (1 << tl.minimum(below, 31)) - 1)
                    rises = rises & mask
                    top = 32 * w + _highest_bit(tl.where(rises == 0, 1, rises))
                    chosen = tl.where((chosen < 0) & (rises != 0), top, chosen)
            chosen = tl.where(used, chosen, -1)
            free = tl.where(used, chosen, free)
            row = _row_of(i, shift, backward, N)
            tl.store(partner_x + place.to(tl.int64) * N + row, chosen.to(tl.int16), mask=live)
            if OF_Y:
                tl.store(partner_y + place.to(tl.int64) * M + chosen, row.to(tl.int16), mask=live & (chosen >= 0))
        tl.debug_barrier()


@triton.jit(do_not_specialize=["lines", "others", "N", "M", "own_step", "other_step", "group_step"])
def gradient_kernel(
    own, other, own_points, other_points, partner, cost, weight, grad,
    lines, others, N, M, own_step, other_step, group_step, cutoff, rest,
    D: tl.constexpr, NP: tl.constexpr,
    HAS_N: tl.constexpr, HAS_M: tl.constexpr, NORMALISED: tl.constexpr,
):  # fmt: skip
    """Write the gradient of one line: the sum over the lines of the other side, in their order.

    ``lines`` are the lines of this side in an item of the batch, ``others`` the lines of the other side. A pair has the
    place ``item * group_step + line * own_step + other * other_step``.
    """
    line = tl.program_id(0)
    item = line // lines
    i = tl.arange(0, NP)
    n = N + tl.zeros_like(line)
    if HAS_N:
        n = tl.load(own_points + line)
    exists = i < n
    start = own + line.to(tl.int64) * N * D
    x0 = tl.load(start + i * D, mask=exists, other=0.0)
    x1 = tl.load(start + i * D + 1, mask=exists, other=0.0)
    # NaN if a coordinate is not finite
    g0 = x0 * 0.0
    g1 = x1 * 0.0
    if D == 3:
        x2 = tl.load(start + i * D + 2, mask=exists, other=0.0)
        g2 = x2 * 0.0
    for k in range(others):
        pair = item.to(tl.int64) * group_step + (line % lines) * own_step + k * other_step
        pull = tl.load(weight + pair)
        if pull != 0.0:
            if NORMALISED:
                value = tl.load(cost + pair)
                m = M + tl.zeros_like(line)
                if HAS_M:
                    m = tl.load(other_points + item * others + k)
                most = 0.5 * (n + m).to(value.dtype)
                total = most + most * value / (2.0 - value)
                pull = pull * 2.0 * most / tl.where(most > 0.0, total * total * _whole(cutoff, rest, value), 1.0)
            to = tl.load(partner + pair * N + i, mask=exists, other=-1).to(tl.int32)
            end = other + ((item * others + k).to(tl.int64) * M + to) * D
            a = x0 - tl.load(end, mask=to >= 0, other=0.0)
            b = x1 - tl.load(end + 1, mask=to >= 0, other=0.0)
            square = a * a + b * b
            if D == 3:
                c = x2 - tl.load(end + 2, mask=to >= 0, other=0.0)
                square += c * c
            moved = (to >= 0) & (square > 0.0)
            scale = tl.where(moved, pull / tl.sqrt(tl.where(moved, square, 1.0)), 0.0)
            g0 += tl.where(moved, a * scale, 0.0)
            g1 += tl.where(moved, b * scale, 0.0)
            if D == 3:
                g2 += tl.where(moved, c * scale, 0.0)
    out = grad + line.to(tl.int64) * N * D
    inside = i < N
    tl.store(out + i * D, g0, mask=inside)
    tl.store(out + i * D + 1, g1, mask=inside)
    if D == 3:
        tl.store(out + i * D + 2, g2, mask=inside)
