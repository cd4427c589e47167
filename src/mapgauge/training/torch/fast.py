"""The backend for CUDA: allocates, chooses the tile, and launches the kernels of ``triton_kernels.py``.

Nothing waits for the device. Sums are taken in a fixed order, so that results are the same in every run.
"""

import struct
from contextlib import nullcontext
from typing import Any

import torch

from mapgauge.training.torch.plain import NOTHING, Problem
from mapgauge.training.torch.triton_kernels import costs_kernel, gradient_kernel, matchings_kernel

LONGEST = 128  # points of y; the tile of a longer line does not fit into registers
_SIDE_BY_SIDE = 8  # readings of a closed pair that run in one program
_PROGRAMS = 2048  # of the matching, which bounds its scratch

# The columns of a tile, by its rows: for the costs, and for the matching, which has fewer tiles. The interpreter
# of Triton takes a millisecond per element, so its test has fewer columns.
LANES = {32: 32, 64: 32, 128: 8}
MATCHING_LANES = {32: 16, 64: 8, 128: 8}


def fits(problem: Problem) -> bool:
    """Whether the kernels can take lines of this length."""
    return int(problem.y.shape[2]) <= LONGEST and int(problem.x.shape[2]) < 2**15


def costs(problem: Problem) -> tuple[Any, Any]:
    """Return SOSPA and the best reading of every pair, both of shape ``(batch, queries, truths)``."""
    x, y = problem.x.contiguous(), problem.y.contiguous()
    n, m, pairs = x.shape[2], y.shape[2], _pairs(problem)
    cost = x.new_empty(problem.shape)
    reading = torch.empty(problem.shape, dtype=torch.int32, device=x.device)
    cyclic, both = problem.closed is not False, problem.undirected is not False
    readings = (max(n, 1) if cyclic else 1) * (2 if both else 1)
    lanes = LANES[_rows(m)]
    side = min(_SIDE_BY_SIDE if cyclic else 2 if both else 1, lanes)
    if pairs:
        closed, undirected = (_bytes(flag) for flag in (problem.closed, problem.undirected))
        some = lanes // side
        with _on_device_of(x):
            costs_kernel[(-(-pairs // some),)](
                x, y, *_or_placeholder(x, problem.x_points, problem.y_points, closed, undirected), cost, reading,
                pairs, x.shape[1], y.shape[1], n, m, readings, *_cutoff(problem),
                D=x.shape[3], MP=_rows(m), PAIRS=some, READ=side,
                HAS_N=problem.x_points is not None, HAS_M=problem.y_points is not None,
                HAS_CLOSED=closed is not None, HAS_UNDIRECTED=undirected is not None,
                CYCLIC=cyclic, NORMALISED=problem.normalised, num_warps=1,
            )  # fmt: skip
    return cost, reading


def matchings(problem: Problem, reading: Any) -> Any:
    """Return the partner in y of each point of x, or -1: ``(batch, queries, truths, points of x)``."""
    return _matchings(problem, reading, None, False)[0]


def gradients(problem: Problem, reading: Any, cost: Any, weight: Any, of_y: bool) -> tuple[Any, Any]:
    """Return the gradients for x and y (None unless ``of_y``), given the gradient ``weight`` of the costs."""
    weight = weight.contiguous()
    partners = _matchings(problem, reading, weight, of_y)
    batch, queries, truths = problem.shape
    x, y = problem.x.contiguous(), problem.y.contiguous()
    sides = [(x, y, problem.x_points, problem.y_points, truths, 1)]
    if of_y:
        sides.append((y, x, problem.y_points, problem.x_points, 1, truths))
    grads = []
    for partner, (own, other, own_points, other_points, step, other_step) in zip(partners, sides, strict=False):
        grad = torch.empty_like(own)
        if own.numel():
            with _on_device_of(own):
                gradient_kernel[(batch * own.shape[1],)](
                    own, other, *_or_placeholder(own, own_points, other_points), partner, cost, weight, grad,
                    own.shape[1], other.shape[1], own.shape[2], other.shape[2],
                    step, other_step, queries * truths, *_cutoff(problem),
                    D=own.shape[3], NP=_rows(own.shape[2]),
                    HAS_N=own_points is not None, HAS_M=other_points is not None,
                    NORMALISED=problem.normalised, num_warps=1,
                )  # fmt: skip
        grads.append(grad)
    return grads[0], grads[1] if of_y else None


def _matchings(problem: Problem, reading: Any, weight: Any, of_y: bool) -> tuple[Any, Any]:
    x, y = problem.x.contiguous(), problem.y.contiguous()
    n, m, pairs = x.shape[2], y.shape[2], _pairs(problem)
    partner_x = torch.empty((*problem.shape, n), dtype=torch.int16, device=x.device)
    partner_y = torch.full((*problem.shape, m), NOTHING, dtype=torch.int16, device=x.device) if of_y else partner_x
    lanes = MATCHING_LANES[_rows(m)]
    programs = min(-(-pairs // lanes), _PROGRAMS)
    if pairs and n:
        moves = torch.empty(programs * n * 2 * _rows(m) // 32 * lanes, dtype=torch.int32, device=x.device)
        with _on_device_of(x):
            matchings_kernel[(programs,)](
                x, y, *_or_placeholder(x, problem.x_points, problem.y_points), reading.contiguous(),
                *_or_placeholder(x, weight), moves,
                partner_x, partner_y, pairs, x.shape[1], y.shape[1], n, m, *_cutoff(problem), programs,
                D=x.shape[3], MP=_rows(m), BLOCK=lanes,
                HAS_N=problem.x_points is not None, HAS_M=problem.y_points is not None,
                HAS_WEIGHT=weight is not None, OF_Y=of_y, num_warps=1,
            )  # fmt: skip
    return partner_x, partner_y


def _cutoff(problem: Problem) -> tuple[float, float]:
    """Return the cutoff as a float32 and what it leaves out."""
    near = struct.unpack("f", struct.pack("f", problem.cutoff))[0]
    return near, problem.cutoff - near


def _pairs(problem: Problem) -> int:
    batch, queries, truths = problem.shape
    return batch * queries * truths


def _rows(points: int) -> int:
    """Return the rows of a tile for lines with this number of points: a power of two, and whole words of bits."""
    return max(1 << (points - 1).bit_length(), 32) if points else 32


def _bytes(flag: Any) -> Any:
    return None if isinstance(flag, bool) else flag.contiguous().view(torch.uint8)


def _or_placeholder(other: Any, *values: Any) -> list[Any]:
    """Return tensors. A tensor that is None is not read, and ``other`` takes its place."""
    return [other if value is None else value.contiguous() for value in values]


def _on_device_of(tensor: Any) -> Any:
    """Launch on the device of a tensor."""
    is_current = tensor.device.index in (None, torch.cuda.current_device()) if tensor.is_cuda else True
    return nullcontext() if is_current else torch.cuda.device_of(tensor)
