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
    with pytest.raises(IndexError, match="polyline 3 of 3"):
        _ = lines[3]


def test_packed_polylines_pass_through_and_may_be_used_as_input() -> None:
    lines = mg.Polylines.of(LINES)
    assert mg.Polylines.of(lines) is lines
    assert mg.sospa_matrix(lines, lines).tolist() == mg.sospa_matrix(LINES, LINES).tolist()
    with pytest.raises(mg.InvalidInput, match="points have 2 coordinates, expected 3"):
        mg.Polylines.of(lines, dimension=3)


def test_a_generator_and_a_three_dimensional_array_are_sets_of_polylines() -> None:
    assert len(mg.Polylines.of(line for line in LINES)) == 3
    assert mg.Polylines.of(np.zeros((4, 3, 2))).offsets.tolist() == [0, 3, 6, 9, 12]
    assert len(mg.Polylines.of([])) == 0
