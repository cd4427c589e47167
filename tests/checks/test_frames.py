"""Tests that wrong frames, coordinates and confidences of a drive are found, and that poor models are not."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.arrays import Points
from tests.checks.world import best, codes, none, one, placed

import mapgauge as mg
from mapgauge.demo import demo_world

FRAMES = 40


@cache
def drive() -> tuple[mg.MapFrames, mg.MapFrames]:
    return demo_world(FRAMES)


def redrawn(frames: mg.MapFrames, where: Callable[[int], bool], draw: Callable[[Points], Points]) -> mg.MapFrames:
    """Return the frames with other points for some instances, given their rows."""
    lines = [np.ascontiguousarray(draw(line) if where(i) else line) for i, line in enumerate(frames.polylines)]
    return replace(frames, polylines=mg.Polylines.of(lines))


def with_contents(frames: mg.MapFrames, sources: list[int]) -> mg.MapFrames:
    """Return the frames with the lines of other frames."""
    return replace(frames.at(sources), tokens=frames.tokens)


def confident(frames: mg.MapFrames, change: Callable[[Points], Points]) -> mg.MapFrames:
    assert frames.confidence is not None
    return replace(frames, confidence=np.ascontiguousarray(change(frames.confidence)))


@pytest.mark.parametrize(("step", "which"), [(1, "next"), (-1, "previous")])
def test_tokens_off_by_one_are_a_warning(step: int, which: str) -> None:
    predictions, truth = drive()
    moved = with_contents(predictions, [min(max(i + step, 0), FRAMES - 1) for i in range(FRAMES)])
    finding = one("frames-shifted", moved, truth)
    assert finding.level == "warning"
    assert f"nearer to the truth of the {which} frame than to their own" in finding.message
    assert codes(moved, truth) == {"frames-shifted"}


def test_neighbours_follow_time_and_not_the_order_in_the_file(rng: np.random.Generator) -> None:
    predictions, truth = drive()
    moved = with_contents(predictions, [min(i + 1, FRAMES - 1) for i in range(FRAMES)])
    timed = replace(truth, timestamps=np.arange(FRAMES))
    shuffled = timed.at(rng.permutation(FRAMES).tolist())
    assert one("frames-shifted", moved, shuffled) == one("frames-shifted", moved, timed)


def test_mirrored_frames_are_an_error_that_names_some() -> None:
    predictions, truth = drive()
    mirrored = redrawn(predictions, lambda i: predictions.frame[i] % 3 == 0, lambda line: line * (1, -1))
    finding = one("axes-turned", mirrored, truth)
    assert finding.level == "error"
    assert "mirrored, y points to the other side, in" in finding.message
    assert {mirrored.tokens.index(token) % 3 for token in finding.examples} == {0}
    assert codes(mirrored, truth) == {"axes-turned"}


def test_repeated_frames_are_a_warning_if_the_truth_differs() -> None:
    predictions, truth = drive()
    sources = [i - i % 2 for i in range(FRAMES)]
    finding = one("frames-repeated", with_contents(predictions, sources), truth)
    assert (finding.level, finding.count) == ("warning", FRAMES // 2)
    assert none("frames-repeated", with_contents(predictions, sources), with_contents(truth, sources))
    assert none("frames-repeated", predictions, truth)


def test_frames_of_which_a_third_is_of_other_places_are_a_warning(rng: np.random.Generator) -> None:
    """The frames of two drives that do not resemble each other. Some are exchanged."""
    predictions, truth = drive()
    poses = np.tile(np.eye(4), (FRAMES, 1, 1))
    angles = rng.uniform(0, 2 * np.pi, FRAMES)
    poses[:, 0, 0] = poses[:, 1, 1] = np.cos(angles)
    poses[:, 1, 0], poses[:, 0, 1] = np.sin(angles), -np.sin(angles)
    predictions, truth = predictions.transform(poses), truth.transform(poses)
    assert none("frames-unrelated", predictions, truth)
    sources = list(range(FRAMES))
    sources[::3] = sources[12::3] + sources[:12:3]
    finding = one("frames-unrelated", with_contents(predictions, sources), truth)
    assert finding.level == "warning"
    assert {truth.tokens.index(token) % 3 for token in finding.examples} == {0}


@pytest.mark.parametrize("factor", [1.1, 1 / 1.1, 2.0, 100 / 60])
def test_a_scale_is_a_warning_that_names_it(factor: float) -> None:
    predictions, truth = drive()
    finding = one("coordinates-moved", placed(predictions, factor), truth, region=(60, 30))
    assert finding.level == "warning"
    assert float(finding.message.partition("scaled by about ")[2].split()[0]) == pytest.approx(factor, rel=0.02)
    assert codes(placed(predictions, factor), truth, region=(60, 30)) == {"coordinates-moved"}


@pytest.mark.parametrize("degrees", [5.0, -5.0, 15.0])
def test_a_small_turn_is_a_warning_that_names_it(degrees: float) -> None:
    predictions, truth = drive()
    turned = predictions.rotate(degrees)
    finding = one("coordinates-moved", turned, truth)
    assert float(finding.message.partition("turned by about ")[2].split()[0]) == pytest.approx(degrees, abs=1)
    assert codes(turned, truth) == {"coordinates-moved"}


def test_axes_exchanged_in_one_class_are_an_error_that_names_it() -> None:
    predictions, truth = drive()
    label = predictions.classes.index("divider")
    odd = redrawn(predictions, lambda i: predictions.label[i] == label, lambda line: line[:, ::-1])
    finding = one("axes-turned", odd, truth)
    assert finding.level == "error"
    assert finding.message.startswith("class divider: the predictions of this class seem to be mirrored, x and y are")
    assert codes(odd, truth, region=(60, 30)) == {"axes-turned"}


@pytest.mark.parametrize("side", ["predictions", "truth"])
@pytest.mark.parametrize(("factor", "unit"), [(100.0, "centimetres"), (1000.0, "millimetres")])
def test_another_unit_in_some_frames_is_an_error_that_names_some(side: str, factor: float, unit: str) -> None:
    sides = dict(zip(("predictions", "truth"), drive(), strict=True))
    frames = sides[side]
    sides[side] = redrawn(frames, lambda i: frames.frame[i] % 10 == 3, lambda line: line * factor)
    finding = one("coordinates-unit", **sides)
    assert (finding.level, finding.count) == ("error", FRAMES // 10)
    assert finding.message.startswith(f"{side}: the lines of 4 of ")
    assert f"The unit seems to be {unit} there" in finding.message
    assert finding.examples == tuple(frames.tokens[i] for i in (3, 13, 23))
    assert codes(**sides, region=(60, 30)) == {"coordinates-unit"}


@pytest.mark.parametrize("side", ["predictions", "truth"])
@pytest.mark.parametrize("value", [-10000.0, 0.0])
def test_padding_is_an_error_that_names_the_point(side: str, value: float) -> None:
    sides = dict(zip(("predictions", "truth"), drive(), strict=True))
    frames = sides[side]
    most = max(len(line) for line in frames.polylines) + 2
    sides[side] = redrawn(
        frames, lambda i: True, lambda line: np.concatenate([line, np.full((most - len(line), 2), value)])
    )
    finding = one("coordinates-padded", **sides)
    assert (finding.level, finding.count) == ("error", len(frames.polylines))
    assert f"end at exactly ({value:g}, {value:g})" in finding.message
    assert codes(**sides, region=(60, 30)) == {"coordinates-padded"}


def test_small_confidences_are_a_warning() -> None:
    predictions, truth = drive()
    finding = one("confidence-small", confident(predictions, lambda values: values / 100), truth)
    assert finding.level == "warning"
    assert "the largest of 3000 confidences is 0.0098" in finding.message
    assert none("confidence-small", confident(predictions, lambda values: values / 10), truth)


def test_a_sigmoid_applied_twice_is_a_warning() -> None:
    predictions, truth = drive()
    twice = confident(predictions, lambda values: 1 / (1 + np.exp(-values)))
    assert codes(twice, truth) == {"confidence-sigmoid"}
    assert codes(confident(predictions, lambda values: 0.5 + values / 2), truth) - {"closed-differs"} == set()


def test_inverted_confidences_are_a_warning() -> None:
    predictions, truth = drive()
    finding = one("confidence-order", confident(predictions, lambda values: 1 - values), truth)
    assert finding.level == "warning"
    assert finding.message.startswith("confidences are higher for predictions that are far from the truth")


def test_shuffled_confidences_are_a_warning(rng: np.random.Generator) -> None:
    predictions, truth = drive()
    finding = one("confidence-order", confident(predictions, rng.permutation), truth)
    assert finding.level == "warning"
    assert finding.message.startswith("confidences say nothing about the predictions")


NEW = {
    *("frames-shifted", "frames-repeated", "frames-unrelated", "axes-turned", "coordinates-moved", "origin-shifted"),
    *("coordinates-unit", "coordinates-padded", "confidence-small", "confidence-sigmoid", "confidence-order"),
}


@pytest.mark.parametrize(
    "weaken",
    [
        lambda x, rng: x,
        lambda x, rng: best(x, 3),
        lambda x, rng: best(x, 1),
        lambda x, rng: redrawn(x, lambda i: True, lambda line: line + rng.normal(0, 1.0, 2)),
        lambda x, rng: x.keep(np.flatnonzero(rng.random(len(x.polylines)) < 0.5)),
        lambda x, rng: confident(x, lambda values: 0.2 * values),
        lambda x, rng: confident(x, lambda values: values**0.1),
        lambda x, rng: confident(x, lambda values: np.clip(values + rng.normal(0, 0.3, len(values)), 0, 1)),
        lambda x, rng: x.with_confidence(0.5),
        lambda x, rng: x.at(range(5)),
        lambda x, rng: x.at([7]),
        lambda x, rng: x.keep(np.flatnonzero(x.frame % 10 != 3)),
        lambda x, rng: x.select(["divider"]),
    ],
    ids=[
        *("as it is", "three best", "best", "jitter of 1 m", "half dropped", "low", "high", "noisy", "equal"),
        *("five frames", "one frame", "empty frames", "one class"),
    ],
)
def test_weak_models_are_not_called_wrong(
    weaken: Callable[[mg.MapFrames, np.random.Generator], mg.MapFrames], rng: np.random.Generator
) -> None:
    predictions, truth = drive()
    assert codes(weaken(predictions, rng), truth) & NEW == set()


def test_findings_do_not_depend_on_the_order_of_frames(rng: np.random.Generator) -> None:
    predictions, truth = drive()
    mirrored = redrawn(predictions, lambda i: predictions.frame[i] % 3 == 0, lambda line: line * (1, -1))
    order = rng.permutation(FRAMES).tolist()
    assert one("axes-turned", mirrored.at(order), truth) == one("axes-turned", mirrored, truth.at(order))
