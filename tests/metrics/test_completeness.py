"""Completeness, correctness and offsets: values by hand, from the assignments of frames, and pooled."""

from typing import Any

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.metrics.completeness import BINS, SURE, _ratio, in_words

CLASSES = ["divider", "boundary"]
METRICS = ["pld", "completeness"]


def one(predicted: list[object], sure: list[float], true: list[object], **settings: object) -> dict[str, Any]:
    """Return the values of dividers in one frame."""
    predictions = mg.MapFrames.of(
        {"a": {"divider": predicted}}, confidence={"a": {"divider": sure}}, classes=["divider"]
    )
    truth = mg.MapFrames.of({"a": {"divider": true}}, classes=["divider"])
    protocol = mg.protocol("paper-60x30", classes=["divider"], **settings)
    return mg.evaluate(predictions, truth, protocol, metrics=METRICS).mean


def test_a_line_that_is_half_found() -> None:
    values = one([[[0, 0.3], [10, 0.3]], [[0, 9], [5, 9]]], [0.8, 0.2], [[[0, 0], [20, 0]]])
    assert values["completeness"] == pytest.approx(10.25 / 20)  # the last matched point stands for 0.5 m of the truth
    assert values["sure_completeness"] == pytest.approx(10.25 / 20)
    assert values["correctness"] == pytest.approx(8 / 9)
    assert values["sure_correctness"] == 1
    assert values["mean_offset"] == pytest.approx(0.3)
    assert values["median_offset"] == pytest.approx(0.3, abs=1.5 / BINS)
    assert values["true_length"] == pytest.approx(20)
    assert values["predicted_length"] == pytest.approx(9)


def test_a_ring_is_found_as_a_whole() -> None:
    ring = [[0, 0], [6, 0], [6, 4], [0, 4], [0, 0]]
    values = one([ring], [1.0], [ring])
    assert (values["completeness"], values["correctness"], values["median_offset"]) == (1, 1, 0)
    assert values["true_length"] == values["found_length"] == pytest.approx(20)


def test_values_that_do_not_exist_are_none() -> None:
    nothing = one([], [], [[[0, 0], [9, 0]]])
    assert nothing["completeness"] == 0
    assert [nothing[key] for key in ("correctness", "sure_correctness", "median_offset", "mean_offset")] == [None] * 4
    weak = one([[[0, 0], [9, 0]]], [SURE / 2], [[[0, 0], [9, 0]]])
    assert (weak["completeness"], weak["sure_completeness"], weak["sure_correctness"]) == (1, 0, None)
    apart = one([[[0, 0], [9, 0]]], [1.0], [[[0, 9], [9, 9]]])
    assert (apart["completeness"], apart["correctness"], apart["p95_offset"]) == (0, 0, None)


def test_an_offset_is_divided_into_across_and_along() -> None:
    values = one([[[0.15, 0.2], [10.15, 0.2]]], [1.0], [[[0, 0], [10, 0]]])
    assert values["mean_offset"] == pytest.approx(0.25)
    assert values["median_across"] == pytest.approx(0.2, abs=1.5 / BINS)
    # The last point lies 0.15 m past the end of the true line, which is its nearest point.
    across, along = (20 * 0.2 + 0.25) / 21, 20 * 0.15 / 21
    assert (values["mean_across"], values["mean_along"]) == pytest.approx((across, along))
    assert values["localisation_across"] + values["localisation_along"] == pytest.approx(values["matched_points"])
    shares = 20 * 0.2**2 / 0.25 + 0.25, 20 * 0.15**2 / 0.25
    assert values["localisation_across"] / values["localisation_along"] == pytest.approx(shares[0] / shares[1])
    assert values["localisation_up"] == 0


def test_heights_are_apart() -> None:
    values = one([[[0, 0.3, 0.4], [10, 0.3, 0.4]]], [1.0], [[[0, 0, 0], [10, 0, 0]]])
    offsets = [values[f"mean_{name}"] for name in ("offset", "across", "along", "up")]
    assert offsets == pytest.approx([0.5, 0.3, 0, 0.4])
    assert values["localisation_up"] / values["localisation_across"] == pytest.approx(0.16 / 0.09)


def test_predicted_length_is_right_or_repeated_or_in_pieces_or_far() -> None:
    true: list[object] = [[[0, 0], [10, 0]]]
    values = one([true[0], [[0, 0.5], [10, 0.5]], [[0, 5], [10, 5]], [[5, -5], [5, 5]]], [1.0, 0.5, 0.25, 1.0], true)
    assert values["correctness"] == pytest.approx(10 / 27.5)
    assert values["repeated"] == pytest.approx((5 + 2.5) / 27.5)  # the crossing line is near within 1.5 m on both sides
    assert values["far"] == pytest.approx((2.5 + 7.5) / 27.5)
    assert (values["pieces"], values["other_class"]) == (0, 0)


