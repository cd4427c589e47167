from typing import Any

import numpy as np
import pytest

import mapgauge as mg

LINES = [[[0.0, 0], [1, 0]], [], [[5.0, 5], [6, 6], [7, 7]]]


def test_polylines_pack_into_two_flat_arrays() -> None:
    lines = mg.Polylines.of(LINES)
    assert lines.offsets.tolist() == [0, 2, 2, 5]
    assert lines.coords.shape == (5, 2)
    assert [len(line) for line in lines] == [2, 0, 3]
    assert lines[-1].tolist() == LINES[2]
    with pytest.raises(IndexError, match="no polyline 3, there are 3"):
        _ = lines[3]


def test_packed_polylines_pass_through_and_may_be_used_as_input() -> None:
    lines = mg.Polylines.of(LINES)
    assert mg.Polylines.of(lines) is lines
    assert mg.sospa_matrix(lines, lines).tolist() == mg.sospa_matrix(LINES, LINES).tolist()
    with pytest.raises(mg.InvalidInput, match="points have 2 coordinates, expected 3"):
        mg.Polylines.of(lines, dimension=3)


def test_arrays_put_together_by_hand_are_checked() -> None:
    coords, offsets = np.zeros((3, 2)), np.array([0, 1, 3])
    assert len(mg.Polylines(coords, offsets)) == 2
    cases: list[tuple[Any, Any, str]] = [
        (coords + np.nan, offsets, "coords: coordinate 0 of point 0 is nan"),
        (coords.astype(np.float32), offsets, "coords must be a C-contiguous float64 array"),
        (coords.T, offsets, "coords must be a C-contiguous float64 array"),
        (coords, offsets + 1, "offsets must be ascending, from 0 to the number of points, 3"),
        (coords, np.array([0, 2, 1, 3]), "offsets must be ascending"),
        (coords, offsets.astype(np.int32), "offsets must be an int64 array"),
    ]
    for bad_coords, bad_offsets, message in cases:
        with pytest.raises(mg.InvalidInput, match=message):
            mg.Polylines(bad_coords, bad_offsets)


def test_a_generator_and_a_three_dimensional_array_are_sets_of_polylines() -> None:
    assert len(mg.Polylines.of(line for line in LINES)) == 3
    assert mg.Polylines.of(np.zeros((4, 3, 2))).offsets.tolist() == [0, 3, 6, 9, 12]
    assert len(mg.Polylines.of([])) == 0
