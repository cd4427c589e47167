"""Frames with everything that ``MapFrames`` can hold, and what it means that two are the same."""

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.strategies import map_frames

import mapgauge as mg
from mapgauge.frames.alignment import add_instances

NUMBER = st.floats(allow_nan=False, allow_infinity=False)
NAME = st.text('abc07_ é"\\', min_size=1, max_size=4)


@st.composite
def rich_frames(draw: st.DrawFn, *, repeated_tokens: bool) -> mg.MapFrames:
    """Empty frames, 2-D or 3-D, classes without instances; tracks, scenes, poses, links, boxes and others or none."""
    frames = draw(map_frames())
    frames = frames.as_classes(draw(st.permutations([*frames.classes, "stop line"])))
    count = len(frames)
    if repeated_tokens and count:
        frames = frames.at(draw(st.lists(st.integers(0, count - 1), max_size=5)))
        count = len(frames)
    if draw(st.booleans()) and len(frames.label):
        names = [draw(NAME | st.just("")) for _ in frames.label]
        frames = replace(frames, track=np.array(names, np.str_) if any(names) else None)
    if draw(st.booleans()) and count:
        frames = replace(frames, scenes=tuple(draw(NAME) for _ in range(count)))
    if draw(st.booleans()) and count:
        frames = replace(frames, timestamps=draw(arrays(np.int64, count)))
    if draw(st.booleans()) and count:
        frames = replace(frames, poses=draw(arrays(np.float64, (count, 4, 4), elements=NUMBER)))
    if draw(st.booleans()):
        frames = replace(frames, links=draw(links_of(frames)))
    if draw(st.booleans()) and len(frames.label):
        frames = replace(frames, intersection=draw(arrays(np.bool_, len(frames.label))))
        frames = replace(frames, ignore=draw(st.none() | arrays(np.bool_, len(frames.label))))
        changes = [draw(st.sampled_from(["", "moved", "inserted"])) for _ in frames.label]
        frames = replace(frames, change=np.array(changes, np.str_) if any(changes) else None)
    if draw(st.booleans()):
        frames = with_boxes(frames)
    return frames.with_forward(draw(st.sampled_from(["x", "y", None])))


def with_boxes(frames: mg.MapFrames) -> mg.MapFrames:
    """The frames with a box in each of them, and a class of boxes without instances."""
    if len(set(frames.tokens)) < len(frames) or not len(frames):
        return frames
    box = [[1.5, 2.0, 0.0][: frames.dimension], [3.0, 2.5, 0.0][: frames.dimension]]
    nested = {token: {"red": [box]} for token in frames.tokens}
    score = None if frames.confidence is None else {token: {"red": [0.5]} for token in frames.tokens}
    some = mg.MapFrames.of(nested, confidence=score, classes=["red"])
    blank = np.full(len(some.label), "") if frames.track is not None else None
    inside = np.zeros(len(some.label), np.bool_) if frames.intersection is not None else None
    links = None if frames.links is None else mg.Links.of([], [])
    return add_instances(frames, replace(some, boxes=("red", "green"), track=blank, intersection=inside, links=links))


@st.composite
def links_of(draw: st.DrawFn, frames: mg.MapFrames) -> mg.Links:
    """Some links between instances of the same frame."""
    same = [(a, b) for a, k in enumerate(frames.frame) for b, other in enumerate(frames.frame) if k == other]
    chosen = {(*draw(st.sampled_from(same)), draw(NAME)) for _ in range(draw(st.integers(0, 5)))} if same else set()
    rows = sorted(chosen)
    weight = [draw(st.floats(0, allow_nan=False, allow_infinity=False)) for _ in rows]
    return mg.Links.of(
        [a for a, _, _ in rows], [b for _, b, _ in rows], weight=weight, kind=[name for *_, name in rows]
    )


def assert_same(again: mg.MapFrames, frames: mg.MapFrames) -> None:
    """Equal in everything, numbers to the last bit."""
    assert again.tokens == frames.tokens
    assert again.classes == frames.classes
    assert again.scenes == frames.scenes
    assert again.dimension == frames.dimension
    assert again.forward == frames.forward
    assert again.boxes == frames.boxes
    for name in ("frame", "label", "confidence", "track", "timestamps", "poses", "intersection", "ignore", "change"):
        assert _plain(getattr(again, name)) == _plain(getattr(frames, name)), name
    assert (again.links is None) == (frames.links is None)
    if again.links is not None and frames.links is not None:
        assert list(again.links) == list(frames.links)
    assert _plain(again.polylines.offsets) == _plain(frames.polylines.offsets)
    assert _plain(again.polylines.coords) == _plain(frames.polylines.coords)


def _plain(values: Any) -> Any:
    if values is None or values.dtype.kind == "U":
        return None if values is None else values.tolist()
    return (values.dtype, values.shape, np.ascontiguousarray(values).tobytes())
