"""Compares the evaluation with its slow twin, on frames with everything that a file can contain."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.arrays import Points
from tests.evaluation.twin import PARTS, Frames, Line, Row, evaluate_slowly
from tests.evaluation.worlds import CLASSES, packed, worlds
from tests.listed import listed
from tests.strategies import instances

import mapgauge as mg

FEW = settings(max_examples=max(settings().max_examples // 15, 1))  # the twin is slow
SOME = settings(max_examples=max(settings().max_examples // 5, 1))
PAPER = mg.protocol("paper-60x30")
Instances = tuple[list[Points], list[float]]

PROTOCOLS = {
    "paper": PAPER,
    "three cutoffs": PAPER.replace(cutoffs=(1.5, 0.5, 3.0), settings={"ap_chamfer": None, "ap_frechet": None}),
    "spacing 0.3": PAPER.replace(spacing=0.3),
    "even": PAPER.replace(sampling="even"),
    "even, directed": PAPER.replace(sampling="even", directed=True),
    "even, all closed": PAPER.replace(sampling="even", closed=True),
    "even, none closed": PAPER.replace(sampling="even", closed=False),
    "even, cropped": PAPER.replace(sampling="even", region=(8.0, 5.0), crop=True),
    "as given": PAPER.replace(spacing=None),
    "streammapnet": mg.protocol("streammapnet-60x30", count=60, settings={"ap_frechet": {"thresholds": (1.0, 2.0)}}),
    "directed": PAPER.replace(directed=True),
    "all closed": PAPER.replace(closed=True),
    "none closed": PAPER.replace(closed=False),
    "half a metre is closed": PAPER.replace(closed_tolerance=0.6),
    "order 2": PAPER.replace(order=2, cutoffs=(1.0, 2.5)),
    "strict": PAPER.replace(
        settings={
            "ap_chamfer": {"strict": True, "interpolation": "11-point"},
            "ap_frechet": {"strict": True, "interpolation": "11-point"},
        }
    ),
    "sospa": PAPER.replace(
        settings={"ap_sospa": {"thresholds": (0.3, 0.5, 0.9)}, "ap_frechet": None, "ap_chamfer": None}
    ),
    "sospa of order 3": PAPER.replace(
        settings={"ap_sospa": {"thresholds": (0.3, 0.5, 0.9)}, "ap_frechet": None, "ap_chamfer": None},
        order=3,
        closed=True,
    ),
    "maptr": mg.protocol("maptr", count=40),
    "buffers of 0.3 m": mg.protocol("maptr", count=20, settings={"ap_chamfer": {"buffers": 0.3}}),
    "cropped": PAPER.replace(region=(8.0, 5.0), crop=True),
    "two classes": PAPER.replace(classes=("boundary", "ped_crossing")),
    "all classes": PAPER.replace(classes=None),
}
if any(row["name"] == "openlanev2" for row in listed("protocols")):  # its feature may have been deleted
    PROTOCOLS["openlanev2"] = mg.protocol("openlanev2", classes=CLASSES)
    PROTOCOLS["openlanev2, near"] = PROTOCOLS["openlanev2"].replace(
        settings={"ap_frechet": {"prefilter": 1.0}, "ap_chamfer": {"thresholds": (0.5, 1.0)}}, closed="auto"
    )


def present(*names: str) -> list[str]:
    """Return the names whose protocol is there."""
    return [name for name in names if name in PROTOCOLS]


def assert_agrees(predictions: Frames, truth: Frames, protocol: mg.Protocol, unique: Sequence[str] = PARTS) -> None:
    """Compare every value and row to 1e-9. ``unique`` are the parts of PLD that do not depend on ties."""
    sure = all(line.confidence == 1 for groups in truth.values() for group in groups.values() for line in group)
    results = mg.evaluate(packed(predictions, truth=False), packed(truth, truth=sure), protocol)
    expected, rows = evaluate_slowly(predictions, truth, protocol)
    assert set(results.class_names) == set(expected)
    groups = ("localisation", "detection") if "matched_points" in unique else ()
    compared = {"predictions", "truth", "pld", "pld_frame_mean", *groups, *unique, *results.metrics}
    for name, values in expected.items():
        for key, value in values.items():
            if key.split("@")[0] in compared:
                assert results.classes[name][key] == _approximately(value), (name, key)
    for key, value in results.mean.items():
        each = [found for values in expected.values() if (found := values.get(key)) is not None]
        if key.split("@")[0] in compared:
            assert value == _approximately(sum(each) / len(each) if each else None), key
    _assert_rows_agree(results, rows, unique)


def _approximately(value: float | None) -> object:
    return None if value is None else pytest.approx(value, abs=1e-9)


def _assert_rows_agree(results: mg.Results, rows: list[dict[str, Row]], unique: Sequence[str]) -> None:
    scores = results.scores
    for f, groups in enumerate(rows):
        for name, row in groups.items():
            c = results.class_names.index(name)
            assert (scores.predicted[f, c], scores.true[f, c]) == (row.predictions, row.truth)
            for k, (_, terms) in enumerate(row.terms.items()):
                ours = scores.sums["pld"][k, f, c]
                assert math.isclose(sum(ours[:5]), sum(terms[:5]), abs_tol=1e-9), (f, name)
                for part in unique:
                    place = PARTS.index(part)
                    assert math.isclose(ours[place], terms[place], abs_tol=1e-9), (f, name, part)
                assert math.isclose(ours[5], terms[5], abs_tol=1e-9)
            mine = (scores.frame == f) & (scores.label == c)
            for (metric, threshold), records in row.records.items():
                t = results.protocol.settings[metric].thresholds.index(threshold)
                hits = (scores.hits[metric][mine] >> t) & 1
                assert sorted(zip(scores.confidence[mine], hits, strict=True)) == sorted(records), (f, name, metric)


@pytest.mark.parametrize("name", PROTOCOLS)
@FEW
@given(seed=st.integers(0, 2**32 - 1))
def test_every_value_and_row_is_the_twins(name: str, seed: int) -> None:
    predictions, truth = worlds(np.random.default_rng(seed))
    assert_agrees(predictions, truth, PROTOCOLS[name])


@pytest.mark.parametrize("name", present("paper", "order 2", "all closed", "openlanev2", "maptr", "cropped"))
@FEW
@given(seed=st.integers(0, 2**32 - 1))
def test_every_value_and_row_is_the_twins_in_3d(name: str, seed: int) -> None:
    predictions, truth = worlds(np.random.default_rng(seed), dimension=3)
    assert_agrees(predictions, truth, PROTOCOLS[name])


@pytest.mark.parametrize("name", present("paper", "order 2", "sospa", "openlanev2"))
@FEW
@given(seed=st.integers(0, 2**32 - 1))
def test_two_estimates_are_compared_like_an_estimate_and_the_truth(name: str, seed: int) -> None:
    """If the truth is less confident than two equal predictions, either prediction can be the match.

    The unmatched prediction is false with all of its confidence, and the matched one has too much confidence. For equal
    lines with different confidences, the parts missed, false and confidence are therefore not unique. The parts of
    points and the sum are unique.
    """
    predictions, truth = worlds(np.random.default_rng(seed), sure=False)
    assert_agrees(predictions, truth, PROTOCOLS[name], unique=("matched_points", "unmatched_points"))


@pytest.mark.parametrize("spacing", [None, 0.5])
@pytest.mark.parametrize("closed", ["auto", True])
@SOME
@given(frames=st.lists(st.tuples(instances(), instances()), max_size=3), order=st.sampled_from([1.0, 2.0]))
def test_pld_is_the_twins_where_all_is_tied(
    spacing: float | None, closed: bool | Literal["auto"], frames: list[tuple[Instances, Instances]], order: float
) -> None:
    """On a grid, many matchings and assignments cost the same, and only the sum of the parts is unique."""
    predictions, truth = (
        {
            f"{k}": {"divider": [Line(*pair) for pair in zip(*frame[side], strict=True)]}
            for k, frame in enumerate(frames)
        }
        for side in (0, 1)
    )
    protocol = PAPER.replace(
        spacing=spacing,
        closed=closed,
        order=order,
        settings={"ap_chamfer": None, "ap_frechet": None},
        classes=("divider",),
    )
    if frames:
        assert_agrees(predictions, truth, protocol, unique=())
