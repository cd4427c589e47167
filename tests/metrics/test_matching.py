"""Which predictions hit, by hand: lines of two points, and distances that can be read from them."""

from typing import Any

import pytest
from tests.listed import listed

import mapgauge as mg

PLAIN = mg.Protocol(name="plain", classes=("divider",), closed=False)
Line = list[list[float]]


def line(y: float, *, x: float = 0.0, backwards: bool = False) -> Line:
    points = [[x, y], [x + 4, y]]
    return points[::-1] if backwards else points


def bits(metric: str, predictions: list[Line], truth: list[Line], **settings: Any) -> list[int]:
    """Return the hits of the predictions as bits, one for each threshold."""
    confidence = [0.9 - 0.1 * k for k in range(len(predictions))]
    x = mg.MapFrames.of({"a": {"divider": predictions}}, confidence={"a": {"divider": confidence}})
    y = mg.MapFrames.of({"a": {"divider": truth}})
    (row,) = [row for row in listed("metrics") if row["name"] == metric]
    own = {key: settings.pop(key) for key in row["settings"] if key in settings}
    results = mg.evaluate(x, y, PLAIN.replace(settings={metric: own}, **settings), metrics=[metric])
    return [int(found) for found in results.scores.hits[metric]]


@pytest.mark.parametrize("metric", ["chamfer", "frechet"])
def test_a_distance_equal_to_the_threshold_hits_unless_the_protocol_is_strict(metric: str) -> None:
    """The second prediction is 0.25 m away, but the first is more confident. The third is 1 m away from its truth."""
    predictions, truth = [line(0.5), line(-0.25), line(31)], [line(0), line(30)]
    thresholds = {"thresholds": (0.25, 0.5, 1.0)}
    assert bits(f"ap_{metric}", predictions, truth, **thresholds) == [0b110, 0b001, 0b100]
    assert bits(f"ap_{metric}", predictions, truth, **thresholds, strict=True) == [0b100, 0b010, 0b000]


def test_hits_of_sospa_use_the_first_cutoff_and_the_order() -> None:
    """Two points 0.3 m apart: 2 * 0.6 / (3 + 0.6) = 1/3 at order 1; a cutoff of 0.6 m gives 1.2 / (1.2 + 0.6) = 2/3.

    At order 2, SOSPA is the root of 2 * 0.09, at most the root of 4 * 1.5**2 / 2: 2 * 0.424 / (2.121 + 0.424) = 1/3.
    """
    near = {"thresholds": (0.3, 0.35, 0.7), "cutoffs": (1.5, 0.6)}
    assert bits("ap_sospa", [line(0.3)], [line(0)], **near) == [0b110]
    assert bits("ap_sospa", [line(0.3)], [line(0)], **near | {"cutoffs": (0.6, 1.5)}) == [0b100]
    # A point at 0.3 m and one at 0.6 m: 2 * 0.9 / 3.9 = 0.46, and 2 * 0.671 / (2.121 + 0.671) = 0.48 at order 2.
    tilted = [[0, 0.3], [4, 0.6]]
    for order, expected in ((1.0, 0b1), (2.0, 0b0)):
        assert bits("ap_sospa", [tilted], [line(0)], thresholds=(0.47,), cutoffs=(1.5,), order=order) == [expected]


def test_the_direction_matters_if_the_protocol_says_so() -> None:
    back, truth = [line(0, backwards=True)], [line(0)]
    for directed, expected in ((False, 0b1), (True, 0b0)):
        assert bits("ap_frechet", back, truth, thresholds=(1.0,), directed=directed) == [expected]
        assert bits("ap_sospa", back, truth, thresholds=(0.5,), cutoffs=(1.5,), directed=directed) == [expected]
        assert bits("ap_chamfer", back, truth, thresholds=(1.0,), directed=directed) == [0b1]


def test_a_closed_line_can_start_anywhere() -> None:
    ring = [[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 0.0]]
    shifted = [*ring[1:], ring[1]]
    for closed, expected in ((True, 0b1), (False, 0b0)):
        assert bits("ap_frechet", [shifted], [ring], thresholds=(1.0,), closed=closed) == [expected]
        assert bits("ap_sospa", [shifted], [ring], thresholds=(0.1,), cutoffs=(1.5,), closed=closed) == [expected]


@pytest.mark.parametrize(("far", "factor"), [(20.0, 0.9), (99.0, 0.505), (300.0, 0.5)])
@pytest.mark.parametrize("metric", ["chamfer", "frechet"])
def test_distances_to_far_truth_are_reduced(metric: str, far: float, factor: float) -> None:
    """A distance of 1 m. Half a percent less for each metre to the nearest point of the truth, down to half."""
    thresholds = {"thresholds": (factor - 0.002, factor + 0.002, 1.1)}
    predictions, truth = [line(1), line(1, x=far)], [line(0, x=far), line(0)]
    assert bits(f"ap_{metric}", predictions, truth, **thresholds, relaxed=True) == [0b100, 0b110]
    assert bits(f"ap_{metric}", predictions, truth, **thresholds) == [0b100, 0b100]


@pytest.mark.parametrize(("buffers", "expected"), [(0.2, 0b00), (0.3, 0b10), (None, 0b10)])
def test_buffers_that_do_not_meet_are_no_pair(buffers: float | None, expected: int) -> None:
    """Two lines 0.5 m apart, so buffers of 0.25 m touch. A line on its truth meets it in any case."""
    found = bits("ap_chamfer", [line(0.5), line(9)], [line(0), line(9)], thresholds=(0.4, 0.6), buffers=buffers)
    assert found == [expected, 0b11]


def test_buffers_of_pairs_at_the_largest_threshold_are_compared() -> None:
    assert bits("ap_chamfer", [line(0.5)], [line(0)], thresholds=(0.5,), buffers=0.2) == [0b0]
    assert bits("ap_chamfer", [line(0.5)], [line(0)], thresholds=(0.5,), buffers=0.3) == [0b1]


@pytest.mark.parametrize(("prefilter", "expected"), [(None, 0b1), (0.6, 0b1), (0.5, 0b0), (0.4, 0b0)])
def test_pairs_of_a_large_chamfer_distance_are_left_out(prefilter: float | None, expected: int) -> None:
    assert bits("ap_frechet", [line(0.5)], [line(0)], thresholds=(1.0,), prefilter=prefilter) == [expected]


def test_a_farther_pair_hits_if_the_nearest_is_left_out() -> None:
    """The buffers of the nearest truth, at 0.5 m, do not meet the prediction. Those of the crossing truth do."""
    crossing = [[0.0, -1.0], [4.0, 1.0]]
    assert bits("ap_chamfer", [line(0)], [line(0.5), crossing], thresholds=(0.6, 1.2), buffers=0.2) == [0b10]


def test_the_nearest_by_frechet_need_not_be_the_nearest_by_chamfer() -> None:
    truth = [line(0.1, backwards=True), line(0.5)]
    assert bits("ap_frechet", [line(0)], truth, thresholds=(1.0,), directed=True, prefilter=3.0) == [0b1]


def test_without_predictions_there_are_no_hits() -> None:
    assert bits("ap_frechet", [], [line(0)], thresholds=(1.0,), relaxed=True, prefilter=3.0) == []
    assert bits("ap_chamfer", [line(0)], [], thresholds=(1.0,), relaxed=True) == [0]
    assert bits("ap_chamfer", [], [], thresholds=(1.0,), relaxed=True) == []
