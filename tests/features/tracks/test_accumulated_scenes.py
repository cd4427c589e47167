"""Metrics of scenes in an ``Accumulator``: frames of a scene arrive in any order, in any batch and in any process."""

import pickle
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.integrations.batches import FRAMES, batch_of, of_frames, tracked_world

import mapgauge as mg
from mapgauge.results.flat import flat
from mapgauge.scoring.scene_frames import SceneFrames

PREDICTIONS, TRUTH = tracked_world()
TOKENS = TRUTH.tokens
METRICS = ("pld", "track_pld", "ap_chamfer", "c_map", "mas")
PROTOCOL = mg.protocol(
    "paper-60x30",
    settings={"track_pld": {"switch_cost": 0.5}, "c_map": {"thresholds": (0.5, 1.5)}, "mas": {"intervals": (2,)}},
)
LINE = [[0.0, 0.0], [9.0, 0.0]]


def made(metrics: tuple[str, ...] = METRICS, protocol: mg.Protocol = PROTOCOL, **settings: Any) -> mg.Accumulator:
    return mg.Accumulator(protocol, metrics=metrics, **settings)


def fill(accumulator: mg.Accumulator, tokens: tuple[str, ...], size: int = 5) -> mg.Accumulator:
    for start in range(0, len(tokens), size):
        some = tokens[start : start + size]
        batch = batch_of(PREDICTIONS, some, tracks=True), batch_of(TRUTH, some, tracks=True)
        accumulator.update(*batch, some, **of_frames(TRUTH, some))
    return accumulator


@pytest.fixture(scope="module")
def expected() -> mg.Results:
    return mg.evaluate(PREDICTIONS, TRUTH, PROTOCOL, metrics=METRICS)


@pytest.mark.parametrize("size", [1, 7, FRAMES])
def test_batches_of_any_size_give_the_bits_of_evaluate(size: int, expected: mg.Results) -> None:
    accumulator = fill(made(), TOKENS, size)
    assert accumulator.compute() == flat(expected)
    results = accumulator.results()
    assert [side.hash for side in results.inputs] == [side.hash for side in expected.inputs]
    assert results.table() == expected.table()
    assert results.frames(count=3) == expected.frames(count=3)


def test_a_scene_in_several_processes_is_whole_again_after_a_merge(
    rng: np.random.Generator, expected: mg.Results
) -> None:
    shuffled = tuple(rng.permutation(TOKENS).tolist())
    first, second = sorted(rng.integers(1, FRAMES, 2).tolist())
    shares = [shuffled[:first], shuffled[first:second], shuffled[second:]]
    parts = [pickle.loads(pickle.dumps(fill(made(), share, size=3))) for share in shares]
    whole = made()
    for k in rng.permutation(3).tolist():
        whole.merge(parts[k])
    assert whole.compute() == flat(expected)


@pytest.mark.parametrize("crop", [False, True])
def test_each_metric_alone_gives_the_bits_of_evaluate(crop: bool) -> None:
    protocol = PROTOCOL.replace(region=(30.0, 20.0), crop=crop, classes=("divider", "boundary"))
    for name in ("track_pld", "c_map", "mas"):
        accumulator = made((name,), protocol, classes=("divider", "boundary", "ped_crossing"))
        assert fill(accumulator, TOKENS[::-1]).compute() == flat(
            mg.evaluate(PREDICTIONS, TRUTH, protocol, metrics=[name])
        )


