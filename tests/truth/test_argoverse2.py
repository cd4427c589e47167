"""Truth of a synthetic town of Argoverse 2 by the rules of mapgauge, checked by hand, and damaged logs."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather
from tests.arrays import Points
from tests.shared_data import DATA, needs_data
from tests.truth.av2_city import LOG, OTHER_LOG, START, At, Line, seen_from, town, write_poses

import mapgauge as mg
from mapgauge.truth import argoverse2

STRAIGHT = At(32, -2)  # sees x from 2 to 62, y from -17 to 13
TILTED = At(32, -2, pitch=-3, roll=4)
JUNCTION = At(110, -2, yaw=90)  # sees x from 95 to 125, y from -32 to 28
CURVE = At(120 + 50 * 0.5**0.5, -50 + 50 * 0.5**0.5, yaw=-45)
DRIVE = (STRAIGHT, TILTED, JUNCTION, CURVE)
TIMES = [START + 100_000_000 * i for i in range(len(DRIVE))]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data set of one log. Tests must not write to it."""
    folder = tmp_path_factory.mktemp("av2")
    town().write(folder / "val", DRIVE)
    return folder


@pytest.fixture(scope="module", params=["mapgauge", "mapgauge-lanes"])
def both(request: pytest.FixtureRequest, root: Path) -> mg.MapFrames:
    return argoverse2(root, rules=request.param)


@pytest.fixture(scope="module")
def marks(root: Path) -> mg.MapFrames:
    return argoverse2(root, rules="mapgauge")


@pytest.fixture(scope="module")
def lanes(root: Path) -> mg.MapFrames:
    return argoverse2(root, rules="mapgauge-lanes")


def of_class(frames: mg.MapFrames, frame: int, name: str) -> list[Points]:
    return [one.points for one in frames[frames.tokens[frame]] if one.class_name == name]


def canonical(line: Points) -> list[tuple[float, float]]:
    """Return the corners, rounded to decimetres because simplification moves points. A polygon starts at its least."""
    rounded = [(round(x, 1) + 0.0, round(y, 1) + 0.0) for x, y in line.tolist()]
    inner = [b for a, b, c in zip(rounded, rounded[1:], rounded[2:], strict=False) if not straight(a, b, c)]
    if rounded[0] != rounded[-1]:
        return [rounded[0], *inner, rounded[-1]]
    corners = [*([] if straight(rounded[-2], rounded[0], rounded[1]) else rounded[:1]), *inner]
    start = corners.index(min(corners))
    return [*corners[start:], *corners[: start + 1]]


def straight(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return abs((b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])) < 1e-6


def assert_lines(found: Sequence[Points], pose: At, expected: Sequence[Line]) -> None:
    """Assert that the lines are equal, in any order. ``expected`` is in the coordinates of the town."""
    wanted = [canonical(seen_from(pose, line)) for line in expected]
    assert sorted(map(canonical, found)) == sorted(wanted)


def test_dividers_with_paint_on_a_straight_road(marks: mg.MapFrames) -> None:
    expected: list[Line] = [[(2, -3.5), (62, -3.5)], [(2, 0), (40, 0)], [(50, 0), (62, 0)]]
    assert_lines(of_class(marks, 0, "divider"), STRAIGHT, expected)


def test_dividers_between_neighbours_on_a_straight_road(lanes: mg.MapFrames) -> None:
    expected: list[Line] = [[(2, -3.5), (62, -3.5)], [(2, 0), (40, 0)], [(50, 0), (62, 0)], [(62, 3.5), (2, 3.5)]]
    assert_lines(of_class(lanes, 0, "divider"), STRAIGHT, expected)


def test_boundaries_have_the_road_on_their_right_and_go_around_the_island(both: mg.MapFrames) -> None:
    island: Line = [(40, -1), (50, -1), (50, 1), (40, 1), (40, -1)]
    expected: list[Line] = [[(2.2, 7), (61.8, 7)], [(61.8, -7), (2.2, -7)], island]
    assert_lines(of_class(both, 0, "boundary"), STRAIGHT, expected)


def test_parallel_crossings_that_meet_are_one_and_closed_at_the_edge(marks: mg.MapFrames) -> None:
    counter_clockwise = [(60, -7), (62, -7), (62, 7), (60, 7), (60, -7)]
    assert_lines(of_class(marks, 0, "ped_crossing"), STRAIGHT, [counter_clockwise])


