"""Tests joining of several MapFrames into one."""

import numpy as np
import pytest
from hypothesis import given
from tests.strategies import map_frames

import mapgauge as mg
from mapgauge.frames.alignment import join_frames


@given(frames=map_frames())
def test_frames_cut_apart_and_joined_are_the_same(frames: mg.MapFrames) -> None:
    if not len(frames):
        return
    joined = join_frames([frames.between(slice(i, i + 1)) for i in range(len(frames))])
    assert joined.tokens == frames.tokens
    assert joined.classes == frames.classes
    assert joined.scenes == frames.scenes
    for name in ("frame", "label", "confidence", "track", "timestamps", "poses"):
        mine, theirs = getattr(joined, name), getattr(frames, name)
        assert (mine is None) == (theirs is None)
        assert mine is None or np.array_equal(mine, theirs)
    assert np.array_equal(joined.polylines.offsets, frames.polylines.offsets)
    assert np.array_equal(joined.polylines.coords, frames.polylines.coords)


def test_classes_meet_by_name() -> None:
    one = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]], "boundary": [[[0, 1], [9, 1]]]}})
    other = mg.MapFrames.of({"b": {"boundary": [[[0, 2], [9, 2]]]}})
    assert join_frames([one, other]).counts == {"divider": 1, "boundary": 2}
    assert [instance.class_name for instance in join_frames([one, other])["b"]] == ["boundary"]


def test_predictions_and_truth_do_not_join() -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    with pytest.raises(mg.InvalidInput, match="predictions and truth cannot be joined"):
        join_frames([truth, truth.with_confidence(1)])


def test_frames_with_and_without_height_do_not_join() -> None:
    flat = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    high = mg.MapFrames.of({"b": {"divider": [[[0, 0, 1], [9, 0, 1]]]}})
    with pytest.raises(mg.InvalidInput, match="some parts are 2-D and some are 3-D"):
        join_frames([flat, high])


def test_nothing_does_not_join() -> None:
    with pytest.raises(mg.InvalidInput, match="nothing to join"):
        join_frames([])


def test_joined_frames_have_the_axis_that_the_parts_know() -> None:
    unknown = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    x, y = unknown.with_forward("x"), unknown.with_forward("y")
    assert [join_frames(parts).forward for parts in ([x, x], [unknown, y], [x, y])] == ["x", "y", None]
