"""Simulates curves of many nights, and prints how often ``mg.history`` finds a change, and which.

Run it with ``python -m benchmarks.history_steps [CURVES]``. It prints tables in GitHub markdown, which are in
``docs/explanation/history-steps.md``. Curves have normal noise from night to night unless a row says something else.
All sizes are in units of this noise, which is ten times the smallest noise that the fit assumes.
"""

import sys
from collections.abc import Sequence

import numpy as np
from benchmarks.tables import heading, row

from mapgauge.features.history.steps import FittedCurve, HistoryChange, fit
from mapgauge.typing import Floats

NOISE = 0.002
NIGHTS = (10, 20, 40, 100, 365)
JUMPS = (3.0, 4.0, 6.0)


def normal(rng: np.random.Generator, nights: int) -> Floats:
    """Return independent normal noise."""
    return rng.normal(0, 1, nights)


def heavy(rng: np.random.Generator, nights: int) -> Floats:
    """Return noise with heavy tails: Student's t with 5 degrees of freedom, of the same variance."""
    noise: Floats = rng.standard_t(5, nights) / np.sqrt(5 / 3)
    return noise


def correlated(rng: np.random.Generator, nights: int) -> Floats:
    """Return noise of which each night keeps half of that of the night before, of the same variance."""
    noise = rng.normal(0, np.sqrt(1 - 0.5**2), nights)
    noise[0] /= np.sqrt(1 - 0.5**2)
    for night in range(1, nights):
        noise[night] += 0.5 * noise[night - 1]
    return noise


def fitted_of(curve: Floats) -> FittedCurve:
    """Return the fit of a curve that is given in units of the noise."""
    found = fit((0.5 + NOISE * curve).tolist())
    assert found is not None
    return found


def changes_of(curve: Floats) -> Sequence[HistoryChange]:
    """Return the changes of a curve that is given in units of the noise."""
    return fitted_of(curve).changes


def in_per_cent(count: int, curves: int) -> str:
    """Return the share of curves, with the digits that it needs."""
    part = 100 * count / curves
    if 0 < part < 0.5:
        return f"{part:.2f} %"
    if part < 5:
        return f"{part:.1f} %"
    return f"{part:.0f} %"


def false_changes(curves: int) -> None:
    """Print the share of curves without any change in which something is found."""
    names = ("normal", "heavy tails", "correlated")
    columns = [f"{name}, {what}" for name in names for what in ("any change", "a step or slow")]
    heading("Curves of constant level", "nights", *columns)
    for nights in NIGHTS:
        cells = []
        for k, draw in enumerate((normal, heavy, correlated)):
            rng = np.random.default_rng([0, k, nights])
            found = [{one.kind for one in changes_of(draw(rng, nights))} for _ in range(curves)]
            cells.append(in_per_cent(sum(bool(kinds) for kinds in found), curves))
            cells.append(in_per_cent(sum(bool(kinds - {"night"}) for kinds in found), curves))
        row(str(nights), *cells)


def warnings(curves: int) -> None:
    """Print the share of curves without any change whose noise is said to stay in the next night."""
    names = ("normal", "heavy tails", "correlated")
    columns = (*names, "correlated, of curves with a change")
    heading("Curves of constant level whose noise is said not to be independent", "nights", *columns)
    for nights in NIGHTS:
        cells = []
        for k, draw in enumerate((normal, heavy, correlated)):
            rng = np.random.default_rng([3, k, nights])
            fitted = [fitted_of(draw(rng, nights)) for _ in range(curves)]
            cells.append(in_per_cent(sum(is_warned(one) for one in fitted), curves))
        changed = [one for one in fitted if one.changes]  # the last ones are correlated
        cells.append(in_per_cent(sum(is_warned(one) for one in changed), max(len(changed), 1)))
        row(str(nights), *cells)


def is_warned(fitted: FittedCurve) -> bool:
    """Whether the noise of a curve is said to stay in the next night."""
    return fitted.autocorrelation is not None and fitted.autocorrelation.is_positive


def jumps(curves: int) -> None:
    """Print the share of planted jumps that are found: within two nights, and in the middle at the exact night."""
    places = ("in the last night", "three nights ago", "in the middle, at the night")
    heading("Jumps that are found", "nights", *(f"{size:.0f} sigma {place}" for place in places for size in JUMPS))
    for nights in NIGHTS:
        cells = []
        for place, reach in ((nights - 1, 2), (nights - 3, 2), (nights // 2, 0)):
            for size in JUMPS:
                rng = np.random.default_rng([1, nights, place, int(size)])
                found = sum(is_found(normal(rng, nights), place, size, reach) for _ in range(curves))
                cells.append(in_per_cent(found, curves))
        row(str(nights), *cells)


def is_found(curve: Floats, place: int, size: float, reach: int) -> bool:
    """Whether a jump that is planted in a curve is found as a step, at most some nights away."""
    jumped = curve + size * (np.arange(len(curve)) >= place)
    return any(one.kind == "step" and abs(one.night - place) <= reach for one in changes_of(jumped))


def declines(curves: int) -> None:
    """Print what is found of slow changes through all nights."""
    heading("Slow changes through all nights", "nights", "change", "slow only", "with a step", "nothing")
    for nights in NIGHTS[1:]:
        for size in (4.0, 8.0, 16.0):
            rng = np.random.default_rng([2, nights, int(size)])
            line = np.linspace(0, size, nights)
            found = [{one.kind for one in changes_of(normal(rng, nights) + line)} for _ in range(curves)]
            counts = (
                sum("slow" in kinds and "step" not in kinds for kinds in found),
                sum("step" in kinds for kinds in found),
                sum(not kinds - {"night"} for kinds in found),
            )
            row(str(nights), f"{size:.0f} sigma", *(in_per_cent(count, curves) for count in counts))


def main(curves: int) -> None:
    """Print all tables."""
    false_changes(curves)
    warnings(curves)
    few = max(curves // 10, 1)  # whose shares need fewer digits
    jumps(few)
    declines(few)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000)
