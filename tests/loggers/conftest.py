"""Results with everything that loggers log."""

import pytest

import mapgauge as mg
from mapgauge.demo import demo_world


@pytest.fixture(scope="session")
def results() -> mg.Results:
    settings = mg.protocol("paper-60x30", cutoffs=(1.5, 0.5))
    return mg.evaluate(*demo_world(6, predictions=20), settings, ranges=(0, 15, 30))
