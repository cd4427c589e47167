"""A small made-up world, evaluated for two detectors."""

import pytest

import mapgauge as mg
from mapgauge.demo import demo_world


@pytest.fixture(scope="session")
def methods() -> list[mg.Results]:
    """Results of the good and of the poor detector, with rings."""
    settings = mg.protocol("paper-60x30", cutoffs=(1.5, 0.5))
    found = []
    for quality in ("good", "poor"):
        predictions, truth = demo_world(10, predictions=30, quality=quality)
        found.append(mg.evaluate(predictions, truth, settings, ranges=(0, 10, 20, 30)))
    return found


@pytest.fixture(scope="session")
def good(methods: list[mg.Results]) -> mg.Results:
    return methods[0]
