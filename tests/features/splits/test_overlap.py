"""Overlap in place and in shape, planted memory of both, and proposed splits."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.coverage_splits import PLANTED, World, planted_location
from benchmarks.coverage_splits import SCENES as SIMULATED
from numpy.typing import NDArray

import mapgauge as mg
from mapgauge import plot
from mapgauge.demo import demo_world

SCENES, FRAMES = 6, 10


def renamed(frames: mg.MapFrames, prefix: str) -> mg.MapFrames:
    return replace(
        frames,
        tokens=tuple(prefix + token for token in frames.tokens),
        scenes=tuple(prefix + scene for scene in frames.scenes or ()),
        track=None,
    )


@pytest.fixture(scope="module")
def world() -> tuple[mg.MapFrames, mg.MapFrames]:
    """Training and validation frames with other roads. Training drove where half of the validation scenes are."""
    train = renamed(demo_world(SCENES * FRAMES, seed=1, predictions=0)[1], "train-")
    val = renamed(demo_world(SCENES * FRAMES, seed=2, predictions=0)[1], "val-")
    assert train.poses is not None
    assert val.poses is not None
    poses = train.poses.copy()
    poses[: len(poses) // 2, :3, 3] = val.poses[: len(poses) // 2, :3, 3] + (1.0, 2.0, 0.0)
    poses[len(poses) // 2 :, 0, 3] += 1e5
    return replace(train, poses=poses), val


@pytest.fixture(scope="module")
def overlap(world: tuple[mg.MapFrames, mg.MapFrames]) -> mg.SplitOverlap:
    return mg.splits(*world)


def test_distances_in_place_and_shape(world: tuple[mg.MapFrames, mg.MapFrames], overlap: mg.SplitOverlap) -> None:
    train, val = world
    assert overlap.place is not None
    assert train.poses is not None
    assert val.poses is not None
    gaps = val.poses[:, None, :2, 3] - train.poses[None, :, :2, 3]
    np.testing.assert_allclose(overlap.place, np.sqrt(np.square(gaps).sum(axis=2)).min(axis=1))
    assert overlap.close == 0.5


SAMPLED = [
    ("paper-60x30", {}, {"spacing": 0.5}),
    ("even-60x30", {}, {"spacing": 0.5, "sampling": "even"}),
    ("paper-60x30", {"spacing": None}, None),
]


@pytest.mark.parametrize(("name", "settings", "sampled"), SAMPLED, ids=str)
def test_frechet_distances_are_between_lines_that_are_sampled_as_for_pld(
    world: tuple[mg.MapFrames, mg.MapFrames], name: str, settings: dict[str, Any], sampled: dict[str, Any] | None
) -> None:
    train, val = (side.at(range(12)) for side in world)
    row = mg.splits(train, val, protocol=mg.protocol(name, **settings)).rows()[7]
    theirs, ours = (side if sampled is None else side.resample(**sampled) for side in (train, val))
    x, y = ours["val-scene-0000-7"], theirs[row["partner"]]
    costs = []
    for class_name in val.classes:  # all ways to pair the lines of a class
        first, second = ([line.points for line in side if line.class_name == class_name] for side in (x, y))
        if first and second:
            cost = np.array([[mg.frechet(a, b, closed="auto", directed=False) for b in second] for a in first])
            costs += cost[_cheapest(cost)].tolist()
    assert row["frechet_median"] == pytest.approx(np.median(costs))
    assert row["frechet_iqr"] == pytest.approx(np.subtract(*np.percentile(costs, (75, 25))))


def _cheapest(cost: NDArray[np.float64]) -> tuple[list[int], list[int]]:
    from itertools import permutations

    if cost.shape[0] > cost.shape[1]:
        columns, rows = _cheapest(cost.T)
        return rows, columns
    rows = list(range(cost.shape[0]))
    best = min(permutations(range(cost.shape[1]), cost.shape[0]), key=lambda columns: cost[rows, list(columns)].sum())
    return rows, list(best)


def test_planted_memory_is_found() -> None:
    rng = np.random.default_rng(4)
    world = World.of(rng)
    noise = np.repeat(rng.uniform(0.7, 1.3, SIMULATED), len(world.val) // SIMULATED)
    for places, shapes in PLANTED:
        exact = world.overlap.joint(world.results(places, shapes, 1.0), samples=2)
        joint = world.overlap.joint(world.results(places, shapes, noise))
        assert joint.location is not None
        assert joint.location.low < planted_location(world, places, shapes, exact.matched) < joint.location.high
        assert joint.geometry.low < exact.geometry.value < joint.geometry.high
        assert (joint.location.low > 0) == (places > 0)
        assert (joint.geometry.low > 0) == (shapes > 0)
    shape, where = world.overlap.shape.distance[:, 0], world.val.index
    close, away = ([where[token] for token in side] for side in joint.matched)
    assert len(close) == len(away) > 50
    assert not world.far[close].any()
    assert world.far[away].all()
    assert abs(shape[close].mean() - shape[away].mean()) < 0.03
    assert shape[world.far].mean() - shape[~world.far].mean() > 0.05  # before matching
    scores = world.overlap.joint(world.results(15.0, 0.0, 1.0, metrics=["ap_chamfer"]), samples=2)
    assert scores.location is not None
    assert scores.location.value > 0.05  # a lower score is a loss


def test_cities_are_not_compared(world: tuple[mg.MapFrames, mg.MapFrames], tmp_path: Path) -> None:
    train, val = (side.at(range(20)) for side in world)
    (tmp_path / "tags.csv").write_text(
        "scene,city\ntrain-scene-0000,a\ntrain-scene-0001,b\nval-scene-0000,b\nval-scene-0001,c\n", encoding="utf-8"
    )
    overlap = mg.splits(train, val, tags=mg.read_tags(tmp_path / "tags.csv"))
    assert overlap.place is not None
    assert overlap.place[:10].min() > 100  # scene 0 of training is near, in another city
    assert np.isnan(overlap.place[10:]).all()
    assert overlap.notes == ("10 validation frames are in a city without training frames",)
    (tmp_path / "tags.csv").write_text(
        "scene,city\nval-scene-0000,b\ntrain-scene-0000,b\ntrain-scene-0001,b\n", encoding="utf-8"
    )
    with pytest.raises(mg.InvalidInput, match=r"10 of 20 frames .*val-scene-0001-0"):
        mg.splits(train, val, tags=mg.read_tags(tmp_path / "tags.csv"))


def test_a_change_relative_to_no_error_is_not_known(
    world: tuple[mg.MapFrames, mg.MapFrames], overlap: mg.SplitOverlap
) -> None:
    joint = overlap.joint(mg.evaluate(world[1].with_confidence(1.0), world[1], metrics=["pld"]))
    assert joint.location is not None
    assert np.isnan([*joint.location, *joint.geometry]).all()


def test_bins_of_distances_in_shape_may_be_narrow(overlap: mg.SplitOverlap) -> None:
    """The change from the first to the last bin depends on the order of the distances, not on their size."""
    predictions, truth = (renamed(side, "val-") for side in demo_world(SCENES * FRAMES, seed=2))
    results = mg.evaluate(predictions, truth, metrics=["pld"])
    near = replace(overlap.shape, distance=0.8 + 0.01 * overlap.shape.distance)
    wide, narrow = (some.joint(results, samples=50) for some in (overlap, replace(overlap, shape=near)))
    assert narrow.geometry.value == pytest.approx(wide.geometry.value)
    frames = [[len(part.tokens) for part in joint.shape.values()] for joint in (wide, narrow)]
    assert frames[0] == frames[1]


def test_the_figure_has_panels_for_what_is_known(overlap: mg.SplitOverlap) -> None:
    predictions, truth = (renamed(side, "val-") for side in demo_world(SCENES * FRAMES, seed=2))
    joint = overlap.joint(mg.evaluate(predictions, truth, metrics=["pld"]), samples=20)
    without = replace(overlap, place=None, positions=None)
    labels = [
        [axes.get_xlabel() for axes in plot.splits(some, methods).axes]
        for some, methods in ((overlap, {}), (overlap, {"a": joint}), (without, {"a": replace(joint, place=None)}))
    ]
    places, errors = ["x (m)"], ["distance in shape (PLD)", "distance in place"]
    assert labels == [places, places + errors, errors[:1]]
    with pytest.raises(mg.InvalidInput, match="nothing to draw"):
        plot.splits(without)
    with pytest.raises(mg.InvalidInput, match="must have the same value, got ap_chamfer, pld"):
        plot.splits(overlap, {"a": joint, "b": replace(joint, key="ap_chamfer")})


def test_results_of_other_frames_are_refused(overlap: mg.SplitOverlap) -> None:
    with pytest.raises(mg.InvalidInput, match="not in the validation set, such as scene-0000-0"):
        overlap.joint(mg.evaluate(*demo_world(5)))


@pytest.mark.parametrize("margin", [0.0, 5.0, 40.0])
def test_proposed_splits_are_apart_and_balanced(margin: float, tmp_path: Path) -> None:
    truth = demo_world(600, predictions=0)[1]
    assert truth.poses is not None
    scenes = sorted(set(truth.scenes or ()))
    rows = "".join(f"{scene},{'yes' if k % 3 else 'no'},{'ab'[k % 2]}\n" for k, scene in enumerate(scenes))
    (tmp_path / "tags.csv").write_text("scene,night,city\n" + rows, encoding="utf-8")
    proposal = mg.propose(truth, margin=margin, cell=60, tags=mg.read_tags(tmp_path / "tags.csv"))
    city = dict(zip(scenes, "ab" * len(scenes), strict=False))
    poses = zip(truth.poses[:, :2, 3], truth.scenes or (), strict=True)  # cities are a million metres apart
    place = dict(zip(truth.tokens, (pose + 1e6 * (city[scene] == "a") for pose, scene in poses), strict=True))
    listed = [token for tokens in proposal.splits.values() for token in tokens]
    assert sorted([*listed, *proposal.dropped]) == sorted(truth.tokens)
    points = {name: np.array([place[token] for token in tokens]) for name, tokens in proposal.splits.items()}
    for (first, second), metres in proposal.nearest.items():
        gaps = points[first][:, None] - points[second][None]
        assert metres == pytest.approx(np.sqrt(np.square(gaps).sum(axis=2)).min())
        assert metres >= margin
    for group in ("all frames", "night", "not night", "city a", "city b", "much divider", "little curvature"):
        for name, share in (("train", 0.7), ("val", 0.15), ("test", 0.15)):
            assert abs(proposal.balance[group][name] - share) < 0.1


def test_proposals_that_cannot_be_made_are_refused() -> None:
    truth = demo_world(20, predictions=0)[1]
    for wrong in ({"a": 1.0}, {"a": 0.7, "b": 0.7}, {"a": 1.5, "b": -0.5}):
        with pytest.raises(mg.InvalidInput, match="shares must be"):
            mg.propose(truth, shares=wrong)
    with pytest.raises(mg.InvalidInput, match="splits must be from 0 m"):
        mg.propose(truth, margin=300)
    with pytest.raises(mg.InvalidInput, match="no frames are left for test"):
        mg.propose(truth.at(range(10)))
    assert "shares are more than 5% from the wanted ones" in mg.propose(truth, shares={"a": 0.9, "b": 0.1}).notes[0]
    with pytest.raises(mg.InvalidInput, match="no poses"):
        mg.propose(replace(truth, poses=None))
