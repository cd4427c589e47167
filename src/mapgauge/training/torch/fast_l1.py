"""The L1 distance over readings (``permutations.py``) as a Triton kernel. A lane is a pair, its readings are a loop."""

import math
from typing import Any

import torch
import triton
import triton.language as tl

from mapgauge.training.torch.fast import lines_of, on_device_of, or_placeholder
from mapgauge.training.torch.plain import SospaProblem

LANES = 32


def l1_costs(problem: SospaProblem) -> tuple[Any, Any]:
    """Return the smallest L1 distance per point in metres, and its reading, both ``(batch, queries, truths)``."""
    x = problem.x.contiguous()
    y = problem.y.contiguous()
    pairs = math.prod(problem.shape)
    cost = x.new_zeros(problem.shape)
    reading = torch.zeros(problem.shape, dtype=torch.int32, device=x.device)
    flags = (problem.closed, problem.undirected)
    closed, undirected = (None if isinstance(flag, bool) else flag.view(torch.uint8) for flag in flags)
    if pairs and x.shape[2] and y.shape[2]:
        with on_device_of(x):
            l1_kernel[(-(-pairs // LANES),)](
                x, y, *or_placeholder(x, problem.y_points, closed, undirected), cost, reading,
                pairs, x.shape[1], y.shape[1], x.shape[2], y.shape[2],
                D=x.shape[3], BLOCK=LANES, HAS_M=problem.y_points is not None,
                HAS_CLOSED=closed is not None, CLOSED=problem.closed is True,
                HAS_UNDIRECTED=undirected is not None, UNDIRECTED=problem.undirected is True, num_warps=1,
            )  # fmt: skip
    return cost, reading


@triton.jit(do_not_specialize=["pairs", "Q", "T", "N", "M"])
def l1_kernel(
    x, y, y_points, closed, undirected, cost, reading, pairs, Q, T, N, M,
    D: tl.constexpr, BLOCK: tl.constexpr, HAS_M: tl.constexpr,
    HAS_CLOSED: tl.constexpr, CLOSED: tl.constexpr, HAS_UNDIRECTED: tl.constexpr, UNDIRECTED: tl.constexpr,
):  # fmt: skip
    """Write the smallest distance of each pair and its reading. The first of equal readings wins."""
    pair = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = pair < pairs
    x_line, y_line, place = lines_of(tl.where(live, pair, 0), Q, T)
    m = tl.where(live, M, 0)
    if HAS_M:
        m = tl.load(y_points + y_line, mask=live, other=0)
    ring = live & CLOSED
    both = live & UNDIRECTED
    if HAS_CLOSED:
        ring = tl.load(closed + y_line, mask=live, other=0) != 0
    if HAS_UNDIRECTED:
        both = tl.load(undirected + y_line, mask=live, other=0) != 0
    readings = tl.where(ring, m, 1) * tl.where(both, 2, 1)
    start_x = x + x_line.to(tl.int64) * N * D
    start_y = y + y_line.to(tl.int64) * M * D
    some = m > 0
    best = tl.load(start_x, mask=live, other=0.0) * 0.0 + float("inf")
    best_read = tl.zeros_like(pair)
    for number in range(tl.max(readings, axis=0)):
        # Forward readings come first. An open line has one of each direction.
        forward = tl.where(ring, m, 1)
        backward = number >= forward
        shift = tl.where(backward, number - forward, number)
        shift = tl.where(ring, shift, tl.where(backward, m - 1, 0))
        allowed = some & (number < readings)
        at = shift
        total = tl.zeros_like(best)
        for i in range(N):
            for d in tl.static_range(D):
                a = tl.load(start_x + i * D + d, mask=allowed, other=0.0)
                total += tl.abs(a - tl.load(start_y + at * D + d, mask=allowed, other=0.0))
            at = tl.where(backward, at - 1, at + 1)
            at = tl.where(at >= m, 0, tl.where(at < 0, m - 1, at))
        better = allowed & ((total < best) | (total != total))
        best = tl.where(better, total, best)
        best_read = tl.where(better, 2 * shift + backward.to(tl.int32), best_read)
    tl.store(cost + place, tl.where(some, best / N, 0.0), mask=live)
    tl.store(reading + place, best_read, mask=live)
