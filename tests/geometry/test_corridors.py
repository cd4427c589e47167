"""Corridors: what lies within some metres of a path."""

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.frames.tracks import paths_ahead
from mapgauge.geometry.corridors import cut_to_corridors

shapely = pytest.importorskip("shapely")


def length(pieces: mg.Polylines, sources: np.ndarray, count: int) -> np.ndarray:
    """The length of the pieces of each polyline."""
    total = np.zeros(count)
    for k, source in enumerate(sources.tolist()):
        points = pieces.coords[pieces.offsets[k] : pieces.offsets[k + 1]]
        total[source] += np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
    return total


@pytest.mark.parametrize("seed", range(20))
def test_pieces_have_the_length_of_the_intersection_with_a_buffer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lines = [rng.uniform(-10, 10, (rng.integers(2, 8), 2)).cumsum(axis=0) / 2 for _ in range(12)]
    frame = np.sort(rng.integers(0, 3, len(lines)))
    paths = [rng.uniform(-4, 4, (n, 2)).cumsum(axis=0) for n in (1, 3, 6)]
    polylines = mg.Polylines(np.concatenate(lines), np.cumsum([0, *map(len, lines)]))
    pieces, sources = cut_to_corridors(polylines, frame, paths, 2.5)
    shapes = [shapely.Point(path[0]) if len(path) == 1 else shapely.LineString(path) for path in paths]
    buffers = [shapely.buffer(shape, 2.5, quad_segs=400) for shape in shapes]
    expected = [
        sum(
            shapely.length(shapely.intersection(shapely.LineString(line[k : k + 2]), buffers[of]))
            for k in range(len(line) - 1)
        )
        for line, of in zip(lines, frame.tolist(), strict=True)
    ]
    assert np.allclose(length(pieces, sources, len(lines)), expected, atol=1e-3)
    for k, source in enumerate(sources.tolist()):
        points = pieces.coords[pieces.offsets[k] : pieces.offsets[k + 1]]
        assert shapely.distance(shapes[frame[source]], shapely.points(points)).max() < 2.5 + 1e-9


def test_lines_inside_stay_as_they_are_and_lines_outside_go() -> None:
    lines = [[[0, 0], [3, 1], [6, 0]], [[0, 20], [9, 20]], [[-10, 1], [20, 1]], [[1, 0], [1, 0]]]
    polylines = mg.Polylines(
        np.array([point for line in lines for point in line], np.float64), np.array([0, 3, 5, 7, 9])
    )
    pieces, sources = cut_to_corridors(polylines, np.zeros(4, np.int64), [np.array([[0.0, 0.0], [10.0, 0.0]])], 5.0)
    assert sources.tolist() == [0, 2]
    assert (pieces.coords[:3] == lines[0]).all()
    assert np.allclose(pieces.coords[3:], [[-np.sqrt(24), 1], [10 + np.sqrt(24), 1]])


def test_the_path_is_that_of_the_next_six_seconds() -> None:
    _, truth = demo_world(20)
    paths, short = paths_ahead(truth)
    assert truth.poses is not None
    assert truth.timestamps is not None
    world = truth.poses[3, :2, :2] @ paths[3].T + truth.poses[3, :2, 3:]
    later = [k for k in range(10) if 0 <= truth.timestamps[k] - truth.timestamps[3] <= 6e6]
    assert np.allclose(world.T, truth.poses[later, :2, 3])
    assert {frame for frame in short if frame < 10} == {
        k for k in range(10) if truth.timestamps[9] - truth.timestamps[k] < 6e6
    }


def test_a_corridor_is_a_window_of_the_protocol() -> None:
    predictions, truth = demo_world(20)
    narrow, wide, whole = (
        mg.evaluate(predictions, truth, mg.protocol("paper-60x30", window=window))
        for window in ("corridor:5", "corridor:1000", None)
    )
    assert narrow.mean["pld"] != whole.mean["pld"]
    assert wide.mean == whole.mean
    assert narrow.totals.true.sum() < whole.totals.true.sum()
    (note,) = [finding for finding in narrow.findings if finding.code == "corridor-short"]
    assert note.level == "note"
    bare = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    with pytest.raises(mg.InvalidInput, match=r"needs poses.*there are no poses"):
        mg.evaluate(bare.with_confidence(1), bare, mg.protocol("paper-60x30", window="corridor:5"))
    for wrong in ("corridor:", "corridor:0", "corridor:x", "corridor:inf"):
        with pytest.raises(mg.InvalidInput, match="window must be"):
            mg.protocol("paper-60x30", window=wrong)
