"""The axis that points forward: kept right by everything that moves, joins or picks frames."""

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.typing import Forward

LINE = mg.MapFrames.of({"a": {"divider": [[[-50, 1], [50, 1]], [[2, -50], [2, 50]]]}})


@pytest.mark.parametrize(
    ("before", "degrees", "after"),
    [
        ("x", 90, "y"),
        ("y", -90, "x"),
        ("x", 360, "x"),
        ("x", -270, "y"),
        ("y", 180, None),
        ("x", -90, None),
        ("x", 45, None),
        (None, 90, None),
    ],
)
def test_a_turn_moves_the_forward_axis(before: Forward | None, degrees: float, after: Forward | None) -> None:
    assert LINE.with_forward(before).rotate(degrees).forward == after


def test_a_sensor_keeps_the_axes_and_the_world_does_not() -> None:
    pose = np.eye(4)
    pose[:2, 3] = 0.9, 0.1
    tilted = mg.MapFrames.rotate(LINE.with_forward("y"), -89).forward  # a mounting is never exact
    assert (LINE.with_forward("x").transform(pose).forward, tilted) == ("x", "x")
    pose[0, 3] = 743.9
    assert LINE.with_forward("x").transform(pose).forward is None


def test_a_region_is_as_long_as_the_axis_points_forward() -> None:
    cropped = LINE.with_forward("y").crop((60, 30))["a"]
    assert [line.points.tolist() for line in cropped] == [[[-15, 1], [15, 1]], [[2, -30], [2, 30]]]
    turned = LINE.with_forward("y").rotate(-90).crop((60, 30)).rotate(90)["a"]
    assert [line.points.tolist() for line in cropped] == [line.points.tolist() for line in turned]
    bounds = LINE.with_forward("y").crop((-5, -4, 5, 4))["a"]
    assert bounds[0].points.tolist() == [[-5, 1], [5, 1]]


def test_other_frames_of_the_same_keep_the_axis() -> None:
    x = LINE.with_forward("x")
    assert x.at([0]).crop((9, 9)).resample(count=5).with_confidence(1).forward == "x"


def test_other_axes_are_refused() -> None:
    with pytest.raises(mg.InvalidInput, match=r"forward must be .*got 'z'"):
        LINE.with_forward("z")  # type: ignore[arg-type]
