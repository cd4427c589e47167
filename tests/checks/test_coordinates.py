from dataclasses import replace

import numpy as np
import pytest
from tests.checks.world import codes, none, one, placed

import mapgauge as mg
from mapgauge.io import FORMATS

REGION = np.array([60.0, 30.0])
LOW, HIGH = -REGION / 2, REGION / 2


def lifted(frames: mg.MapFrames, height: float) -> mg.MapFrames:
    coords = np.column_stack([frames.polylines.coords, np.full(len(frames.polylines.coords), height)])
    return replace(frames, polylines=mg.Polylines(coords, frames.polylines.offsets))


def test_a_sound_pair_gives_notes_only(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    assert codes(predictions, truth) == codes(predictions, truth, region=(60, 30)) == set()


@pytest.mark.parametrize(("turned", "remedy"), [(90, "rotate(-90)"), (-90, "rotate(90)"), (180, "rotate(180)")])
def test_turned_axes_are_an_error_with_the_turn_back(
    predictions: mg.MapFrames, truth: mg.MapFrames, turned: float, remedy: str
) -> None:
    finding = one("axes-turned", predictions.rotate(turned), truth)
    assert finding.level == "error"
    assert f"Use predictions.{remedy}" in str(finding)
    assert finding.for_shell().endswith(f"Use FILE,{remedy.replace('(', '=').rstrip(')')}")
    assert codes(predictions.rotate(turned), truth) == {"axes-turned"}


def test_axes_turned_on_both_sides_are_sound(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    assert codes(predictions.rotate(90), truth.rotate(90)) == set()


@pytest.mark.parametrize(
    ("matrix", "what"),
    [
        ([[1, 0], [0, -1]], "y points to the other side"),
        ([[-1, 0], [0, 1]], "x points the other way"),
        ([[0, 1], [1, 0]], "x and y are swapped"),
        ([[0, -1], [-1, 0]], "x is minus y"),
    ],
)
def test_mirrored_axes_are_an_error(
    predictions: mg.MapFrames, truth: mg.MapFrames, matrix: list[list[float]], what: str
) -> None:
    coords = np.ascontiguousarray(predictions.polylines.coords @ np.array(matrix, float))
    mirrored = replace(predictions, polylines=mg.Polylines(coords, predictions.polylines.offsets))
    assert f"mirrored, {what}" in one("axes-turned", mirrored, truth).message


def test_classes_are_compared_on_the_axes_of_the_truth(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    odd = predictions.rename({"ped_crossing": "divider", "divider": "ped_crossing"}).rotate(90)
    assert codes(odd, truth) == {"axes-turned", "classes-exchanged"}


def test_exchanged_extents_are_a_warning_where_tokens_do_not_meet(
    predictions: mg.MapFrames, truth: mg.MapFrames
) -> None:
    others = replace(predictions, tokens=tuple(f"{i}" for i in range(len(predictions))))
    finding = one("axes-exchanged", others.rotate(90), truth)
    assert finding.level == "warning"
    assert "30 x 60 m and the truth 60 x 30 m" in finding.message
    assert none("axes-exchanged", others, truth)


@pytest.mark.parametrize(
    ("factor", "unit"),
    [(100, "centimetres"), (1000, "millimetres"), (1 / 0.3048, "feet"), (1 / 0.0254, "inches"), (0.001, "kilometres")],
)
def test_another_unit_is_an_error(predictions: mg.MapFrames, truth: mg.MapFrames, factor: float, unit: str) -> None:
    finding = one("coordinates-unit", placed(predictions, factor), truth)
    assert finding.level == "error"
    assert finding.message.startswith("predictions: ")
    assert f"The unit seems to be {unit}" in finding.message
    assert codes(placed(predictions, factor), truth) == {"coordinates-unit"}
    assert one("coordinates-unit", predictions, placed(truth, factor)).message.startswith("truth: ")


def test_a_scale_that_is_no_unit_is_an_error(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    assert "scaled" in one("coordinates-unit", placed(predictions, 12), truth).message


def test_three_times_the_region_is_not_feet(truth: mg.MapFrames) -> None:
    streets = [[[x, -49], [x, 49]] for x in (-98, -50, 0, 50, 98)]  # where the truth has a road along x
    wide = mg.MapFrames.of({token: {"divider": streets} for token in truth.tokens}).with_confidence(0.5)
    assert one("region-differs", wide, truth).level == "warning"
    assert none("coordinates-unit", wide, truth)


@pytest.mark.parametrize(
    ("factor", "shift", "span"), [(1 / REGION, 0.5, "[0, 1]"), (2 / REGION, 0.0, "[-1, 1]")], ids=["0 to 1", "-1 to 1"]
)
def test_normalised_coordinates_are_an_error(
    predictions: mg.MapFrames, truth: mg.MapFrames, factor: float, shift: float, span: str
) -> None:
    finding = one("coordinates-normalised", placed(predictions, factor, shift), truth)
    assert finding.level == "error"
    assert f"within {span}, while the other side measures 60 x 30 m" in finding.message
    assert codes(placed(predictions, factor, shift), truth) == {"coordinates-normalised"}
    both = one("coordinates-normalised", placed(predictions, factor, shift), placed(truth, factor, shift))
    assert both.level == "warning"


def test_world_coordinates_on_one_side_are_an_error(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("coordinates-world", predictions, placed(truth, 1, (743, 2231)))
    assert finding.level == "error"
    assert "truth: the coordinates look like world coordinates. They are centred at (743, 2231)" in finding.message
    assert "Transform them to the frame of the ego" in str(finding)


def test_world_coordinates_of_a_long_drive_are_an_error(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    poses = np.tile(np.eye(4), (len(truth), 1, 1))
    poses[:, 0, 3] = np.linspace(-1500, 1500, len(truth))
    driven = replace(truth, poses=np.tile(np.eye(4), (len(truth), 1, 1))).transform(poses)
    assert "World" not in one("coordinates-world", predictions, driven).message
    assert "Use truth.transform(numpy.linalg.inv(truth.poses))" in str(one("coordinates-world", predictions, driven))


def test_longitude_and_latitude_are_an_error(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("coordinates-world", placed(predictions, 1e-5, (103.78, 1.29)), truth)
    assert finding.level == "error"
    assert "longitude and latitude" in finding.message


def test_world_coordinates_on_both_sides_are_a_note(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    away = (743.0, 2231.0)
    assert one("coordinates-world", placed(predictions, 1, away), placed(truth, 1, away)).level == "note"
    assert codes(placed(predictions, 1, away), placed(truth, 1, away), region=(60, 30)) == set()


def test_maps_far_from_each_other_are_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    x, y = placed(predictions, 1, (743.0, 2231.0)), placed(truth, 1, (9743.0, 2231.0))
    finding = one("sides-apart", x, y)
    assert finding.level == "warning"
    assert "the same projection" in str(finding)
    assert none("coordinates-world", x, y)


@pytest.mark.parametrize(("x", "is_apart"), [(100.0, False), (500_000.0, True)])
def test_two_lines_are_enough_to_be_far_apart(x: float, is_apart: bool) -> None:
    truth = mg.MapFrames.of({"map": {"kerb": [[[x, 0], [x + 80, 0]]]}})
    mine = mg.MapFrames.of({"map": {"kerb": [[[0, 0], [80, 0]]]}}, confidence={"map": {"kerb": [1.0]}})
    found = [finding.message for finding in mg.check(mine, truth) if finding.code == "sides-apart"]
    expected = (
        "predictions and truth are 499,920 m apart, so nothing can be matched. The predictions reach from (0, 0) to "
        "(80, 0), the truth from (500000, 0) to (500080, 0)"
    )
    assert found == [expected] * is_apart


def test_a_map_that_is_cropped_away_is_an_error(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    x, y = (placed(side, 1, (743.0, 2231.0)) for side in (predictions, truth))
    found = mg.evaluate(x, y, mg.protocol("paper-60x30", crop=True), metrics=["pld"]).findings
    (_, finding) = (finding for finding in found if finding.level == "error")
    assert finding.message == "truth: all 88 instances lie outside the region, so nothing is left to compare"
    assert finding.for_shell().endswith("or leave out --set crop=true")


@pytest.mark.parametrize("shift", [(1.0, 0.0), (30.0, 15.0)], ids=["LiDAR", "corner"])
def test_another_origin_is_a_warning(
    predictions: mg.MapFrames, truth: mg.MapFrames, shift: tuple[float, float]
) -> None:
    finding = one("origin-shifted", placed(predictions, 1, shift), truth)
    assert finding.level == "warning"
    assert f"{shift[0]:+.1f} m in x and {shift[1]:+.1f} m in y" in finding.message


def test_a_shift_within_the_noise_is_none(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    assert codes(placed(predictions, 1, (0.3, 0.0)), truth) == set()


def test_another_region_is_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("region-differs", predictions.crop((36, 18)), truth)
    assert finding.level == "warning"
    assert "the predictions measure 36 x 18 m and the truth 60 x 30 m" in finding.message
    assert ".crop((36, 18))" in str(finding)
    assert "sweep --vary region=36x18" in finding.for_shell()
    assert codes(predictions.crop((36, 18)), truth.crop((36, 18))) == set()


def test_another_region_does_not_matter_inside_of_both(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    assert none("region-differs", predictions.crop((36, 18)), truth, region=(36, 18))


def test_a_slightly_smaller_region_is_not_mentioned(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    assert codes(predictions.crop((56, 28)), truth) == set()


def shrunk(frames: mg.MapFrames) -> mg.MapFrames:
    return placed(placed(frames, 1, HIGH), REGION / (REGION + 2), LOW)


def test_vectormapnet_against_other_truth_is_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    small = replace(shrunk(predictions), format="vectormapnet")
    finding = one("region-shrunk", small, truth)
    assert finding.level == "warning"
    assert "unshrink=True" in str(finding)
    assert none("region-shrunk", replace(predictions, format="vectormapnet"), truth)
    assert none("region-shrunk", small, replace(shrunk(truth), format="vectormapnet"))


def test_a_format_says_by_how_much_its_files_are_shrunk(
    predictions: mg.MapFrames, truth: mg.MapFrames, monkeypatch: pytest.MonkeyPatch
) -> None:
    halved = replace(FORMATS["vectormapnet"], name="halved", project="", shrinks=((60.0, 30.0), (30.0, 15.0)))
    monkeypatch.setitem(FORMATS, "halved", halved)
    small = replace(placed(predictions, 0.5), format="halved")
    assert "halved shrinks by 30/60 in x and 15/30 in y" in one("region-shrunk", small, truth).message
    swapped = one("region-shrunk", predictions, replace(placed(truth, 0.5), format="halved"))
    assert swapped.message.startswith("truth: ")
    assert none("region-shrunk", replace(predictions, format="halved"), truth)


def test_frames_that_only_share_a_token_are_a_warning(
    predictions: mg.MapFrames, truth: mg.MapFrames, rng: np.random.Generator
) -> None:
    poses = np.tile(np.eye(4), (len(truth), 1, 1))
    angles = rng.uniform(0, 2 * np.pi, len(truth))
    poses[:, 0, 0] = poses[:, 1, 1] = np.cos(angles)
    poses[:, 1, 0], poses[:, 0, 1] = np.sin(angles), -np.sin(angles)
    predictions, truth = predictions.transform(poses), truth.transform(poses)  # every frame looks different
    assert none("frames-unrelated", predictions, truth)
    moved = replace(predictions, tokens=predictions.tokens[3:] + predictions.tokens[:3])
    finding = one("frames-unrelated", moved, truth)
    assert finding.level == "warning"
    assert "paired by position" in str(finding)


def test_2d_against_3d_is_an_error(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("dimensions-differ", predictions, lifted(truth, 0))
    assert finding.level == "error"
    assert "Use truth.planar()" in str(finding)
    assert "FILE,planar" in finding.for_shell()
    assert "Use predictions.planar()" in str(one("dimensions-differ", lifted(predictions, 0), truth))
    assert codes(predictions, lifted(truth, 0)) == {"dimensions-differ"}
    assert codes(predictions, lifted(truth, 0).planar()) == set()


def test_a_height_offset_is_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("height-offset", lifted(predictions, 1.8), lifted(truth, 0))
    assert finding.level == "warning"
    assert "1.8 m above the truth" in finding.message
    assert "below" in one("height-offset", lifted(predictions, -1.8), lifted(truth, 0)).message
    assert codes(lifted(predictions, 0.2), lifted(truth, 0)) == set()


@pytest.mark.parametrize("utm", [(366_000.0, 143_000.0), (500_000.0, 5_400_000.0), (743.0, 2231.0)])
def test_zero_padding_among_world_coordinates_is_an_error(
    predictions: mg.MapFrames, truth: mg.MapFrames, utm: tuple[float, float]
) -> None:
    coords = truth.polylines.coords + utm
    ends = truth.polylines.offsets[1:3] - 1
    coords[ends] = 0.0
    padded = replace(truth, polylines=mg.Polylines(coords, truth.polylines.offsets))
    finding = one("coordinates-padded", predictions, padded)
    assert (finding.level, finding.count) == ("error", 2)
    assert finding.examples == truth.tokens[:1]
    assert "2 of" in finding.message
    assert codes(predictions, padded) == {"coordinates-padded"}
    assert none("coordinates-padded", predictions, placed(truth, 1, utm))


def test_lines_through_the_origin_are_not_padded(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    coords = truth.polylines.coords.copy()
    coords[truth.polylines.offsets[:-1]] = 0.0
    assert none(
        "coordinates-padded", predictions, replace(truth, polylines=mg.Polylines(coords, truth.polylines.offsets))
    )
