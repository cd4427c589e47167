"""Numbers find places beside their lines, inside the panel, and off other things."""

import numpy as np
import pytest
from tests.arrays import Points

from mapgauge.views.figures.panel import Box, place_beside

PANEL = Box(50, 100, 100, 200)
SIZE = (12.0, 5.0)
NOTHING = (np.empty((0, 2)), np.empty(0))


def straight(x: float, low: float = 20, high: float = 180) -> Points:
    return np.stack([np.full(33, x), np.linspace(low, high, 33)], axis=1)


def test_a_number_almost_touches_the_middle_of_its_line() -> None:
    (box,) = place_beside([straight(50)], SIZE, *NOTHING, PANEL, [])
    assert box.y == 100
    assert 6 < abs(box.x - 50) < 8


def test_numbers_of_neighbours_do_not_overlap() -> None:
    boxes = place_beside([straight(50 + k) for k in range(8)], SIZE, *NOTHING, PANEL, [])
    for k, a in enumerate(boxes):
        for b in boxes[:k]:
            assert abs(a.x - b.x) >= SIZE[0] - 1e-9 or abs(a.y - b.y) >= SIZE[1] - 1e-9


def test_a_number_takes_the_side_without_ink() -> None:
    (free,) = place_beside([straight(50)], SIZE, *NOTHING, PANEL, [])
    ink = straight(free.x)
    (box,) = place_beside([straight(50)], SIZE, ink, np.ones(len(ink)), PANEL, [])
    assert (box.x - 50) * (free.x - 50) < 0


def test_a_number_leaves_a_taken_place() -> None:
    taken = Box(50, 100, 60, 40)
    (box,) = place_beside([straight(50, 95, 105)], SIZE, *NOTHING, PANEL, [taken])
    assert abs(box.x - 50) >= (60 + 12) / 2 or abs(box.y - 100) >= (40 + 5) / 2


def test_numbers_stay_inside_the_panel() -> None:
    for line in (straight(0), straight(100), straight(50, 199, 199), straight(300)):
        (box,) = place_beside([line], SIZE, *NOTHING, PANEL, [])
        assert 6 <= box.x <= 94
        assert 2.5 <= box.y <= 197.5


def test_a_line_of_one_point_has_a_number_too() -> None:
    (box,) = place_beside([np.array([[50.0, 50.0]])], SIZE, *NOTHING, PANEL, [])
    assert box.x == 50
    assert abs(box.y - 50) == pytest.approx(3.7)
