"""Unusual cases that are small enough to compute by hand."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import mapgauge as mg

PAPER = mg.protocol("paper-60x30", classes=["divider"])
LINE = [[0.0, 0.0], [9.0, 0.0]]
FAR = [[0.0, 12.0], [9.0, 12.0]]


def offset(y: float) -> list[list[float]]:
    return [[0.0, y], [9.0, y]]


def one_class(
    predictions: Mapping[str, Sequence[tuple[Any, float]]],
    truth: Mapping[str, Sequence[Any]],
    protocol: mg.Protocol = PAPER,
    **options: Any,
) -> mg.Results:
    """Build frames from dividers by token. Each prediction has its confidence."""
    x = mg.MapFrames.of(
        {token: {"divider": [line for line, _ in lines]} for token, lines in predictions.items()},
        confidence={token: {"divider": [value for _, value in lines]} for token, lines in predictions.items()},
        classes=["divider"],
    )
    y = mg.MapFrames.of({token: {"divider": lines} for token, lines in truth.items()}, classes=["divider"])
    return mg.evaluate(x, y, protocol, **options)


def value(results: mg.Results, key: str) -> float:
    found = results.classes["divider"][key]
    assert found is not None
    return found


def test_a_parallel_line_has_the_pld_of_its_distance() -> None:
    results = one_class({"a": [(offset(0.3), 1)]}, {"a": [LINE]})
    distance = 2 * 0.3 / (1.5 + 0.3)  # normalised SOSPA if all points are 0.3 m off
    assert value(results, "pld") == pytest.approx(2 * distance / (1 + distance), abs=1e-12)
    assert value(results, "localisation") == value(results, "pld")
    assert value(results, "detection") == 0


def test_frames_pool_by_sums_and_the_frame_mean_is_a_mean() -> None:
    results = one_class({"a": [(LINE, 1)], "b": [(LINE, 0.5), (FAR, 0.5)]}, {"a": [LINE], "b": [LINE], "c": [FAR]})
    # Errors by frame: 0; half of 0.5 missing confidence and half of 0.5 false; half of 1 missed. Masses: 1, 1, 0.5.
    assert value(results, "pld") == pytest.approx(2 * 1 / (2.5 + 1), abs=1e-12)
    assert value(results, "pld_frame_mean") == pytest.approx((0 + 2 * 0.5 / 1.5 + 1) / 3, abs=1e-12)
    assert value(results, "confidence") + value(results, "false") + value(results, "missed") == value(results, "pld")


def test_without_truth_all_predictions_are_false() -> None:
    results = one_class({"a": [(LINE, 0.7)]}, {"a": []})
    assert (value(results, "pld"), value(results, "false")) == (1, 1)
    assert value(results, "ap_chamfer") == value(results, "ap_frechet") == 0
    assert results.to_dict()["frames"]["without_truth"] == 1


def test_without_predictions_all_truth_is_missed() -> None:
    results = one_class({"a": []}, {"a": [LINE]})
    assert (value(results, "pld"), value(results, "missed")) == (1, 1)
    assert value(results, "ap_chamfer") == 0


def test_a_frame_without_truth_costs_precision() -> None:
    alone = one_class({"a": [(LINE, 0.5)]}, {"a": [LINE]})
    beside = one_class({"a": [(LINE, 0.5)], "b": [(LINE, 0.9)]}, {"a": [LINE], "b": []})
    assert (value(alone, "ap_chamfer"), value(beside, "ap_chamfer")) == (1, 0.5)


def test_a_missing_frame_is_an_empty_frame() -> None:
    truth: dict[str, list[Any]] = {"a": [LINE], "b": [FAR], "c": []}
    missing, empty = one_class({"a": [(LINE, 1)]}, truth), one_class({"a": [(LINE, 1)], "b": [], "c": []}, truth)
    assert missing.classes == empty.classes
    assert missing.to_dict()["frames"] == {"evaluated": 3, "missing": 2, "ignored": 0, "without_truth": 1}
    assert empty.to_dict()["frames"] == {"evaluated": 3, "missing": 0, "ignored": 0, "without_truth": 1}


def test_unknown_frames_are_left_out_and_counted_when_told_so() -> None:
    results = one_class({"a": [(LINE, 1)], "z": [(LINE, 1)], "y": []}, {"a": [LINE]}, unknown="ignore")
    assert results.to_dict()["frames"] == {"evaluated": 1, "missing": 0, "ignored": 2, "without_truth": 0}
    assert value(results, "pld") == 0
    assert value(results, "predictions") == 1


def test_a_class_with_nothing_has_no_value_and_is_left_out_of_the_mean() -> None:
    truth = mg.MapFrames.of({"a": {"divider": [LINE]}})
    predictions = mg.MapFrames.of({"a": {"divider": [offset(0.3)]}}).with_confidence(1)
    results = mg.evaluate(predictions, truth, "paper-60x30")
    assert results.without_value == ("ped_crossing", "boundary")
    assert results.to_dict()["without_value"] == ["ped_crossing", "boundary"]
    assert {v for k, v in results.classes["boundary"].items() if k not in ("predictions", "truth")} == {None}
    assert results.mean["pld"] == results.classes["divider"]["pld"]
    assert results.mean["ap_frechet"] == 1
    row = next(line for line in results.table().splitlines() if line.startswith("boundary"))
    assert row.split()[1:4] == ["0", "0", "-"]


def test_a_class_on_one_side_only_counts_in_the_mean() -> None:
    truth = mg.MapFrames.of({"a": {"divider": [LINE], "boundary": [LINE]}})
    predictions = mg.MapFrames.of({"a": {"divider": [LINE], "ped_crossing": [LINE]}}).with_confidence(1)
    results = mg.evaluate(predictions, truth, "paper-60x30")
    assert [results.classes[name]["pld"] for name in results.class_names] == [1, 0, 1]
    assert results.mean["pld"] == pytest.approx(2 / 3)
    assert results.mean["ap_chamfer"] == pytest.approx(1 / 3)


def test_nothing_at_all_has_no_value() -> None:
    results = one_class({"a": []}, {"a": [], "b": []})
    assert results.mean["pld"] is None
    assert results.mean["ap_chamfer"] is None
    assert "nothing" in repr(results)
    assert "-" in results.table()
    assert results.frames()[0]["pld"] is None


def test_zero_confidence_carries_no_pld_but_a_place_in_the_ranking() -> None:
    results = one_class({"a": [(LINE, 1), (FAR, 0), (LINE, 0)]}, {"a": [LINE]})
    assert value(results, "pld") == 0
    assert value(results, "predictions") == 3
    assert value(results, "ap_chamfer") == 1
    only = one_class({"a": [(LINE, 0)]}, {"a": [LINE]})
    assert (value(only, "pld"), value(only, "missed"), value(only, "ap_chamfer")) == (1, 1, 1)
    nothing = one_class({"a": [(LINE, 0)]}, {"a": []})
    assert value(nothing, "pld") == 0


@pytest.mark.parametrize("backwards", [False, True])
def test_equal_confidences_are_one_step_of_the_curve(backwards: bool) -> None:
    frames = {"a": [(LINE, 0.5)], "b": [(FAR, 0.5)]}
    truth = {"a": [LINE], "b": [LINE]}
    if backwards:
        frames, truth = dict(reversed(frames.items())), dict(reversed(truth.items()))
    # One of two predictions hits one of two truths: precision 1/2 at recall 1/2, whichever comes first.
    assert value(one_class(frames, truth), "ap_chamfer@1.0") == 0.25


def test_of_duplicates_one_hits_and_the_others_are_false() -> None:
    results = one_class({"a": [(LINE, 0.9), (LINE, 0.8), (LINE, 0.8)]}, {"a": [LINE]})
    assert results.frames()[0]["hits:ap_chamfer@0.5"] == 1
    assert value(results, "ap_chamfer") == 1
    assert value(results, "false") / value(results, "confidence") == pytest.approx(0.8 / 0.05)
    doubled_truth = one_class({"a": [(LINE, 1), (LINE, 1)]}, {"a": [LINE, LINE]})
    assert value(doubled_truth, "pld") == 0
    # Each prediction can only match its nearest truth, the first one if several are equally near.
    assert doubled_truth.frames()[0]["hits:ap_chamfer@0.5"] == 1


def test_there_is_no_second_choice() -> None:
    results = one_class({"a": [(offset(0.2), 0.9), (offset(0.3), 0.8)]}, {"a": [LINE, offset(1.3)]})
    assert results.frames()[0]["hits:ap_chamfer@1.5"] == 1


@pytest.mark.parametrize(("strict", "hits"), [(False, 1), (True, 0)])
def test_a_distance_at_the_threshold_hits_unless_it_must_be_below(strict: bool, hits: int) -> None:
    settings = PAPER.replace(
        settings={
            "ap_chamfer": {"strict": strict, "thresholds": (0.5,)},
            "ap_frechet": {"strict": strict, "thresholds": (0.5,)},
        },
        cutoffs=(),
        spacing=0.5,
    )
    row = one_class({"a": [(offset(0.5), 1)]}, {"a": [LINE]}, settings).frames("token")[0]
    assert (row["hits:ap_chamfer@0.5"], row["hits:ap_frechet@0.5"]) == (hits, hits)


def test_a_point_at_the_cutoff_is_not_matched() -> None:
    results = one_class({"a": [(offset(1.5), 1)]}, {"a": [LINE]})
    assert (value(results, "pld"), value(results, "missed"), value(results, "false")) == (1, 0.5, 0.5)


def test_the_direction_of_a_line_matters_only_if_the_protocol_says_so() -> None:
    frames = {"a": [(LINE[::-1], 1)]}
    assert value(one_class(frames, {"a": [LINE]}), "pld") == 0
    directed = one_class(frames, {"a": [LINE]}, PAPER.replace(directed=True))
    assert value(directed, "pld") > 0.8
    assert value(directed, "ap_frechet") == 0
    assert value(directed, "ap_chamfer") == 1


def test_an_open_prediction_of_a_closed_truth_may_begin_anywhere() -> None:
    square = np.array([[0.0, 0], [8, 0], [8, 4], [0, 4]])
    ring = np.concatenate([square, square[:1]])
    dense = mg.resample(ring, spacing=0.5)
    begun_elsewhere = np.roll(dense[:-1], 9, axis=0)  # open: 0.5 m from its end to its start
    results = one_class({"a": [(begun_elsewhere, 1)]}, {"a": [ring]})
    assert value(results, "pld") == pytest.approx(0, abs=1e-12)
    assert value(results, "ap_frechet@1.0") == 1
    never = one_class({"a": [(begun_elsewhere, 1)]}, {"a": [ring]}, PAPER.replace(closed=False))
    assert value(never, "pld") > 0.3


def test_lines_of_one_point_or_no_length_are_compared_like_others() -> None:
    point, still = [[1.0, 1.0]], [[1.0, 1.2]] * 4
    results = one_class({"a": [(still, 1)]}, {"a": [point]})
    assert value(results, "pld") == pytest.approx(2 * (0.4 / 1.7) / (1 + 0.4 / 1.7), abs=1e-12)
    assert value(results, "ap_chamfer") == value(results, "ap_frechet") == 1


def test_lines_without_points_equal_each_other_and_hit_nothing() -> None:
    empty = np.empty((0, 2))
    results = one_class({"a": [(empty, 1), (LINE, 1)]}, {"a": [empty, LINE]})
    assert value(results, "pld") == 0
    row = results.frames()[0]
    assert (row["hits:ap_chamfer@0.5"], row["hits:ap_frechet@1.0"]) == (1, 1)


def test_lines_without_points_have_no_dimension() -> None:
    results = one_class({"a": [(np.empty((0, 3)), 1)]}, {"a": [[[0.0, 0.0, 0.0], [9.0, 0.0, 0.0]]]})
    assert (value(results, "false"), value(results, "missed")) == (0.5, 0.5)


def test_what_touches_the_region_in_one_point_is_not_there_once_cropped() -> None:
    corner = [[29.0, 16.0], [31.0, 14.0]]  # touches the region's corner (30, 15)
    leaves_and_returns = [[25.0, 0.0], [35.0, 5.0], [25.0, 10.0]]
    settings = PAPER.replace(crop=True)
    results = one_class({"a": [(corner, 1), (LINE, 1)]}, {"a": [LINE, corner, leaves_and_returns]}, settings)
    assert (value(results, "predictions"), value(results, "truth")) == (1, 3)
    assert value(results, "false") == 0


def test_buffers_with_flat_caps_leave_out_what_lies_ahead() -> None:
    """Two lines of 2 m, one behind the other. Their Chamfer distance is 1.2 m. MapTR's evaluator ignores the pair."""
    first, second = [[0.0, 0.0], [2.0, 0.0]], [[2.2, 0.0], [4.2, 0.0]]
    with_buffers = mg.protocol("maptr", classes=["divider"])
    hits = "hits:ap_chamfer@1.5"
    assert one_class({"a": [(second, 1)]}, {"a": [first]}, with_buffers).frames("token")[0][hits] == 0
    assert (
        one_class(
            {"a": [(second, 1)]}, {"a": [first]}, with_buffers.replace(settings={"ap_chamfer": {"buffers": None}})
        ).frames("token")[0][hits]
        == 1
    )