def test_a_crossing_that_is_cut_stays_open_with_lanes(lanes: mg.MapFrames) -> None:
    expected = [(61.8, 7), (60, 7), (60, -7), (61.8, -7)]
    assert_lines(of_class(lanes, 0, "ped_crossing"), STRAIGHT, [expected])


def test_roll_and_pitch_do_not_move_the_map(both: mg.MapFrames) -> None:
    for name in both.classes:
        level, tilted = of_class(both, 0, name), of_class(both, 1, name)
        assert sorted(map(canonical, level)) == sorted(map(canonical, tilted))
    assert both.poses is not None
    np.testing.assert_allclose(both.poses[0], both.poses[1], atol=1e-9)


def test_boundaries_of_a_junction_are_its_four_corners(both: mg.MapFrames) -> None:
    expected: list[Line] = [
        [(95.2, 7), (103, 7), (103, 27.8)],
        [(103, -31.8), (103, -7), (95.2, -7)],
        [(117, 27.8), (117, 7)],  # and on into the curve
        [(117, -7), (117, -31.8)],  # likewise
    ]
    found = [canonical(line) for line in of_class(both, 2, "boundary")]
    assert len(found) == 4
    for corner in expected:
        assert any(set(canonical(seen_from(JUNCTION, corner))) <= set(line) for line in found), corner


def test_dividers_of_a_junction(marks: mg.MapFrames, lanes: mg.MapFrames) -> None:
    def ends(frames: mg.MapFrames) -> list[tuple[float, ...]]:
        """Return where dividers begin and end along the road: x in the coordinates of the town."""
        found = of_class(frames, 2, "divider")
        return sorted(tuple(np.round(sorted(110 - line[[0, -1], 1]), 3).tolist()) for line in found)

    assert ends(marks) == [(95, 100), (95, 125), (120, 125)]  # the guiding line goes through
    assert ends(lanes) == [(95, 100), (95, 100), (95, 100), (120, 125), (120, 125), (120, 125)]


def test_crossings_that_meet_at_a_right_angle_stay_two(both: mg.MapFrames) -> None:
    assert len(of_class(both, 2, "ped_crossing")) == 2


def test_crossings_apart_from_each_other_stay_two(tmp_path: Path) -> None:
    pose = At(65, 0)
    town().write(tmp_path, [pose])
    frames = argoverse2(tmp_path, rules="mapgauge")
    expected = [[(x, -7), (x + 4, -7), (x + 4, 7), (x, 7), (x, -7)] for x in (60, 70)]
    assert_lines(of_class(frames, 0, "ped_crossing"), pose, expected)


def test_lines_in_a_curve_keep_their_distance_from_its_centre(both: mg.MapFrames) -> None:
    assert both.poses is not None
    centre = np.linalg.inv(both.poses[3]) @ (1120, 1950, 20, 1)
    tolerance = {"divider": 0.2, "boundary": 0.2}
    radii = {"divider": (46.5, 50, 53.5), "boundary": (43, 57)}
    for name, expected in radii.items():
        seen = set()
        for line in mg.Polylines.of(of_class(both, 3, name)):
            dense = mg.resample(line, spacing=0.5)
            radius = np.hypot(*(dense - centre[:2]).T)
            nearest = min(expected, key=lambda value: abs(value - radius[0]))
            assert np.abs(radius - nearest).max() < tolerance[name] + 1e-6
            seen.add(nearest)
        painted = {46.5, 50}
        assert seen == (painted if name == "divider" and both.name.endswith("(mapgauge)") else set(expected))


def test_what_is_simplified_is_simplified(marks: mg.MapFrames, lanes: mg.MapFrames) -> None:
    """The curve is drawn with a point every degree, less than a metre apart; 0.2 m needs one every few metres."""

    def most_points(frames: mg.MapFrames, name: str) -> int:
        return max(len(line) for line in of_class(frames, 3, name))

    assert most_points(marks, "divider") < 20
    assert most_points(marks, "boundary") < 20
    assert most_points(lanes, "divider") < 20
    assert most_points(lanes, "boundary") > 40


def test_nothing_lies_outside_the_region(both: mg.MapFrames) -> None:
    x, y = np.abs(both.polylines.coords).T
    assert x.max() <= 30
    assert y.max() <= 15


