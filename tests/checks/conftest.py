"""Fixtures: a valid pair of predictions and truth."""

import numpy as np
import pytest
from tests.checks.world import predictions_of, truth_of

import mapgauge as mg


@pytest.fixture
def truth(rng: np.random.Generator) -> mg.MapFrames:
    return truth_of(rng)


@pytest.fixture
def predictions(rng: np.random.Generator, truth: mg.MapFrames) -> mg.MapFrames:
    return predictions_of(rng, truth)
