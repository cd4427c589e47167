"""The columns of drawn frames against a twin that draws frame by frame, from assignments."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.frames.instances import Instance
from mapgauge.frames.map_frames import MapFrames
from mapgauge.results.assignment import Assignment
from mapgauge.results.marks import levels_of
from mapgauge.results.results import Results
from mapgauge.views.report.drawings import drawings

FRAMES = 50  # more than one block


def decoded(arrays: dict[str, NDArray[Any]], name: str, offsets: str) -> list[list[list[int]]]:
    """The rows of a column of ``steps``, line by line."""
    table = arrays[name].reshape(2, -1).T.astype(np.int64)
    ends = arrays[offsets][1:-1]
    return [np.cumsum(part, axis=0).tolist() for part in np.split(table, ends)] if len(arrays[offsets]) > 1 else []


def drawn(results: Results, **settings: Any) -> dict[str, NDArray[Any]]:
    return drawings(results, lambda: None, **settings).columns


def is_kept(frame: Assignment, number: int, least: float) -> bool:
    confidence = frame.predictions[number].confidence
    assert confidence is not None
    return confidence >= least or any(match.prediction == number for match in frame.matches)


def centimetres(line: Instance, forward: str | None) -> list[list[int]]:
    x, y = line.points.T[:2]
    if forward == "y":
        x, y = y, -x
    return [[round(100 * a), round(100 * b)] for a, b in zip(x.tolist(), y.tolist(), strict=True)]


def costs_of(frame: Assignment, results: Results) -> list[list[float]]:
    """The costs of the matches of a frame, from their definitions, for order 1."""
    rows = []
    cutoff = results.protocol.cutoffs[0]
    for match in frame.matches:
        x = frame.predictions[match.prediction]
        y = frame.truth[match.truth]
        gaps = x.points[match.pairs[:, 0]] - y.points[match.pairs[:, 1]]
        near = float(np.sqrt((gaps**2).sum(axis=1)).sum())
        apart = cutoff / 2 * (len(x.points) + len(y.points) - 2 * len(match.pairs))
        r = 1.0 if x.confidence is None else x.confidence
        share = 0.0
        if near + apart > 0:
            share = near / (near + apart)
        rows.append([r * match.distance * share, r * match.distance * (1 - share), (1 - r) / 2])
    return rows


def check(results: Results, least: float = 0.0) -> None:
    """Compare all columns with those of single assignments."""
    arrays = drawn(results, least=least)
    frames = [results.assignment(token) for token in results.tokens]
    kept = [[i for i in range(len(frame.predictions)) if is_kept(frame, i, least)] for frame in frames]
    sides = {
        "predictions": [[frame.predictions[i] for i in some] for frame, some in zip(frames, kept, strict=True)],
        "truth": [frame.truth for frame in frames],
    }
    for side, lines in sides.items():
        flat = [line for of_frame in lines for line in of_frame]
        names = [results.class_names[label] for label in arrays[f"{side}.label"]]
        assert np.diff(arrays[f"{side}.frames"]).tolist() == [len(of_frame) for of_frame in lines]
        assert names == [line.class_name for line in flat]
        assert np.diff(arrays[f"{side}.points"]).tolist() == [len(line.points) for line in flat]
        expected = np.array([1.0 if line.confidence is None else line.confidence for line in flat], np.float32)
        assert (arrays[f"{side}.confidence"] == expected).all()
        found = decoded(arrays, f"{side}.coords", f"{side}.points")
        for points, line in zip(found, flat, strict=True):
            assert np.abs(np.array(points) - centimetres(line, frames[0].forward)).max(initial=0) <= 1
    of_truth = [flag for frame in frames for flag in frame.truth_closed]
    assert arrays["truth.closed"].tolist() == of_truth
    of_predictions = [frame.predictions_closed[i] for frame, some in zip(frames, kept, strict=True) for i in some]
    assert arrays["predictions.closed"].tolist() == of_predictions
    levels = [level for frame, some in zip(frames, kept, strict=True) for i in some for level in levels_of(frame)[i]]
    assert arrays["predictions.far"].tolist() == levels
    check_matches(arrays, frames, kept, results)


def check_matches(
    arrays: dict[str, NDArray[Any]], frames: Sequence[Assignment], kept: Sequence[Sequence[int]], results: Results
) -> None:
    matches = [match for frame in frames for match in frame.matches]
    numbers = [
        some.index(match.prediction) for frame, some in zip(frames, kept, strict=True) for match in frame.matches
    ]
    assert np.diff(arrays["matches.frames"]).tolist() == [len(frame.matches) for frame in frames]
    assert arrays["matches.prediction"].tolist() == numbers
    assert arrays["matches.truth"].tolist() == [match.truth for match in matches]
    assert arrays["matches.distance"].tolist() == np.array([m.distance for m in matches], np.float32).tolist()
    assert decoded(arrays, "matches.pairs", "matches.points") == [match.pairs.tolist() for match in matches]
    costs = [row for frame in frames for row in costs_of(frame, results)]
    np.testing.assert_allclose(arrays["matches.costs"], np.array(costs).reshape(-1, 3), rtol=1e-6, atol=1e-7)


def turned(side: MapFrames) -> MapFrames:
    """Frames with x to the right and y forward."""
    coords = side.polylines.coords[:, ::-1] * (-1.0, 1.0)
    return replace(side, polylines=replace(side.polylines, coords=coords), forward="y", poses=None)


@pytest.fixture(scope="module")
def world() -> tuple[MapFrames, MapFrames]:
    return demo_world(FRAMES, predictions=20)


@pytest.mark.parametrize(("protocol", "least"), [("paper-60x30", 0.0), ("even-60x30", 0.3), ("paper-60x30", 0.99)])
def test_the_columns_are_those_of_single_frames(
    world: tuple[MapFrames, MapFrames], protocol: str, least: float
) -> None:
    check(mg.evaluate(*world, protocol), least)


def test_frames_with_y_forward_are_turned(world: tuple[MapFrames, MapFrames]) -> None:
    check(mg.evaluate(turned(world[0]), turned(world[1])), 0.2)


def test_frames_without_predictions_or_truth_have_no_lines() -> None:
    line = [[0.0, 0.0], [9.0, 0.0]]
    truth = mg.MapFrames.of({"a": {"divider": [line]}, "b": {}, "c": {"boundary": [line, line]}, "d": {}})
    predictions = mg.MapFrames.of(
        {"a": {}, "b": {"divider": [line]}, "c": {"boundary": [line], "divider": [line]}},
        confidence={"a": {}, "b": {"divider": [0.4]}, "c": {"boundary": [0.1], "divider": [0.2]}},
    )
    check(mg.evaluate(predictions, truth, classes_of("divider", "boundary")), 0.3)


def classes_of(*names: str) -> mg.Protocol:
    return mg.protocol("paper-60x30", classes=list(names))


def test_without_a_cutoff_nothing_is_matched(world: tuple[MapFrames, MapFrames]) -> None:
    results = mg.evaluate(*world, "maptr")
    arrays = drawn(results, least=0.5)
    assert "predictions.far" not in arrays
    assert not len(arrays["matches.prediction"])
    assert arrays["matches.frames"].tolist() == [0] * (FRAMES + 1)
    assert (arrays["predictions.confidence"] >= 0.5).all()


def test_the_centre_of_a_map_is_the_origin(world: tuple[MapFrames, MapFrames]) -> None:
    results = mg.evaluate(*world)
    plain = drawn(results)
    arrays = drawn(results, centred=True)
    lines = decoded(arrays, "truth.coords", "truth.points")
    as_compared = decoded(plain, "truth.coords", "truth.points")
    for first, end in zip(arrays["truth.frames"][:-1], arrays["truth.frames"][1:], strict=True):
        points = np.concatenate([np.array(line) for line in lines[first:end]])
        assert np.abs(points.min(axis=0) + points.max(axis=0)).max() <= 2
        before = np.concatenate([np.array(line) for line in as_compared[first:end]])
        assert np.ptp(points - before, axis=0).max() <= 2
    assert (arrays["predictions.far"] == plain["predictions.far"]).mean() > 0.999


def test_every_frame_is_told(world: tuple[MapFrames, MapFrames]) -> None:
    told: list[int] = []
    drawings(mg.evaluate(*world), partial(told.append, 1))
    assert len(told) == FRAMES
