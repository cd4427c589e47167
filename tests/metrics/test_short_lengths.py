"""Completeness of lengths below a metre: a share needs no more than some length."""

import pytest

import mapgauge as mg

LINE = [[0.0, 0.0], [0.8, 0.0]]


def values_of(truth: list[list[float]], prediction: list[list[float]], confidence: float = 1.0) -> dict[str, object]:
    """Return the values of dividers in one frame, which all lie within 1.5 m of each other or far apart."""
    predictions = mg.MapFrames.of(
        {"a": {"divider": [prediction]}}, confidence={"a": {"divider": [confidence]}}, classes=["divider"]
    )
    true = mg.MapFrames.of({"a": {"divider": [truth]}}, classes=["divider"])
    protocol = mg.protocol("paper-60x30", classes=["divider"])
    return dict(mg.evaluate(predictions, true, protocol, metrics=["pld", "completeness"]).mean)


def test_a_true_line_shorter_than_a_metre_is_found_as_a_longer_one_is() -> None:
    values = values_of(LINE, LINE)
    assert values["true_length"] == pytest.approx(0.8)
    assert (values["completeness"], values["correctness"]) == (1, 1)


def test_a_short_line_that_is_far_from_the_truth_counts_as_far() -> None:
    values = values_of(LINE, [[0.0, 9.0], [0.8, 9.0]])
    assert (values["completeness"], values["correctness"], values["far"]) == (0, 0, 1)


def test_a_weak_prediction_has_a_share_of_its_weighted_length() -> None:
    values = values_of([[0.0, 0.0], [4.0, 0.0]], [[0.0, 0.0], [4.0, 0.0]], confidence=0.1)
    assert values["predicted_length"] == pytest.approx(0.4)
    assert values["correctness"] == 1


def test_the_directions_of_the_error_of_a_short_line_are_known() -> None:
    values = values_of(LINE, [[0.0, 0.3], [0.8, 0.3]])
    assert values["localisation_across"] == pytest.approx(values["matched_points"])
    assert values["localisation_along"] == pytest.approx(0, abs=1e-12)
