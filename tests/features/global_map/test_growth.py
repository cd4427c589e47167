"""Large networks are solved by parts, with the same values."""

import numpy as np
import pytest
from benchmarks.bench_global_map import city

import mapgauge as mg
from mapgauge.features.network import points


def test_a_network_that_is_solved_by_parts_has_the_same_values(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, path = city(1.0)
    whole = mg.global_map(x, y, poses=path).results
    monkeypatch.setattr(points, "LARGE", 0)
    parts = mg.global_map(x, y, poses=path).results
    assert parts.mean == pytest.approx(whole.mean, rel=1e-12)


def test_random_networks_have_the_same_values(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(20):
        lines = [rng.uniform(0, 30, 2) + np.cumsum(rng.normal(0, 0.6, (12, 2)), axis=0) for _ in range(12)]
        score = rng.uniform(0.2, 1, 6)
        monkeypatch.setattr(points, "LARGE", 20_000)
        whole = mg.network_pld(lines[:6], lines[6:], confidence=score, directed=False)
        monkeypatch.setattr(points, "LARGE", 0)
        parts = mg.network_pld(lines[:6], lines[6:], confidence=score, directed=False)
        assert parts.value == pytest.approx(whole.value, rel=1e-12)
        assert parts.break_count == whole.break_count
