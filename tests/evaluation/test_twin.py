"""The evaluation against its slow twin, on frames with everything that a file can hold."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.evaluation.twin import PARTS, Frames, Line, Row, evaluate_slowly
from tests.evaluation.worlds import CLASSES, packed, worlds
from tests.strategies import coordinates

import mapgauge as mg
from mapgauge.protocols import Protocol

FEW = settings(max_examples=max(settings().max_examples // 25, 1))  # the twin is slow
PAPER = mg.protocol("paper-60x30")
OPENLANE = mg.protocol("openlanev2", classes=CLASSES)

PROTOCOLS = {
    "paper": PAPER,
    "three cutoffs": PAPER.replace(cutoffs=(1.5, 0.5, 3.0), chamfer=(), frechet=()),
    "spacing 0.3": PAPER.replace(spacing=0.3),
    "as given": PAPER.replace(spacing=None),
    "streammapnet": mg.protocol("streammapnet-60x30", count=60, frechet=(1.0, 2.0)),
    "directed": PAPER.replace(directed=True),
    "all closed": PAPER.replace(closed=True),
    "none closed": PAPER.replace(closed=False),
    "half a metre is closed": PAPER.replace(closed_tolerance=0.6),
    "order 2": PAPER.replace(order=2, cutoffs=(1.0, 2.5)),
    "strict": PAPER.replace(strict=True, interpolation="11-point"),
    "sospa": PAPER.replace(sospa=(0.3, 0.5, 0.9), frechet=(), chamfer=()),
    "sospa of order 3": PAPER.replace(sospa=(0.3, 0.5, 0.9), order=3, closed=True, frechet=(), chamfer=()),
    "maptr": mg.protocol("maptr", count=40),
    "buffers of 0.3 m": mg.protocol("maptr", count=20, buffers=0.3),
    "openlanev2": OPENLANE,
    "openlanev2, near": OPENLANE.replace(prefilter=1.0, chamfer=(0.5, 1.0), closed="auto"),
    "cropped": PAPER.replace(region=(8.0, 5.0), crop=True),
    "two classes": PAPER.replace(classes=("boundary", "ped_crossing")),
    "all classes": PAPER.replace(classes=None),
}


def assert_agrees(predictions: Frames, truth: Frames, protocol: Protocol, unique: Sequence[str] = PARTS) -> None:
    """Every value and row within 1e-9. ``unique`` are the parts of PLD that no tie leaves open."""
    sure = all(line.confidence == 1 for groups in truth.values() for group in groups.values() for line in group)
    results = mg.evaluate(packed(predictions, truth=False), packed(truth, truth=sure), protocol)
    expected, rows = evaluate_slowly(predictions, truth, protocol)
    assert set(results.class_names) == set(expected)
    for name, values in expected.items():
        for key, value in values.items():
            if key.split("@")[0] in {*PARTS, "localisation", "detection"} - {*unique, "localisation", "detection"}:
                continue
            ours = results.classes[name][key]
            assert (ours is None) == (value is None), (name, key)
            assert ours is None or value is None or math.isclose(ours, value, abs_tol=1e-9), (name, key, ours, value)
    for key, value in results.mean.items():
        each = [values[key] for values in expected.values() if values.get(key) is not None]
        if key in next(iter(expected.values()), {}) and key.split("@")[0] in ("pld", *unique, *results.metrics):
            assert value == (pytest.approx(np.mean(each), abs=1e-9) if each else None), key  # type: ignore[arg-type]
    _assert_rows_agree(results, rows, unique)


def _assert_rows_agree(results: mg.Results, rows: list[dict[str, Row]], unique: Sequence[str]) -> None:
    frame, label = results.places_of_records
    scores = results.scores
    for f, groups in enumerate(rows):
        for name, row in groups.items():
            c = results.class_names.index(name)
            assert (scores.predicted[f, c], scores.true[f, c]) == (row.predictions, row.truth)
            for k, (_, terms) in enumerate(row.terms.items()):
                ours = scores.parts[k, f, c]
                assert math.isclose(sum(ours[:5]), sum(terms[:5]), abs_tol=1e-9), (f, name)
                for part in unique:
                    place = PARTS.index(part)
                    assert math.isclose(ours[place], terms[place], abs_tol=1e-9), (f, name, part)
                assert math.isclose(ours[5], terms[5], abs_tol=1e-9)
            mine = (frame == f) & (label == c)
            for (metric, threshold), records in row.records.items():
                t = getattr(results.protocol, metric.removeprefix("ap_")).index(threshold)
                hits = (scores.hits[metric][mine] >> t) & 1
                assert sorted(zip(scores.confidence[mine], hits, strict=True)) == sorted(records), (f, name, metric)


@pytest.mark.parametrize("name", PROTOCOLS)
@FEW
@given(seed=st.integers(0, 2**32 - 1))
def test_every_value_and_row_is_the_twins(name: str, seed: int) -> None:
    predictions, truth = worlds(np.random.default_rng(seed))
    assert_agrees(predictions, truth, PROTOCOLS[name])


@pytest.mark.parametrize("name", ["paper", "order 2", "all closed", "openlanev2", "maptr", "cropped"])
@FEW
@given(seed=st.integers(0, 2**32 - 1))
def test_every_value_and_row_is_the_twins_in_3d(name: str, seed: int) -> None:
    predictions, truth = worlds(np.random.default_rng(seed), dimension=3)
    assert_agrees(predictions, truth, PROTOCOLS[name])
