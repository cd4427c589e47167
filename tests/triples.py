"""Many random triples of small maps, whose distances are found by trying all assignments."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from tests.arrays import Floats

Maps = TypeVar("Maps")


def obey_the_axioms(
    draw: Callable[[np.random.Generator, int], Maps],
    distance: Callable[[Maps, Maps, float], tuple[Floats, Floats]],
    tolerance: float,
    count: int = 20_000,
) -> None:
    """Assert that a million triples obey the axioms of a metric.

    Args:
        draw: Draws so many maps.
        distance: Returns the distances of maps, and the normalised distances, for a cost.
        tolerance: What rounding may change.
        count: Number of triples for each of 50 costs.
    """
    rng = np.random.default_rng(0)
    for cost in (0.0, 0.1, 0.25, 0.5, 1.0) * 10:
        x, y, z = (draw(rng, count) for _ in range(3))
        xz = distance(x, z, cost)
        xy = distance(x, y, cost)
        yz = distance(y, z, cost)
        zx = distance(z, x, cost)
        for k in (0, 1):  # the value, and the normalised value
            assert (xz[k] <= xy[k] + yz[k] + tolerance).all()
            assert np.allclose(xz[k], zx[k], rtol=0, atol=tolerance)
        assert (np.abs(distance(x, x, cost)[0]) <= tolerance).all()
