"""Tests that ``check`` never raises and is deterministic, whatever the two MapFrames contain."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import mapgauge as mg
from mapgauge.checks import findings_in
from mapgauge.checks.context import Context
from mapgauge.checks.table import CHECKS, SIDES, Check

numbers = (
    st.integers(-40, 40).map(float)
    | st.floats(-30, 30)
    | st.sampled_from([0.0, -0.0, 1e-300, 1e6, -1e154, 1e300, -1.7e308])
)
confidences = st.floats(-2, 2) | st.sampled_from([0.0, 1.0, 100.0, 1e300, float("inf"), float("nan")])
names = st.sampled_from(["divider", "boundary", "contours", "ped_crossing", "lane_divider", "", "1"])
tokens = st.sampled_from(["a", "b", "A ", "log_a", "", "0" * 32, "1" * 32, "x/b.png"]) | st.text(max_size=3)
tracks, scenes = st.sampled_from(["", "a", "b", "s/a"]), st.sampled_from(["", "s", "t"])
regions = st.none() | st.sampled_from([(60, 30), (30, 60), (0, 0, 1e-9, 1e9)])


@st.composite
def map_frames(draw: st.DrawFn) -> mg.MapFrames:
    frames = draw(st.lists(tokens, max_size=4))
    classes = draw(st.lists(names, max_size=3, unique=True))
    dimension = draw(st.sampled_from([2, 2, 3]))
    count = draw(st.integers(0, 12)) if frames and classes else 0
    sizes = draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
    coords = draw(arrays(np.float64, (sum(sizes), dimension), elements=numbers))
    return mg.MapFrames(
        tokens=tuple(frames),
        classes=tuple(classes),
        frame=np.sort(draw(arrays(np.int64, count, elements=st.integers(0, max(len(frames) - 1, 0))))),
        label=draw(arrays(np.int64, count, elements=st.integers(0, max(len(classes) - 1, 0)))),
        polylines=mg.Polylines(coords, np.cumsum([0, *sizes])),
        confidence=draw(st.none() | arrays(np.float64, count, elements=confidences)),
        track=draw(
            st.none() | st.lists(tracks, min_size=count, max_size=count).map(lambda given: np.array(given, np.str_))
        ),
        scenes=draw(st.none() | st.lists(scenes, min_size=len(frames), max_size=len(frames)).map(tuple)),
        timestamps=draw(st.none() | arrays(np.int64, len(frames), elements=st.integers(-3, 3))),
        poses=draw(st.none() | arrays(np.float64, (len(frames), 4, 4), elements=numbers)),
        format=draw(st.sampled_from(["", "vectormapnet"])),
    )


@given(map_frames(), map_frames(), regions, st.none() | st.lists(names, max_size=2))
def test_check_never_raises_and_is_deterministic(
    predictions: mg.MapFrames, truth: mg.MapFrames, region: tuple[float, float] | None, classes: list[str] | None
) -> None:
    findings = mg.check(predictions, truth, region=region, classes=classes)
    assert findings == mg.check(predictions, truth, region=region, classes=classes)
    levels = [("error", "warning", "note").index(finding.level) for finding in findings]
    assert levels == sorted(levels)
    assert all(finding.code and str(finding) for finding in findings)
    assert all(finding.remedy for finding in findings if finding.level != "note")


@given(map_frames())
def test_check_answers_for_a_side_against_itself(frames: mg.MapFrames) -> None:
    assert isinstance(mg.check(frames, frames), tuple)


def test_the_order_of_frames_and_instances_does_not_matter(
    predictions: mg.MapFrames, truth: mg.MapFrames, rng: np.random.Generator
) -> None:
    # Something wrong of each kind, so that there are findings.
    odd = predictions.rename({"ped_crossing": "divider", "divider": "ped_crossing"}).rotate(90)
    order = rng.permutation(len(odd.polylines))
    order = order[np.argsort(odd.frame[order], kind="stable")]
    lines = mg.Polylines.of([odd.polylines[i] for i in order])
    assert odd.confidence is not None
    mixed = replace(odd, label=odd.label[order], polylines=lines, confidence=odd.confidence[order])
    mixed = mixed.at(rng.permutation(len(odd)).tolist())
    expected = [finding for finding in mg.check(odd, truth) if finding.code != "tokens-order"]
    assert [finding for finding in mg.check(mixed, truth) if finding.code != "tokens-order"] == expected


def test_what_the_readers_found_comes_along(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    dropped, odd = mg.Finding("warning", "dropped-few-points", "dropped"), mg.Finding("note", "odd", "odd")
    findings = mg.check(replace(predictions, findings=(odd,)), replace(truth, findings=(dropped, odd)))
    assert findings[0] == dropped
    assert findings.count(odd) == 1


def test_only_the_classes_asked_for_are_looked_at(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    odd = replace(truth, polylines=mg.Polylines.of([np.repeat(line[:1], 2, axis=0) for line in truth.polylines]))
    one_class = odd.as_classes(["divider"]).polylines
    (finding,) = (f for f in mg.check(predictions, odd, classes=["divider"]) if f.code == "zero-length")
    assert finding.count == len(one_class)


def test_a_new_check_is_a_function_and_a_row(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    row = Check(
        name="many", find=lambda context: [mg.Finding("error", "too-many-frames", f"{len(context.truth)} frames")]
    )
    findings = findings_in(Context.of(predictions, truth), [], checks=(*CHECKS.values(), row))
    assert findings[0].code == "too-many-frames"


@pytest.mark.whole
def test_checks_are_made_in_the_order_of_the_input() -> None:
    """Findings of the same level are listed in this order: about sides, tracks, links, and then about single lines."""
    orders = [row.order for row in CHECKS.values()]
    assert orders == sorted(orders)
    rooms = list(dict.fromkeys(name.partition(".")[0] for name, row in CHECKS.items() if row.order > SIDES))
    assert rooms == ["tracks", "links", "graph_scores", "instances"]
    assert next(iter(CHECKS)) == "names.no_frames"