@pytest.mark.needs_feature("openlane")
def test_far_truth_is_easier_where_distances_are_relaxed() -> None:
    settings = mg.protocol("openlanev2", classes=["divider"])
    near, far = ([[x, 0.0], [x + 5, 0.0]] for x in (2.0, 60.0))
    found = {}
    for name, (start, end) in {"near": near, "far": far}.items():
        moved = [[start[0], 1.3], [end[0], 1.3]]
        found[name] = one_class({"a": [(moved, 1)]}, {"a": [[start, end]]}, settings).frames("token")[0]
    assert (found["near"]["hits:ap_frechet@1.0"], found["far"]["hits:ap_frechet@1.0"]) == (
        0,
        1,
    )  # 1.3 * 0.99, 1.3 * 0.7


@pytest.mark.needs_feature("openlane")
@pytest.mark.parametrize(("prefilter", "hits"), [(1.0, 0), (1.1, 1)])
def test_a_pair_as_far_apart_as_the_prefilter_is_none(prefilter: float, hits: int) -> None:
    settings = mg.protocol(
        "openlanev2", classes=["divider"], settings={"ap_frechet": {"relaxed": False, "prefilter": prefilter}}
    )
    row = one_class({"a": [(offset(1.0), 1)]}, {"a": [LINE]}, settings).frames("token")[0]
    assert row["hits:ap_frechet@2.0"] == hits