def in_the_city(frames: mg.MapFrames) -> mg.MapFrames:
    assert frames.poses is not None
    return frames.transform(frames.poses)


def test_a_divider_is_the_same_line_from_every_pose(tmp_path: Path) -> None:
    poses = [At(20 + 0.7 * i, -2 + 0.1 * i, yaw=i) for i in range(12)]
    town().write(tmp_path, poses)
    frames = argoverse2(tmp_path, rules="mapgauge")
    world = in_the_city(frames)
    assert world.track is not None
    seen = world.polylines.pick(np.flatnonzero((world.track == "100-left") & (world.label == 1)))
    assert len(seen) == len(poses)
    for line in seen:
        assert distance_to(seen[0], line[:1]).max() < 1e-9  # where the first sees it begin, others begin later


def test_names_of_instances_come_from_the_map(marks: mg.MapFrames, lanes: mg.MapFrames) -> None:
    names = {one.track for one in lanes[lanes.tokens[0]]}
    assert {"1", "100-left", "200-left", "202-left", "300-right"} <= names
    assert {one.track for one in marks[marks.tokens[0]] if one.class_name == "divider"} == {
        "100-left",
        "200-left",
        "202-left",
    }


def test_tokens_are_as_in_the_repositories(root: Path) -> None:
    assert argoverse2(root, rules="streammapnet").tokens == tuple(f"{time}" for time in TIMES)
    for rules in ("maptrv2", "maptracker"):
        frames = argoverse2(root, rules=rules)
        assert frames.tokens == tuple(f"{LOG}_{time}" for time in TIMES)
        assert frames.scenes == (LOG,) * len(TIMES)
        assert frames.timestamps is not None
        assert frames.timestamps.tolist() == TIMES


def test_every_nth_sweep(root: Path) -> None:
    assert argoverse2(root, every=3).tokens == (f"{TIMES[0]}", f"{TIMES[3]}")


@pytest.mark.parametrize("form", ["{time}", f"{LOG}_{{time}}"])
@pytest.mark.parametrize("rules", ["streammapnet", "maptrv2"])
def test_frames_can_be_asked_for_by_either_form_of_token(root: Path, form: str, rules: str) -> None:
    wanted = [form.format(time=time) for time in TIMES[1:3]]
    assert argoverse2(root, rules=rules, tokens=wanted).tokens == tuple(wanted)


def test_without_sweeps_a_token_may_be_the_time_of_any_pose(tmp_path: Path) -> None:
    town().write(tmp_path, DRIVE, sweeps=False)
    between = f"{TIMES[1] + 50_000_000}"
    assert argoverse2(tmp_path, tokens=[between]).tokens == (between,)


def test_without_sweeps_frames_are_poses_ten_a_second_and_it_is_said(tmp_path: Path) -> None:
    town().write(tmp_path / "val", DRIVE, sweeps=False)
    frames = argoverse2(tmp_path)
    assert frames.tokens == tuple(f"{time}" for time in TIMES)
    (finding,) = [finding for finding in frames.findings if finding.code == "sweeps-missing"]
    assert finding.level == "warning"
    assert finding.count == 1


def test_with_sweeps_nothing_is_found_in_a_sound_log(both: mg.MapFrames) -> None:
    assert both.findings == ()


def test_the_map_may_lie_in_the_folder_of_the_log(root: Path, tmp_path: Path) -> None:
    town().write(tmp_path / "val", DRIVE, map_folder=".")
    assert argoverse2(tmp_path).counts == argoverse2(root).counts


def test_logs_may_lie_in_the_folder_itself(root: Path, tmp_path: Path) -> None:
    assert argoverse2(root / "val").tokens == argoverse2(root).tokens
    town().write(tmp_path, DRIVE)
    frames = argoverse2(tmp_path)
    assert [finding.code for finding in frames.findings] == ["split-not-checked"]


def test_logs_come_in_order_and_can_be_asked_for_by_name(tmp_path: Path) -> None:
    for log in (OTHER_LOG, LOG):
        town().write(tmp_path / "val", [STRAIGHT], log=log)
    assert argoverse2(tmp_path).scenes == (LOG, OTHER_LOG)
    assert argoverse2(tmp_path, scenes=[OTHER_LOG]).scenes == (OTHER_LOG,)


