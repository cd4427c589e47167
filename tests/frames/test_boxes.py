"""Tests boxes: instances in an image, which stay as they are when lines are moved, cut or resampled."""

from dataclasses import replace

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.frames.alignment import add_instances, join_frames
from mapgauge.frames.instances import is_box, without_boxes
from mapgauge.frames.links import CONTROLLED_BY
from mapgauge.metrics.groups import group

BOX = [[900.0, 100.0], [950.0, 180.0]]


def frames(token: str = "a") -> mg.MapFrames:
    """One frame with a box, a lane, another box and another lane; the first lane leads on and obeys the first box."""
    lanes = [[[0.0, 0.0], [40.0, 0.0]], [[40.0, 0.0], [90.0, 0.0]]]
    made = mg.MapFrames.of({token: {"red": [BOX], "centerline": [lanes[0]]}})
    more = mg.MapFrames.of({token: {"red": [[[1.0, 2.0], [3.0, 4.0]]], "centerline": [lanes[1]]}})
    both = add_instances(replace(made, boxes=("red",)), replace(more, boxes=("red",)))
    links = mg.Links.of([1, 1], [3, 0], weight=[0.5, 0.25], kind=["successor", CONTROLLED_BY])
    return replace(both, links=links, intersection=np.array([False, True, False, False]))


def test_what_changes_lines_leaves_boxes_as_they_are() -> None:
    given = frames()
    cropped = given.crop((60, 30))
    assert cropped.counts == {"red": 2, "centerline": 1}
    assert cropped["a"][0].points.tolist() == BOX
    assert cropped["a"][1].points.tolist() == [[0, 0], [30, 0]]
    assert list(cropped.links or ()) == [(1, 0, 0.25, CONTROLLED_BY)]
    resampled = given.resample(count=3)
    assert [len(instance.points) for instance in resampled["a"]] == [2, 3, 2, 3]
    turned = given.rotate(90)
    assert turned["a"][0].points.tolist() == BOX
    assert turned["a"][1].points.tolist() == [[0, 0], [0, 40]]
    assert given.rename({"red": "stop"}).boxes == ("stop",)
    assert given.select(["centerline"]).intersection.tolist() == [True, False]  # type: ignore[union-attr]


def test_boxes_are_two_corners() -> None:
    given = mg.MapFrames.of({"a": {"red": [[[0, 0], [1, 1], [2, 2]]]}})
    with pytest.raises(mg.InvalidInput, match=r"frame a, instance 0 \(red\) has 3 points"):
        replace(given, boxes=("red",))
    given = mg.MapFrames.of({"a": {"red": [[[0, 5], [1, 1]]]}})
    with pytest.raises(mg.InvalidInput, match=r"has the corners \[0.0, 5.0\] and \[1.0, 1.0\]"):
        replace(given, boxes=("red",))


def test_boxes_are_aligned_only_if_they_are_named() -> None:
    truth = frames()
    bare = mg.MapFrames.of({"a": {"centerline": [[[0, 0], [9, 0]]]}}, confidence={"a": {"centerline": [0.5]}})
    x, y = mg.align(bare, truth)
    assert x.classes == y.classes == ("centerline",)
    x, y = mg.align(bare, truth, classes=("centerline", "red"))
    assert x.boxes == y.boxes == ("red",)
    assert y.counts == {"centerline": 2, "red": 2}
    lines = replace(truth, boxes=(), links=None).with_confidence(0.5).resample(count=3)
    with pytest.raises(mg.InvalidInput, match="has 3 points, expected a box"):
        mg.align(lines, truth)
    assert is_box(truth).tolist() == [True, False, True, False]
    assert without_boxes(truth).counts == {"centerline": 2}
    assert join_frames([truth, bare.with_confidence(None)]).boxes == ("red",)


def test_a_protocol_says_which_classes_are_boxes() -> None:
    truth = frames()
    with pytest.raises(mg.InvalidInput, match="instances of red are boxes"):
        mg.evaluate(truth.with_confidence(1), truth, mg.protocol("paper-60x30", classes=["red"]))
    lines = replace(truth.select(["red"]), boxes=(), links=None)
    with pytest.raises(mg.InvalidInput, match="instances of red are polylines"):
        mg.evaluate(lines.with_confidence(1), lines, mg.protocol("paper-60x30", classes=["red"], boxes=["red"]))
    assert not [finding for finding in mg.check(truth.with_confidence(1), truth) if finding.level == "error"]


def test_lines_are_scored_as_if_there_were_no_boxes() -> None:
    truth = frames()
    shifted = replace(truth, polylines=truth.polylines).rotate(1).with_confidence(np.array([0.9, 0.8, 0.7, 0.6]))
    settings = mg.protocol(
        "paper-60x30", classes=["red", "centerline"], boxes=["red"], settings={"ap_sospa": {"thresholds": (0.5,)}}
    )
    mixed = mg.evaluate(shifted, truth, settings)
    plain = mg.evaluate(shifted, truth, settings.replace(classes=["centerline"], boxes=()))
    assert mixed.classes["centerline"] == plain.classes["centerline"]
    assert mixed.mean == plain.mean
    assert mixed.classes["red"]["pld"] is None
    assert (mixed.classes["red"]["predictions"], mixed.classes["red"]["truth"]) == (2, 2)
    two = mg.compare([mixed], samples=10)
    assert set(two.estimates[0]) == {"red", "centerline", "mean"}
    assert two.estimates[0]["red"] == {}


def test_groups_have_the_links_of_both_sides() -> None:
    truth = frames()
    settings = mg.Protocol(name="", classes=None, boxes=("red",), ties="file")
    x, y = mg.align(truth.with_confidence(0.5), truth, classes=("red", "centerline"))
    groups = group(x, y, settings, links=True)
    # Order of the groups: predicted boxes 0 and 1, true boxes 2 and 3, predicted lanes 4 and 5, true lanes 6 and 7.
    expected = [(4, 0, 0.25, CONTROLLED_BY), (4, 5, 0.5, "successor")]
    expected += [(6, 2, 0.25, CONTROLLED_BY), (6, 7, 0.5, "successor")]
    assert list(groups.links or ()) == expected
    assert groups.boxes == (0,)
    assert groups.columns["intersection"].tolist() == [False, False, False, False, True, False, True, False]
    lines, rows = groups.of_lines()
    assert rows.tolist() == [4, 5, 6, 7]
    assert lines.bounds.tolist() == [[0, 0, 0], [0, 2, 4]]
    assert list(lines.links or ()) == [(0, 1, 0.5, "successor"), (2, 3, 0.5, "successor")]
    assert list(groups.pick(np.array([1])).links or ()) == list(lines.links or ())
    assert group(x, y, settings).links is None