def test_eleven_point_precision_is_the_mean_over_recalls() -> None:
    settings = PAPER.replace(
        settings={"ap_chamfer": {"interpolation": "11-point", "thresholds": (0.5,)}, "ap_frechet": None}
    )
    # The first prediction hits one of three truths, the second misses. Precision is 1 at recalls 0, 0.1, 0.2 and 0.3.
    results = one_class({"a": [(LINE, 0.9), (FAR, 0.5)]}, {"a": [LINE, offset(3), offset(6)]}, settings)
    assert value(results, "ap_chamfer") == pytest.approx(4 / 11)


def test_height_counts_in_3d() -> None:
    line, raised = np.array([[0.0, 0, 0], [9, 0, 0]]), np.array([[0.0, 0, 0.3], [9, 0, 0.3]])
    results = one_class({"a": [(raised, 1)]}, {"a": [line]})
    distance = 2 * 0.3 / 1.8
    assert value(results, "pld") == pytest.approx(2 * distance / (1 + distance), abs=1e-12)


def test_the_worst_frames_come_first() -> None:
    frames = {"good": [(LINE, 1.0)], "bad": [(FAR, 1.0)], "fair": [(offset(0.3), 1.0)]}
    results = one_class(frames, {token: [LINE] for token in frames})
    assert [row["token"] for row in results.frames()] == ["bad", "fair", "good"]
    assert [row["token"] for row in results.frames("token")] == ["bad", "fair", "good"]
    assert [row["token"] for row in results.frames("missed", count=1)] == ["bad"]
    assert [row["pld"] for row in results.frames(class_name="divider")] == [row["pld"] for row in results.frames()]


