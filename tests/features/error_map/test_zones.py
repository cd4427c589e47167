"""What is not found near and far, ahead, beside and behind, with poses and without."""

from dataclasses import replace

import numpy as np
import pytest
from tests.features.error_map import planted

import mapgauge as mg
from mapgauge.features.error_map.around import around_ego
from mapgauge.features.error_map.zones import zones_around, zones_of_map
from mapgauge.metrics.completeness import ring_edges

REGION = (60.0, 30.0)


def shares(zones: object, level: int = 0) -> dict[str, float]:
    seen, found = zones.seen.sum(axis=0), zones.found[level].sum(axis=0)  # type: ignore[attr-defined]
    return dict(zip(zones.names, (1 - found / np.maximum(seen, 1)).tolist(), strict=True))  # type: ignore[attr-defined]


def world(rng: np.random.Generator, forward: str) -> tuple[mg.MapFrames, mg.MapFrames]:
    """Frames with four lines around a vehicle with any heading. Only the line far ahead is not predicted."""
    lines = {
        "ahead": [[22, 0], [28, 1]],
        "near": [[1, 3], [8, 3]],
        "left": [[-4, 12], [5, 12]],
        "behind": [[-28, 2], [-22, 0]],
    }
    turn = np.array([[0, -1], [1, 0]]) if forward == "y" else np.eye(2)  # forward is up, and left is to the left

    def frames(kept: list[str]) -> mg.MapFrames:
        return mg.MapFrames.of(
            {f"t{k}": {"divider": [np.array(lines[name]) @ turn.T for name in kept]} for k in range(4)}
        )

    poses = np.zeros((4, 4, 4))
    for pose in poses:
        angle = rng.uniform(0, 2 * np.pi)
        pose[:3, :3] = [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
        pose[:, 3] = [*rng.uniform(-1e5, 1e5, 2), 0, 1]
    truth = replace(frames(list(lines)), poses=poses, forward=forward)  # type: ignore[arg-type]
    predictions = replace(frames(["near", "left", "behind"]).with_confidence(0.35), forward=forward)  # type: ignore[arg-type]
    return predictions, truth


@pytest.mark.parametrize("forward", ["x", "y"])
def test_what_is_missed_ahead_is_told_in_its_zones(rng: np.random.Generator, forward: str) -> None:
    predictions, truth = world(rng, forward)
    settings = mg.protocol("paper-60x30", classes=["divider"])
    results = mg.evaluate(predictions, truth, settings)
    made = mg.error_map(results)
    zones = zones_of_map(made, 0, REGION, forward=forward)
    assert zones.names == ["0 to 10 m", "10 to 20 m", "over 20 m", "ahead", "beside", "behind"]
    expected = {"0 to 10 m": 0, "10 to 20 m": 0, "over 20 m": 0.5, "ahead": 1, "beside": 0, "behind": 0}
    assert shares(zones) == pytest.approx(expected, abs=0.05)
    assert shares(zones, level=3) == pytest.approx(expected, abs=0.05)  # the confidence is 0.35
    assert set(shares(zones, level=4).values()) == {1.0}
    assert shares(zones_around(around_ego(results), REGION)) == pytest.approx(expected, abs=0.05)


def test_rings_and_sides_have_the_whole_length() -> None:
    results = planted.evaluated(planted.predictions(), planted.truth())
    made = mg.error_map(results)
    zones = zones_of_map(made, 0, REGION, forward="x")
    rings = len(zones.edges)
    whole = (np.rint(made.pieces.length * 1000) * made.seen).sum()
    assert zones.seen[:, :rings].sum() == zones.seen[:, rings:].sum() == whole
    for level in (0, 5):
        found = (np.rint(made.pieces.length * 1000) * made.found(0, level / 10)).sum()
        assert zones.found[level][:, :rings].sum() == found
    around = around_ego(results)
    assert zones_around(around, REGION).seen[:, :rings].sum() == around.seen.sum()
    assert zones_around(around, REGION).found[3][:, rings:].sum() == around.found[3].sum()


def test_the_order_of_the_frames_changes_no_zone(rng: np.random.Generator) -> None:
    predictions, truth = planted.predictions(), planted.truth()
    mixed = rng.permutation(len(truth)).tolist()
    made = [
        mg.error_map(planted.evaluated(predictions.at(order), truth.at(order))) for order in (range(len(truth)), mixed)
    ]
    one, other = (zones_of_map(each, 0, REGION, forward="x") for each in made)
    np.testing.assert_array_equal(one.seen, other.seen)
    np.testing.assert_array_equal(one.found, other.found)


@pytest.mark.parametrize(
    ("region", "edges"),
    [
        ((60.0, 30.0), (0, 10, 20)),
        ((100.0, 50.0), (0, 10, 20, 30, 40)),
        ((30.0, 15.0), (0, 5, 10)),
        ((58.0, 30.0), (0, 9.7, 19.3)),
    ],
)
def test_rings_fit_the_region(region: tuple[float, float], edges: tuple[float, ...]) -> None:
    assert ring_edges(region) == edges
