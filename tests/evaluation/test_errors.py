"""Tests of invalid arguments and their error messages, of progress and of interruption."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.checks.world import predictions_of, truth_of

import mapgauge as mg
from mapgauge.evaluation.evaluate import evaluate_frames
from mapgauge.protocols import PROTOCOLS
from mapgauge.results.flat import flat
from mapgauge.scoring import score as scoring
from mapgauge.scoring.score import score as score_block

PAPER = mg.protocol("paper-60x30")
LINE = [[0, 0], [9, 0]]
TRUTH = mg.MapFrames.of({"a": {"divider": [LINE]}, "b": {"divider": [LINE]}})
SURE = TRUTH.with_confidence(1)
Action = Callable[[], object]


@cache
def results() -> mg.Results:
    return mg.evaluate(SURE, TRUTH)


def refused(action: Action, *words: str) -> None:
    """Check that a call raises a ``MapgaugeError`` with these words in its message."""
    with pytest.raises(mg.InvalidInput) as caught:
        action()
    for word in words:
        assert word in str(caught.value), str(caught.value)


@pytest.mark.needs_feature("tracks")
@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda: mg.evaluate(TRUTH, TRUTH), ["no confidences", ".with_confidence(1)"]),
        (lambda: mg.evaluate(TRUTH, SURE), ["no confidences", "are the two exchanged?"]),
        (lambda: mg.evaluate(SURE, mg.MapFrames.of({})), ["truth: no frames to compare"]),
        (lambda: mg.evaluate(SURE, TRUTH.at([0])), ["1 of 2 predicted frames", "first: b", 'unknown="ignore"']),
        (lambda: mg.evaluate(SURE, TRUTH, unknown="keep"), ["unknown must be 'error' or 'ignore', got 'keep'"]),  # type: ignore[arg-type]
        (lambda: mg.evaluate(SURE, TRUTH.at([0, 1, 1])), ["truth", "more than once", "first: b"]),
        (lambda: mg.evaluate(raised(), TRUTH), ["3-D", "2-D", ".planar()"]),
        (lambda: mg.evaluate(SURE, TRUTH, "paper"), ["unknown protocol 'paper'", "paper-60x30"]),
        (lambda: mg.evaluate(SURE, TRUTH, metrics=["mAP"]), ["unknown metric 'mAP'", "pld, ap_chamfer"]),
        (lambda: mg.evaluate(SURE, TRUTH, metrics=[]), ["metrics must have at least one name", "Known: pld, "]),
        (
            lambda: mg.evaluate(SURE, TRUTH, metrics=["ap_sospa"]),
            ["no thresholds for ap_sospa", 'settings={"ap_sospa"'],
        ),
        (lambda: mg.evaluate(SURE, TRUTH, "maptr", metrics="pld"), ["no cutoffs for pld", "cutoffs=(...)"]),
        (lambda: mg.evaluate(SURE, TRUTH, ranges=[10]), ["ranges", "at least two rising distances", "[10]"]),
        (lambda: mg.evaluate(SURE, TRUTH, ranges=[0, 10, 10]), ["rising"]),
        (lambda: mg.evaluate(SURE, TRUTH, ranges=[-1, 10]), ["rising"]),
        (lambda: mg.evaluate(SURE, TRUTH, ranges=[0, float("nan")]), ["rising"]),
        (lambda: mg.evaluate(SURE, TRUTH, ranges=["near", "far"]), ["ranges must be rising distances", "near"]),  # type: ignore[list-item]
        (lambda: mg.evaluate(SURE, TRUTH, ranges=5), ["ranges must be rising distances", "5"]),  # type: ignore[arg-type]
        (lambda: mg.evaluate(SURE, TRUTH, scenes={"a": "s"}), ["scenes: 1 tokens have no scene (first: b)"]),
        (lambda: mg.evaluate(SURE, TRUTH, workers=0), ["workers must be a whole number of at least 1, got 0"]),
        (lambda: mg.evaluate(SURE, TRUTH, workers=True), ["workers", "True"]),
        (lambda: mg.evaluate(SURE, TRUTH, workers=1.5), ["workers", "1.5"]),  # type: ignore[arg-type]
        (lambda: mg.evaluate("no/such/file.json", TRUTH), ["no/such/file.json"]),
        (lambda: mg.evaluate(SURE, "no/such/file.pkl"), ["no/such/file.pkl"]),
    ],
)
def test_evaluate_says_what_it_cannot_do(action: Action, words: list[str]) -> None:
    refused(action, *words)


def raised() -> mg.MapFrames:
    return mg.MapFrames.of({"a": {"divider": [[[0, 0, 0], [9, 0, 0]]]}}).with_confidence(1)


@pytest.mark.parametrize("value", [-0.1, 1.5, np.nan, 87.0])
@pytest.mark.parametrize("side", ["predictions", "truth"])
def test_confidences_outside_0_to_1_are_refused_on_either_side(value: float, side: str) -> None:
    odd = mg.MapFrames(
        tokens=SURE.tokens,
        classes=SURE.classes,
        frame=SURE.frame,
        label=SURE.label,
        polylines=SURE.polylines,
        confidence=np.array([0.5, value]),
    )
    both = (odd, TRUTH) if side == "predictions" else (SURE, odd)
    refused(lambda: mg.evaluate(*both), f"{side}: frame b, instance 0 (divider): confidence {value}", "[0, 1]")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"cutoffs": 1.5}, ["cutoffs must be a tuple of lengths", "1.5"]),
        ({"cutoffs": "1.5"}, ["cutoffs must be a tuple"]),
        ({"cutoffs": (0,)}, ["cutoffs must be a positive length", "0"]),
        ({"settings": {"ap_chamfer": {"thresholds": (0.5, 0.5)}}}, ["ap_chamfer: thresholds must differ"]),
        ({"settings": {"ap_frechet": {"thresholds": (float("nan"),)}}}, ["ap_frechet: thresholds", "nan"]),
        ({"settings": {"ap_sospa": {"thresholds": ("a",)}}}, ["ap_sospa: thresholds", "'a'"]),
        ({"settings": {"ap_sospa": {"thresholds": (0.5,)}}, "cutoffs": ()}, ["sospa thresholds need a cutoff"]),
        ({"classes": "divider"}, ["classes must be a tuple of names", "'divider'"]),
        ({"classes": ()}, ["classes must be one or more"]),
        ({"classes": ("divider", "divider")}, ["different names"]),
        ({"classes": (1, 2)}, ["classes must be a tuple of names"]),
        ({"classes": 5}, ["classes must be a tuple of names", "5"]),
        ({"spacing": 0.5, "count": 20}, ["spacing or count, not both"]),
        ({"spacing": -1}, ["spacing", "-1"]),
        ({"count": 1}, ["count", "at least 2", "1"]),
        ({"count": 2.5}, ["count", "2.5"]),
        ({"region": (60,)}, ["region"]),
        ({"region": None, "crop": True}, ["crop needs a region"]),
        ({"crop": 1}, ["crop must be True or False"]),
        ({"closed": "yes"}, ["closed must be"]),
        ({"closed_tolerance": -1}, ["closed_tolerance"]),
        ({"order": 0.5}, ["order must be a number from 1"]),
        ({"directed": "no"}, ["directed must be True or False"]),
        ({"settings": {"ap_chamfer": {"strict": None}}}, ["strict must be True or False"]),
        ({"settings": {"ap_chamfer": {"relaxed": 2}}}, ["relaxed must be True or False"]),
        ({"settings": {"ap_chamfer": {"buffers": 0}}}, ["ap_chamfer: buffers must"]),
        ({"settings": {"ap_frechet": {"prefilter": -3}}}, ["ap_frechet: prefilter must"]),
        (
            {"settings": {"ap_chamfer": {"interpolation": "12-point"}}},
            ["interpolation must be 'area' or '11-point' or '101-point'", "12-point"],
        ),
        ({"cutof": (1.5,)}, ["no setting 'cutof'", "Did you mean cutoffs?"]),
        ({"buffers": 2.0}, ["no setting 'buffers': it belongs to ap_chamfer", 'settings={"ap_chamfer": {"buffers"']),
        ({"settings": {"ap_chamfr": {}}}, ["unknown metric 'ap_chamfr'", "Did you mean ap_chamfer?"]),
        ({"settings": {"ap_chamfer": {"bufers": 2}}}, ["ap_chamfer has no setting 'bufers'", "Did you mean buffers?"]),
        ({"settings": {"ap_chamfer": 2}}, ["settings of ap_chamfer must be a mapping", "2"]),
        ({"settings": {"pld": {"cutoff": 2}}}, ["pld has no settings of its own"]),
        ({"settings": {"ap_sospa": {}}}, ["ap_sospa: there is no value for thresholds"]),
        ({"settings": 5}, ["settings must be a mapping", "5"]),
    ],
)
def test_a_protocol_says_what_cannot_be(settings: dict[str, Any], words: list[str]) -> None:
    refused(lambda: mg.protocol("paper-60x30", **settings), *words)


def test_unknown_protocols_are_refused_with_the_known_ones() -> None:
    refused(lambda: mg.protocol("papers"), "unknown protocol 'papers'", *PROTOCOLS)
    refused(lambda: mg.protocol(["paper-60x30"]), "a protocol must be given by its name")  # type: ignore[arg-type]


def test_spacing_takes_the_place_of_count_and_the_other_way_round() -> None:
    assert mg.protocol("maptr", spacing=0.5).count is None
    assert mg.protocol("paper-60x30", count=50).spacing is None
    assert mg.protocol("maptr").replace(classes=["x"]).classes == ("x",)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_made_of_its_own_settings_is_equal(name: str) -> None:
    assert mg.Protocol.from_dict(PROTOCOLS[name].to_dict()) == PROTOCOLS[name]
    assert mg.protocol(name) == PROTOCOLS[name]
    assert PROTOCOLS[name].about


def test_sixteen_thresholds_all_count_and_more_are_refused() -> None:
    """A result has one bit for each of 16 thresholds. A seventeenth must not silently become 0."""
    many = tuple(0.1 * k for k in range(1, 18))
    results = mg.evaluate(
        SURE,
        TRUTH,
        mg.protocol(
            "paper-60x30", settings={"ap_chamfer": {"thresholds": many[:16]}, "ap_frechet": None}, classes=["divider"]
        ),
    )
    assert [value for key, value in results.mean.items() if key.startswith("ap_chamfer@")] == [1.0] * 16
    refused(
        lambda: mg.protocol("paper-60x30", settings={"ap_chamfer": {"thresholds": many}}), "chamfer", "at most 16", "17"
    )


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda: results().frames("mAP"), ["no column 'mAP'", "token", "pld", "hits:ap_chamfer@0.5"]),
        (lambda: results().frames(class_name="lane"), ["no class 'lane'", "divider"]),
        (lambda: results().by(), ["cannot group by 'scene': no scenes are known"]),
        (lambda: results().by("weather"), ["cannot group by 'weather'"]),
        (lambda: results().by({"a": "x"}), ["by must have a list of tokens for each name, got 'x' for 'a'"]),
        (lambda: results().assignment("z"), ["no frame 'z'"]),
        (lambda: results().assignment("a", cutoff=0), ["cutoff", "0"]),
        (lambda: mg.evaluate(SURE, TRUTH, "maptr").assignment("a"), ["has no cutoff", "cutoff="]),
    ],
)
def test_results_say_what_they_do_not_have(action: Action, words: list[str]) -> None:
    refused(action, *words)


def test_frames_sort_by_any_of_their_columns() -> None:
    for settings in (mg.protocol("paper-60x30"), mg.protocol("paper-60x30", order=2), mg.protocol("maptr")):
        results = mg.evaluate(SURE, TRUTH, settings, scenes={"a": "s", "b": "r"})
        for column in results.frames("token")[0]:
            assert len(results.frames(column)) == 2, column


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda: mg.compare([]), ["no results to compare"]),
        (
            lambda: mg.compare([results(), other("paper-100x50")]),
            ["settings", "region: (60.0, 30.0) and (100.0"],
        ),
        (lambda: mg.compare([results(), results(), other(metrics=["pld"])]), ["0 and method 2", "_frechet) and pld. "]),
        (
            lambda: mg.compare([results(), results().of_frames([0])]),
            ["method 1 differ in 1 frames", "same truth"],
        ),
        (lambda: mg.compare([results(), results()], names=["a"]), ["names must be 2 different strings"]),
        (lambda: mg.compare([results(), results()], names=["a", "a"]), ["names must be 2 different strings"]),
        (lambda: mg.compare([results()], samples=0), ["samples must be at least 1", "0"]),
        (lambda: mg.compare([results()], samples=1.5), ["samples", "1.5"]),  # type: ignore[arg-type]
        (lambda: mg.compare([results()], level=1), ["level must be between 0 and 1", "1"]),
        (lambda: mg.compare([results()], level="95 %"), ["level must be between 0 and 1", "95 %"]),  # type: ignore[arg-type]
        (lambda: mg.compare(results()), ["results"]),  # type: ignore[arg-type]
        (lambda: mg.compare([results()], samples=3).table(["mAP"]), ["mAP", "pld"]),
        (lambda: mg.compare([results()], samples=3).table(class_name="lane"), ["lane", "divider"]),
    ],
)
def test_compare_says_what_it_cannot_do(action: Action, words: list[str]) -> None:
    refused(action, *words)


def other(protocol: str = "paper-60x30", **options: Any) -> mg.Results:
    return mg.evaluate(SURE, TRUTH, protocol, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cutoffs": []}, ["cutoffs is empty"]),
        ({"spacings": []}, ["spacings is empty"]),
        ({"counts": ()}, ["counts is empty"]),
        ({"regions": []}, ["regions is empty"]),
        ({"cutoffs": [0.5, 0.5]}, ["cutoffs must differ"]),
        ({"spacings": [0.5, -1]}, ["spacing", "-1"]),
        ({"counts": [1]}, ["count", "at least 2"]),
        ({"regions": [(60,)]}, ["region"]),
        ({"cutoffs": 1.5}, ["cutoffs"]),
        ({"spacings": 0.5}, ["spacings"]),
        ({"metrics": ["mAP"]}, ["unknown metric 'mAP'"]),
    ],
)
def test_sweep_says_what_it_cannot_do(options: dict[str, Any], words: list[str]) -> None:
    refused(lambda: mg.sweep(SURE, TRUTH, **options), *words)


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("block", [1, 3, 48])
def test_progress_rises_to_the_number_of_frames(workers: int, block: int) -> None:
    truth = truth_of(np.random.default_rng(1), frames=7)
    seen: list[tuple[int, int]] = []
    evaluate_frames(
        truth.with_confidence(1),
        truth,
        PAPER,
        metrics=("pld",),
        workers=workers,
        progress=lambda done, total: seen.append((done, total)),
        block_size=block,
    )
    done = [number for number, _ in seen]
    assert {total for _, total in seen} == {7}
    assert done == sorted(set(done))
    assert done[-1] == 7
    assert len(seen) == -(-7 // block)


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupted_evaluation_ends_at_once(workers: int, error: type[BaseException]) -> None:
    """Running blocks are finished, waiting blocks are not started, and the next evaluation works as usual."""
    truth = truth_of(np.random.default_rng(1), frames=40)
    predictions = predictions_of(np.random.default_rng(2), truth)
    calls = []

    def stop(done: int, total: int) -> None:
        calls.append(done)
        if done == 2:
            raise error

    with pytest.raises(error):
        evaluate_frames(predictions, truth, PAPER, metrics=("pld",), workers=workers, progress=stop, block_size=1)
    assert calls == [1, 2]
    again = mg.evaluate(predictions, truth, metrics=["pld"], workers=workers)
    assert again.mean == mg.evaluate(predictions, truth, metrics=["pld"], workers=1).mean


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_thread_comes_out(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def score(*arguments: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) == 4:
            raise MemoryError("no more")
        return score_block(*arguments, **named)

    monkeypatch.setattr(scoring, "score", score)
    truth = truth_of(np.random.default_rng(1), frames=9)
    with pytest.raises(MemoryError, match="no more"):
        evaluate_frames(truth.with_confidence(1), truth, PAPER, metrics=("pld",), workers=workers, block_size=1)


def test_a_line_of_one_point_has_no_buffer_and_meets_nothing() -> None:
    point = mg.MapFrames.of({"a": {"divider": [[[1, 1]], LINE]}})
    settings = mg.protocol("maptr", classes=["divider"]).replace(count=None)
    results = mg.evaluate(point.with_confidence(1), point, settings)
    assert results.frames("token")[0]["hits:ap_chamfer@0.5"] == 1


def test_findings_and_inputs_are_in_the_result() -> None:
    """They make it possible to trace a number to its data."""
    odd = mg.MapFrames.of({"a": {"divider": [LINE, LINE]}}).with_confidence(0.5)
    found = mg.evaluate(odd, TRUTH).to_dict()
    assert any("copies" in finding["message"] for finding in found["findings"])
    assert found["mapgauge"] == mg.__version__
    assert found["protocol"]["spacing"] == 0.5
    assert found["inputs"]["predictions"]["counts"] == {"divider": 2}
    hashes = [found["inputs"][side]["hash"] for side in ("predictions", "truth")]
    assert all(re.fullmatch("[0-9a-f]{32}", value) for value in hashes)


def test_the_hash_of_an_input_changes_with_anything_in_it() -> None:
    def hashed(frames: mg.MapFrames) -> str:
        return mg.evaluate(frames, TRUTH, unknown="ignore", metrics=["pld"]).inputs[0].hash

    renamed = mg.MapFrames.of({"a": {"divider": [LINE]}, "c": {"divider": [LINE]}}).with_confidence(1)
    boundary = SURE.rename({"divider": "boundary"})
    others = [SURE.with_confidence(0.5), SURE.at([0]), SURE.rotate(90), renamed, boundary]
    assert len({hashed(frames) for frames in (SURE, *others)}) == 6
    assert hashed(SURE) == hashed(TRUTH.with_confidence(1)) == hashed(SURE.at([1, 0]))


ANYTHING: Any = 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, y: mg.evaluate(x, y, metrics=ANYTHING), "metrics must be a sequence of names"),
        (
            lambda x, y: mg.evaluate(x, y, metrics=["ap_chamfer"], ranges=(0, 10)),
            r"ranges need a metric with values in rings \(PLD, Completeness.*\), got ap_chamfer",
        ),
        (lambda x, y: mg.evaluate(x, y).by(ANYTHING), "cannot group by 5"),
        (lambda x, y: mg.compare([mg.evaluate(x, y)], seed=-1), "seed must be a whole number"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(call: Any, message: str) -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    with pytest.raises(mg.InvalidInput, match=message):
        call(truth.with_confidence(1), truth)


def test_a_class_named_mean_is_refused() -> None:
    """It would take the place of the mean over classes in ``flat`` and in the gate."""
    line = [[[0, 0], [9, 0]]]
    truth = mg.MapFrames.of({"a": {"mean": line, "divider": line}})
    words = ["a class is named 'mean'", 'rename({"mean": "other"})']
    refused(lambda: mg.protocol("paper-60x30", classes=["divider", "mean"]), *words)
    every = mg.protocol("paper-60x30", classes=None)
    refused(lambda: mg.evaluate(truth.with_confidence(0.9), truth, every), *words)
    renamed = truth.rename({"mean": "other"})
    values = flat(mg.evaluate(renamed.with_confidence(0.9), renamed, every))
    assert {"pld/mean", "pld/other", "pld/divider"} <= set(values)


def test_a_class_whose_flat_key_is_that_of_another_value_is_refused() -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]], "mean/missed": [[[0, 0], [9, 0]]]}})
    results = mg.evaluate(truth.with_confidence(0.9), truth, mg.protocol("paper-60x30", classes=None))
    refused(lambda: flat(results), "two values have the key 'pld/mean/missed'", "without a slash")


@pytest.mark.parametrize("frames", [[], [7], [-3], [0.5], [True], [[0]], ["a"]])
def test_frames_that_do_not_exist_are_refused(frames: list[Any]) -> None:
    refused(lambda: results().of_frames(frames), "frames must be")


def test_a_changed_protocol_can_have_another_name() -> None:
    named = mg.protocol("paper-60x30", name="x", spacing=0.25)
    assert (named.name, named.spacing, named.cutoffs) == ("x", 0.25, (1.5,))
    assert mg.protocol(name="paper-60x30") == mg.protocol("paper-60x30")
    refused(lambda: mg.protocol(), "a protocol must be given by its name", "got None", "Known: paper-60x30")
    refused(lambda: mg.protocol("paper-60x30", name=3), "name and about must be texts, got 3")


@pytest.mark.parametrize(("cutoff", "order"), [(1e100, 32), (1e-100, 32), (1e100, 3), (1e10, 30)])
def test_powers_beyond_the_range_of_floats_are_refused(cutoff: float, order: float) -> None:
    line = [[0, 0], [1, 0]]
    words = ["must be a length from 1e-09 to 1e+09 metres", f"got {cutoff!r}"]
    refused(lambda: mg.sospa(line, line, cutoff=cutoff, order=order), *words)
    refused(lambda: mg.sospa_matrix([line], [line], cutoff=cutoff, order=order), *words)
    refused(lambda: mg.pld([line], [line], confidence=[1], cutoff=cutoff, order=order), *words)
    refused(lambda: mg.protocol("paper-60x30", cutoffs=[cutoff], order=order), *words)
