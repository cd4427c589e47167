"""A smooth form of SOSPA: every maximum of the recurrence is a soft maximum with a temperature.

The soft maximum of numbers is ``t * log(sum(exp(number / t)))``. It tends to the maximum as the temperature t falls to
0, and otherwise exceeds it. So the loss of a line to itself would not be 0. The result is debiased: half the loss of
each line to itself is subtracted. Gradients are those of torch itself.
"""

from typing import Any

import torch


def smooth_costs(
    x: Any, y: Any, x_points: Any, y_points: Any, closed: Any, undirected: Any, cutoff: float, temperature: float
) -> Any:
    """Return the debiased smooth SOSPA of each line of x to the line of y with the same index, in metres.

    Args:
        x: ``(pairs, points, dimension)``.
        y: ``(pairs, points, dimension)``.
        x_points: ``(pairs,)`` numbers of points.
        y_points: The same for y.
        closed: ``(pairs,)`` flags.
        undirected: ``(pairs,)`` flags.
        cutoff: Metres.
        temperature: Metres.
    """
    flags, scale = (closed, undirected), (cutoff, temperature)
    own = _soft_gain(x, x, x_points, x_points, *flags, *scale) + _soft_gain(y, y, y_points, y_points, *flags, *scale)
    return temperature * (own / 2 - _soft_gain(x, y, x_points, y_points, *flags, *scale))


def _soft_gain(
    x: Any, y: Any, x_points: Any, y_points: Any, closed: Any, undirected: Any, cutoff: float, temperature: float
) -> Any:
    """Return the soft maximum of the gain over all matchings and readings, in units of the temperature."""
    square = (x[:, :, None] - y[:, None]).square().sum(-1)
    apart = square > 0
    distance = torch.where(apart, torch.where(apart, square, 1.0).sqrt(), 0.0)
    gain = ((cutoff - distance) / temperature).permute(1, 2, 0)  # (points of x, points of y, pairs)
    n = gain.shape[0]
    place = torch.arange(n, device=x.device)[:, None]
    count = x_points.clamp(min=1)
    found = []
    for shift in range(max(n, 1)):
        forwards = (place + shift) % count
        for backward in (False, True):
            allowed = ((shift == 0) | (closed & (shift < x_points))) & (undirected | (not backward))
            order = torch.where(place < count, count - 1 - forwards if backward else forwards, place)
            read = gain.gather(0, order[:, None].expand(gain.shape))
            found.append(torch.where(allowed, _soft_chain(read, x_points, y_points), -torch.inf))
    return torch.logsumexp(torch.stack(found), 0)


def _soft_chain(gain: Any, n: Any, m: Any) -> Any:
    """Return the soft maximum of one reading; ``n`` and ``m`` are the numbers of points that count."""
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