def test_a_new_split_finds_its_logs_in_all_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"argoverse2": {"new-val": (LOG, OTHER_LOG, "54bc6dbc-ebfb-3fba-b5b3-57f88b4b79ca")}}
    monkeypatch.setattr("mapgauge.truth.selection.splits", lambda dataset: few[dataset])
    town().write(tmp_path / "train", [STRAIGHT], log=OTHER_LOG)
    town().write(tmp_path / "test", [STRAIGHT], log=LOG)
    frames = argoverse2(tmp_path, split="new-val")
    assert frames.scenes == (LOG, OTHER_LOG)
    assert [(finding.code, finding.count) for finding in frames.findings] == [("scenes-left-out", 1)]


def test_the_pose_of_a_sweep_is_the_nearest(tmp_path: Path) -> None:
    log = town().write(tmp_path, [STRAIGHT])
    write_poses(log, {START - 40_000_000: At(0, 0), START + 30_000_000: At(5, 0), START + 60_000_000: At(9, 0)})
    frames = argoverse2(tmp_path)
    assert frames.poses is not None
    assert frames.poses[0, 0, 3] == 1005


def test_times_of_sweeps_may_lie_beyond_the_first_and_the_last_pose(tmp_path: Path) -> None:
    log = town().write(tmp_path, [STRAIGHT, STRAIGHT])
    write_poses(log, {START + 10_000_000: At(1, 0), START + 90_000_000: At(2, 0)})
    frames = argoverse2(tmp_path)
    assert frames.poses is not None
    assert frames.poses[:, 0, 3].tolist() == [1001, 1002]


def test_invalid_polygons_are_repaired_and_short_lines_left_out_and_both_counted(tmp_path: Path) -> None:
    made = town()
    made.crossing(6, [(80, -5), (80, 5)], [(84, 5), (84, -5)])  # edges in opposite directions: it crosses itself
    made.lane(500, [(0, 0)], [(0, 1), (0, 1)], ("SOLID_WHITE", "NONE"))
    made.area(17, [(0, 0), (1, 1), (0, 0)])
    made.write(tmp_path, [At(70, 0)])
    found = {finding.code: finding for finding in argoverse2(tmp_path, rules="mapgauge").findings}
    assert found["polygons-repaired"].count == 1
    assert found["polygons-repaired"].examples == ("6",)
    assert found["elements-left-out"].count == 3


def test_a_map_without_anything_gives_empty_frames(tmp_path: Path) -> None:
    made = town()
    for layer in made.map.values():
        layer.clear()
    made.write(tmp_path / "val", DRIVE)
    frames = argoverse2(tmp_path)
    assert len(frames) == len(DRIVE)
    assert frames.counts == {"ped_crossing": 0, "divider": 0, "boundary": 0}
    assert [finding.code for finding in frames.findings] == ["empty-frames"]


def test_truth_that_is_written_and_read_again_scores_perfectly(both: mg.MapFrames, tmp_path: Path) -> None:
    for name in ("streammapnet-truth", "maptr-truth"):
        path = tmp_path / f"truth.{'pkl' if name.startswith('stream') else 'json'}"
        mg.write(both, path, name)
        truth = mg.read(path)
        results = mg.evaluate(both.with_confidence(1.0), truth, "paper-60x30", metrics=["pld", "ap_chamfer"])
        assert results.mean["pld"] == pytest.approx(0, abs=1e-9)
        assert results.mean["ap_chamfer"] == 1


Damage = Callable[[Path], object]


def map_of(log: Path) -> Path:
    (found,) = (log / "map").glob("*.json")
    return found


def without_key(log: Path) -> None:
    content = json.loads(map_of(log).read_text(encoding="utf-8"))
    del content["lane_segments"]["100"]["left_lane_boundary"]
    map_of(log).write_text(json.dumps(content), encoding="utf-8")


def text_for_number(log: Path) -> None:
    content = json.loads(map_of(log).read_text(encoding="utf-8"))
    content["drivable_areas"]["11"]["area_boundary"][2]["x"] = "left"
    map_of(log).write_text(json.dumps(content), encoding="utf-8")


def doubled_key(log: Path) -> None:
    text = map_of(log).read_text(encoding="utf-8")
    map_of(log).write_text(
        text.replace('"left_lane_boundary":', '"left_lane_boundary": [], "left_lane_boundary":', 1), encoding="utf-8"
    )


