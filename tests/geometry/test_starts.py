"""Where the points of a closed line begin with even sampling: its geometry decides, not the file."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.arrays import Points
from tests.kernels import reference

import mapgauge as mg
from mapgauge.geometry.starts import _least_turn, with_fixed_starts

SHAPES = {
    "quadrilateral": [(6.03, -3.21), (13.37, -2.9), (13.1, 2.33), (5.8, 2.05)],
    "rectangle": [(6, -3), (14, -3), (14, 3), (6, 3)],
    "rhombus with a corner on the ray": [(5, 0), (0, 5), (-5, 0), (0, -5)],
    "centroid outside, the ray meets it": [(0, 0), (6, 0), (6, 9), (0, 9), (0, 8), (5, 8), (5, 1), (0, 1)],
    "centroid outside, the ray leaves it": [(0, 0), (6, 0), (6, 1), (1, 1), (1, 8), (6, 8), (6, 9), (0, 9)],
    "edge along the ray": [(0, -2), (3, -2), (3, 0), (9, 0), (9, 0.0), (3, 2), (0, 2)],
    "crosses itself": [(0, 0), (7, 5), (7, 0), (0, 4)],
    "crosses itself without area": [(0, 0), (4, 4), (4, 0), (0, 4)],
    "there and back": [(0, 0), (3.3, 1.2), (7, 1), (3.3, 1.2)],
    "there and back over its first vertex": [(1, 0), (0, 0), (1.2, 1.7), (0, 0)],
    "two points": [(1, 2), (4, 6)],
    "on a line": [(0, 0), (5, 0), (9, 0), (2, 0)],
    "twice around": [(0, 0), (4, 1), (3, 5), (0, 0), (4, 1), (3, 5)],
    "two loops at one vertex": [(0, 0), (4, 1), (3, 3), (0, 0), (2, 5), (0.5, 4)],
    "world coordinates": [(366006.03, 143000.21), (366013.37, 143003.9), (366013.1, 143007.33), (366005.8, 143006.05)],
    "tiny": [(0, 0), (0.1, 0), (0.1, 0.12)],
    "climbing": [(0, 0, 0), (6, 0.3, 1), (6.2, 4, 2), (-0.3, 4.1, 1.5)],
    "upright": [(0, 0, 0), (6, 0, 0), (6, 0, 3), (0, 0, 3)],
    "up and down at one place": [(0, 0, 0), (0, 0, 3), (5, 0, 0), (0, 0, -2)],
}


def begun(vertices: Points, first: int = 0, step: int = 1, closing: int = 1) -> Points:
    """Return a closed line from another vertex on, with some copies of the closing point."""
    turned = np.roll(vertices, -first, axis=0)[::step]
    return np.concatenate([turned, *[turned[:1]] * closing])


def sampled(line: Points) -> Points:
    return mg.resample(line, spacing=0.5, sampling="even")


@pytest.mark.parametrize("name", SHAPES)
def test_a_closed_line_has_the_same_points_from_any_vertex_in_both_directions(name: str) -> None:
    """They are the same to the last bit."""
    vertices = np.array(SHAPES[name], np.float64)
    points = sampled(begun(vertices))
    assert points[0].tolist() == points[-1].tolist()
    for first, closing in itertools.product(range(len(vertices)), (1, 2, 3)):
        for step in (1, -1):
            other = sampled(begun(vertices, first, step, closing)).tolist()
            assert other in (points.tolist(), points[::-1].tolist())


@pytest.mark.parametrize("name", SHAPES)
def test_the_start_is_that_of_the_definition(name: str) -> None:
    line = begun(np.array(SHAPES[name], np.float64))
    assert sampled(line)[0] == pytest.approx(reference.from_its_start(line)[0], abs=1e-9)


@given(seed=st.integers(0, 2**32 - 1))
def test_random_polygons_begin_as_defined_wherever_the_file_begins(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, dimension = int(rng.integers(3, 9)), int(rng.integers(2, 4))
    vertices = rng.normal(0, 4, (size, dimension))
    line = begun(vertices)
    other = begun(vertices, int(rng.integers(size)), int(rng.choice([1, -1])))
    points, again = sampled(line), sampled(other)
    assert points[0] == pytest.approx(reference.from_its_start(line)[0], abs=1e-9)
    assert again.tolist() in (points.tolist(), points[::-1].tolist())


def test_the_direction_of_the_file_stays() -> None:
    ring = begun(np.array(SHAPES["quadrilateral"]))
    for line in (ring, ring[::-1]):
        given_, points = (shoelace(each) for each in (line, sampled(line)))
        assert math.copysign(1, given_) == math.copysign(1, points)


def shoelace(points: Points) -> float:
    x, y = points[:, :2].T
    return float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum())


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "two loops at one vertex"])
def test_more_vertices_on_the_same_edges_change_nothing(name: str) -> None:
    vertices = np.array(SHAPES[name], np.float64)
    after = np.roll(vertices, -1, axis=0)
    more = np.stack([vertices, vertices + (after - vertices) / 3, (vertices + after) / 2], axis=1)
    more = more.reshape(-1, vertices.shape[1])
    points, other = sampled(begun(vertices)), sampled(begun(more, 4))
    near = [np.allclose(other, way, rtol=0, atol=1e-6) for way in (points, points[::-1])]
    assert any(near)


def test_a_small_error_moves_the_start_by_about_this_error() -> None:
    rng = np.random.default_rng(5)
    vertices = np.array(SHAPES["quadrilateral"])
    start = sampled(begun(vertices))[0]
    moves = [np.abs(sampled(begun(vertices + rng.uniform(-0.01, 0.01, (4, 2)), 2))[0] - start).max() for _ in range(50)]
    assert 0 < max(moves) < 0.02


def test_a_gap_within_the_tolerance_is_closed() -> None:
    ring = begun(np.array(SHAPES["quadrilateral"]))
    ring[-1] += (0.05, 0.02)
    points = sampled(ring)
    assert points[0].tolist() == points[-1].tolist()
    pieces = np.hypot(*np.diff(points, axis=0).T)
    length = np.hypot(*np.diff(begun(ring), axis=0).T).sum()
    assert len(points) - 1 == round(length / 0.5)
    assert pieces.max() <= length / (len(points) - 1) + 1e-9
    ring[-1] += (0.08, 0.0)  # now it is open, and begins where the file begins
    assert sampled(ring)[0].tolist() == ring[0].tolist()


def test_only_even_sampling_moves_the_start() -> None:
    ring = begun(np.array(SHAPES["quadrilateral"]), 2)
    assert mg.resample(ring, spacing=0.5)[0].tolist() == ring[0].tolist()
    assert mg.resample(ring, count=30)[0].tolist() == ring[0].tolist()
    assert sampled(ring)[0].tolist() != ring[0].tolist()


def test_lines_beside_closed_ones_stay_in_their_places(rng: np.random.Generator) -> None:
    rings = [begun(np.array(SHAPES[name])) for name in ("quadrilateral", "there and back", "rectangle")]
    lines = [rng.normal(0, 5, (4, 2)), rings[0], np.empty((0, 2)), rings[1], np.ones((3, 2)), rings[2][::-1]]
    fixed = with_fixed_starts(mg.Polylines.of(lines))
    assert len(fixed.polylines) == len(lines)
    for i in (0, 2, 4):
        assert np.array_equal(fixed.polylines[i], lines[i])
    for i in (1, 3, 5):
        alone = with_fixed_starts(mg.Polylines.of([lines[i]]))
        assert np.array_equal(fixed.polylines[i], alone.polylines[0])
        assert fixed.turned[i] == alone.turned[0]
    assert fixed.turned[5] != with_fixed_starts(mg.Polylines.of([rings[2]])).turned[0]


def test_lines_with_one_coordinate_have_no_polygons() -> None:
    assert mg.resample([[0.0], [3.0], [0.0]], spacing=1, sampling="even")[:, 0].tolist() == [0, 1, 2, 3, 2, 1, 0]


@pytest.mark.parametrize("far", [1e8, 1e155, 1e300])
def test_a_polygon_too_large_for_a_map_is_refused(far: float) -> None:
    with pytest.raises(mg.InvalidInput, match="x is .* m long, too long"):
        sampled(begun(np.array([(1.0, 1.0), (far, 1.0), (far, far)])))


@pytest.mark.parametrize("name", SHAPES)
def test_frames_with_y_forward_have_the_same_points(name: str) -> None:
    """The ray goes forward. Frames that are turned by a quarter have points that are turned by a quarter."""
    frames = mg.MapFrames.of({"a": {"ped_crossing": [begun(np.array(SHAPES[name], np.float64))]}}).with_forward("x")
    turned = frames.rotate(90)
    assert turned.forward == "y"
    there = frames.resample(spacing=0.5, sampling="even").rotate(90).polylines.coords
    assert turned.resample(spacing=0.5, sampling="even").polylines.coords == pytest.approx(there, abs=1e-9)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9))
def test_the_least_turn_is_that_of_all_turns(values: list[int]) -> None:
    found = _least_turn(values)
    assert found.ranks == min(values[k:] + values[:k] for k in range(len(values)))
    assert found.ranks == values[found.start :] + values[: found.start]


@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("name", SHAPES)
def test_an_exact_polygon_from_another_vertex_has_pld_0_in_even_protocols(name: str, step: int) -> None:
    vertices = np.array(SHAPES[name], np.float64)
    truth = mg.MapFrames.of({"a": {"ped_crossing": [begun(vertices)]}})
    for first in range(len(vertices)):
        prediction = mg.MapFrames.of({"a": {"ped_crossing": [begun(vertices, first, step)]}}).with_confidence(1)
        values = mg.evaluate(prediction, truth, "even-60x30").classes["ped_crossing"]
        assert values["pld"] == 0
        assert values["ap_frechet"] == 1
