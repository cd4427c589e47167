"""Hypothesis strategies for polylines and sets of them.

Coordinates are multiples of 1/16 m (exact in binary, so that ties and repeated points occur) or arbitrary float32
numbers. Their range is a few cutoffs, so that both matches and far points occur.
"""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.arrays import Points

import mapgauge as mg

cutoffs = st.sampled_from([0.25, 0.5, 1.0, 1.5, 4.0]) | st.floats(0.1, 10)
orders = st.sampled_from([1.0, 2.0, 3.0, 1.5])


def coordinates() -> st.SearchStrategy[float]:
    return st.integers(-80, 80).map(lambda v: v / 16) | st.floats(-5, 5, width=32)


def polylines(most: int = 9, dimension: int = 2) -> st.SearchStrategy[Points]:
    return st.integers(0, most).flatmap(lambda n: arrays(np.float64, (n, dimension), elements=coordinates()))


def rings(most: int = 7) -> st.SearchStrategy[Points]:
    """Polygons without equal consecutive points, so that no shift of them ends with a repeated first point."""

    def no_repeats(points: Points) -> bool:
        return len(points) < 3 or not (points == np.roll(points, 1, axis=0)).all(axis=1).any()

    return polylines(most).filter(no_repeats)


@st.composite
def instances(draw: st.DrawFn, most: int = 4, points: int = 5) -> tuple[list[Points], list[float]]:
    """A set of polylines with confidences."""
    lines = draw(st.lists(polylines(points), max_size=most))
    confidence = st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1)
    return lines, draw(st.lists(confidence, min_size=len(lines), max_size=len(lines)))


@st.composite
def map_frames(draw: st.DrawFn, *, confidence: bool | None = None, dimension: int | None = None) -> mg.MapFrames:
    """A few frames with a few instances each; some frames are empty."""
    names = ["ped_crossing", "divider", "boundary"]
    size = draw(st.integers(2, 3)) if dimension is None else dimension
    number = st.floats(allow_nan=False, allow_infinity=False, width=64)
    tokens = draw(st.lists(st.text('abc09_-/ é"\\', min_size=1, max_size=6), unique=True, max_size=4))
    frame, label, lines = [], [], []
    for i in range(len(tokens)):
        for _ in range(draw(st.integers(0, 3))):
            frame.append(i)
            label.append(draw(st.integers(0, 2)))
            lines.append(draw(st.integers(2, 5).flatmap(lambda n: arrays(np.float64, (n, size), elements=number))))
    values = None
    if draw(st.booleans()) if confidence is None else confidence:
        values = np.array([draw(st.floats(0, 1)) for _ in lines], np.float64)
    return mg.MapFrames(
        tokens=tuple(tokens),
        classes=tuple(names),
        frame=np.array(frame, np.int64),
        label=np.array(label, np.int64),
        polylines=mg.Polylines.of(lines),
        confidence=values,
    )
