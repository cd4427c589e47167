"""Random lines for the tests of ``mapgauge.torch``, and all settings of SOSPA."""

import itertools
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)

SETTINGS = [
    {"closed": closed, "directed": directed, "normalised": normalised}
    for closed, directed, normalised in itertools.product((False, True), repeat=3)
]


def names_of(settings: dict[str, Any]) -> str:
    return "-".join(name if flag else f"not {name}" for name, flag in settings.items())


def lines(seed: int, *shape: int, dtype: Any = torch.float64, device: str = "cpu") -> Any:
    """Lines whose points are a metre apart: with a cutoff of 1.5 m some points match and others do not."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(device, dtype)
