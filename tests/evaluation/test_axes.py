"""Axes of predictions and truth: regions follow them, and predictions are turned where it is certain how."""

import re
from pathlib import Path

import pytest

import mapgauge as mg
from mapgauge.checks.coordinates import with_axes_of
from mapgauge.demo import demo_world

SMALL = mg.protocol("paper-60x30", region=(40, 20), crop=True)
PREDICTIONS, TRUTH = demo_world(8)
TURNED = PREDICTIONS.rotate(90), TRUTH.rotate(90)  # y forward


def test_a_crop_along_the_axes_gives_the_numbers_of_turned_files() -> None:
    straight = mg.evaluate(PREDICTIONS, TRUTH, SMALL)
    assert mg.evaluate(*TURNED, SMALL).classes == straight.classes
    one_unknown = TURNED[0].with_forward(None), TURNED[1]
    assert mg.evaluate(*one_unknown, SMALL).classes == straight.classes
    unknown = TURNED[0].with_forward(None), TURNED[1].with_forward(None)  # cropped as if x were forward
    found = mg.evaluate(*unknown, SMALL)
    assert found.classes != straight.classes
    assert "region-turned" in {finding.code for finding in found.findings}


def test_a_streamed_crop_follows_the_axes(tmp_path: Path) -> None:
    for side, name in zip(TURNED, ("x.parquet", "y.parquet"), strict=True):
        mg.write(side, tmp_path / name)
    streamed = mg.evaluate(tmp_path / "x.parquet", tmp_path / "y.parquet", SMALL)
    assert streamed.classes == mg.evaluate(PREDICTIONS, TRUTH, SMALL).classes
    mg.write(PREDICTIONS, tmp_path / "x.parquet")
    with pytest.raises(mg.InvalidInput, match=r"x.parquet has x forward"):
        mg.evaluate(tmp_path / "x.parquet", tmp_path / "y.parquet", SMALL)


def test_sides_with_different_axes_cannot_be_cropped() -> None:
    with pytest.raises(mg.InvalidInput) as caught:
        mg.evaluate(TURNED[0], TRUTH, SMALL)
    assert "demo-good has y forward and demo-truth has x forward" in str(caught.value)
    assert 'Use predictions.rotate(-90), or pass axes="auto"' in str(caught.value)
    assert "demo-good,rotate=-90 or demo-good,rotate=auto" in caught.value.for_shell()
    mg.evaluate(TURNED[0], TRUTH)  # without crop, a finding says so


@pytest.mark.parametrize("degrees", [90, -90])
def test_predictions_are_turned_if_axes_and_distances_agree(degrees: int) -> None:
    sides = (TURNED[0], TRUTH) if degrees == -90 else (PREDICTIONS, TURNED[1])
    found = mg.evaluate(*sides, SMALL, axes="auto")
    assert found.classes == mg.evaluate(PREDICTIONS, TRUTH, SMALL).classes
    (note,) = [finding for finding in found.findings if finding.code.startswith("axes")]
    assert (note.level, note.code) == ("note", "axes-corrected")
    assert f"turned by {degrees} degrees" in note.message


@pytest.mark.parametrize(
    ("predictions", "what"),
    [
        (TURNED[0].with_forward(None), "the predictions do not say which axis points forward"),
        (TURNED[0].with_forward("x"), "the predictions have x forward"),  # stated wrongly
        (PREDICTIONS.with_forward("y"), "the nearest distances do not show it"),
        (PREDICTIONS.rotate(180).with_forward("x"), "turned by 180 degrees"),
    ],
)
def test_predictions_are_not_turned_if_it_is_not_certain(predictions: mg.MapFrames, what: str) -> None:
    found = mg.evaluate(predictions, TRUTH, axes="auto")
    assert found.mean["pld"] == mg.evaluate(predictions, TRUTH).mean["pld"]
    (finding,) = [finding for finding in found.findings if finding.code in ("axes-uncertain", "axes-turned")]
    assert what in finding.message


@pytest.mark.parametrize(("degrees", "back"), [(90, -90), (-90, 90), (180, 180)])
def test_one_finding_names_one_angle(degrees: int, back: int) -> None:
    turned = PREDICTIONS.rotate(degrees).with_forward(None)
    angles = re.findall(r"rotate\((-?\d+)\)", " ".join(map(str, mg.evaluate(turned, TRUTH, axes="auto").findings)))
    assert angles == [str(back)]
    uncertain = with_axes_of(turned, TRUTH).findings[-1]
    assert re.findall(r"rotate=(-?\d+)", uncertain.for_shell()) == [str(back)]


def test_nothing_is_said_about_axes_that_agree() -> None:
    found = mg.evaluate(PREDICTIONS, TRUTH, axes="auto")
    assert found.mean == mg.evaluate(PREDICTIONS, TRUTH).mean
    assert not [finding for finding in found.findings if finding.code.startswith("axes")]
    with pytest.raises(mg.InvalidInput, match='axes must be "keep" or "auto"'):
        mg.evaluate(PREDICTIONS, TRUTH, axes="turn")  # type: ignore[arg-type]


def test_the_region_of_checks_follows_the_axes() -> None:
    assert not [f for f in mg.check(*TURNED, region=(60, 30)) if f.code.startswith("region")]


def test_assignments_know_their_axes() -> None:
    assert mg.evaluate(*TURNED).assignment(TRUTH.tokens[0]).forward == "y"
