"""No number depends on the order of instances or of frames, although many distances and confidences are equal."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.frames.lane_classes import LANE, LANE_LINES
from mapgauge.frames.links import CONTROLLED_BY, LEFT_LINE, RIGHT_LINE, SUCCESSOR, Links
from mapgauge.metrics.metric import CombinedRows
from mapgauge.metrics.table import METRICS
from mapgauge.protocols import PROTOCOLS, Protocol
from mapgauge.typing import Points

LINES, BOXES = ("ped_crossing", "divider", "boundary"), ("red", "green")
CLASSES = (*LINES, LANE, *LANE_LINES, *BOXES)
MORE = {
    "track_pld": {"switch_cost": 0.5},
    "network_pld": {"break_cost": 0.5},
    "ap_sospa": {"thresholds": (0.3, 0.6)},
    "c_map": {"thresholds": (0.5, 1.0)},
    "mas": {"intervals": (2,)},
}
ADDED: dict[str, dict[str, Any]] = {
    "paper-60x30": {"cutoffs": (1.5, 0.5), "settings": MORE},
    "lane-graph": {"settings": {"network_pld": {"break_cost": 0.5}}},
}


def drawn(rng: np.random.Generator, name: str) -> Points:
    """Return a line, a ring or a box on a coarse grid. Many have equal distances from others, and some are equal."""
    x, y = rng.integers(0, 2) * 0.5, rng.integers(-2, 3) * 0.25
    if name in BOXES:
        return np.array([[x, y], [x + 2, y + 1]]) + 2.0
    if name == "ped_crossing":
        return np.array([[x, y], [x + 1, y], [x + 1, y + 1], [x, y + 1], [x, y]])
    line = np.array([[x, y], [x + 0.3, y], [x + 1.5, y + rng.integers(0, 2) * 0.25]])
    return line if rng.random() < 0.7 else line[::-1].copy()


def side(rng: np.random.Generator, frames: int, *, truth: bool) -> mg.MapFrames:
    """Return frames of two scenes with tracks, poses and links. A lane segment has the lines of the same number."""
    content = {
        f"{f:02}": {name: [drawn(rng, name) for _ in range(3 if truth else 4)] for name in CLASSES}
        for f in range(frames)
    }
    made = replace(mg.MapFrames.of(content, classes=CLASSES), boxes=BOXES)
    count, per_class = len(made.label), 3 if truth else 4
    of_class = {name: made.label == made.classes.index(name) for name in CLASSES}
    lanes = np.flatnonzero(of_class[LANE])
    rows = []
    for kind, name in ((LEFT_LINE, LANE_LINES[0]), (RIGHT_LINE, LANE_LINES[1])):
        rows += [(i, j, 1.0, kind) for i, j in zip(lanes, np.flatnonzero(of_class[name]), strict=True)]
    for kind, targets in ((SUCCESSOR, lanes), (CONTROLLED_BY, np.flatnonzero(of_class["red"] | of_class["green"]))):
        some = [(i, j) for i in lanes for j in targets if made.frame[i] == made.frame[j] and i != j]
        rows += [(i, j, 1.0 if truth else rng.choice([0.6, 1.0]), kind) for i, j in some if rng.random() < 0.4]
    source, target, weight, kinds = zip(*rows, strict=True)
    poses = np.tile(np.eye(4), (frames, 1, 1))
    poses[:, 0, 3] = 0.25 * np.arange(frames)
    return replace(
        made,
        confidence=None if truth else rng.choice([0.25, 0.5, 0.5, 1.0], count),
        track=np.array([f"{k % per_class if truth else rng.integers(per_class)}" for k in range(count)]),
        scenes=tuple(f"scene {f % 2}" for f in range(frames)),
        timestamps=np.arange(frames),
        poses=poses,
        links=Links.of(source, target, weight=weight, kind=list(kinds)),
        intersection=rng.random(count) < 0.5,
        forward="x",
    )


def shuffled(frames: mg.MapFrames, rng: np.random.Generator) -> mg.MapFrames:
    """Return the same frames in another order, each with its instances in another order."""
    frames = frames.at(rng.permutation(len(frames)).tolist())
    return frames.keep(np.lexsort((rng.random(len(frames.label)), frames.frame)))


def by_content(name: str) -> Protocol:
    """Return a protocol with the settings of more metrics, whose ties are decided by content."""
    return mg.protocol(name, ties="content", **ADDED.get(name, {}))


def metrics_of(protocol: Protocol) -> list[str]:
    """Return all metrics that a protocol has settings for."""
    chosen = []
    for name, metric in METRICS.items():
        if metric.settings(protocol) and not isinstance(metric.rows, CombinedRows):
            chosen.append(name)
    return chosen


def evaluated(x: mg.MapFrames, y: mg.MapFrames, protocol: Protocol) -> mg.Results:
    ranges = (0, 1, 20) if protocol.cutoffs else ()
    return mg.evaluate(x, y, protocol, metrics=metrics_of(protocol), ranges=ranges, unknown="ignore", workers=1)


@pytest.mark.whole
@pytest.mark.parametrize("name", PROTOCOLS)
def test_no_bit_depends_on_the_order_of_frames_and_instances(name: str, rng: np.random.Generator) -> None:
    protocol = by_content(name)
    x, y = side(rng, 8, truth=False), side(rng, 8, truth=True)
    expected = evaluated(x, y, protocol)
    for _ in range(2):
        found = evaluated(shuffled(x, rng), shuffled(y, rng), protocol)
        assert found.classes == expected.classes
        assert found.mean == expected.mean
        assert found.frames("token") == expected.frames("token")


@pytest.mark.whole
def test_every_metric_is_among_those_of_the_protocols_above() -> None:
    tried = {metric for name in PROTOCOLS for metric in metrics_of(by_content(name))}
    assert tried == {name for name, metric in METRICS.items() if not isinstance(metric.rows, CombinedRows)}


def test_rows_matches_and_drawings_stay_at_the_instances_of_the_file(rng: np.random.Generator) -> None:
    x, y = (side(rng, 4, truth=truth).select(LINES) for truth in (False, True))
    results = mg.evaluate(x, y, "paper-60x30")
    order = np.lexsort((x.label, x.frame))
    assert x.confidence is not None
    assert results.scores.confidence.tolist() == x.confidence[order].tolist()
    one = results.assignment("00")
    for drawn_lines, frames in ((one.predictions, x), (one.truth, y)):
        starts = [line.points[0].tolist() for line in frames["00"]]
        assert [line.points[0].tolist() for line in drawn_lines] == starts
    stored = results.scores.matches
    assert stored is not None
    of_frame = stored[: len(one.predictions)]
    found = {match.prediction: match.truth for match in one.matches}
    per_class = 3
    for k, (line, truth) in enumerate(zip(one.predictions, of_frame.tolist(), strict=True)):
        assert found.get(k, -1) == (-1 if truth < 0 else truth + per_class * LINES.index(line.class_name))


@pytest.mark.needs_feature("openlane")
def test_a_protocol_that_follows_public_code_decides_by_the_file_and_says_so(tmp_path: Path) -> None:
    above, below = [[0, 0.5], [9, 0.5]], [[0, -0.5], [9, -0.5]]
    predictions = mg.MapFrames.of(
        {"a": {"centerline": [[[0, 0], [9, 0]], above]}, "b": {}}, confidence={"a": {"centerline": [0.9, 0.5]}}
    )
    orders = [mg.MapFrames.of({"a": {"centerline": lines}, "b": {}}) for lines in ([above, below], [below, above])]
    by_file = [mg.evaluate(predictions, truth, "openlanev2") for truth in orders]
    assert by_file[0].mean["ap_frechet"] != by_file[1].mean["ap_frechet"]
    for results in by_file:
        (finding,) = (finding for finding in results.findings if finding.code == "ties-by-file")
        assert (finding.count, finding.examples) == (1, ("a",))
    for name, frames in (("x", predictions), ("y", orders[0])):
        mg.write(frames, tmp_path / f"{name}.parquet")
    streamed = mg.evaluate(tmp_path / "x.parquet", tmp_path / "y.parquet", "openlanev2")
    assert streamed.mean == by_file[0].mean
    assert [finding.count for finding in streamed.findings if finding.code == "ties-by-file"] == [1]
    settings = mg.protocol("openlanev2", ties="content")
    by_lines = [mg.evaluate(predictions, truth, settings) for truth in orders]
    assert by_lines[0].mean == by_lines[1].mean
    assert not any(finding.code == "ties-by-file" for results in by_lines for finding in results.findings)


@pytest.mark.needs_feature("openlane")
def test_ties_that_move_no_number_are_not_counted() -> None:
    line = [[0, 0], [9, 0]]
    predictions = mg.MapFrames.of({"a": {"centerline": [line]}}, confidence={"a": {"centerline": [0.9]}})
    results = mg.evaluate(predictions, mg.MapFrames.of({"a": {"centerline": [line, line]}}), "openlanev2")
    assert not any(finding.code == "ties-by-file" for finding in results.findings)
