"""A synthetic town on disk."""

from pathlib import Path

import pytest
from tests.truth.nuscenes_city import town


@pytest.fixture(scope="session")
def town_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the town as a folder of nuScenes. Tests must not write to it."""
    return town().write(tmp_path_factory.mktemp("town"))
