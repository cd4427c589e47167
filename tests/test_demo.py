import numpy as np
import pytest
from numpy.typing import NDArray

import mapgauge as mg
from mapgauge.demo import QUALITIES, demo_world
from mapgauge.demo.streets import CROSSING, REGION, SCENE

HALF = np.array(REGION) / 2
FRAMES = 60
World = tuple[mg.MapFrames, mg.MapFrames]


@pytest.fixture(scope="module")
def world() -> World:
    return demo_world(FRAMES)


def assert_equal(a: mg.MapFrames, b: mg.MapFrames) -> None:
    assert (a.tokens, a.classes, a.scenes) == (b.tokens, b.classes, b.scenes)
    for name in ("frame", "label", "confidence", "track", "timestamps", "poses"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    np.testing.assert_array_equal(a.polylines.offsets, b.polylines.offsets)
    np.testing.assert_array_equal(a.polylines.coords, b.polylines.coords)


def uncut(frames: mg.MapFrames) -> NDArray[np.bool_]:
    """Points that are not on the edge of the region."""
    within: NDArray[np.bool_] = np.all(np.abs(frames.polylines.coords) < HALF, axis=1)
    return within


def means(world: World, *keys: str) -> list[float]:
    mean = mg.evaluate(*world).mean
    return [value for key in keys if (value := mean[key]) is not None]


def test_the_same_seed_makes_the_same_world(world: World) -> None:
    for made, again in zip(world, demo_world(FRAMES), strict=True):
        assert_equal(made, again)


def test_another_seed_makes_another_world(world: World) -> None:
    _, truth = demo_world(FRAMES, seed=1)
    assert truth.counts != world[1].counts


def test_a_longer_world_begins_with_the_shorter_one(world: World) -> None:
    for long, short in zip(world, demo_world(23), strict=True):
        assert_equal(long.between(slice(0, 23)), short)


def test_every_machine_makes_the_same_world() -> None:
    predictions, truth = demo_world(20, seed=3)
    millimetres = [np.rint(1000 * side.polylines.coords).astype(np.int64).sum(axis=0) for side in (predictions, truth)]
    assert truth.counts == {"ped_crossing": 84, "divider": 92, "boundary": 70}
    assert [total.tolist() for total in millimetres] == [[-194415310, 36538115], [-6766521, 3276401]]
    assert predictions.confidence is not None
    assert predictions.confidence.sum() == pytest.approx(178.12237, abs=1e-4)


def test_both_detectors_see_the_same_truth(world: World) -> None:
    predictions, truth = demo_world(FRAMES, quality="poor")
    assert_equal(truth, world[1])
    assert not np.array_equal(predictions.polylines.coords, world[0].polylines.coords)


def test_the_number_of_predictions_does_not_change_the_truth(world: World) -> None:
    assert_equal(demo_world(FRAMES, predictions=5)[1], world[1])


def test_every_scene_has_a_road_of_its_own(world: World) -> None:
    poses = world[1].poses
    assert poses is not None
    assert len(np.unique(poses[::SCENE], axis=0)) == FRAMES / SCENE


def test_the_good_detector_is_better(world: World) -> None:
    keys = ("pld", "ap_chamfer", "ap_frechet")
    good, poor = means(world, *keys), means(demo_world(FRAMES, quality="poor"), *keys)
    assert good[0] < poor[0]
    assert good[1] > poor[1]
    assert good[2] > poor[2]


@pytest.mark.parametrize("count", [0, 8, 75, 130])
def test_every_frame_has_as_many_predictions_as_asked_for(count: int) -> None:
    predictions, _ = demo_world(20, predictions=count)
    assert np.diff(predictions.offsets).tolist() == [count] * 20


def test_the_most_confident_predictions_come_first_and_stay_where_few_are_asked_for() -> None:
    many, few = (demo_world(10, predictions=count)[0].confidence for count in (75, 8))
    assert many is not None
    assert few is not None
    assert (np.diff(many.reshape(10, 75), axis=1) <= 0).all()
    assert few.min() > np.median(many)


def test_about_twelve_true_instances_are_in_a_frame(world: World) -> None:
    counts = np.diff(world[1].offsets)
    assert 10 < counts.mean() < 14
    assert counts.min() > 3


def test_all_points_lie_in_the_region(world: World) -> None:
    for side in world:
        assert (np.abs(side.polylines.coords) <= HALF).all()


def test_lines_of_the_truth_reach_the_edges_of_the_region(world: World) -> None:
    assert (np.abs(world[1].polylines.coords).max(axis=0) == HALF).all()


def test_predictions_have_twenty_points(world: World) -> None:
    assert (np.diff(world[0].polylines.offsets) == 20).all()


def test_true_crossings_are_polygons_of_usual_size(world: World) -> None:
    truth = world[1]
    untouched = uncut(truth)
    for i in np.flatnonzero(truth.label == CROSSING).tolist():
        points = truth.polylines[i]
        around = np.hypot(*np.diff(points, axis=0).T).sum()
        np.testing.assert_array_equal(points[0], points[-1])
        assert len(np.unique(points, axis=0)) >= 3
        assert around < 40
        if untouched[truth.polylines.offsets[i] : truth.polylines.offsets[i + 1]].all():
            assert around > 18


def test_true_lines_are_open(world: World) -> None:
    truth = world[1]
    assert not truth.polylines.closed("auto")[0][truth.label != CROSSING].any()


def test_predicted_crossings_end_near_their_start_but_seldom_on_it(world: World) -> None:
    predictions, _ = world
    sure = predictions.filter(0.3).select(["ped_crossing"]).polylines
    gaps = np.array([np.hypot(*(points[0] - points[-1])) for points in sure])
    assert np.median(gaps) < 1
    assert 0.2 < (gaps == 0).mean() < 0.6


def test_a_track_seen_from_two_poses_is_in_one_place_in_the_world(world: World) -> None:
    truth = world[1]
    assert truth.poses is not None
    assert truth.track is not None
    points = truth.transform(truth.poses).polylines.coords
    kept = uncut(truth)
    track = np.repeat(truth.track, np.diff(truth.polylines.offsets))[kept]
    seen_again = 0
    for name in np.unique(track).tolist():
        mine = points[kept][track == name]
        apart = np.sqrt(np.square(mine[:, None] - mine).sum(axis=2))
        same = apart < 0.005  # points are whole millimetres in every frame
        assert (apart[~same] > 0.3).all(), name
        seen_again += int(np.count_nonzero(same)) - len(mine)
    assert seen_again > 1000


def test_a_track_has_one_class_and_belongs_to_one_scene(world: World) -> None:
    truth = world[1]
    assert truth.track is not None
    assert truth.scenes is not None
    for name, label, frame in zip(truth.track.tolist(), truth.label.tolist(), truth.frame.tolist(), strict=True):
        assert name.startswith(f"{truth.scenes[frame]}/{truth.classes[label]}-")


def test_the_ego_drives_ahead(world: World) -> None:
    poses = world[1].poses
    assert poses is not None
    local = np.linalg.inv(poses[:-1]) @ poses[1:]
    ahead, left = np.delete(local[:, :2, 3], np.s_[SCENE - 1 :: SCENE], axis=0).T
    assert (ahead > 0.3).all()
    assert (ahead < 8).all()
    assert (np.abs(left) < 1).all()


def test_frames_of_a_scene_are_half_a_second_apart(world: World) -> None:
    for side in world:
        assert side.timestamps is not None
        assert side.scenes is not None
        steps = np.diff(side.timestamps)
        within = np.array(side.scenes[1:]) == np.array(side.scenes[:-1])
        assert (steps[within] == 500_000).all()
        assert (steps[~within] > 60_000_000).all()
        assert len(set(side.scenes)) == FRAMES / SCENE


@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("seed", range(3))
def test_checks_find_nothing_wrong(seed: int, quality: str) -> None:
    predictions, truth = demo_world(30, seed=seed, quality=quality)  # type: ignore[arg-type]
    findings = mg.check(predictions, truth, region=REGION, classes=truth.classes)
    assert [finding for finding in findings if finding.level != "note"] == []


def test_confidences_mean_something(world: World, rng: np.random.Generator) -> None:
    predictions, truth = world
    assert predictions.confidence is not None
    shuffled = predictions.with_confidence(rng.permutation(predictions.confidence))
    (told,), (guessed,) = (means((side, truth), "ap_chamfer") for side in (predictions, shuffled))
    assert told > 2 * guessed


def test_predictions_far_from_the_ego_are_worse(world: World) -> None:
    mean = mg.evaluate(*world, metrics=["pld"], ranges=(0, 10, 20, 30)).mean
    near, _, far = (value for key, value in mean.items() if key.startswith("pld:") and value is not None)
    assert near < far


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"frames": 0}, "frames must be a whole number of at least 1, got 0"),
        ({"frames": True}, "frames must be a whole number of at least 1, got True"),
        ({"seed": 1.5}, "seed must be a whole number of at least 0, got 1.5"),
        ({"predictions": -1}, "predictions must be a whole number of at least 0, got -1"),
        ({"quality": "best"}, "quality must be 'good' or 'poor', got 'best'"),
    ],
)
def test_what_cannot_be_made_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        demo_world(**arguments)  # type: ignore[arg-type]
