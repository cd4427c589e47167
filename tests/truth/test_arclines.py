"""Arcline paths of nuScenes against circles, straight lines and small steps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapgauge.truth.from_nuscenes.lane_graph import ArclinePath, path_points

Pose = tuple[float, float, float]
NOWHERE: Pose = (0.0, 0.0, 0.0)


def path(start: Pose, shape: str, radius: float, *lengths: float, end: Pose = NOWHERE) -> ArclinePath:
    a, b, c = lengths
    return ArclinePath(start, end, shape, radius, (a, b, c))


def walked(curve: ArclinePath, steps: int = 4000) -> tuple[float, float]:
    """The end of the path, by walking along it in small steps."""
    x, y, heading = curve.start_pose
    for letter, length in zip(curve.shape, curve.segment_length, strict=True):
        turn = {"L": 1, "S": 0, "R": -1}[letter] / curve.radius
        step = length / steps
        headings = heading + turn * step * (np.arange(steps) + 0.5)
        x, y = x + step * np.cos(headings).sum(), y + step * np.sin(headings).sum()
        heading += turn * length
    return x, y


def test_a_straight_path_has_points_at_equal_distances() -> None:
    points = path((1.0, 2.0, math.pi / 2), "SSS", 10.0, 1.0, 0.0, 1.0).points(0.5)
    assert points == pytest.approx(np.array([(1, 2), (1, 2.5), (1, 3), (1, 3.5), (1, 4)]))


@pytest.mark.parametrize(("letter", "side"), [("L", 1), ("R", -1)])
def test_an_arc_lies_on_its_circle(letter: str, side: int) -> None:
    quarter = 10 * math.pi / 2
    points = path((0.0, 0.0, 0.0), f"S{letter}S", 10.0, 4.0, quarter, 3.0).points(0.1)
    arc = points[(points[:, 0] > 4) & (abs(points[:, 1]) < 10)]
    assert np.hypot(arc[:, 0] - 4, arc[:, 1] - 10 * side) == pytest.approx(10)
    assert points[-1] == pytest.approx((14, 13 * side))
    gaps = np.hypot(*np.diff(points, axis=0).T)
    assert gaps.max() <= 0.1
    assert gaps.min() > 0.09


def test_a_path_with_a_large_radius_ends_where_it_says() -> None:
    lengths = (0.25, 28.5, 3.25)
    start = (420.0, 1080.0, 2.75)
    bent = path(start, "LSR", 1000.0, *lengths)
    end = (*bent.points(math.inf)[-1].tolist(), 2.75 + (0.25 - 3.25) / 1000)
    assert path(start, "LSR", 1000.0, *lengths, end=end).gap == 0
    assert path(start, "LSR", 1000.0, *lengths, end=(end[0] + 3, end[1] + 4, 0.0)).gap == pytest.approx(5)
    assert math.dist(end[:2], walked(bent)) < 1e-9


@given(
    start=st.tuples(st.floats(-50, 50), st.floats(-50, 50), st.floats(-4, 4)),
    shape=st.text("LSR", min_size=3, max_size=3),
    radius=st.floats(2, 1000),
    lengths=st.tuples(*[st.floats(0, 30)] * 3),
    resolution=st.sampled_from([0.25, 0.5, 3.0]),
)
def test_any_path_ends_where_small_steps_lead(
    start: Pose, shape: str, radius: float, lengths: Pose, resolution: float
) -> None:
    curve = ArclinePath(start, start, shape, radius, lengths)
    points = curve.points(resolution)
    assert points[0] == pytest.approx(start[:2])
    assert points[-1] == pytest.approx(walked(curve), abs=1e-4)
    assert np.hypot(*np.diff(points, axis=0).T).max() <= resolution + 1e-9


def test_paths_of_a_lane_are_joined() -> None:
    first, second = path((0, 0, 0), "SSS", 1.0, 1, 0, 0), path((1, 0, 0), "SLS", 2.0, 0, math.pi, 0)
    points = path_points([first, second], 0.5)
    assert len(np.unique(points, axis=0)) == len(points) == 3 + 7
    assert points[-1] == pytest.approx((3, 2))
    assert path_points([], 0.5).shape == (0, 2)
    assert path_points([path((0, 0, 0), "SSS", 1.0, 0, 0, 0)], 0.5).shape == (0, 2)


@pytest.mark.parametrize(
    ("curve", "fault"),
    [
        (path((0, 0, math.nan), "SSS", 1.0, 1, 1, 1), "expected finite numbers"),
        (path((0, 0, 0), "SXS", 1.0, 1, 1, 1), "found 'SXS'"),
        (path((0, 0, 0), "SS", 1.0, 1, 1, 1), "expected a shape of three letters"),
        (path((0, 0, 0), "SLS", 0.0, 1, 1, 1), "expected a positive radius"),
        (path((0, 0, 0), "SLS", 1.0, 1, -1, 1), "expected lengths of at least 0"),
        (path((0, 0, 0), "SLS", 1.0, 1, 1, 1), ""),
    ],
)
def test_faults_of_a_path_are_described(curve: ArclinePath, fault: str) -> None:
    assert fault in curve.fault()
    assert bool(fault) == bool(curve.fault())
