"""Tests the checks of closed and of degenerate shapes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.arrays import Points
from tests.checks.world import codes, none, one

import mapgauge as mg


def redrawn(frames: mg.MapFrames, class_name: str, draw: Callable[[Points], Points]) -> mg.MapFrames:
    """Return the frames with other points for the instances of one class."""
    label = frames.classes.index(class_name)
    lines = [draw(points) if frames.label[i] == label else points for i, points in enumerate(frames.polylines)]
    return replace(frames, polylines=mg.Polylines.of(lines))


def test_shares_of_closed_shapes_are_a_note(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("closed-shapes", truth.with_confidence(1), truth)
    assert (finding.level, finding.count) == ("note", 2 * truth.counts["ped_crossing"])
    assert "ped_crossing 100 % of predictions, 100 % of truth; divider 0 % of predictions" in finding.message
    lines = predictions.select(["divider"]), truth.select(["divider"])
    assert none("closed-shapes", *lines)


def test_open_outlines_against_closed_ones_are_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    # Four corners without the edge from the fourth to the first.
    odd = redrawn(predictions, "ped_crossing", lambda points: mg.resample(points, count=5)[:4])
    finding = one("closed-differs", odd, truth)
    assert finding.level == "warning"
    assert "class ped_crossing: the truth is closed" in finding.message


def test_lines_that_differ_in_direction_only_are_a_warning(truth: mg.MapFrames, predictions: mg.MapFrames) -> None:
    exact = truth.with_confidence(1)
    turned = redrawn(exact, "divider", lambda points: points[::-1].copy())
    finding = one("lines-reversed", turned, truth)
    assert (finding.level, finding.count) == ("warning", truth.counts["divider"])
    assert finding.remedy is not None
    assert finding.remedy.shell.startswith("Use --protocol even-60x30")
    wide = one("lines-reversed", turned, truth, region=(100, 50))
    assert wide.remedy is not None
    assert "even-100x50" in wide.remedy.python
    assert none("lines-reversed", exact, truth)
    assert none("lines-reversed", predictions, truth)


def test_the_advice_about_reversed_lines_gives_a_distance_of_0(truth: mg.MapFrames) -> None:
    turned = redrawn(truth.with_confidence(1), "divider", lambda points: points[::-1].copy())
    found = {name: mg.evaluate(turned, truth, name, metrics=["pld"]) for name in ("paper-60x30", "even-60x30")}
    assert [finding.code for finding in found["paper-60x30"].findings].count("lines-reversed") == 1
    assert "lines-reversed" not in [finding.code for finding in found["even-60x30"].findings]
    assert (found["paper-60x30"].mean["pld"] or 0) > 0.01
    assert found["even-60x30"].mean["pld"] == pytest.approx(0, abs=1e-9)
    directed = replace(mg.protocol("even-60x30"), name="directed", directed=True)
    (finding,) = (f for f in mg.evaluate(turned, truth, directed).findings if f.code == "lines-reversed")
    assert "Directions count in this protocol" in finding.text


def from_another_corner(points: Points) -> Points:
    vertices = np.roll(points[:-1], 1, axis=0)
    return np.concatenate([vertices, vertices[:1]])


@pytest.mark.parametrize("draw", [from_another_corner, lambda points: points[::-1].copy()])
def test_closed_lines_that_begin_elsewhere_are_a_warning(
    truth: mg.MapFrames, predictions: mg.MapFrames, draw: Callable[[Points], Points]
) -> None:
    """The message says what it costs. With the protocol that it advises, it costs nothing."""
    # Edges that are no multiples of 0.5 m: other corners have other points.
    crossings = redrawn(truth, "ped_crossing", lambda points: points[0] + 0.93 * (points - points[0]))
    crossings = crossings.select(["ped_crossing"])
    found = redrawn(crossings.with_confidence(1), "ped_crossing", draw)
    protocol = mg.protocol("paper-60x30", classes=["ped_crossing"])
    results = mg.evaluate(found, crossings, protocol, metrics=["pld"])
    (finding,) = (finding for finding in results.findings if finding.code == "starts-differ")
    assert finding.level == "warning"
    assert finding.remedy is not None
    assert finding.remedy.shell.startswith("Use --protocol even-60x30")
    assert f"is {results.mean['pld']:.3f} instead of 0.000" in finding.message  # all frames are in the sample
    even = mg.protocol("even-60x30", classes=["ped_crossing"])
    better = mg.evaluate(found, crossings, even, metrics=["pld"])
    assert better.mean["pld"] == 0
    others = (
        better,
        mg.evaluate(crossings.with_confidence(1), crossings, protocol, metrics=["pld"]),
        mg.evaluate(predictions, truth, "paper-60x30", metrics=["pld"]),
    )
    for sound in others:
        assert "starts-differ" not in [finding.code for finding in sound.findings]


def test_outlines_that_are_not_quite_closed_are_sound(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    odd = redrawn(predictions, "ped_crossing", lambda points: points[:-1])  # about 1.4 m left open
    assert codes(odd, truth) == set()


def test_closed_shapes_against_lines_are_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    odd = redrawn(predictions, "divider", lambda points: np.concatenate([points, points[:1] + 0.05]))
    finding = one("closed-differs", odd, truth)
    assert finding.level == "warning"
    assert "class divider: 100 % of the truth is open" in finding.message


def test_open_ends_of_unsure_predictions_do_not_count(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    alarms = [[[x, y], [x + 4, y + 1], [x + 9, y]] for x in (-20, -10, 0, 10) for y in (-9, -3, 3, 9)]
    frames = {token: {"ped_crossing": alarms} for token in predictions.tokens}
    confidence = {token: {"ped_crossing": [0.01] * len(alarms)} for token in predictions.tokens}
    unsure = mg.MapFrames.of(frames, confidence=confidence, classes=predictions.classes)
    order = np.argsort(np.concatenate([predictions.frame, unsure.frame]), kind="stable")
    lines = [*predictions.polylines, *unsure.polylines]
    assert predictions.confidence is not None
    assert unsure.confidence is not None
    both = mg.MapFrames(
        tokens=predictions.tokens,
        classes=predictions.classes,
        frame=np.concatenate([predictions.frame, unsure.frame])[order],
        label=np.concatenate([predictions.label, unsure.label])[order],
        polylines=mg.Polylines.of([lines[i] for i in order]),
        confidence=np.concatenate([predictions.confidence, unsure.confidence])[order],
    )
    assert none("closed-differs", both, truth)


@pytest.mark.parametrize("side", ["predictions", "truth"])
@pytest.mark.parametrize(
    ("code", "points"),
    [
        ("few-points", [[1.0, 2.0]]),
        ("zero-length", [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]),
        ("repeated-points", [[1.0, 2.0], [1.0, 2.0], [5.0, 2.0]]),
    ],
)
def test_odd_instances_are_noted(
    predictions: mg.MapFrames, truth: mg.MapFrames, side: str, code: str, points: list[list[float]]
) -> None:
    sides = {"predictions": predictions, "truth": truth}
    lines = list(sides[side].polylines)
    lines[-1] = np.array(points)
    assert none(code, **sides)
    sides[side] = replace(sides[side], polylines=mg.Polylines.of(lines))
    finding = one(code, **sides)
    assert (finding.level, finding.count, finding.examples) == ("note", 1, truth.tokens[-1:])
    assert finding.message.startswith(f"{side}: 1 of {len(lines)} instances")


def test_equal_ends_of_neighbours_are_no_repeated_point() -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [5, 0]], [[5, 0], [9, 0]]]}})
    assert none("repeated-points", truth.with_confidence(1), truth)


def test_a_few_copies_are_a_note_and_many_are_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    few = with_copies(predictions, 2)
    assert one("duplicate-instances", few, truth).level == "note"
    assert one("duplicate-instances", with_copies(predictions, len(predictions.polylines)), truth).level == "warning"
    finding = one("duplicate-instances", predictions, with_copies(truth, 2))
    assert (finding.level, finding.count) == ("warning", 2)
    assert finding.message.startswith("truth: 2 of 90 instances (2.22 %)")
    assert one("duplicate-instances", predictions, with_copies(truth, 1)).level == "note"


def with_copies(frames: mg.MapFrames, count: int) -> mg.MapFrames:
    """Return the frames with a copy of each of the first instances."""
    rows = np.sort(np.concatenate([np.arange(len(frames.polylines)), np.arange(count)]))
    return replace(
        frames,
        frame=frames.frame[rows],
        label=frames.label[rows],
        polylines=frames.polylines.pick(rows),
        confidence=None if frames.confidence is None else frames.confidence[rows],
    )


def test_copies_in_one_frame_and_class_are_noted() -> None:
    line, other = [[0.0, 0.0], [4.0, 1.0], [9.0, 0.0]], [[0.0, 0.0], [4.0, 2.0], [9.0, 0.0]]
    truth = mg.MapFrames.of({"a": {"divider": [line]}, "b": {"divider": [line], "boundary": [line]}})
    sound = mg.MapFrames.of(
        {"a": {"divider": [line, other]}, "b": {"divider": [line], "boundary": [line]}},
        confidence={"a": {"divider": [0.9, 0.1]}, "b": {"divider": [0.9], "boundary": [0.2]}},
    )
    assert none("duplicate-instances", sound, truth)
    copied = mg.MapFrames.of(
        {"a": {"divider": [line, other]}, "b": {"divider": [line, other, line, line]}},
        confidence={"a": {"divider": [0.9, 0.1]}, "b": {"divider": [0.9, 0.8, 0.7, 0.6]}},
    )
    finding = one("duplicate-instances", copied, truth)
    assert (finding.level, finding.count, finding.examples) == ("warning", 2, ("b",))
