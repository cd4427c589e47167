"""Checks of tracks that metrics of tracks do not see."""

import numpy as np
from tests.scenes_of_lines import pose, scene

import mapgauge as mg

POSES = np.array([pose(2.0 * k) for k in range(4)])
TRUE = [[("g", 0.0, 1.0), ("h", 5.0, 1.0)]] * 4


def shared(predictions: mg.MapFrames, truth: mg.MapFrames) -> list[mg.Finding]:
    """Return the findings about predicted tracks that follow several true ones."""
    return [finding for finding in mg.check(predictions, truth) if finding.code == "tracks-shared"]


def test_one_id_for_many_truths() -> None:
    truth = scene(TRUE, truth=True, poses=POSES, timestamps=np.arange(4))
    merged = scene([[("a", 0.1 + 5 * (k % 2), 0.9), (f"b{k}", 9.0, 0.1)] for k in range(4)])
    (found,) = shared(merged, truth)
    assert (found.level, found.count, found.examples) == ("warning", 1, ("a",))
    assert "1 of 1 predicted tracks" in found.message
    assert shared(scene([[("a", 0.1, 0.9), ("b", 5.1, 0.8)]] * 4), truth) == []


def test_such_a_finding_comes_after_those_about_ids() -> None:
    truth = scene(TRUE, truth=True, poses=POSES)
    merged = scene([[("a", 0.1 + 5 * (k % 2), 0.9), ("a", 9.0, 0.1)] for k in range(4)])
    codes = [finding.code for finding in mg.check(merged, truth) if finding.level == "warning"]
    assert codes.index("tracks-repeated") < codes.index("tracks-shared")
