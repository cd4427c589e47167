"""The assignment of a frame reproduces the row of the frame."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluation.worlds import packed, worlds
from tests.kernels import reference

import mapgauge as mg

FEW = settings(max_examples=max(settings().max_examples // 15, 1))
PAPER = mg.protocol("paper-60x30", settings={"ap_chamfer": None, "ap_frechet": None})
PROTOCOLS = {
    "paper": PAPER,
    "as given": PAPER.replace(spacing=None),
    "all closed": PAPER.replace(closed=True, spacing=None),
    "directed": PAPER.replace(directed=True, closed=False),
    "cropped": PAPER.replace(region=(8.0, 5.0), crop=True),
}


def parts_of(found: mg.Assignment, name: str, cutoff: float) -> list[float]:
    """Return the five parts and the mass of one class, from the matches and their points."""
    sides = [[i for i, line in enumerate(side) if line.class_name == name] for side in (found.predictions, found.truth)]
    matches = [match for match in found.matches if match.class_name == name]
    r = {i: found.predictions[i].confidence or 0.0 for i in sides[0]}
    near = apart = confidence = 0.0
    for match in matches:
        weight, (total, matched) = min(r[match.prediction], 1.0), cost_of(found, match, cutoff)
        near += weight * match.distance * (matched / total if total else 0)
        apart += weight * match.distance * ((total - matched) / total if total else 0)
        confidence += (1 - r[match.prediction]) / 2
    missed = len(set(sides[1]) - {match.truth for match in matches}) / 2
    false = sum(r[i] / 2 for i in set(sides[0]) - {match.prediction for match in matches})
    return [near, apart, confidence, missed, false, sum(r.values()) / 2 + len(sides[1]) / 2]


def cost_of(found: mg.Assignment, match: mg.Match, cutoff: float) -> tuple[float, float]:
    """Return SOSPA of a match and its part of distances, from its pairs of points, and check its value."""
    x, y = found.predictions[match.prediction].points, found.truth[match.truth].points
    apart = [math.dist(x[i], y[j]) for i, j in match.pairs]
    assert all(distance < cutoff for distance in apart)
    assert len(set(match.pairs[:, 0])) == len(set(match.pairs[:, 1])) == len(match.pairs)
    total = sum(apart) + cutoff / 2 * (len(x) + len(y) - 2 * len(apart))
    assert match.distance == pytest.approx(reference.normalise(total, len(x), len(y), cutoff, 1.0), abs=1e-9)
    return total, sum(apart)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("name", PROTOCOLS)
@FEW
@given(seed=st.integers(0, 2**32 - 1))
def test_an_assignment_adds_up_to_the_row_of_its_frame(name: str, dimension: int, seed: int) -> None:
    predictions, truth = worlds(np.random.default_rng(seed), frames=3, dimension=dimension)
    results = mg.evaluate(packed(predictions, truth=False), packed(truth, truth=True), PROTOCOLS[name])
    assert_explains(results, PROTOCOLS[name])


def assert_explains(results: mg.Results, protocol: mg.Protocol) -> None:
    for f, token in enumerate(results.tokens):
        found = results.assignment(token)
        assert found.token == token
        assert len(found.predictions) == results.scores.predicted[f].sum()
        assert len(found.truth) == results.scores.true[f].sum()
        for c, name in enumerate(results.class_names):
            parts = parts_of(found, name, protocol.cutoffs[0])
            np.testing.assert_allclose(results.scores.sums["pld"][0, f, c], parts, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_polygon_that_repeats_its_first_point_twice_loses_only_one(name: str) -> None:
    ring = [[0.0, 0.0], [4.0, 0.0], [4.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    other = [[0.2, 0.1], [4.1, 0.0], [4.0, 1.2], [0.3, 0.1]]
    truth = mg.MapFrames.of({"a": {"divider": [ring]}})
    predictions = mg.MapFrames.of({"a": {"divider": [other]}}).with_confidence(0.7)
    assert_explains(mg.evaluate(predictions, truth, PROTOCOLS[name]), PROTOCOLS[name])


def test_another_cutoff_can_be_asked_for() -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    moved = mg.MapFrames.of({"a": {"divider": [[[0, 1], [9, 1]]]}}).with_confidence(1)
    results = mg.evaluate(moved, truth)
    assert len(results.assignment("a").matches) == 1
    assert results.assignment("a", cutoff=0.5).matches == []
