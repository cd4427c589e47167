"""mAS: hand-computed pairs, the cases in which the public code departs from the paper, and what it refuses."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.features.tracks.stability_twin import profiles, slow_sums, turning
from tests.scenes_of_lines import Line, pose, scene
from tests.streaming.worlds import same, write_folder

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.tracks import consistent_ap as line_profiles
from mapgauge.features.tracks.consistent_ap import MAS
from mapgauge.metrics.groups import group
from mapgauge.plugin import SumRows
from mapgauge.report import write_report

PROTOCOL = mg.protocol("mas-60x30", classes=["divider"], settings={"mas": {"intervals": (1,)}})
ALONG_Y = ((0.0, -10.0), (0.0, 10.0))


def standing(frames: int) -> np.ndarray:
    return np.array([pose()] * frames)


def score(*lines: list[Line], **settings: object) -> dict[str, float | None]:
    """Return the values of a scene in which one true line stays and the ego vehicle stands."""
    truth = scene([[("g", 0.0, 1.0)]] * len(lines), truth=True, poses=standing(len(lines)))
    return mg.evaluate(replace(scene(lines), track=None), truth, PROTOCOL.replace(settings={"mas": settings})).mean


def test_a_line_that_jitters_loses_its_distance_over_15_metres() -> None:
    found = score([("", 0.0, 0.9)], [("", 1.5, 0.9)], [("", 0.0, 0.9)])
    assert found["mas_localisation"] == pytest.approx(0.9)
    assert (found["mas_presence"], found["mas_shape"]) == (1.0, 1.0)
    assert found["mas"] == pytest.approx(0.7 * 0.9 + 0.3)


def test_pairs_up_to_the_interval_count_for_every_anchor() -> None:
    lines = [[("", y, 0.9)] for y in (0.0, 1.5, 4.5, 0.0)]
    found = score(*lines, intervals=(2,))
    steps = [1.5, 4.5, 3.0, 1.5]  # anchor 0: to 1 and 2; anchor 1: to 2 and 3
    assert found["mas_localisation"] == pytest.approx(1 - np.mean(steps) / 15)


def test_all_lines_of_one_track_count() -> None:
    truth = scene([[("g", 0.0, 1.0), ("g", 10.0, 1.0)]] * 2, truth=True, poses=standing(2))
    lines = [[("", 0.0, 0.9), ("", 10.0, 0.9)], [("", 0.6, 0.9), ("", 11.5, 0.9)]]
    found = mg.evaluate(replace(scene(lines), track=None), truth, PROTOCOL).mean
    assert found["mas_localisation"] == pytest.approx(1 - np.mean([0.6, 1.5]) / 15)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([("", 0.0, 0.9)], [("", 0.0, 0.1)], 0.5),  # below the threshold of 0.3
        ([("", 0.0, 0.1)], [("", 0.0, 0.9)], 0.5),
        ([("", 0.0, 0.9)], [], 0.5),  # the public code: 1.0 for a line that disappears
        ([], [("", 0.0, 0.9)], 0.5),  # the public code: 0.2 for one that appears
        ([("", 0.0, 0.1)], [("", 0.0, 0.2)], 1.0),
        ([("", 0.0, 0.3)], [("", 0.0, 0.9)], 1.0),
        ([("", 0.0, 0.1)], [], 1.0),
        ([], [], None),  # nothing to be stable
    ],
)
def test_lines_that_appear_or_disappear_count_half(
    first: list[Line], second: list[Line], expected: float | None
) -> None:
    found = score(first, second)
    assert found["mas"] == expected
    assert found["mas_presence"] == expected


def test_shape_is_the_difference_of_mean_turning_angles() -> None:
    truth = scene([[("g", 0.0, 1.0)]] * 2, truth=True, poses=standing(2))
    straight = scene([[("", 0.0, 0.9)]])
    bent = scene([[], [("", 0.0, 0.9)]], points=((-10.0, 0.0), (0.0, 0.0), (10.0, 10.0)))
    both = mg.MapFrames.of(
        {"s-0": {"divider": [straight.polylines[0]]}, "s-1": {"divider": [bent.polylines[0]]}},
        confidence={"s-0": {"divider": [0.9]}, "s-1": {"divider": [0.9]}},
    )
    found = mg.evaluate(both, truth, PROTOCOL.replace(spacing=None)).mean
    assert found["mas_shape"] == pytest.approx(1 - (np.pi / 4 / 18) / np.pi)  # 20 places have 18 turns
    assert found["mas_localisation"] == pytest.approx(1 - 2.5 / 15)


def test_lines_along_y_are_compared_along_y() -> None:
    """The public code samples along x only, where such a line has no extent."""
    truth = scene([[("g", 0.0, 1.0)]] * 2, truth=True, points=ALONG_Y, poses=standing(2))
    moved = mg.MapFrames.of(
        {f"s-{k}": {"divider": [np.add(ALONG_Y, (1.5 * k, 0))]} for k in range(2)},
        confidence={f"s-{k}": {"divider": [0.9]} for k in range(2)},
    )
    assert mg.evaluate(moved, truth, PROTOCOL).mean["mas_localisation"] == pytest.approx(0.9)


def drive() -> tuple[mg.MapFrames, mg.MapFrames]:
    """A vehicle that stands and then turns, between straight lines of the world, and perfect predictions of them."""
    poses = np.array([pose()] * 5 + [pose(2.0 * k, 0.3 * k, 9.0 * k) for k in range(1, 8)])
    names = ("g", "h", "i")
    world = [np.array([[-80.0, y], [80.0, y]]) for y in (-4.0, 0.0, 4.0)]
    lines, frame, track = [], [], []
    for k, where in enumerate(poses):
        for name, line in zip(names, world, strict=True):
            lines.append((line - where[:2, 3]) @ where[:2, :2])
            frame.append(k)
            track.append(name)
    tokens = tuple(f"s-{k}" for k in range(len(poses)))
    label = np.zeros(len(lines), np.int64)
    seen = mg.MapFrames(
        tokens=tokens,
        classes=("divider",),
        frame=np.array(frame),
        label=label,
        polylines=mg.Polylines.of(lines),
        track=np.array(track),
    )
    truth = replace(seen, scenes=("s",) * len(poses), poses=poses, forward="x").crop((60, 30))
    truth = replace(truth, timestamps=np.arange(len(poses)))
    return replace(truth, poses=None).with_confidence(0.9), truth


def test_perfect_predictions_of_a_drive_that_stands_and_turns_are_perfectly_stable() -> None:
    """The public code: 0.892."""
    found = mg.evaluate(*drive(), PROTOCOL.replace(settings={"mas": {"intervals": (2, 5)}})).mean
    assert found["mas@2"] == pytest.approx(1.0, abs=1e-9)
    assert found["mas@5"] == pytest.approx(1.0, abs=1e-9)
    assert found["mas_localisation"] == pytest.approx(1.0, abs=1e-9)


def test_poses_of_the_predictions_serve_and_bad_poses_are_refused() -> None:
    predictions, truth = drive()
    expected = mg.evaluate(predictions, truth, PROTOCOL)
    swapped = mg.evaluate(replace(predictions, poses=truth.poses), replace(truth, poses=None), PROTOCOL)
    assert swapped.classes == expected.classes
    with pytest.raises(mg.InvalidInput, match="mas needs poses"):
        mg.evaluate(predictions, replace(truth, poses=None), PROTOCOL)
    fewer = replace(predictions, poses=truth.poses).between(slice(0, 3))
    with pytest.raises(mg.InvalidInput, match="mas needs poses"):
        mg.evaluate(fewer, replace(truth, poses=None), PROTOCOL)
    assert truth.poses is not None
    with pytest.raises(mg.InvalidInput, match="is not a rigid motion"):
        mg.evaluate(predictions, replace(truth, poses=2 * truth.poses), PROTOCOL)
    with pytest.raises(mg.InvalidInput, match="truth: mas needs tracks"):
        mg.evaluate(predictions, replace(truth, track=None), PROTOCOL)


def test_order_of_instances_workers_and_chunks_give_the_same_bits(tmp_path: Path, rng: np.random.Generator) -> None:
    pytest.importorskip("pyarrow")
    predictions, truth = drive()
    coords = predictions.polylines.coords + rng.normal(0, 0.3, predictions.polylines.coords.shape)
    predictions = replace(predictions, polylines=mg.Polylines(coords, predictions.polylines.offsets))
    expected = mg.evaluate(predictions, truth, PROTOCOL.replace(settings={"mas": {"intervals": (3,)}}))
    order = np.lexsort([-np.arange(len(truth.polylines)), truth.frame])
    reordered = mg.evaluate(predictions.keep(order), truth.keep(order), expected.protocol)
    assert reordered.classes == expected.classes
    folders = [write_folder(side, tmp_path / name) for side, name in ((predictions, "x"), (truth, "y"))]
    assert same(mg.evaluate(folders[0], folders[1], expected.protocol, workers=2), expected)


def test_a_scene_shorter_than_the_interval_has_no_value(tmp_path: Path) -> None:
    found = mg.evaluate(*drive(), PROTOCOL.replace(settings={"mas": {"intervals": (30,)}}))
    assert found.mean["mas"] is None
    assert "-" in found.table()
    found.save(tmp_path / "results.mg")
    assert mg.load_results(tmp_path / "results.mg").mean["mas"] is None
    write_report(found, tmp_path / "report.html", frames=1)
    assert np.isnan(mg.compare([found]).estimates[0]["mean"]["mas"].value)


def test_intervals_and_presence_are_checked() -> None:
    for intervals in ((0,), (1.5,), (2, 2), "2"):
        with pytest.raises(mg.InvalidInput, match="intervals must"):
            PROTOCOL.replace(settings={"mas": {"intervals": intervals}})
    with pytest.raises(mg.InvalidInput, match="presence"):
        PROTOCOL.replace(settings={"mas": {"presence": 1.5}})


@pytest.mark.parametrize("region", [None, (60.0, 30.0), (24.0, 12.0)])
def test_many_pairs_at_once_give_the_numbers_of_one_after_the_other(region: tuple[float, float] | None) -> None:
    """Only rounding differs: the twin moves lines by a matrix product, whose rounding depends on the machine."""
    predictions, truth = demo_world(10, predictions=14)
    few = predictions.keep(np.arange(len(predictions.polylines)) % 5 > 0)  # lines that appear and disappear
    groups = group(*mg.align(few, truth), PROTOCOL.replace(region=region))
    assert isinstance(MAS.rows, SumRows)
    for interval in (1, 3):
        found = MAS.rows.score(groups, PROTOCOL.replace(region=region), interval)
        expected = slow_sums(groups, PROTOCOL.replace(region=region), interval)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        assert found[:, 5].sum() > 10


@pytest.mark.parametrize("size", [1, 7])
def test_how_many_pairs_are_compared_at_once_changes_no_bit(size: int, rng: np.random.Generator) -> None:
    lines = mg.Polylines.of([rng.uniform(-30, 30, 2) + np.cumsum(rng.normal(0, 1, (9, 2)), axis=0) for _ in range(20)])
    pairs = rng.integers(0, 20, (300, 2))
    motions = np.broadcast_to(np.eye(4), (300, 4, 4)).copy()
    motions[:, :2, 3] = rng.normal(0, 1, (300, 2))
    region = (-30.0, -15.0, 30.0, 15.0)
    found = line_profiles.compare_lines(lines, pairs, motions, region, size=size)
    expected = line_profiles.compare_lines(lines, pairs, motions, region)
    assert expected[2].sum() > 10
    for column, known in zip(found, expected, strict=True):
        np.testing.assert_array_equal(column, known)


@pytest.mark.parametrize(("width", "places"), [(40.0, 20), (6.0, 3), (4.0, 2), (2.0, 1)])
def test_few_common_places_are_enough(width: float, places: int) -> None:
    """Both lines are 40 m long, so places are 2 m apart. The region leaves the ones in its middle."""
    straight = np.array([[-20.0, 0.0], [20.0, 0.0]])
    x = np.array([20.0, *np.arange(19.0, -20.0, -2.0), 0.0, -20.0])  # backwards, with corners at all places
    bent = np.sort(x)[::-1, None] * [1, 0]
    bent[:, 1] = np.maximum(bent[:, 0], 0)
    pairs, motion = np.array([[0, 1]]), np.eye(4)[None]
    # Places lie at odd numbers. The region begins and ends beside them.
    region = (-width / 2 + 0.5 * (places % 2), -30.0, width / 2 + 0.5 * (places % 2), 30.0)
    distance, turning, common = line_profiles.compare_lines(mg.Polylines.of([straight, bent]), pairs, motion, region)
    at = np.arange(-19.0, 20.0, 2.0)
    at = at[(at >= region[0]) & (at <= region[2])]
    assert len(at) == places
    assert common.tolist() == [True]
    assert distance[0] == pytest.approx(np.maximum(at, 0).mean())
    slopes = np.arctan(np.diff(np.maximum(at, 0)) / 2)
    assert turning[0] == pytest.approx(np.abs(np.diff(slopes)).mean() if places > 2 else 0.0)


def test_the_edge_belongs_to_the_region() -> None:
    lines = mg.Polylines.of([[[-20.0, 0.0], [20.0, 0.0]]] * 2)  # with places at -1 and 1
    for region, common in (((-1.0, 0.0, 1.0, 0.0), True), ((-0.9, 0.0, 0.9, 0.0), False)):
        found = line_profiles.compare_lines(lines, np.array([[0, 1]]), np.eye(4)[None], region)
        assert found[2].tolist() == [common]


def test_lines_after_any_motion_are_compared_as_by_the_twin(rng: np.random.Generator) -> None:
    region = (-9.0, -4.0, 9.0, 5.0)
    for _ in range(40):
        lines = [rng.normal(0, 5, (int(rng.integers(2, 9)), 2)) for _ in range(2)]
        motion = pose(rng.normal(0, 3), rng.normal(0, 3), rng.uniform(0, 360))
        lines[0] = (lines[0] - motion[:2, 3]) @ motion[:2, :2]  # where the later line is
        found = line_profiles.compare_lines(mg.Polylines.of(lines), np.array([[0, 1]]), motion[None], region)
        both = profiles(lines[0] @ motion[:2, :2].T + motion[:2, 3], lines[1], motion, region)
        assert found[2].tolist() == [both is not None]
        if both is not None:
            at, heights = both
            assert found[0][0] == pytest.approx(np.abs(heights[1] - heights[0]).mean(), rel=1e-9)
            assert found[1][0] == pytest.approx(abs(turning(at, heights[1]) - turning(at, heights[0])), abs=1e-9)


def test_height_does_not_matter() -> None:
    predictions, truth = drive()
    sides = []
    for side in (predictions, truth):
        high = np.column_stack([side.polylines.coords, np.linspace(0, 5, len(side.polylines.coords))])
        sides.append(replace(side, polylines=mg.Polylines(high, side.polylines.offsets)))
    assert sides[0].dimension == 3
    protocol = PROTOCOL.replace(spacing=None)
    expected = mg.evaluate(predictions, truth, protocol)
    assert mg.evaluate(sides[0], sides[1], protocol).mean["mas"] == expected.mean["mas"]