def test_frames_as_columns_have_their_own_scenes_and_times(expected: mg.Results) -> None:
    accumulator = made()
    for half in (slice(FRAMES // 2, FRAMES), slice(0, FRAMES // 2)):
        truth = TRUTH.between(half)
        accumulator.update(PREDICTIONS.at([PREDICTIONS.index[token] for token in truth.tokens]), truth)
    assert accumulator.compute() == flat(expected)


def test_frames_in_three_dimensions_and_without_instances_are_kept() -> None:
    nothing: dict[str, Any] = {"polylines": [], "labels": [], "tracks": []}
    high: list[dict[str, Any]] = [{"polylines": [[[0, 0, 1], [9, 0, 1]]], "labels": ["divider"], "tracks": [7]}]
    for order in ((0, 1, 2), (2, 0, 1)):
        accumulator = made(("track_pld",))
        for k in order:
            batch = [nothing] if k == 0 else high
            accumulator.update(
                [one | {"confidence": [0.5] * len(one["labels"])} for one in batch], batch, None, ["a"], [k]
            )
        assert accumulator.compute()["track_pld/divider"] == 0.5
        assert accumulator.compute()["track_pld/divider/switch_count"] == 0


def test_the_order_in_which_frames_of_the_same_time_arrive_does_not_matter() -> None:
    truth = [{"polylines": [LINE], "labels": ["divider"], "tracks": ["t"]}]
    found = []
    for order in ("aabb", "abab", "bbaa"):
        accumulator = made(("track_pld",))
        for name in order:
            line = [{"polylines": [LINE], "labels": ["divider"], "tracks": [name], "confidence": [0.9]}]
            accumulator.update(line, truth, None, ["s"], [5])
        results = accumulator.results()
        assert "timestamps-equal" in {finding.code for finding in results.findings}
        found.append(results.classes["divider"]["switch_count"])
    assert found == [1, 1, 1]


def test_frames_that_a_sampler_repeats_are_dropped_with_their_polylines(expected: mg.Results) -> None:
    parts = [fill(made(repeated="drop"), (*TOKENS, *TOKENS[:2])[rank::2]) for rank in range(2)]
    parts[0].merge(parts[1])
    assert parts[0].compute() == flat(expected)
    assert next((one.code, one.count) for one in parts[0].results().findings) == ("dropped-repeated", 2)
    with pytest.raises(mg.InvalidInput, match="1 of 2 frames were seen before"):
        fill(made(), (TOKENS[0], TOKENS[0]))


def test_scenes_are_scored_once_until_frames_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    accumulator = fill(made(("track_pld",)), TOKENS[:4])
    before = accumulator.compute()
    with monkeypatch.context() as context:
        context.setattr(SceneFrames, "scored", None)
        assert accumulator.compute() == before
    assert fill(accumulator, TOKENS[4:8]).compute() != before
    accumulator.reset()
    assert fill(accumulator, TOKENS[:4]).compute() == before


def test_the_bits_of_tracks_are_in_the_hash_where_a_metric_uses_them() -> None:
    few, truth = PREDICTIONS.between(slice(0, 2)), TRUTH.between(slice(0, 2))

    def hashes(tracks: Any, metrics: tuple[str, ...]) -> list[str]:
        other = replace(few, track=tracks)
        found = mg.evaluate(other, truth, PROTOCOL, metrics=metrics)
        accumulator = made(metrics)
        accumulator.update(other, truth)
        assert [side.hash for side in accumulator.results().inputs] == [side.hash for side in found.inputs]
        return [side.hash for side in found.inputs]

    assert few.track is not None
    turned = few.track[::-1].copy()
    assert hashes(few.track, ("pld",)) == hashes(turned, ("pld",))
    assert hashes(few.track, ("mas",)) == hashes(turned, ("mas",))  # only the tracks of the truth are used
    ours, others = (hashes(tracks, ("track_pld",)) for tracks in (few.track, turned))
    assert (ours[0] != others[0], ours[1] == others[1]) == (True, True)


PREDICTED = {"polylines": [LINE], "labels": ["divider"], "confidence": [0.9], "tracks": [1]}
TRUE = {"polylines": [LINE], "labels": ["divider"], "tracks": [1]}
PLACE: dict[str, Any] = {"scenes": ["a"], "timestamps": [0], "poses": np.eye(4)[None]}


def less(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != "tracks"}


@pytest.mark.parametrize(
    ("predicted", "true", "change", "message"),
    [
        (
            PREDICTED,
            TRUE,
            {"scenes": None},
            "track_pld is computed per scene, and these frames have no scenes. Pass sc",
        ),
        (PREDICTED, TRUE, {"timestamps": None}, "track_pld needs the order of the frames of a scene, and these frames"),
        (PREDICTED, TRUE, {"poses": None}, "mas needs poses, and these frames have none. Pass poses="),
        (PREDICTED, TRUE, {"timestamps": [0.5]}, "timestamps must be whole numbers, got values of type float64"),
        (PREDICTED, TRUE, {"timestamps": [1, 2]}, "timestamps must be 1 whole numbers, one per frame, got shape (2,)"),
        (PREDICTED, TRUE, {"poses": np.eye(4)}, "poses must be 1 matrices (4, 4), one per frame, got shape (4, 4)"),
        (PREDICTED, TRUE, {"poses": np.ones((1, 4, 4))}, "pose 0 is not a rigid motion"),
        (less(PREDICTED), TRUE, {}, "predictions: track_pld needs tracks, and these frames have none. Add tracks"),
        (PREDICTED, less(TRUE), {}, "truth: track_pld needs tracks, and these frames have none. Add tracks"),
        (PREDICTED | {"tracks": [""]}, TRUE, {}, "predictions: track_pld needs tracks, and 1 of 1 instances have none"),
        (PREDICTED | {"tracks": [1, 2]}, TRUE, {}, "predictions[0]['tracks'] must be 1 ids, one per polyline, got sha"),
        (
            PREDICTED | {"tracks": [0.5]},
            TRUE,
            {},
            "predictions[0]['tracks'] must be whole numbers or texts, got values",
        ),
        (PREDICTED, TRUE | {"tracks": ["a\0b"]}, {}, "truth[0]['tracks'] must not have NUL characters"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_scene_lacks_is_refused_and_leaves_no_trace(
    predicted: dict[str, Any], true: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    accumulator = made()
    accumulator.update([PREDICTED], [TRUE], ["before"], **PLACE)
    with pytest.raises(mg.InvalidInput, match=re.escape(message)):
        accumulator.update([predicted], [true], ["a"], **(PLACE | change))
    accumulator.update([PREDICTED], [TRUE], ["a"], **PLACE)
    assert len(accumulator) == 2


def test_tracks_of_some_frames_of_a_batch_are_refused() -> None:
    with pytest.raises(mg.InvalidInput, match=r"truth\[1\] has no tracks"):
        made().update([PREDICTED] * 2, [TRUE, less(TRUE)])


def test_metrics_of_frames_need_no_tracks_scenes_or_times() -> None:
    accumulator = made(("pld",))
    accumulator.update([PREDICTED], [less(TRUE)])
    assert accumulator.rows().kept is None
    assert accumulator.compute()["pld/divider"] == pytest.approx(0.1)
