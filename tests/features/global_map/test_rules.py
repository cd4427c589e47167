"""Rules that make one map of the frames of a drive."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import mapgauge as mg
from mapgauge.features.global_map.accumulate import (
    RULES,
    MapLine,
    accumulate,
    united,
    weighted_median,
)
from mapgauge.features.global_map.region import distances_along

BOX = (-30.0, -15.0, 30.0, 15.0)
COUNT = 8  # frames, 10 m apart along x


def poses(count: int = COUNT) -> NDArray[np.float64]:
    made = np.tile(np.eye(4), (count, 1, 1))
    made[:, 0, 3] = 10.0 * np.arange(count)
    return made


def drive(offsets: NDArray[np.float64] | None = None, confidence: float = 0.9) -> mg.MapFrames:
    """Frames that see a line along the path, each with its own error across."""
    across = np.zeros(COUNT) if offsets is None else offsets
    frames = mg.MapFrames.of(
        {f"t{k}": {"divider": [[[-30, 2 + across[k]], [30, 2 + across[k]]]]} for k in range(COUNT)},
        confidence={f"t{k}": {"divider": [confidence]} for k in range(COUNT)},
    )
    return replace(frames, track=np.array(["a"] * COUNT), poses=poses(), scenes=("s",) * COUNT)


def lines_by(rule: str, frames: mg.MapFrames) -> list[MapLine]:
    return accumulate(rule, frames, poses(), BOX)


def test_stack_keeps_every_instance() -> None:
    assert len(lines_by("stack", drive())) == COUNT


def test_last_and_longest_keep_one_observation() -> None:
    (last,) = lines_by("last", drive())
    assert last.points.tolist() == [[40, 2], [100, 2]]
    (longest,) = lines_by("longest", drive())
    assert distances_along(longest.points)[-1] == 60


def test_the_median_extends_a_line_over_all_its_observations() -> None:
    (line,) = lines_by("median", drive())
    assert np.sort(line.points[[0, -1], 0]).tolist() == pytest.approx([-30, 100])
    assert line.points[:, 1] == pytest.approx(2.0)
    assert line.confidence == pytest.approx(0.9)


def test_the_median_is_not_moved_by_an_outlier() -> None:
    across = np.zeros(COUNT)
    across[3] = 1.5
    (line,) = lines_by("median", drive(across))
    inner = line.points[(line.points[:, 0] > 20) & (line.points[:, 0] < 100)]
    assert np.median(inner[:, 1]) == pytest.approx(2.0)
    assert np.abs(inner[:, 1] - 2).max() < 0.6  # a kink where observations were joined


def test_a_weighted_median_is_that_of_repeated_values(rng: np.random.Generator) -> None:
    values = rng.normal(size=(7, 30))
    weights = rng.integers(1, 5, (7, 30))
    repeated = [np.median(np.repeat(values[:, k], weights[:, k])) for k in range(30)]
    assert weighted_median(values, weights.astype(np.float64)) == pytest.approx(np.array(repeated))


def test_true_observations_are_joined_also_if_parts_change_their_numbers() -> None:
    frames = drive().with_confidence(None)
    names = np.array(["7" if k % 2 else "7#1" for k in range(COUNT)])
    (line,) = united(replace(frames, track=names), poses(), BOX)
    assert distances_along(line.points)[-1] == pytest.approx(130)


def test_true_rings_are_united() -> None:
    ring = np.array([[20, 0], [26, 0], [26, 4], [20, 4], [20, 0]])
    frames = mg.MapFrames.of({f"t{k}": {"ped_crossing": [ring - (10 * k, 0)]} for k in range(3)})
    frames = replace(frames, track=np.array(["1"] * 3))
    (line,) = united(frames, poses(3), BOX)
    assert distances_along(line.points)[-1] == pytest.approx(20)
    assert line.points[0].tolist() == line.points[-1].tolist()


@pytest.mark.parametrize("rule", RULES)
def test_rules_do_not_depend_on_the_place_of_the_world(rule: str) -> None:
    across = np.linspace(-0.3, 0.3, COUNT)
    here = lines_by(rule, drive(across))
    moved = poses()
    moved[:, :2, 3] += (1000.0, -500.0)
    there = accumulate(rule, drive(across), moved, BOX)
    for a, b in zip(here, there, strict=True):
        assert b.points - (1000.0, -500.0) == pytest.approx(a.points, abs=1e-6)


def test_rules_of_tracks_make_the_tracks_that_frames_lack() -> None:
    frames = replace(drive(), track=None)
    truth = drive().with_confidence(None)
    made = mg.global_map(frames, truth)
    assert made.results.mean == mg.global_map(mg.track(frames), truth).results.mean
    assert [finding.code for finding in made.findings].count("tracks-made") == 1
    stacked = mg.global_map(frames, truth, rule="stack")  # it needs none
    assert "tracks-made" not in [finding.code for finding in stacked.findings]


def test_an_empty_drive_has_an_empty_map() -> None:
    frames = mg.MapFrames.of({"a": {"divider": []}})
    assert accumulate("stack", frames, poses(1), BOX) == []
    assert len(mg.Polylines.of([])) == 0


def test_maptracker_joins_lines_that_overlap_and_takes_the_mean() -> None:
    across = np.array([0.0, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    (line,) = lines_by("maptracker", drive(across))
    assert np.sort(line.points[[0, -1], 0]).tolist() == pytest.approx([-30, 100])
    assert np.abs(line.points[:, 1] - 2).max() <= 0.4
    two = drive()
    frames = two.keep(np.array([0, 7]))
    assert len(lines_by("maptracker", frames)) == 2  # they do not meet


def test_maptracker_draws_a_crossing_as_its_hull_and_drops_small_ones() -> None:
    ring = np.array([[20, 0], [26, 0], [23, 2], [26, 4], [20, 4], [20, 0]])
    small = ring[:1] + 0.1 * (ring - ring[:1]) + (0, 8)
    frames = mg.MapFrames.of({"t0": {"ped_crossing": [ring, small]}}, confidence={"t0": {"ped_crossing": [0.8, 0.9]}})
    (line,) = accumulate("maptracker", replace(frames, track=np.array(["1", "2"])), poses(1), BOX)
    assert distances_along(line.points)[-1] == pytest.approx(20)
    assert line.confidence == pytest.approx(0.8)
