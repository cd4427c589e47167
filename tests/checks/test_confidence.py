from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.arrays import Confidences
from tests.checks.world import codes, none, one

import mapgauge as mg


def valued(frames: mg.MapFrames, confidence: Confidences) -> mg.MapFrames:
    return replace(frames, confidence=confidence)


def test_exchanged_sides_are_an_error(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("sides-exchanged", truth, predictions)
    assert finding.level == "error"
    assert codes(truth, predictions) == {"sides-exchanged"}


def test_predictions_without_confidence_are_an_error(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("confidence-missing", predictions.with_confidence(None), truth)
    assert finding.level == "error"
    assert ".with_confidence(1)" in str(finding)
    assert "FILE,certain" in finding.for_shell()


def test_no_predictions_need_no_confidence(truth: mg.MapFrames) -> None:
    assert none("confidence-missing", truth.keep(np.zeros(len(truth.polylines), bool)), truth)


def test_truth_with_confidences_that_differ_is_a_warning(predictions: mg.MapFrames) -> None:
    assert predictions.confidence is not None
    others = predictions.with_confidence(predictions.confidence * 0.5)
    assert one("truth-confidence", predictions, others).level == "warning"
    assert none("sides-identical", predictions, others)


def test_the_same_predictions_on_both_sides_are_a_warning_of_their_own(predictions: mg.MapFrames) -> None:
    assert one("sides-identical", predictions, predictions).level == "warning"
    assert none("truth-confidence", predictions, predictions)
    assert none("sides-identical", predictions, predictions.rotate(1.0))


def test_truth_with_equal_confidences_is_a_note(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    assert one("truth-confidence", predictions, truth.with_confidence(1)).level == "note"
    assert none("truth-confidence", predictions, truth)


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        (lambda c: np.log(c / (1 - c)), "Apply a sigmoid"),
        (lambda c: 100 * c, "Divide them by 100"),
        (lambda c: 5 * c, "Scale them to [0, 1]"),
        (lambda c: 1e6 * c, "Scale them to [0, 1]"),
    ],
    ids=["logits", "percent", "5 times", "large"],
)
def test_confidences_outside_of_0_to_1_are_an_error(
    predictions: mg.MapFrames, truth: mg.MapFrames, change: Callable[[Confidences], Confidences], hint: str
) -> None:
    assert predictions.confidence is not None
    values = change(predictions.confidence)
    finding = one("confidence-range", valued(predictions, values), truth)
    assert (finding.level, finding.count) == ("error", int(np.count_nonzero((values < 0) | (values > 1))))
    assert f"from {values.min():.4g} to {values.max():.4g}" in finding.message
    assert hint in str(finding)


def test_confidences_that_are_0_or_1_are_sound(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    assert predictions.confidence is not None
    assert codes(valued(predictions, np.round(predictions.confidence)), truth) == set()


def test_equal_confidences_are_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("confidence-equal", predictions.with_confidence(0.5), truth)
    assert finding.level == "warning"
    assert "confidences are 0.5" in finding.message
    assert "order" not in finding.message  # AP does not depend on it, see the next test
    assert codes(predictions.with_confidence(0.5), truth) == {"confidence-equal"}


def test_ap_of_equal_confidences_does_not_depend_on_the_order(
    predictions: mg.MapFrames, truth: mg.MapFrames, rng: np.random.Generator
) -> None:
    equal = predictions.with_confidence(0.5)
    shuffled = equal.at(rng.permutation(len(equal)).tolist())
    assert mg.evaluate(shuffled, truth).mean == mg.evaluate(equal, truth).mean


def test_confidences_of_0_are_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    assert codes(predictions.with_confidence(0), truth) == {"confidence-zero"}


def test_one_prediction_cannot_have_equal_confidences(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    assert none("confidence-equal", predictions.keep(np.array([0])), truth)
