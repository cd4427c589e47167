"""The history of frames: what is recorded, and what ends it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.frames.alignment import join_frames
from mapgauge.frames.content import content_hash
from mapgauge.frames.history import READ, STEPS, arguments_of, replay

Change = Callable[[mg.MapFrames], mg.MapFrames]

REPLAYED: dict[str, Change] = {
    "rename": lambda frames: frames.rename({"divider": "line"}),
    "of_tokens": lambda frames: frames.of_tokens(frames.tokens[1:]),
    "select": lambda frames: frames.select(("boundary", "divider")),
    "as_classes": lambda frames: frames.as_classes(["boundary", "centerline"]),
    "rotate": lambda frames: frames.rotate(np.float64(-90)),
    "planar": lambda frames: frames.planar(),
    "with_forward": lambda frames: frames.with_forward("y"),
    "with_confidence": lambda frames: frames.with_confidence(1),
    "filter": lambda frames: frames.filter(0.3),
    "crop": lambda frames: frames.crop(np.array([30, 20])),  # type: ignore[arg-type]
    "resample": lambda frames: frames.resample(count=5),
}
ENDED: dict[str, Change] = {
    "keep": lambda frames: frames.keep(np.arange(3)),
    "at": lambda frames: frames.at([1, 0]),
    "between": lambda frames: frames.between(slice(0, 1)),
    "transform": lambda frames: frames.transform(np.eye(4)),
    "confidences": lambda frames: frames.with_confidence(np.full(len(frames.polylines), 0.5)),
    "a list of confidences": lambda frames: frames.with_confidence([0.5] * len(frames.polylines)),
    "too fine": lambda frames: frames.select(["divider"]).at([0]).resample(spacing=0.001),
    "a join": lambda frames: join_frames([frames, replace(frames, tokens=tuple(f"{t}+" for t in frames.tokens))]),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("history") / "x.json"
    mg.write(demo_world(3)[0], file, "streammapnet")
    return file


def test_every_step_is_tested() -> None:
    assert set(STEPS) == {READ, *REPLAYED}
    assert all(callable(getattr(mg.MapFrames, name)) for name in REPLAYED)


@pytest.mark.parametrize("name", REPLAYED)
def test_a_change_of_plain_arguments_is_recorded_and_replayed(name: str, path: Path) -> None:
    frames = mg.read(path)
    changed = REPLAYED[name](frames)
    assert changed.history is not None
    first, last = changed.history
    assert (first.name, last.name) == (READ, name)
    again = replay(mg.read(path), (last,))
    assert content_hash(again) == content_hash(changed)
    assert again.forward == changed.forward
    assert frames.history == (first,)


@pytest.mark.parametrize("name", ENDED)
def test_a_change_that_cannot_be_repeated_ends_the_history(name: str, path: Path) -> None:
    changed = ENDED[name](mg.read(path))
    assert changed.history is None
    assert changed.rotate(90).history is None


def test_the_reading_is_recorded_as_it_was_asked_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    frames = mg.read("x.json", "streammapnet", classes={"divider": 1, "other": 0, "third": 2}, degenerate="drop")
    expected = {
        "path": "x.json",
        "format": "streammapnet",
        "classes": {"1": "divider", "0": "other", "2": "third"},
        "degenerate": "drop",
        "options": {},
    }
    assert frames.history == (mg.Step("read", expected),)
    assert mg.MapFrames.of({"a": {}}).history is None


def test_a_change_that_changes_nothing_adds_no_step(path: Path) -> None:
    frames = mg.read(path)
    assert frames.as_classes(frames.classes).history == frames.history


def test_histories_do_not_grow_without_end(path: Path) -> None:
    frames = mg.read(path)
    for _ in range(101):
        frames = frames.planar()
    assert frames.history is None


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (mg.Step("__class__", {}), "the step '__class__' is unknown"),
        (mg.Step("keep", {"instances": [0]}), "the step 'keep' is unknown"),
        (mg.Step("rotate", {}), "missing required field `degrees`"),
        (mg.Step("rotate", {"degrees": "90"}), "Expected `float`"),
        (mg.Step("planar", {"self": 1}), "unknown field"),
        (mg.Step("resample", {"spacing": 1e-9, "count": None}), ">= 0.01"),
        (mg.Step("resample", {"spacing": None, "count": 10**12}), "<= 10000"),
        (mg.Step("crop", {"region": [1.0, 2.0, 3.0]}), "region"),
        (mg.Step("rename", {"names": {"nothing": "divider"}}), "no class nothing"),
        (mg.Step("with_confidence", {"confidence": 7.0}), "confidence"),
        (mg.Step("read", {"path": "/etc/passwd"}), "read"),
        (
            mg.Step("read", {"path": "x", "format": None, "classes": None, "degenerate": "drop", "options": {}}),
            "middle",
        ),
    ],
)
def test_hostile_steps_are_refused(step: mg.Step, message: str, path: Path) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        replay(mg.read(path), (step,))


def test_many_hostile_steps_are_refused(path: Path) -> None:
    with pytest.raises(mg.InvalidInput, match="a history of 200 steps"):
        replay(mg.read(path), (mg.Step("planar", {}),) * 200)


def test_arguments_are_returned_by_name() -> None:
    arguments: dict[str, Any] = arguments_of(mg.Step("crop", {"region": [60, 30]}))
    assert arguments == {"region": (60.0, 30.0)}


def test_renaming_no_class_is_no_step() -> None:
    frames = replace(mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}}), history=())
    assert frames.rename({}) is frames
    assert frames.rename({"divider": "divider"}) is frames
    assert [step.name for step in frames.rename({"divider": "line"}).history or ()] == ["rename"]
