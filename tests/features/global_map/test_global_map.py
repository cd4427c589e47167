"""Maps of whole scenes against the truth, from MapFrames to values."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.features.global_map.test_rules import drive, poses

import mapgauge as mg
from mapgauge.demo import demo_world

LINE = [[-30.0, 2.0], [100.0, 2.0]]
TO_THE_RIGHT = np.array([[0.0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])  # a quarter turn


def city(lines: dict[str, list[list[list[float]]]] | None = None, token: str = "s") -> mg.MapFrames:
    return mg.MapFrames.of({token: lines or {"divider": [LINE]}})


def certain(lines: dict[str, list[list[list[float]]]]) -> mg.MapFrames:
    frames = city(lines)
    return frames.with_confidence(1)


def path() -> mg.MapFrames:
    frames = mg.MapFrames.of({f"p{k}": {} for k in range(8)})
    return replace(frames, poses=poses(), scenes=("s",) * 8)


def test_a_perfect_map_has_no_error() -> None:
    made = mg.global_map(certain({"divider": [LINE]}), city(), poses=path())
    values = made.results.mean
    assert values["network_pld"] == values["pld"] == values["ghost_length"] == 0
    assert values["network_completeness"] == values["network_correctness"] == 1
    assert made.gap is not None
    assert made.gap.classes["divider"]["GAP"] == 1


def test_a_second_line_on_found_truth_is_a_ghost() -> None:
    second = [[0.0, 2.6], [40.0, 2.6]]
    made = mg.global_map(certain({"divider": [LINE, second]}), city(), poses=path())
    assert made.results.mean["ghost_length"] == pytest.approx(40, abs=0.6)
    assert made.results.mean["network_completeness"] == 1


def test_a_line_far_from_truth_is_no_ghost() -> None:
    made = mg.global_map(certain({"divider": [LINE, [[0.0, 9.0], [40.0, 9.0]]]}), city(), poses=path())
    values = made.results.mean
    assert values["ghost_length"] == 0
    assert values["network_far"] == pytest.approx(40 / 170, abs=0.01)


def test_a_broken_line_costs_breaks_and_is_complete() -> None:
    pieces = [[[start, 2.0], [start + 32.0, 2.0]] for start in (-30.0, 2.5, 35.0, 67.5)]
    made = mg.global_map(certain({"divider": pieces}), city(), poses=path())
    values = {key: value or 0.0 for key, value in made.results.mean.items()}
    assert values["network_completeness"] > 0.98
    assert values["network_pld"] < 0.02
    assert values["pld"] > 0.5
    assert values["fragments_per_km"] == pytest.approx(4 / 0.130, rel=0.02)


def test_offsets_are_across_and_along() -> None:
    made = mg.global_map(certain({"divider": [[[-30.0, 2.4], [100.0, 2.4]]]}), city(), poses=path())
    assert made.results.mean["network_median_across"] == pytest.approx(0.4, abs=0.02)
    assert made.results.mean["network_mean_along"] == pytest.approx(0, abs=1e-9)


def test_lines_beyond_the_region_count_on_neither_side() -> None:
    long = [[-500.0, 2.0], [500.0, 2.0]]
    made = mg.global_map(certain({"divider": [long]}), city({"divider": [[[-300.0, 2.0], [900.0, 2.0]]]}), poses=path())
    assert made.results.mean["network_pld"] == 0
    assert made.results.mean["network_true_length"] == pytest.approx(130)
    assert [finding.code for finding in made.findings] == ["outside-region"]


def test_frames_and_the_map_made_of_them_have_the_same_values() -> None:
    frames = drive(np.linspace(-0.2, 0.2, 8))
    made = mg.global_map(frames, city(), rule="stack")
    world = frames.to_world()
    stacked = mg.MapFrames.of(
        {"s": {"divider": [world[token][0].points for token in world]}}, confidence={"s": {"divider": [0.9] * 8}}
    )
    assert mg.global_map(stacked, city(), poses=frames).results.mean == pytest.approx(made.results.mean)


def test_values_do_not_depend_on_the_place_of_the_world() -> None:
    def at(place: NDArray[np.float64]) -> dict[str, float | None]:
        away = path()
        assert away.poses is not None
        moved = away.poses.copy()
        moved[:, :2, 3] += place
        shift = np.eye(4)
        shift[:2, 3] = place
        x, y = (side.transform(shift) for side in (certain({"divider": [[[-20.0, 2.3], [80.0, 1.8]]]}), city()))
        return mg.global_map(x, y, poses=replace(away, poses=moved)).results.mean

    assert at(np.array([4e5, 5.4e6])) == pytest.approx(at(np.zeros(2)), abs=1e-3)  # the median is one of bins


def test_coordinates_of_float32_are_found() -> None:
    place = np.eye(4)
    place[:2, 3] = 4e5, 5.4e6
    away = path()
    assert away.poses is not None
    moved = replace(away, poses=place @ away.poses)
    line = (np.array(LINE) + place[:2, 3] + 0.123).astype(np.float32).astype(np.float64)
    made = mg.global_map(certain({"divider": [line.tolist()]}), city().transform(place), poses=moved)
    assert "float32-coordinates" in [finding.code for finding in made.findings]


def test_a_jump_of_the_poses_is_found() -> None:
    away = path()
    assert away.poses is not None
    jumped = away.poses.copy()
    jumped[5:, 1, 3] += 200
    made = mg.global_map(certain({"divider": [LINE]}), city(), poses=replace(away, poses=jumped))
    (finding,) = [finding for finding in made.findings if finding.code == "pose-jumps"]
    assert "pose 5: 200 m" in finding.text


def test_a_scene_without_predictions_counts_as_missed() -> None:
    away = path()
    two = replace(
        mg.MapFrames.of({f"p{k}": {} for k in range(2)}), poses=poses()[:2], scenes=("s", "t"), timestamps=None
    )
    truth = mg.MapFrames.of({"s": {"divider": [LINE]}, "t": {"divider": [LINE]}})
    made = mg.global_map(certain({"divider": [LINE]}), truth, poses=two)
    assert made.results.mean["network_completeness"] == pytest.approx(0.5)
    assert "scenes-without-predictions" in [finding.code for finding in made.findings]
    assert len(away) == 8


def test_completeness_grows_over_time() -> None:
    made = mg.global_map(drive(), city(), over_time=True)
    found = [results.mean["network_completeness"] for results in made.shares.values()]
    assert len(found) == 10
    assert found == sorted(found)  # type: ignore[type-var]
    assert found[-1] == made.results.mean["network_completeness"]


def test_errors_of_poses_move_predictions_and_not_the_truth() -> None:
    clean, none, noisy = (
        mg.global_map(drive(), city(), rule="last", pose_noise=noise).results.mean
        for noise in (None, (0, 0, 0), (0.5, 0, 0))
    )
    assert none == clean
    assert clean["network_median_across"] == 0
    assert noisy["network_median_across"] > 0.05  # type: ignore[operator]
    assert noisy["network_true_length"] == clean["network_true_length"]


def test_values_do_not_depend_on_the_axis_that_points_forward() -> None:
    """MapTR's axes, x to the right and y forward: points and poses are turned."""
    x = drive(np.linspace(-0.2, 0.2, 8)).with_forward("x")
    y = drive().with_confidence(None).with_forward("x")
    turned = [
        replace(side.rotate(90), forward="y", poses=poses() @ TO_THE_RIGHT, scenes=side.scenes, track=side.track)
        for side in (x, y)
    ]
    plain = mg.global_map(x, y, pose_noise="rtmap")
    assert plain.noise == (0.75, 1.5, 0.85)
    for pair in ((turned[0], y), (x, turned[1]), (replace(turned[0], poses=None), y)):
        assert mg.global_map(*pair, pose_noise="rtmap").results.mean == pytest.approx(plain.results.mean, abs=1e-6)


