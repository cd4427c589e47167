"""The region of a drive, and lines cut by it."""

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

import mapgauge as mg
from mapgauge.features.global_map.region import LARGEST_GAP, cut, distances_along, region_of

BOX = (-30.0, -15.0, 30.0, 15.0)


def poses(*places: tuple[float, float, float]) -> NDArray[np.float64]:
    """Return poses from x, y and degrees."""
    made = np.tile(np.eye(4), (len(places), 1, 1))
    for pose, (x, y, degrees) in zip(made, places, strict=True):
        c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        pose[:2, :2] = [[c, -s], [s, c]]
        pose[:2, 3] = x, y
    return made


def bend() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return poses every 5 m round a bend with a radius of 60 m, and a boundary 20 m beside it."""
    degrees = np.degrees(np.arange(0, np.pi, 5 / 60))
    places = [(60 * np.cos(np.radians(at)), 60 * np.sin(np.radians(at)), at + 90) for at in degrees.tolist()]
    around = np.linspace(0, np.pi, 400)
    return poses(*places), 80 * np.stack([np.cos(around), np.sin(around)], axis=1)


def length(points: NDArray[np.float64]) -> float:
    return float(distances_along(points)[-1])


def test_the_region_of_one_pose_is_its_box() -> None:
    region = region_of(poses((100, 50, 90)), BOX)
    assert region.bounds == pytest.approx((85, 20, 115, 80), abs=1e-9)
    assert region.area == pytest.approx(1800, rel=1e-9)


def test_the_closed_region_contains_the_union() -> None:
    drive, _ = bend()
    assert shapely.difference(region_of(drive, BOX, 0.0), region_of(drive, BOX)).area < 1e-9


def test_a_boundary_along_the_teeth_stays_one_piece() -> None:
    drive, boundary = bend()
    teeth = shapely.intersection(region_of(drive, BOX, 0.0), shapely.linestrings(boundary))
    assert len(shapely.get_parts(teeth)) == 38
    assert len(cut(mg.Polylines.of([boundary]), region_of(drive, BOX)).polylines) == 1


def test_a_short_gap_that_the_region_made_does_not_break_a_line() -> None:
    region = region_of(poses((0, 0, 0)), BOX)
    for width, pieces in ((LARGEST_GAP - 4, 1), (LARGEST_GAP + 4, 2)):
        # The line leaves the box upwards and comes back; half of the gap is on each side of the detour.
        line = np.array([[-20, 0], [0, 0], [0, 15 + width / 2 - 1], [2, 15 + width / 2 - 1], [2, 0], [20, 0]])
        made = cut(mg.Polylines.of([line]), region)
        assert len(made.polylines) == pieces
        assert made.outside == pytest.approx(0 if pieces == 1 else width)


def test_a_ring_is_joined_over_its_first_point() -> None:
    region = region_of(poses((0, 0, 0)), BOX)
    ring = np.array([[0, 0], [10, 0], [10, 40], [-10, 40], [-10, 0], [0, 0]])
    made = cut(mg.Polylines.of([ring]), region)
    (piece,) = made.polylines
    assert sorted(piece[[0, -1]].tolist()) == [[-10, 15], [10, 15]]
    assert length(piece) == pytest.approx(50)
    assert made.outside == pytest.approx(70)


def test_a_ring_inside_stays_a_ring() -> None:
    ring = np.array([[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]])
    (piece,) = cut(mg.Polylines.of([ring]), region_of(poses((0, 0, 0)), BOX)).polylines
    assert piece.tolist() == ring.tolist()


def test_lines_outside_and_lines_that_touch_are_dropped() -> None:
    region = region_of(poses((0, 0, 0)), BOX)
    made = cut(mg.Polylines.of([[[50, 0], [60, 0]], [[30, 0], [40, 0]], [[25, 0], [35, 0]]]), region)
    assert made.lines_outside == 2
    assert [line.tolist() for line in made.polylines] == [[[25, 0], [30, 0]]]
    assert made.outside == pytest.approx(25)


def test_lines_are_cut_as_shapely_cuts_them(rng: np.random.Generator) -> None:
    drive = poses(*((5.0 * k, 10 * np.sin(k / 4), 10 * np.cos(k / 4)) for k in range(20)))
    region = region_of(drive, BOX)
    lines = [rng.normal((50, 0), (40, 25), (rng.integers(2, 8), 2)) for _ in range(60)]
    made = cut(mg.Polylines.of(lines), region)
    for k, line in enumerate(lines):
        whole = shapely.length(shapely.intersection(shapely.linestrings(line), region))
        own = sum(length(piece) for piece in made.polylines.pick(np.flatnonzero(made.source == k)))
        assert own >= whole - 0.06 * (1 + len(shapely.get_parts(region)))
        assert own <= length(line) + 1e-9


def test_no_length_of_lines_inside_lies_outside() -> None:
    places = np.random.default_rng(0).uniform((-29, -14), (29, 14), (50, 7, 2))
    assert cut(mg.Polylines.of(list(places)), region_of(poses((0, 0, 0)), BOX)).outside == 0
