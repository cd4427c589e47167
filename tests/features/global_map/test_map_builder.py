"""The rule ``globalmapnet``, step by step."""

import numpy as np
import pytest

from mapgauge.features.global_map.map_builder import DISTANCES, Element, _replaced, build, update

CLASSES = ("ped_crossing", "divider", "boundary")
BOX = np.array([[-30.0, -15], [30, -15], [30, 15], [-30, 15], [-30, -15]])
RADII = np.array([DISTANCES[name] for name in CLASSES])


def line(start: float, stop: float, y: float, score: float, label: int = 1) -> Element:
    along = np.linspace(start, stop, 20)
    return Element(np.stack([along, np.full(20, y)], axis=1), label, score)


def test_a_prediction_without_a_match_is_added_as_it_is_in_the_box() -> None:
    (made,) = update([], [line(-50, 20, 0, 0.9)], BOX, RADII)
    assert made.points[[0, -1]].tolist() == [[-30, 0], [20, 0]]
    assert made.score == 0.9


def test_a_match_replaces_its_stretch_and_shares_the_score_by_length() -> None:
    (made,) = update([line(-20, 0, 0, 0.5)], [line(-18, 30, 0.2, 0.9)], BOX, RADII)
    assert made.points[[0, -1]] == pytest.approx(np.array([[-20, 0], [30, 0.2]]))
    assert made.score == pytest.approx(0.96 * 0.9 + 0.04 * 0.5, abs=1e-3)


def test_a_prediction_against_the_direction_is_turned() -> None:
    (made,) = update([line(-20, 0, 0, 0.5)], [line(30, -18, 0, 0.9)], BOX, RADII)
    assert made.points[[0, -1], 0] == pytest.approx([-20, 30])


def test_a_vertex_counts_where_its_point_lies_first() -> None:
    """An open line that ends at an earlier vertex of its own loses its end with this vertex."""
    knot = np.array([[0.0, 0], [30, 0], [30, 30], [5, 30], [30, 0]])
    made = _replaced(knot, np.array([[20.0, 3], [33, -3], [33, 20]]))
    assert made.tolist() == [[0, 0], [20, 3], [33, -3], [33, 20], [30, 30], [5, 30]]


def test_the_last_vertex_of_a_ring_counts_at_its_end() -> None:
    ring = np.array([[0.0, 0], [30, 0], [30, 30], [0, 30], [0, 0]])
    made = _replaced(ring, np.array([[-3.0, -3], [33, -3], [33, 20]]))
    assert made.tolist() == [[-3, -3], [33, -3], [33, 20], [30, 30], [0, 30], [0, 0]]


def test_a_line_beyond_the_distance_of_its_class_is_no_match() -> None:
    (boundary,) = update([line(-20, 20, 0, 0.5, 2)], [line(-20, 20, 1.9, 0.9, 2)], BOX, RADII)
    assert boundary.points[:, 1] == pytest.approx(1.9)
    dividers = update([line(-20, 20, 0, 0.5)], [line(-20, 20, 1.9, 0.9)], BOX, RADII)
    assert [each.score for each in dividers] == [0.9, 0.5]


def test_of_overlapping_elements_the_more_confident_one_stays() -> None:
    made = update([], [line(-20, 20, 0, 0.5), line(-18, 18, 0.6, 0.9)], BOX, RADII)
    assert [each.score for each in made] == [0.9]


def test_every_fourth_frame_is_used_and_faint_predictions_are_not() -> None:
    poses = np.tile(np.eye(4), (5, 1, 1))
    frames = [[line(-20, 20, 3.0 * k, 0.9), line(-20, 20, 3.0 * k - 10, 0.4)] for k in range(5)]
    made = build(frames, poses, (-30.0, -15.0, 30.0, 15.0), CLASSES)
    assert sorted(each.points[0, 1] for each in made) == [0, 12]