def test_the_findings_and_the_growth_are_saved_with_the_results(tmp_path: Path) -> None:
    made = mg.global_map(drive(), city({"divider": [[[-30.0, 9.0], [300.0, 9.0]]]}), rule="last", over_time=True)
    made.results.save(tmp_path / "map.mg")
    read = mg.load_results(tmp_path / "map.mg")
    assert read.kept == made.results.kept
    assert [row["share"] for row in read.kept["growth"]] == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert {finding.code for finding in made.findings} <= {finding.code for finding in read.findings}


def test_a_single_frame_without_poses_is_no_map() -> None:
    one, truth = drive().at([0]), drive().with_confidence(None).at([0])
    made = mg.global_map(replace(one, poses=None), truth)
    assert made.rule == "median"
    assert made.results.mean == mg.global_map(one, truth).results.mean


def test_values_do_not_depend_on_the_order_of_frames_or_the_number_of_threads() -> None:
    predictions, truth = demo_world(20)
    tracked = mg.track(predictions, poses=truth)
    first = mg.global_map(tracked, truth, workers=1, pose_noise=(0.1, 0.1, 0.1))
    order = np.random.default_rng(1).permutation(len(tracked)).tolist()
    second = mg.global_map(tracked.at(order), truth, workers=3, pose_noise=(0.1, 0.1, 0.1))
    assert first.results.mean == second.results.mean


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"rule": "best"}, "rule must be one of stack, last, longest, median, maptracker, globalmapnet"),
        ({"pose_noise": (1, 2)}, "pose_noise must be three numbers"),
        ({"pose_noise": (1, -2, 0)}, "pose_noise must not be negative"),
        ({"cutoff": -1}, "cutoff must be"),
    ],
)
def test_invalid_settings_are_refused(how: dict[str, object], message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        mg.global_map(drive(), city(), **how)  # type: ignore[arg-type]


def test_poses_tracks_and_scenes_are_checked() -> None:
    frames = drive()
    truth = frames.with_confidence(None)
    lost = poses()
    lost[3, 0, 3] = np.nan
    for x, y, message in (
        (replace(frames, poses=lost), truth, "the pose of frame t3 is not a rigid motion"),
        (frames, replace(truth, track=None), "a map of true frames needs tracks"),
        (replace(frames, scenes=None), replace(truth, scenes=None), "no scenes, so it is not known which poses"),
    ):
        with pytest.raises(mg.InvalidInput, match=message):
            mg.global_map(x, y)
    made = mg.global_map(frames, replace(truth, scenes=None))
    assert made.results.mean == mg.global_map(frames, truth).results.mean


def test_maps_without_poses_are_refused() -> None:
    with pytest.raises(mg.InvalidInput, match="no poses"):
        mg.global_map(certain({"divider": [LINE]}), city())


def test_maps_have_no_frames_over_time() -> None:
    with pytest.raises(mg.InvalidInput, match="maps have no frames"):
        mg.global_map(certain({"divider": [LINE]}), city(), poses=path(), over_time=True)


def test_truth_without_the_map_of_a_scene_is_refused() -> None:
    truth = mg.MapFrames.of({"x": {"divider": [LINE]}, "y": {"divider": [LINE]}})
    with pytest.raises(mg.InvalidInput, match="no map of the scene s"):
        mg.global_map(certain({"divider": [LINE]}), truth, poses=path())


def test_true_frames_without_poses_are_not_taken_for_maps() -> None:
    truth = mg.MapFrames.of({f"p{k}": {"divider": [LINE]} for k in range(8)})
    with pytest.raises(mg.InvalidInput, match="truth: 8 frames without poses"):
        mg.global_map(certain({"divider": [LINE]}), truth, poses=path())


def test_the_figure_has_a_panel_for_the_map_and_one_for_time() -> None:
    from mapgauge import plot

    figure = plot.global_map(mg.global_map(drive(), city(), over_time=True), title="a drive")
    assert len([axes for axes in figure.axes if axes.get_xlabel()]) == 2
    with pytest.raises(mg.InvalidInput, match="no scene 'x'"):
        plot.global_map(mg.global_map(drive(), city()), scene="x")


def test_a_large_cutoff_is_refused() -> None:
    with pytest.raises(mg.InvalidInput, match="cutoff must be at most 5 m"):
        mg.global_map(*demo_world(10), cutoff=30)


def test_the_rule_of_globalmapnet_has_gap_where_fused_frames_are() -> None:
    """Eight frames, of which the first and the fifth are fused: the truth of the others counts nowhere in GAP."""
    ahead = {"divider": [LINE, [[85.0, -2.0], [100.0, -2.0]]]}  # the second line is seen from the last frames only
    fused = mg.global_map(drive(), city(ahead), rule="globalmapnet")
    every = mg.global_map(drive(), city(ahead), rule="median")
    assert fused.gap is not None
    assert every.gap is not None
    assert fused.gap.lines["divider"][0] == 1
    assert every.gap.lines["divider"][0] == 2
    assert fused.regions["s"].equals(every.regions["s"])


def test_a_ghost_counts_by_its_confidence() -> None:
    lines = {"s": {"divider": [LINE, [[0.0, 2.6], [40.0, 2.6]]]}}
    given = mg.MapFrames.of(lines, confidence={"s": {"divider": [1.0, 0.5]}})
    made = mg.global_map(given, city(), poses=path())
    assert made.results.mean["ghost_length"] == pytest.approx(20, abs=0.3)


def test_thresholds_of_gap_do_not_depend_on_the_axis_that_points_forward() -> None:
    frames = drive().with_forward("x")
    turned = replace(
        frames.rotate(90), forward="y", poses=poses() @ TO_THE_RIGHT, scenes=frames.scenes, track=frames.track
    )
    for side in (frames, turned):
        made = mg.global_map(side, city(), region=(100.0, 50.0))
        assert made.gap is not None
        assert made.gap.thresholds == (1.0, 1.5, 2.0)
