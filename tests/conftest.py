"""Fixtures and settings shared by all tests."""

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Compiling a kernel takes seconds, once; that is no reason to fail an example.
settings.register_profile(
    "mapgauge", deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("mapgauge")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261115)
