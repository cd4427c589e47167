"""Ids: one for each object through gaps, none twice, the same for any order of the input."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from tests.features.tracks.worlds import dropping, jittering, perfect, shuffled

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.tracks.tracking import Method, Raster
from mapgauge.frames.alignment import add_instances
from mapgauge.frames.instances import is_box, without_boxes

METHODS: tuple[Method, ...] = ("pld", "maptracker")


def ids_of(tracked: mg.MapFrames) -> np.ndarray:
    assert tracked.track is not None
    return tracked.track


def switches(found: mg.MapFrames, truth: mg.MapFrames) -> tuple[int, int]:
    """How many ids objects have too many, and how many objects ids have too many. Both have the same instances."""
    ids, objects = defaultdict(set), defaultdict(set)
    for name, own in zip(ids_of(found).tolist(), ids_of(truth).tolist(), strict=True):
        ids[own].add(name)
        objects[name].add(own)
    return sum(map(len, ids.values())) - len(ids), sum(map(len, objects.values())) - len(objects)


@pytest.mark.parametrize("method", METHODS)
def test_a_perfect_detector_gets_the_ids_of_the_truth(method: Method) -> None:
    frames = perfect(60)
    tracked = mg.track(frames, method=method)
    pairs = list(zip(frames.frame.tolist(), ids_of(frames).tolist(), strict=True))
    twice = len(pairs) - len(set(pairs))  # objects that a frame shows in two parts, which have two ids
    assert switches(tracked, frames) == (twice, 0)
    for token, scene in zip(frames.tokens, frames.scenes or (), strict=True):
        assert all(str(line.track).startswith(f"{scene}/{line.class_name}-") for line in tracked[token])


@pytest.mark.parametrize("method", METHODS)
def test_ids_last_through_gaps_as_long_as_the_look_back(method: Method) -> None:
    rng = np.random.default_rng(4)
    frames = dropping(jittering(perfect(60), rng), rng)
    many, few = (switches(mg.track(frames, method=method, look_back=k), frames) for k in (1, 5))
    assert few[0] <= 2 < 20 < many[0]
    assert few[1] == 0


def test_a_gap_of_exactly_the_look_back() -> None:
    frames = perfect(10)
    names, counts = np.unique(ids_of(frames), return_counts=True)
    there = np.flatnonzero(ids_of(frames) == names[np.argmax(counts)])
    assert frames.frame[there].tolist() == list(range(10))
    gap = np.setdiff1d(np.arange(len(frames.polylines)), there[1:4])
    for look_back, same in ((3, False), (4, True)):
        found = ids_of(mg.track(frames.keep(gap), look_back=look_back))
        before, after = (found[np.flatnonzero(gap == there[k])[0]] for k in (0, 4))
        assert (before == after) == same


def test_a_faint_duplicate_does_not_take_the_id_of_a_confident_line() -> None:
    line, other = [[-20.0, 0.0], [20.0, 0.0]], [[-20.0, 0.3], [20.0, 0.3]]
    frames = mg.MapFrames.of(
        {"a": {"divider": [line]}, "b": {"divider": [other]}, "c": {"divider": [line]}},
        confidence={"a": {"divider": [0.9]}, "b": {"divider": [0.05]}, "c": {"divider": [0.9]}},
    )
    frames = replace(frames, scenes=("s",) * 3, poses=np.tile(np.eye(4), (3, 1, 1)))
    first = ids_of(mg.track(frames, confidence=None)).tolist()
    assert first[0] == first[1] == first[2]  # the only line there is
    both = mg.MapFrames.of(
        {"a": {"divider": [line, other]}, "b": {"divider": [other]}, "c": {"divider": [line, other]}},
        confidence={"a": {"divider": [0.9, 0.05]}, "b": {"divider": [0.05]}, "c": {"divider": [0.9, 0.05]}},
    )
    both = replace(both, scenes=("s",) * 3, poses=np.tile(np.eye(4), (3, 1, 1)))
    ids = ids_of(mg.track(both, confidence=None)).tolist()
    assert ids == ["s/divider-0", "s/divider-1", "s/divider-1", "s/divider-0", "s/divider-1"]


@pytest.mark.parametrize("method", METHODS)
def test_no_id_occurs_twice_in_a_frame(method: Method) -> None:
    predictions, _ = demo_world(20, predictions=40)
    tracked = mg.track(predictions, method=method, confidence=None)
    found = ids_of(tracked)
    for frame in range(len(tracked)):
        own = found[tracked.frame == frame].tolist()
        assert len(set(own)) == len(own)
    assert len(found) == len(predictions.polylines)
    assert (found != "").all()


@pytest.mark.parametrize("method", METHODS)
def test_faint_predictions_are_left_out_before_ids_are_given(method: Method) -> None:
    predictions, _ = demo_world(20)
    assert predictions.confidence is not None
    confident = predictions.keep(predictions.confidence > 0.4)
    tracked = mg.track(predictions, method=method)
    assert contents(tracked) == contents(mg.track(confident, method=method, confidence=None))
    (finding,) = tracked.findings
    assert (finding.code, finding.count) == ("faint-left-out", len(predictions.polylines) - len(confident.polylines))
    assert "1500 instances have a confidence of at most 0.4" in finding.text
    assert mg.track(confident, method=method).findings == ()
    assert len(mg.track(predictions, method=method, confidence=0.8).polylines) < len(confident.polylines)


def test_truth_has_no_faint_lines() -> None:
    _, truth = demo_world(10)
    tracked = mg.track(truth)
    assert len(tracked.polylines) == len(truth.polylines)
    assert [finding.code for finding in tracked.findings] == ["tracks-replaced"]


@pytest.mark.parametrize("method", METHODS)
def test_ids_depend_neither_on_the_order_nor_on_workers(method: Method) -> None:
    predictions, truth = demo_world(20, predictions=20)
    expected = contents(mg.track(predictions, method=method, confidence=None, workers=1))
    mixed = shuffled(predictions, np.random.default_rng(5))
    assert contents(mg.track(mixed, method=method, confidence=None, workers=3)) == expected
    bare = replace(mixed, poses=None, scenes=None, timestamps=None)
    assert contents(mg.track(bare, poses=truth, method=method, confidence=None)) == expected


def contents(frames: mg.MapFrames) -> dict[str, list[tuple[object, ...]]]:
    return {
        token: sorted((line.class_name, line.confidence, line.points.tobytes(), line.track) for line in frames[token])
        for token in sorted(frames.tokens)
    }


def test_the_input_keeps_its_frames_and_gets_what_was_used() -> None:
    predictions, truth = demo_world(20, predictions=20)
    some = replace(predictions, poses=None, scenes=None, timestamps=None).at([15, 3, 4, 7])
    tracked = mg.track(some, poses=truth, confidence=None)
    assert tracked.tokens == some.tokens
    assert np.array_equal(tracked.polylines.coords, some.polylines.coords)
    assert tracked.poses is not None
    assert truth.poses is not None
    assert np.array_equal(tracked.poses, truth.poses[[15, 3, 4, 7]])
    assert [finding.code for finding in tracked.findings] == ["frames-without-output"]


def test_ids_that_are_there_are_replaced_and_counted() -> None:
    frames = perfect(10)
    (finding,) = mg.track(frames).findings
    assert (finding.code, finding.count) == ("tracks-replaced", len(frames.polylines))


def test_a_drawing_is_three_pixels_wide() -> None:
    raster = Raster.of((-30.0, -15.0, 30.0, 15.0), "x")
    lines = mg.Polylines.of([[[-3.0, 0.1], [3.0, 0.1]], [[-3.0, 0.4], [3.0, 0.4]], [[40.0, 40.0], [50.0, 40.0]]])
    drawn = raster.masks(lines)
    assert drawn.sum(axis=1).tolist() == [3 * 23, 3 * 23, 0]
    assert drawn[0].reshape(raster.shape)[100, 49:52].tolist() == [1, 1, 1]
    assert raster.assign(drawn, drawn[1:]).tolist() == [-1, 0, -1]
    assert raster.assign(drawn[:1], drawn[1:]).tolist() == [0]
    far = raster.masks(mg.Polylines.of([[[-1e12, 0.1], [1e12, 0.1]]]))
    assert far.sum() == 3 * 200
    assert Raster.of((-15.0, -30.0, 15.0, 30.0), "y").shape == (100, 200)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "iou"}, "method must be 'pld' or 'maptracker'"),
        ({"look_back": 0}, "look_back must be"),
        ({"confidence": 1.5}, "confidence"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        mg.track(perfect(10), **settings)  # type: ignore[arg-type]


def test_boxes_stay_and_have_no_ids() -> None:
    frames = perfect(10).with_confidence(0.9)
    boxes = mg.MapFrames.of({token: {"red": [[[10, 10], [40, 60]]]} for token in frames.tokens})
    boxes = replace(boxes.with_confidence(0.5), boxes=("red",))
    tracked = mg.track(add_instances(frames, boxes))
    alone = mg.track(frames)
    assert tracked.counts["red"] == 10
    lines = without_boxes(tracked)
    assert np.asarray(lines.track).tolist() == np.asarray(alone.track).tolist()
    assert set(np.asarray(tracked.track)[is_box(tracked)].tolist()) == {""}
