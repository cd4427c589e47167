"""Conformal radius: how far matched points lie from their true points at most, for a share of them.

Points are matched only if they are closer than the cutoff, so no radius is longer than the cutoff. It says nothing
about points without a match.

The radius is calibrated on one half of the scenes and checked on the other half. Points count with the weight that they
have in PLD. The histograms of the metric ``completeness`` have all that is needed, so the radius is the upper edge of a
bin, a hundredth of the cutoff wide.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from mapgauge.metrics.completeness import BINS, OFFSETS
from mapgauge.results.results import Results
from mapgauge.typing import Flags, Floats

COVERED = 0.9  # share of matched points within the radius


class Radius(NamedTuple):
    """The radius of a class, in all distances from the ego vehicle or in a ring around it."""

    class_name: str
    ring: tuple[float, float] | None  # metres
    radius: float  # metres
    covered: float  # share of the matched points of the other half that lie within the radius


def radii_in_words(given: Sequence[Radius], unit: str, cutoff: float) -> list[str]:
    """Return the radii of classes as a sentence, and those of rings as another. There may be neither.

    >>> for text in radii_in_words(
    ...     [Radius("road", None, 0.618, 0.893), Radius("road", (0.0, 10.0), 0.5, 0.9)], "scene", 1.5
    ... ):
    ...     print(text)
    In one half of the scenes, 90 % of the points matched within 1.5 m lie within 0.62 m (road; 89 % in the other half)
    In rings around the ego vehicle: road 0.50 m (0 to 10 m; 90 %)
    """
    texts = [f"{row.radius:.2f} m ({row.class_name}; {row.covered * 100:.0f} %" for row in given if row.ring is None]
    if not texts:
        return []
    texts[0] += " in the other half"
    words = [
        f"In one half of the {unit}s, {COVERED * 100:.0f} % of the points matched within {cutoff:g} m lie within "
        f"{', '.join(f'{text})' for text in texts)}"
    ]
    rings: dict[str, list[str]] = {}
    for row in given:
        if row.ring is not None:
            place = f"({row.ring[0]:g} to {row.ring[1]:g} m; {row.covered * 100:.0f} %)"
            rings.setdefault(row.class_name, []).append(f"{row.radius:.2f} m {place}")
    by_class = "; ".join(f"{name} {', '.join(radii)}" for name, radii in rings.items())
    if not rings:
        return words
    return [*words, f"In rings around the ego vehicle: {by_class}"]


def radii(results: Results, halves: tuple[Flags, Flags] | None, cutoff: float) -> Iterator[Radius]:
    """Yield the radius of each class, then the radii of its rings. Classes without matches in a half have none.

    ``results`` have the metric ``completeness``. ``halves`` says which frames are in the half that calibrates and in
    the half that checks. A cutoff that the protocol lacks has no radius.
    """
    if halves is None or cutoff not in results.protocol.cutoffs:
        return
    setting = results.protocol.cutoffs.index(cutoff)
    blocks: list[tuple[tuple[float, float] | None, Floats]] = [(None, results.scores.sums["completeness"][setting])]
    if setting == 0:  # rings have the first cutoff only
        blocks += zip(pairwise(results.ranges), results.scores.rings["completeness"], strict=True)
    for (c, name), (ring, block) in product(enumerate(results.class_names), blocks):
        calibrating, checking = (block[half, c, OFFSETS].sum(axis=0).cumsum() for half in halves)
        if calibrating[-1] > 0 and checking[-1] > 0:
            last = int(np.searchsorted(calibrating, COVERED * calibrating[-1]))
            yield Radius(name, ring, (last + 1) * cutoff / BINS, covered=float(checking[last] / checking[-1]))
