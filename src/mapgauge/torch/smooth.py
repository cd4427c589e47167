"""A smooth form of SOSPA: every maximum of the recurrence is a soft maximum with a temperature.

The soft maximum of numbers is ``t * log(sum(exp(number / t)))``. It tends to the maximum as the temperature t falls to
0, and otherwise exceeds it. So the loss of a line to itself would not be 0. The result is debiased: half the loss of
each line to itself is subtracted. Direction and start point are those of exact SOSPA. Gradients are those of torch
itself.
"""

from typing import Any

import torch


def smooth_costs(x: Any, y: Any, x_points: Any, y_points: Any, reading: Any, cutoff: float, temperature: float) -> Any:
    """Return the debiased smooth SOSPA of each line of x to the line of y with the same index, in metres.

    Args:
        x: ``(pairs, points, dimension)``.
        y: ``(pairs, points, dimension)``.
        x_points: ``(pairs,)`` numbers of points.
        y_points: The same for y.
        reading: ``(pairs,)`` readings of x, as in ``plain.py``.
        cutoff: Metres.
        temperature: Metres.
    """
    n = x.shape[1]
    place = (torch.arange(n, device=x.device) + (reading // 2)[:, None]) % max(n, 1)
    order = torch.where((reading % 2 == 1)[:, None], n - 1 - place, place).to(torch.int64)
    padding = (order >= x_points[:, None]).to(torch.int8)
    order = order.gather(1, torch.argsort(padding, dim=1, stable=True))  # the padding comes last
    x = x.gather(1, order[..., None].expand(x.shape))
    sides = (x, x, x_points, x_points), (y, y, y_points, y_points), (x, y, x_points, y_points)
    of_x, of_y, both = (_soft_chain(_gains(a, b, cutoff) / temperature, n, m) for a, b, n, m in sides)
    return temperature * ((of_x + of_y) / 2 - both)


def _gains(x: Any, y: Any, cutoff: float) -> Any:
    """Return what each pair of points gains, ``(points of x, points of y, pairs)``; negative beyond the cutoff."""
    square = (x[:, :, None] - y[:, None]).square().sum(-1)
    apart = square > 0
    distance = torch.where(apart, torch.where(apart, square, 1.0).sqrt(), 0.0)
    return (cutoff - distance).permute(1, 2, 0)


def _soft_chain(gain: Any, n: Any, m: Any) -> Any:
    """Return the soft maximum of the gain over all matchings; ``n`` and ``m`` are the numbers of points that count."""
    rows, columns, pairs = gain.shape
    result = gain.new_zeros(pairs)
    if not rows or not columns:
        return result
    flipped = gain.flip(1)
    before = this = gain.new_zeros(rows + 1, pairs)
    for both in range(2, rows + columns + 1):  # cells with i + j = both
        start, stop = max(1, both - columns), min(rows, both - 1) + 1
        matched = before[start - 1 : stop - 1] + torch.diagonal(flipped, columns - both + 1, 0, 1).T
        here = torch.logsumexp(torch.stack([this[start - 1 : stop - 1], this[start:stop], matched]), 0)
        before, this = this, torch.cat([this[:start], here, this[stop:]])
        ends = (n + m == both) & (n > 0) & (m > 0)
        result = torch.where(ends, this.gather(0, n[None].to(torch.int64))[0], result)
    return result
