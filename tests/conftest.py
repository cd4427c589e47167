"""Fixtures and settings shared by all tests."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# There is no deadline, because the first call of a kernel compiles it for seconds. CI tries the same examples every
# time. Other runs try new examples each time, and MAPGAUGE_EXAMPLES sets their number.
settings.register_profile(
    "mapgauge",
    deadline=None,
    derandomize="CI" in os.environ,
    max_examples=int(os.environ.get("MAPGAUGE_EXAMPLES", "60")),
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("mapgauge")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261115)
