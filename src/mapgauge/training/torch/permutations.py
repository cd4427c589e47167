"""The L1 distance of MapTR: of points in a fixed order, the smallest over all readings of the true line.

An open line is read forwards or backwards, and a closed one from each of its points. Point i of the prediction belongs
to point ``shift + i`` of the true line, or ``shift - i`` if it is read backwards, counted in a circle of its ``m``
points. So a closed line of P - 1 different points returns to its first one. A reading is ``2 * shift + backward``.
"""

import math
from typing import Any

import torch

from mapgauge.training.torch.plain import Problem, poison


def l1_costs(problem: Problem) -> tuple[Any, Any]:
    """Return the smallest L1 distance per point in metres, and its reading, both ``(batch, queries, truths)``."""
    if problem.x.is_cuda and not torch.compiler.is_compiling():
        from mapgauge.training.torch import fast_l1

        return fast_l1.l1_costs(problem)
    x = problem.x
    y = problem.y
    best = x.new_full(problem.shape, math.inf)
    reading = torch.zeros(problem.shape, dtype=torch.int32, device=x.device)
    if not x.shape[2] or not y.shape[2]:
        return torch.zeros_like(best), reading
    count = counts_of(problem)
    closed, undirected = (_flag(flag, count) for flag in (problem.closed, problem.undirected))
    for backward in (False,) if problem.undirected is False else (False, True):
        for number in range(1 if problem.closed is False else y.shape[2]):
            shift = torch.where(closed, number, count - 1 if backward else 0)
            allowed = (count > number) & (closed | (number == 0)) & (undirected | (not backward))
            read = 2 * shift + backward
            other = in_order(y, count, read, points=x.shape[2])
            cost = (x[:, :, None] - other[:, None]).abs().sum((-1, -2)) / x.shape[2]
            better = allowed[:, None] & (cost < best)
            best = torch.where(better, cost, best)
            reading = torch.where(better, read[:, None].int(), reading)
    return torch.where(best < math.inf, best, 0.0) + poison(problem), reading


def in_order(y: Any, count: Any, reading: Any, points: int) -> Any:
    """Return lines read in their readings: ``(..., points, 2 or 3)``. ``count`` are their numbers of points."""
    place = torch.arange(points, device=y.device)
    shift = (reading // 2)[..., None]
    backward = (reading % 2 == 1)[..., None]
    index = torch.where(backward, shift - place, shift + place) % count[..., None].clamp(min=1)
    return y.gather(-2, index[..., None].expand(*index.shape, y.shape[-1]).to(torch.int64))


def counts_of(problem: Problem) -> Any:
    """Return the numbers of points of the true lines, ``(batch, truths)``."""
    if problem.y_points is not None:
        return problem.y_points
    return torch.full(problem.y.shape[:2], problem.y.shape[2], dtype=torch.int32, device=problem.y.device)


def _flag(flag: Any, like: Any) -> Any:
    if isinstance(flag, bool):
        return torch.full_like(like, flag, dtype=torch.bool)
    return flag
