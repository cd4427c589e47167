from dataclasses import replace

import numpy as np
import pytest
from tests.checks.world import codes, none, one

import mapgauge as mg
from mapgauge.io import FORMATS

LOG = "3b3570b4-7b0b-3268-a571-b0889dbf40b6"


def renamed(frames: mg.MapFrames, pattern: str) -> mg.MapFrames:
    return replace(frames, tokens=tuple(pattern.format(i) for i in range(len(frames))))


@pytest.mark.parametrize("side", ["predictions", "truth"])
def test_a_side_without_frames_is_an_error(predictions: mg.MapFrames, truth: mg.MapFrames, side: str) -> None:
    sides = {"predictions": predictions, "truth": truth}
    sides[side] = sides[side].at([])
    finding = one("frames-none", **sides)
    assert finding.level == "error"
    assert finding.message.startswith(f"{side}: no frames")
    assert none("tokens-disjoint", **sides)


def test_tokens_that_meet_are_not_mentioned(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    assert not any(code.startswith(("tokens", "frames")) for code in codes(predictions, truth))


def test_no_token_in_common_is_an_error(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("tokens-disjoint", renamed(predictions, "{:031x}f"), truth)
    assert finding.level == "error"
    assert "same data set and split" in str(finding)
    assert finding.examples == ("0" * 31 + "f", "0" * 32)


def test_a_log_id_on_one_side_is_named(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    long, short = renamed(predictions, LOG + "_31597191692748{:04}"), renamed(truth, "31597191692748{:04}")
    finding = one("tokens-disjoint", long, short)
    assert "8 of them match without the log id" in finding.message
    assert "dataclasses.replace(predictions, tokens=" in str(finding)
    assert finding.for_shell().endswith("Remove the log id and the underscore from the tokens of the predictions")
    stripped = replace(long, tokens=tuple(token.rpartition("_")[2] for token in long.tokens))  # as the remedy says
    assert none("tokens-disjoint", stripped, short)


def test_the_log_id_is_taken_from_the_side_that_has_it(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    long, short = renamed(truth, LOG + "_31597191692748{:04}"), renamed(predictions, "31597191692748{:04}")
    assert "dataclasses.replace(truth, tokens=" in str(one("tokens-disjoint", short, long))


@pytest.mark.parametrize(
    ("pattern", "cause"),
    [(" A{:03} ", "blanks and case"), ("samples/a{:03}.jpg", "without folder and file suffix")],
)
def test_other_ways_to_write_a_token_are_named(
    predictions: mg.MapFrames, truth: mg.MapFrames, pattern: str, cause: str
) -> None:
    assert cause in one("tokens-disjoint", renamed(predictions, pattern), renamed(truth, "a{:03}")).message


def test_tokens_of_another_data_set_are_named(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    message = one("tokens-disjoint", renamed(predictions, LOG + "_{}"), truth).message
    assert "Those of the truth look like nuScenes" in message


def test_missing_frames_are_a_warning_with_their_share(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("tokens-missing", predictions.at(range(6)), truth)
    assert (finding.level, finding.count, finding.examples) == ("warning", 2, truth.tokens[6:])
    assert "2 of 8 frames of the truth (25 %)" in finding.message
    assert "count as predicted empty" in finding.message
    assert none("tokens-unknown", predictions.at(range(6)), truth)


def test_missing_frames_are_an_error_from_half_on(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    assert one("tokens-missing", predictions.at(range(5)), truth).level == "warning"
    assert one("tokens-missing", predictions.at(range(4)), truth).level == "error"


def test_one_missing_frame_is_not_several(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    message = one("tokens-missing", predictions.at(range(7)), truth).message
    assert message == ("1 of 8 frames of the truth (12.5 %) is not in the predictions. It counts as predicted empty")
    alone = one("tokens-disjoint", renamed(predictions.at([0]), "other {}"), truth.at([0])).message
    assert "none of the 1 token of the predictions is among the 1 token of the truth" in alone


def test_missing_frames_of_vectormapnet_have_a_known_cause(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    some = replace(predictions.at(range(6)), format="vectormapnet")
    assert "VectorMapNet leaves out frames" in str(one("tokens-missing", some, truth))


def test_a_format_says_that_its_files_lack_empty_frames(
    predictions: mg.MapFrames, truth: mg.MapFrames, monkeypatch: pytest.MonkeyPatch
) -> None:
    sparse = replace(FORMATS["vectormapnet"], name="sparse", project="")
    monkeypatch.setitem(FORMATS, "sparse", sparse)
    monkeypatch.setitem(FORMATS, "whole", replace(sparse, name="whole", leaves_out_empty_frames=False))
    some = predictions.at(range(6))
    assert "sparse leaves out frames" in str(one("tokens-missing", replace(some, format="sparse"), truth))
    for format in ("whole", "of a plug-in that is not here"):
        assert "leaves out" not in str(one("tokens-missing", replace(some, format=format), truth))


def test_unknown_frames_are_an_error(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("tokens-unknown", predictions, truth.at(range(5)))
    assert (finding.level, finding.count, finding.examples) == ("error", 3, predictions.tokens[5:])
    assert 'unknown="ignore"' in str(finding)
    assert "--ignore-unknown" in finding.for_shell()
    assert none("tokens-missing", predictions, truth.at(range(5)))


def test_a_cause_is_found_where_only_some_tokens_meet(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    tokens = tuple(token if i < 4 else f"{token.upper()} " for i, token in enumerate(truth.tokens))
    message = one("tokens-missing", replace(predictions, tokens=tokens), truth).message
    assert "4 of them match except for blanks" in message


@pytest.mark.parametrize("side", ["predictions", "truth"])
def test_a_token_that_occurs_twice_is_an_error(predictions: mg.MapFrames, truth: mg.MapFrames, side: str) -> None:
    sides = {"predictions": predictions, "truth": truth}
    sides[side] = sides[side].at([*range(8), 3, 3])
    finding = one("tokens-duplicate", **sides)
    assert (finding.level, finding.count, finding.examples) == ("error", 1, truth.tokens[3:4])
    assert finding.message.startswith(side)


def test_another_order_is_a_note(predictions: mg.MapFrames, truth: mg.MapFrames, rng: np.random.Generator) -> None:
    finding = one("tokens-order", predictions.at([1, 0, *range(2, 8)]), truth)
    assert (finding.level, finding.count) == ("note", 2)
    assert "MapTR's evaluator pairs them by position" in finding.message


def test_missing_frames_do_not_change_the_order(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    assert none("tokens-order", predictions.at([0, 1, 4, 5, 7]), truth)
