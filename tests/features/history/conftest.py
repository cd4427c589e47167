"""Nights made quickly: one evaluation, and files whose pooled values are changed as a planted history wants."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

import mapgauge as mg

FIRST = date(2026, 10, 14)


@pytest.fixture(scope="session")
def sides() -> tuple[mg.MapFrames, mg.MapFrames]:
    return mg.demo.demo_world(60, predictions=12)


def day(night: int) -> str:
    return (FIRST + timedelta(night)).isoformat()


def evaluated(
    sides: tuple[mg.MapFrames, mg.MapFrames],
    factors: dict[str, float],
    metadata: dict[str, str],
    noise: np.random.Generator | None = None,
    truth: mg.MapFrames | None = None,
    protocol: str | mg.Protocol = "paper-60x30",
) -> mg.Results:
    """Evaluate predictions whose confidences of some classes are multiplied by a factor."""
    predictions, known = sides
    confidence = np.array(predictions.confidence)
    for name, factor in factors.items():
        confidence[predictions.label == predictions.classes.index(name)] *= factor
    if noise is not None:
        confidence = np.clip(confidence + noise.normal(0, 0.01, len(confidence)), 0, 1)
    return mg.evaluate(
        predictions.with_confidence(confidence),
        truth or known,
        protocol,
        metrics=["pld", "ap_chamfer"],
        metadata=metadata,
        unknown="ignore",
    )


@pytest.fixture(scope="session")
def stepped(sides: tuple[mg.MapFrames, mg.MapFrames], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 nights; at night 20, with commit 4f2a, boundary gets worse. No test writes there."""
    folder = tmp_path_factory.mktemp("stepped")
    rng = np.random.default_rng(4)
    for night in range(30):
        commit = "1b3c" if night < 20 else "4f2a"
        factors = {"boundary": 0.9} if night >= 20 else {}
        results = evaluated(sides, factors, {"date": day(night), "commit": commit}, noise=rng)
        results.save(folder / f"{day(night)}.mg")
    return folder


def copies(results: Sequence[mg.Results], folder: Path) -> Path:
    """Save results as nights one after the other, each under its own date."""
    folder.mkdir(exist_ok=True)
    for night, method in enumerate(results):
        replace(method, date=f"{day(night)}T00:00:00Z").save(folder / f"{day(night)}.mg")
    return folder
