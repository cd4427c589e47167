"""Training and validation must have the same axes, or distances in shape mean nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

import mapgauge as mg
from mapgauge.demo import demo_world


def sets() -> tuple[mg.MapFrames, mg.MapFrames]:
    """Truth of training and validation, both with x forward."""
    train = demo_world(12, seed=1, predictions=0)[1]
    validation = demo_world(12, seed=2, predictions=0)[1]
    tokens = tuple(f"train-{token}" for token in train.tokens)
    return replace(train, tokens=tokens, track=None), replace(validation, track=None)


def test_sets_with_known_and_different_axes_are_refused() -> None:
    train, validation = sets()
    assert (train.forward, validation.forward) == ("x", "x")
    with pytest.raises(mg.InvalidInput, match=r"has y forward and .+ has x forward"):
        mg.splits(train.rotate(90), validation)


def test_the_remedy_gives_the_distances_of_equal_axes() -> None:
    train, validation = sets()
    turned_back = train.rotate(90).rotate(-90)
    found = mg.splits(turned_back, validation).shape.distance
    assert found == pytest.approx(mg.splits(train, validation).shape.distance, abs=1e-9)


def test_a_set_without_stated_axes_that_is_long_the_other_way_is_noted() -> None:
    train, validation = sets()
    notes = mg.splits(train.rotate(90).with_forward(None), validation).notes
    assert any("TRAIN reaches further along y, VAL along x" in note for note in notes)


def test_sets_without_stated_axes_that_lie_alike_have_no_such_note() -> None:
    train, validation = sets()
    notes = mg.splits(train.with_forward(None), validation).notes
    assert not any("reaches further" in note for note in notes)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    train, validation = sets()
    mg.write(train.rotate(90), tmp_path / "train.parquet")
    mg.write(validation, tmp_path / "val.parquet")
    return tmp_path / "train.parquet", tmp_path / "val.parquet"


def test_the_command_names_the_file_and_the_angle_that_helps(files: tuple[Path, Path]) -> None:
    train, validation = files
    with pytest.raises(mg.InvalidInput) as refused:
        mg.splits(train, validation)
    assert f"{train},rotate=-90" in refused.value.for_shell()
