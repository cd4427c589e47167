"""PLD in rings around the ego vehicle, compared with the twin on the points of each ring."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.arrays import Points
from tests.evaluation.twin import Shape, pld_terms, pld_values, shapes_of
from tests.evaluation.worlds import packed, worlds
from tests.shared_data import DATA, needs_data

import mapgauge as mg
from mapgauge.metrics.completeness import COLUMNS

FEW = settings(max_examples=max(settings().max_examples // 25, 1))  # the twin is slow
PAPER = mg.protocol("paper-60x30", settings={"ap_chamfer": None, "ap_frechet": None})
RINGS = (0.0, 3.0, 5.5, 9.0, math.inf)
PROTOCOLS = {
    "paper": PAPER,
    "as given": PAPER.replace(spacing=None),
    "all closed": PAPER.replace(closed=True),
    "none closed": PAPER.replace(closed=False),
    "order 2": PAPER.replace(order=2, cutoffs=(2.0, 1.0)),
}


def in_ring(shapes: list[Shape], inner: float, outer: float) -> list[Shape]:
    """Return each line with only its points in a ring. Those of a closed line stay a cyclic sequence."""
    left = []
    for shape in shapes:
        there = np.array([inner <= math.hypot(point[0], point[1]) < outer for point in shape.points], np.bool_)
        if there.any():
            points = shape.points[there]
            left.append(Shape(points, points, shape.closed, shape.confidence))
    return left


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("name", PROTOCOLS)
@FEW
@given(seed=st.integers(0, 2**32 - 1))
def test_rings_compare_the_points_in_them(name: str, dimension: int, seed: int) -> None:
    protocol = PROTOCOLS[name]
    predictions, truth = worlds(np.random.default_rng(seed), dimension=dimension)
    results = mg.evaluate(packed(predictions, truth=False), packed(truth, truth=True), protocol, ranges=RINGS)
    for c, class_name in enumerate(results.class_names):
        for k, (inner, outer) in enumerate(pairwise(RINGS)):
            terms = []
            for f, token in enumerate(results.tokens):
                x, y = (
                    in_ring(shapes_of(side.get(token, {}).get(class_name, ()), protocol), inner, outer)
                    for side in (predictions, truth)
                )
                found = pld_terms(x, y, protocol, protocol.cutoffs[0])
                np.testing.assert_allclose(results.scores.rings["pld"][k, f, c], found, rtol=0, atol=1e-9)
                terms.append(found)
            value = results.classes[class_name][f"pld:{inner:g}-{outer:g}m"]
            if sum(row[5] for row in terms):
                expected = pld_values([sum(column) for column in zip(*terms, strict=True)], protocol)["pld"]
                assert value == pytest.approx(expected, abs=1e-9)
            else:
                assert value is None


def test_a_line_that_is_right_near_the_ego_and_wrong_far_from_it() -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [10, 0]]]}})
    predictions = mg.MapFrames.of({"a": {"divider": [[[0, 0], [5, 0], [5, 9], [10, 9]]]}}).with_confidence(1)
    results = mg.evaluate(predictions, truth, ranges=(0, 4.9, 5.6, 50, 60))
    assert results.classes["divider"]["pld:0-4.9m"] == 0
    assert (results.classes["divider"]["pld:5.6-50m"] or 0) > 0.9
    assert results.classes["divider"]["pld:50-60m"] is None
    assert results.mean["pld:50-60m"] is None
    assert "pld:0-4.9m" in results.table()


def test_a_ring_around_everything_gives_pld_itself() -> None:
    predictions, truth = worlds(np.random.default_rng(3), frames=12)
    results = mg.evaluate(packed(predictions, truth=False), packed(truth, truth=True), PAPER, ranges=(0, 1e6))
    lines = [line for groups in (*predictions.values(), *truth.values()) for group in groups.values() for line in group]
    # Lines without points are in no ring. The comparison leaves them out.
    assert any(not len(line.points) for line in lines)
    kept = [
        {t: {n: [x for x in g if len(x.points)] for n, g in groups.items()} for t, groups in side.items()}
        for side in (predictions, truth)
    ]
    whole = mg.evaluate(packed(kept[0], truth=False), packed(kept[1], truth=True), PAPER)
    for name in whole.class_names:
        assert results.classes[name]["pld:0-1e+06m"] == whole.classes[name]["pld"]


def test_an_instance_counts_with_its_whole_confidence_in_every_ring_it_is_in() -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [10, 0]]]}})
    results = mg.evaluate(truth.with_confidence(0.6), truth, ranges=(0, 5, 20))
    divider = results.class_names.index("divider")
    assert results.scores.rings["pld"][:, 0, divider, 5].tolist() == [0.8, 0.8]


RECTANGLE = np.array([(6.0, -3.0), (14.0, -3.0), (14.0, 3.0), (6.0, 3.0)])  # its corners are a multiple of 0.5 m apart
METRICS = ["pld", "completeness"]


def begun(vertices: Points, first: int, step: int, closing: int = 1) -> Points:
    """Return a closed line that begins at another vertex, with some copies of the closing point."""
    turned = np.roll(vertices, -first, axis=0)[::step]
    return np.concatenate([turned, *[turned[:1]] * closing])


def crossings(*lines: Points) -> mg.MapFrames:
    return mg.MapFrames.of({"a": {"ped_crossing": list(lines)}}, classes=["ped_crossing"])


@pytest.mark.parametrize("closing", [1, 2])
@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("first", range(4))
def test_the_start_of_a_closed_line_does_not_matter_in_rings(first: int, step: int, closing: int) -> None:
    """The nearest and the farthest ring have one arc of the line, those between them two."""
    truth = crossings(begun(RECTANGLE, 0, 1))
    prediction = crossings(begun(RECTANGLE, first, step, closing)).with_confidence(1)
    rings = (0, 6.2, 8.3, 10, 13, 20)
    values = mg.evaluate(prediction, truth, PAPER, metrics=METRICS, ranges=rings).classes["ped_crossing"]
    for inner, outer in pairwise(rings):
        assert values[f"pld:{inner:g}-{outer:g}m"] == 0
        assert values[f"completeness:{inner:g}-{outer:g}m"] == 1


def test_a_closed_line_in_rings_is_not_free_of_its_order() -> None:
    """The same points in another order are no cyclic shift."""
    truth = crossings(begun(RECTANGLE, 0, 1))
    prediction = crossings(begun(RECTANGLE[[0, 2, 1, 3]], 0, 1)).with_confidence(1)
    values = mg.evaluate(prediction, truth, PAPER, metrics=["pld"], ranges=(0, 10, 20)).classes["ped_crossing"]
    assert min(values["pld:0-10m"] or 0, values["pld:10-20m"] or 0) > 0.3


@FEW
@given(seed=st.integers(0, 2**32 - 1))
def test_lengths_in_rings_add_up_to_the_lengths_of_lines(seed: int) -> None:
    """Pieces between two rings are divided, and a line that leaves a ring and returns has no length outside of it."""
    predictions, truth = worlds(np.random.default_rng(seed))
    frames = packed(predictions, truth=False), packed(truth, truth=True)
    scores = mg.evaluate(*frames, PAPER, metrics=METRICS, ranges=RINGS).scores
    columns = [COLUMNS.index(name) for name in ("true", "predicted", "sure", "far", "other_class")]
    in_rings = scores.rings["completeness"].sum(axis=0)
    np.testing.assert_allclose(in_rings[..., columns], scores.sums["completeness"][0][..., columns], atol=1e-9)


@needs_data("sample_60x30")
def test_real_crossings_from_other_starts_are_complete_in_rings() -> None:
    truth = mg.read(DATA / "sample_60x30" / "tmp_gts_av2_60x30.pkl").select(["ped_crossing"])
    rng = np.random.default_rng(0)
    lines = []
    for line in truth.polylines:
        is_ring = np.array_equal(line[0], line[-1])
        lines.append(begun(line[:-1], int(rng.integers(len(line) - 1)), 1) if is_ring else line)
    turned = replace(truth, polylines=mg.Polylines.of(lines)).with_confidence(1)
    protocol = mg.protocol("even-60x30", classes=["ped_crossing"])
    values = mg.evaluate(turned, truth, protocol, metrics=METRICS, ranges=(0, 10, 20, 30)).mean
    assert values["pld"] == 0
    for ring in ("0-10m", "10-20m", "20-30m"):
        assert values[f"pld:{ring}"] == 0
        assert values[f"completeness:{ring}"] == 1