def test_the_rows_of_frames_add_up_to_the_summary() -> None:
    results = one_class({"a": [(LINE, 1), (FAR, 0.3)], "b": [(LINE, 0.5)]}, {"a": [LINE], "b": [LINE, FAR]})
    rows = results.frames()
    assert sum(row["predictions"] for row in rows) == value(results, "predictions")
    assert sum(row["truth"] for row in rows) == value(results, "truth")
    assert sum(row["hits:ap_chamfer@0.5"] for row in rows) == 2


def test_the_normalised_value_of_order_2_has_no_parts() -> None:
    results = one_class({"a": [(offset(0.3), 1)]}, {"a": [LINE]}, PAPER.replace(order=2))
    distance = 2 * 0.3 / (1.5 + 0.3)  # all points have the same distance, so it is the same for every order
    assert value(results, "pld") == pytest.approx(2 * distance / (1 + distance), abs=1e-12)
    assert results.classes["divider"]["localisation"] is None
    assert "-" in results.table()


def test_thresholds_that_differ_in_the_eighth_digit_have_values_of_their_own() -> None:
    settings = PAPER.replace(
        settings={"ap_chamfer": {"thresholds": (0.30000001, 0.29999999)}, "ap_frechet": None}, cutoffs=()
    )
    results = one_class({"a": [(offset(0.3), 1)]}, {"a": [LINE]}, settings)
    found = [value(results, key) for key in results.classes["divider"] if key.startswith("ap_chamfer@")]
    assert found == [1, 0]


def test_thresholds_that_no_distance_is_near_to_give_0_or_1() -> None:
    settings = PAPER.replace(
        settings={
            "ap_chamfer": {"thresholds": (1e-6, 50.0)},
            "ap_frechet": {"thresholds": (1e-6, 50.0)},
            "ap_sospa": {"thresholds": (1e-6, 1.0)},
        }
    )
    results = one_class({"a": [(offset(2), 1)]}, {"a": [LINE]}, settings)
    assert [value(results, f"ap_{m}@{t}") for m in ("chamfer", "frechet") for t in ("1e-06", "50.0")] == [0, 1, 0, 1]
    assert math.isclose(value(results, "ap_sospa@1.0"), 1)