def segment_twice(log: Path) -> None:
    content = json.loads(map_of(log).read_text(encoding="utf-8"))
    content["lane_segments"]["999"] = content["lane_segments"]["100"]
    map_of(log).write_text(json.dumps(content), encoding="utf-8")


def change_poses(log: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    path = log / "city_SE3_egovehicle.feather"
    feather.write_feather(change(feather.read_table(path)), path)


def set_column(name: str, values: Sequence[object]) -> Damage:
    return lambda log: change_poses(
        log, lambda table: table.set_column(table.column_names.index(name), name, pa.array([*values]))
    )


POSES = 2 * len(DRIVE)

DAMAGED: dict[str, tuple[Damage, str]] = {
    "no map": (lambda log: map_of(log).unlink(), "log_map_archive_.*no such file"),
    "two maps": (
        lambda log: (log / "map" / "log_map_archive_b.json").write_text("{}", encoding="utf-8"),
        "expected one map, found 2",
    ),
    "broken JSON": (lambda log: map_of(log).write_text('{"lane_segments": {', encoding="utf-8"), "not valid JSON"),
    "another JSON": (
        lambda log: map_of(log).write_text('{"node": []}', encoding="utf-8"),
        "not a vector map of Argoverse 2.*lane_segments",
    ),
    "lane without a boundary": (without_key, r"left_lane_boundary.*lane_segments"),
    "text for a number": (text_for_number, r"Expected `float`, got `str`.*drivable_areas"),
    "doubled key": (doubled_key, r'\$\.lane_segments\["\d+"\]: the key "left_lane_boundary" occurs twice'),
    "a lane segment twice": (segment_twice, "lane segment 100 occurs twice, under the keys 100 and 999"),
    "two poses at one time": (
        set_column("timestamp_ns", [5] * POSES),
        "two different poses at the time 5, expected one",
    ),
    "no poses": (lambda log: (log / "city_SE3_egovehicle.feather").unlink(), "egovehicle.feather: no such file"),
    "not a table of poses": (
        lambda log: (log / "city_SE3_egovehicle.feather").write_text("what?", encoding="utf-8"),
        "not a feather file",
    ),
    "wrong columns": (
        lambda log: change_poses(log, lambda table: table.rename_columns(["time", *table.column_names[1:]])),
        "column timestamp_ns not found.*found time, qw",
    ),
    "empty poses": (
        lambda log: change_poses(log, lambda table: table.slice(0, 0)),
        "expected at least one pose, found none",
    ),
    "times as text": (set_column("timestamp_ns", ["a"] * POSES), "whole numbers in column timestamp_ns, found string"),
    "a pose without a value": (set_column("tx_m", [None, *[0.0] * (POSES - 1)]), "column tx_m.*1 missing values"),
    "not a rotation": (set_column("qw", [7.0] * POSES), "pose 0 is not a rotation"),
    "not a position": (set_column("ty_m", [float("nan")] * POSES), "pose 0 is not a rotation and a translation"),
    "poses of another log": (
        set_column("timestamp_ns", range(POSES)),
        "nearest to the sweep .* ms away, expected at most 50 ms .4 of 4 sweeps",
    ),
    "a sweep without a time": (
        lambda log: (log / "sensors" / "lidar" / "x.feather").touch(),
        "x.feather: expected a LiDAR sweep",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_log_is_refused_with_its_path(name: str, tmp_path: Path) -> None:
    damage, message = DAMAGED[name]
    log = town().write(tmp_path / "val", DRIVE)
    damage(log)
    with pytest.raises(mg.UnreadableFile, match=message) as caught:
        argoverse2(tmp_path)
    assert str(caught.value).startswith(str(log))


def test_a_log_in_two_splits_is_refused(tmp_path: Path) -> None:
    for split in ("train", "val"):
        town().write(tmp_path / split, DRIVE)
    with pytest.raises(mg.UnreadableFile, match=f"log {LOG} is in train and in val, expected it once"):
        argoverse2(tmp_path)


def test_without_pyarrow_it_says_what_to_install(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyarrow", "pyarrow.feather"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(mg.MissingDependency, match=r"pip install 'mapgauge\[truth\]'"):
        argoverse2(root)


def test_what_is_not_there_is_refused(root: Path, tmp_path: Path) -> None:
    with pytest.raises(mg.UnreadableFile, match="no such folder"):
        argoverse2(tmp_path / "nothing")
    with pytest.raises(mg.UnreadableFile, match="no logs found"):
        argoverse2(tmp_path)
    with pytest.raises(mg.UnreadableFile, match="found a single log"):
        argoverse2(root / "val" / LOG)
    with pytest.raises(mg.InvalidInput, match="no folder for the split train, found val"):
        argoverse2(root, split="train")
    with pytest.raises(mg.InvalidInput, match="no folder for the split train, found val"):
        argoverse2(root / "val", split="train")
    with pytest.raises(mg.InvalidInput, match=r"unknown split 'new_val' .*split=.new-val"):
        argoverse2(root, split="new_val")
    with pytest.raises(mg.InvalidInput, match=r"149 of 149 scenes .*new-val"):
        argoverse2(root, split="new-val")
    with pytest.raises(mg.InvalidInput, match=r"1 of 2 scenes .*99999999"):
        argoverse2(root, scenes=[LOG, OTHER_LOG])
    with pytest.raises(mg.InvalidInput, match="1 of 1 tokens not found .17."):
        argoverse2(root, tokens=["17"])
    with pytest.raises(mg.InvalidInput, match="unknown rules 'maptr' for argoverse2"):
        argoverse2(root, rules="maptr")


real = needs_data("av2")


@pytest.fixture(scope="module", params=["mapgauge", "mapgauge-lanes"])
def real_frames(request: pytest.FixtureRequest) -> mg.MapFrames:
    return argoverse2(DATA / "av2", rules=request.param, every=4)


@real
def test_real_logs_have_as_many_instances_as_maps_of_towns_have(real_frames: mg.MapFrames) -> None:
    """MapTRv2's truth of the whole validation set has 2.0 crossings, 2.8 dividers and 3.0 boundaries per frame."""
    assert len(real_frames) == 80
    for name, published in (("ped_crossing", 2.0), ("divider", 2.8), ("boundary", 3.0)):
        assert published / 3 < real_frames.counts[name] / len(real_frames) < published * 3, name


@real
def test_a_divider_of_a_real_log_is_the_same_in_all_frames(real_frames: mg.MapFrames) -> None:
    world = in_the_city(real_frames)
    assert world.track is not None
    compared = 0
    for track in np.unique(world.track[world.label == 1]):
        seen = [world.polylines[int(i)] for i in np.flatnonzero((world.track == track) & (world.label == 1))]
        longest = max(seen, key=lambda line: np.hypot(*np.diff(line, axis=0).T).sum())
        for line in seen:
            inner = mg.resample(line, spacing=0.5)
            low, high = longest.min(axis=0), longest.max(axis=0)
            inner = inner[((inner > low) & (inner < high)).all(axis=1)]  # what the longest view shows too
            if len(inner):
                assert distance_to(longest, inner).max() < 0.01
                compared += len(inner)
    assert compared > 1000


def distance_to(line: Points, points: Points) -> Points:
    """Return the distance from each point to a line."""
    start, step = line[:-1], np.diff(line, axis=0)
    along = ((points[:, None] - start) * step).sum(axis=2) / (step**2).sum(axis=1)
    nearest = start + np.clip(along, 0, 1)[..., None] * step
    distance: Points = np.linalg.norm(points[:, None] - nearest, axis=2).min(axis=1)
    return distance


@real
@needs_data("sample_60x30")
def test_truth_cut_from_the_same_logs_by_others_agrees() -> None:
    """Only crossings and boundaries are compared: dividers depend on the rules."""
    theirs = mg.read(DATA / "sample_60x30" / "tmp_gts_av2_60x30.pkl")
    ours = argoverse2(DATA / "av2", rules="mapgauge", tokens=list(theirs.tokens))
    assert ours.tokens == theirs.tokens
    results = mg.evaluate(ours.with_confidence(1.0), theirs, "paper-60x30", metrics=["ap_chamfer", "ap_frechet"])
    for name in ("ped_crossing", "boundary"):
        for key in ("ap_chamfer@0.5", "ap_frechet@1.0"):
            assert (results.classes[name][key] or 0) > 0.98, (name, key)
