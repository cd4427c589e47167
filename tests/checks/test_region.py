from dataclasses import replace

import numpy as np
import pytest
from tests.checks.world import codes, none, one, placed

import mapgauge as mg


def with_line(frames: mg.MapFrames, points: list[list[float]]) -> mg.MapFrames:
    """Return the frames with one more instance in the last frame."""
    coords = np.concatenate([frames.polylines.coords, np.array(points)])
    offsets = np.append(frames.polylines.offsets, len(coords))
    return replace(
        frames,
        frame=np.append(frames.frame, len(frames) - 1),
        label=np.append(frames.label, 1),
        polylines=mg.Polylines(coords, offsets),
        confidence=None if frames.confidence is None else np.append(frames.confidence, 0.5),
    )


def test_a_few_instances_that_leave_the_region_are_a_note(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    odd = with_line(predictions, [[0, 0], [31, 0]])
    finding = one("region-left", odd, truth, region=(60, 30))
    assert (finding.level, finding.count, finding.examples) == ("note", 1, predictions.tokens[-1:])
    assert none("region-left", odd, truth)


def test_many_instances_that_leave_the_region_are_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("region-left", predictions.crop((40, 20)), truth, region=(40, 20))
    assert finding.level == "warning"
    assert finding.message.startswith("truth: ")
    assert "Use .crop(region) on both sides" in str(finding)
    assert finding.for_shell().endswith("Use --set crop=true to compare only what lies inside")


def test_what_leaves_the_region_by_less_than_a_margin_is_not_counted(
    predictions: mg.MapFrames, truth: mg.MapFrames
) -> None:
    assert none("region-left", with_line(predictions, [[0, 0], [30.2, 0]]), truth, region=(60, 30))


def test_a_region_that_is_turned_is_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("region-turned", predictions, truth, region=(30, 60))
    assert finding.level == "warning"
    assert codes(predictions, truth, region=(30, 60)) == {"region-turned"}
    assert codes(predictions.rotate(90), truth.rotate(90), region=(30, 60)) == set()


def test_a_region_that_the_truth_does_not_fill_is_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("region-not-covered", predictions, truth, region=(100, 50))
    assert finding.level == "warning"
    assert "the region is 100 x 50 m and the truth measures 60 x 30 m" in finding.message
    assert none("region-not-covered", predictions, truth, region=(64, 32))


def test_a_narrow_road_fills_its_region() -> None:
    """A straight road of 10 m, cut at 60 x 30 m, is as long as the region and not as wide."""
    road = [[[-30.0, y], [30.0, y]] for y in (-5.0, 0.0, 5.0)]
    truth = mg.MapFrames.of({f"{i}": {"boundary": road[::2], "divider": road[1:2]} for i in range(20)})
    assert none("region-not-covered", truth.with_confidence(1), truth, region=(60, 30))
    assert one("region-not-covered", truth.with_confidence(1), truth, region=(100, 50)).level == "warning"


@pytest.mark.parametrize("name", ["paper", "streammapnet"])
@pytest.mark.parametrize(("forward", "degrees"), [("x", 0), ("y", 90)])
def test_the_protocol_of_the_region_that_both_sides_fill_is_named(
    predictions: mg.MapFrames, truth: mg.MapFrames, name: str, forward: mg.typing.Forward, degrees: float
) -> None:
    x, y = (placed(side, 5 / 3).rotate(degrees).with_forward(forward) for side in (predictions, truth))
    found = mg.evaluate(x, y, f"{name}-60x30").findings
    (finding,) = (finding for finding in found if finding.level == "warning")
    assert (finding.code, finding.for_shell().split(". ")[-1]) == ("region-left", f"Use --protocol {name}-100x50")
    assert all(found.level == "note" for found in mg.evaluate(x, y, f"{name}-100x50").findings)
    cropped = mg.evaluate(x, y, mg.protocol(f"{name}-60x30", crop=True)).findings
    assert all(found.level == "note" for found in cropped)


def test_a_prediction_far_away_is_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    odd = with_line(predictions, [[0, 0], [1e6, 0]])
    finding = one("instances-far-away", odd, truth)
    assert (finding.level, finding.count, finding.examples) == ("warning", 1, predictions.tokens[-1:])
    assert codes(odd, truth) == {"instances-far-away"}
    assert codes(with_line(predictions, [[0, 0], [40, 0]]), truth) == set()


def test_when_all_is_far_away_single_instances_are_not_the_cause(
    predictions: mg.MapFrames, truth: mg.MapFrames
) -> None:
    assert none("instances-far-away", placed(predictions, 1000), truth)


def test_an_invalid_region_is_refused(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    with pytest.raises(mg.InvalidInput, match="region must be"):
        codes(predictions, truth, region=(60, -30))