def halves_and_another_class() -> tuple[mg.MapFrames, mg.MapFrames]:
    """Two exact halves of a divider, and an exact boundary with the class of dividers. All of it lies on truth."""
    lines = {"divider": [[[0, 0], [9.5, 0]], [[10, 0], [20, 0]], [[0, 5], [20, 5]]]}
    predictions = mg.MapFrames.of({"a": lines}, confidence={"a": {"divider": [1, 1, 1]}})
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [20, 0]]], "boundary": [[[0, 5], [20, 5]]]}})
    return predictions, truth


def test_the_sentence_says_on_what_truth_predicted_length_lies() -> None:
    results = mg.evaluate(*halves_and_another_class(), metrics=METRICS)
    values = results.classes["divider"]
    whole = 9.5 + 10 + 20
    assert values["far"] == values["other_class"] == pytest.approx(20 / whole)
    assert values["repeated"] == 0
    assert values["pieces"] == pytest.approx(9.5 / whole)
    words = in_words(results.scores.sums["completeness"][0].sum(axis=(0, 1)), results.protocol)
    assert words.endswith(
        "51 % of the predicted length has no truth of its class within 1.5 m (51 % has truth of another class "
        "there), 0 % lies on truth that is matched already, 24 % on truth that is not matched"
    )


def test_truth_of_another_frame_is_no_truth_of_another_class() -> None:
    predictions = mg.MapFrames.of(
        {"a": {"divider": [[[0, 5], [20, 5]]]}, "b": {}}, confidence={"a": {"divider": [1]}}, classes=CLASSES
    )
    truth = mg.MapFrames.of({"a": {}, "b": {"boundary": [[[0, 5], [20, 5]]]}}, classes=CLASSES)
    values = mg.evaluate(predictions, truth, metrics=METRICS).classes["divider"]
    assert (values["far"], values["other_class"]) == (1, 0)


def test_a_copy_of_a_ring_repeats_it_all_round() -> None:
    ring = [[0, 0], [6, 0], [6, 4], [0, 4], [0, 0]]
    values = one([ring, [[x + 0.1, y] for x, y in ring]], [1.0, 0.5], [ring])
    assert values["repeated"] == pytest.approx(10 / 30)
    assert (values["pieces"], values["far"]) == (0, 0)


def test_of_two_equal_true_lines_the_matched_one_counts_in_any_order() -> None:
    """One prediction takes one of them. Parts of other predictions then lie on both at the same distance."""
    line, other = [[0, 0], [20, 0]], [[0, 0], [0, 9]]
    orders: list[list[object]] = [[line, other, line], [line, line, other]]
    for true in orders:
        values = one([line, [[8, 0], [12, 0]], [[9, 0], [11, 0]]], [1.0, 0.4, 0.3], true)
        assert values["repeated"] + values["pieces"] == pytest.approx(1 - values["correctness"])
        assert values["pieces"] == 0


def test_values_of_many_frames_are_those_of_all_matched_points() -> None:
    results = mg.evaluate(*mg.demo.demo_world(8), metrics=METRICS)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in results.class_names}
    for token in results.tokens:
        assignment = results.assignment(token)
        for match in assignment.matches:
            x, y = assignment.predictions[match.prediction], assignment.truth[match.truth]
            offsets = np.linalg.norm(x.points[match.pairs[:, 0]] - y.points[match.pairs[:, 1]], axis=1)
            found[match.class_name] += [(offset, float(x.confidence or 0)) for offset in offsets.tolist()]
    for name, pairs in found.items():
        offset, weight = np.array(sorted(pairs)).T
        share = weight.cumsum() / weight.sum()
        values = results.classes[name]
        assert values["mean_offset"] == pytest.approx(np.average(offset, weights=weight), rel=1e-9)
        for key, part in (("median_offset", 0.5), ("p95_offset", 0.95)):
            assert values[key] == pytest.approx(offset[np.searchsorted(share, part)], abs=1.5 / BINS)


def test_compare_has_intervals_and_default_metrics_stay() -> None:
    x, y = mg.demo.demo_world(60)
    found = mg.compare([mg.evaluate(x, y, metrics=METRICS)])
    for key in ("completeness", "correctness", "far", "median_across", "localisation_across"):
        estimate = found.estimates[0]["mean"][key]
        assert estimate.low < estimate.value < estimate.high
    assert "completeness" not in mg.evaluate(*mg.demo.demo_world(1)).metrics


def test_a_share_is_at_most_1_and_has_no_value_without_a_whole() -> None:
    """Lengths are sums of rounded numbers, so that a part can exceed its whole. A whole can be shorter than 1 m."""
    shares = _ratio(np.array([0.2, 1.5, 3.0, 0.0]), np.array([0.4, 1.0, 2.0, 0.0]))
    assert shares[:3].tolist() == [0.5, 1.0, 1.0]
    assert np.isnan(shares[3])
