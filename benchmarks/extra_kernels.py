"""Kernels that only benchmarks and tests call: gains without matchings."""

from mapgauge.kernels._jit import ZERO, U, jit, jit_allocating
from mapgauge.kernels.chain import gain_by_stretches
from mapgauge.kernels.gains import fill_gains, make_band
from mapgauge.kernels.lines import are_near, length_of, runs_against
from mapgauge.kernels.sospa import best_reading


@jit
def gain_of_lines(lines, x, y, cyclic, directed, cutoff, order, band, long):
    """Gain of the heaviest chain in units of ``c^p``, without the matching."""
    if not are_near(lines, x, y, cutoff):
        return 0.0
    cells = fill_gains(lines, x, y, ZERO, length_of(lines, x), cutoff, order, band)
    if cells == ZERO:
        return 0.0
    against = not directed and runs_against(lines, x, y, cyclic)
    if long is not None and cells > U(len(band.gain)):
        gain = gain_by_stretches(lines, x, y, against, cutoff, order, band)
        return gain if directed else max(gain, gain_by_stretches(lines, x, y, not against, cutoff, order, band))
    _, gain, _ = best_reading(band, length_of(lines, x), length_of(lines, y), cyclic, directed, against, None, long)
    return max(gain, 0.0)


@jit_allocating
def gains_of_pairs(lines, closed, pairs, directed, cutoff, order, long, out):
    """``gain_of_lines`` for many pairs of lines."""
    band = make_band(lines, closed, pairs, cutoff, long)
    for k in range(len(pairs)):
        x, y = U(pairs[k, 0]), U(pairs[k, 1])
        out[k] = gain_of_lines(lines, x, y, closed[x] or closed[y], directed, cutoff, order, band, long)
