"""OpenLane-V2's scores agree with their plain definitions, and behave as described at the edges."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from tests.lane_frames import lane_frames
from tests.lane_worlds import both, plain_scores, world

import mapgauge as mg
from mapgauge.frames.lane_classes import TRAFFIC_ELEMENTS
from mapgauge.metrics.table import METRICS, chosen_metrics
from mapgauge.protocols import PROTOCOLS

VERSIONS = ("1.0", "1.1", "2.0", "2.1")
V11 = mg.protocol("openlanev2-v1.1")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_the_plain_definitions(version: str, seed: int) -> None:
    sides = world(seed, version)
    results = mg.evaluate(*both(sides), f"openlanev2-v{version}")
    # Of several optimal assignments, the F-score may come from any.
    for name, value in plain_scores(*sides, version).items():
        assert results.mean[name] == pytest.approx(value, abs=0.05 if name == "f_lane" else 1e-12), name


LANES = [np.array([[10.0 * i, 4.0 * row, 0.0], [10.0 * i + 10, 4.0 * row, 0.0]]) for row in range(2) for i in range(3)]


def moved(points: Any, x: float = 0, y: float = 0, z: float = 0) -> Any:
    """Return points that are moved."""
    return points + np.array([x, y, z])


def chain(found: list[int], scores: Any, false: int = 0, *, lanes: list[Any] = LANES) -> mg.MapFrames:
    """Return one frame with some of two rows of three lanes, links with some scores, and false lanes far away."""
    far = [moved(lanes[0], y=200 + 10 * k) for k in range(false)]
    rows = [
        {"points": points, "confidence": 0.9 - 0.01 * k} for k, points in enumerate([*(lanes[i] for i in found), *far])
    ]
    return lane_frames({"a": {"lane_centerline": rows, "topology_lclc": scores}}, predicted=True)


TRUE_LINKS = np.zeros((6, 6))
TRUE_LINKS[[0, 1, 3, 4], [1, 2, 4, 5]] = 1
TRUTH = replace(chain(list(range(6)), TRUE_LINKS), confidence=None)


@pytest.mark.parametrize(
    ("predictions", "expected"),
    [
        (chain(list(range(6)), TRUE_LINKS), 1.0),
        (chain(list(range(6)), 0.5 * TRUE_LINKS), 1 / 3),  # below the threshold: only ends without neighbours are right
        (chain(list(range(6)), np.full((6, 6), 0.9)), 3.15 / 12),
        (chain(list(range(5)), TRUE_LINKS[:5, :5]), 0.5),  # one missed lane adds false links to all others
        (chain(list(range(6)), np.pad(TRUE_LINKS, (0, 50), constant_values=0.99), 50), 1.0),  # false lanes cost nothing
    ],
    ids=["perfect", "unsure", "all links", "one missed", "50 false lanes"],
)
def test_what_topology_scores_reward(predictions: mg.MapFrames, expected: float) -> None:
    results = mg.evaluate(predictions, TRUTH, V11, metrics=["top_ll"])
    assert results.mean["top_ll"] == pytest.approx(expected, abs=1e-4)


def test_equal_scores_rank_by_index_and_missed_vertices_rank_by_the_filler() -> None:
    from mapgauge.features.openlane.kernels import vertex_precisions

    true = np.array([[True, False, True, False]])
    precision = vertex_precisions
    assert precision(true, np.array([[0.8, 0.8, 0.8, 0.9]])) == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert precision(true, np.array([[0.51, 0.5 + 2**-23, 0.0, 0.0]])) == pytest.approx(1 / 2)
    assert precision(true, np.array([[0.5, 0.5, 0.5, 0.5]])) == 0
    assert precision(np.zeros((2, 0), np.bool_), np.zeros((2, 0))) == 2


def test_frames_without_true_lanes_have_no_topology() -> None:
    sides = both(world(3, "1.1"))
    results = mg.evaluate(*sides, V11)
    frames = {row["token"]: row for row in results.frames()}
    values = [row["top_ll"] for row in frames.values()]
    assert values[:-1] == sorted(values[:-1])  # the worst come first, and frames without a value last
    assert frames["0"]["top_ll"] is None
    assert list(frames)[-1] == "0"
    assert frames["1"]["top_ll"] < 1e-12  # without predictions, every vertex has false links
    assert frames["2"]["top_lt"] is None


def test_absent_attributes_score_one_and_no_attributes_have_no_score() -> None:
    predictions, truth = both(world(1, "1.1"))
    results = mg.evaluate(predictions, truth, V11)
    assert results.classes["slight_right"]["det_t"] == 1
    assert results.classes["slight_right"]["det_t@0.75"] == 1
    assert results.classes["red"]["det_l"] is None
    lanes = [side.select(["centerline"]) for side in (predictions, truth)]
    bare = mg.evaluate(lanes[0], lanes[1], V11)
    assert [bare.mean[name] for name in ("det_t", "top_lt", "ols")] == [None] * 3
    for name in ("det_l", "det_l_ch", "top_ll", "ols_l", "f_lane"):
        assert bare.mean[name] == results.mean[name]


def test_lanes_and_elements_can_be_left_out() -> None:
    sides = both(world(1, "1.1"))
    results = mg.evaluate(*sides, V11)
    elements = mg.evaluate(*sides, V11.replace(classes=TRAFFIC_ELEMENTS))
    assert {name for name, value in elements.mean.items() if value is not None} == {"det_t", "det_t@0.75"}
    assert elements.mean["det_t"] == results.mean["det_t"]
    assert "top_lt" not in chosen_metrics(V11.replace(settings={"det_t": None, "top_lt": None}), None)
    flat = mg.evaluate(sides[0].planar(), sides[1].planar(), V11)  # as the files of CGNet are
    assert flat.mean["top_ll"] is not None
    assert flat.mean["det_t"] == results.mean["det_t"]
    assert (flat.mean["f_lane"] or 0) >= (results.mean["f_lane"] or 0)


def test_overall_scores_are_means_with_roots_of_topology() -> None:
    mean = {name: value or 0.0 for name, value in mg.evaluate(*both(world(2, "2.1")), "openlanev2-v2.1").mean.items()}
    terms = [mean["det_ls"], mean["det_a"], mean["det_t"], mean["top_ll"] ** 0.5, mean["top_lt"] ** 0.5]
    assert mean["olus"] == pytest.approx(sum(terms) / 5)
    # Rows of TopoMaskV3, table 1: DET_l, DET_l_ch, TOP_ll and OLS_l in percent.
    value = METRICS["ols_l"].rows.value  # type: ignore[union-attr]
    for *row, published in ((18.9, 23.5, 12.7, 26.0), (15.6, 22.4, 14.5, 25.3), (20.5, 26.2, 15.1, 28.5)):
        means = dict(zip(("det_l", "det_l_ch", "top_ll"), np.array(row) / 100, strict=True))
        assert 100 * value(means) == pytest.approx(published, abs=0.1)


def test_only_protocols_of_lanes_compute_them() -> None:
    names = {"det_l", "det_l_ch", "det_ls", "det_a", "det_t", "top_ll", "top_lt", "ols", "olus", "ols_l", "f_lane"}
    for name, protocol in PROTOCOLS.items():
        computed = names & set(chosen_metrics(protocol, None))
        assert bool(computed) == name.startswith("openlanev2-v")
    assert chosen_metrics(V11, ["ols"]) == ("det_l", "det_t", "top_ll", "top_lt", "ols")
    for metric, message in (("top_ll", "has no rules for top_ll"), ("f_lane", "has no apart for f_lane")):
        with pytest.raises(mg.InvalidInput, match=f"{message}. Set it: "):
            chosen_metrics(mg.protocol("paper-60x30"), [metric])
    with pytest.raises(mg.InvalidInput, match="no settings for olus"):
        chosen_metrics(V11, ["olus"])


def test_what_a_protocol_of_lanes_refuses() -> None:
    with pytest.raises(mg.InvalidInput, match=r"top_ll: rules must be .*got 'v3'"):
        V11.replace(settings={"top_ll": {"rules": "v3"}})
    with pytest.raises(mg.InvalidInput, match="part must be 'near'"):
        V11.replace(part="left")
    with pytest.raises(mg.InvalidInput, match="unknown protocol 'paper-60x30-near'"):
        mg.protocol("paper-60x30-near")


def test_missing_links_and_lines_are_errors() -> None:
    predictions, truth = both(world(0, "1.1"))
    with pytest.raises(mg.InvalidInput, match="predictions: top_ll needs links between lanes"):
        mg.evaluate(replace(predictions, links=None), truth, V11)
    some = mg.evaluate(replace(predictions, links=None), truth, V11, metrics=["det_l", "f_lane"])
    assert some.mean["det_l"] is not None
    with pytest.raises(mg.InvalidInput, match="lanes have no left line, expected lane segments"):
        mg.evaluate(predictions, truth, "openlanev2-v2.1")


def test_near_and_far_lanes() -> None:
    lanes = [LANES[0], moved(LANES[1], x=5.0), moved(LANES[2], x=5.1)]
    truth = replace(chain([0, 1, 2], np.eye(3, k=1), lanes=lanes), confidence=None)
    predictions = chain([0, 1, 2], 0.9 * np.eye(3, k=1), lanes=lanes)
    near = mg.evaluate(predictions, truth, "openlanev2-v1.1-near")
    assert near.protocol == mg.protocol("openlanev2-v1.1", part="near", name="openlanev2-v1.1-near")
    assert near.classes["centerline"]["truth"] == 2  # one ends at 25 m
    far = mg.evaluate(predictions, truth, "openlanev2-v1.1-far")
    assert far.classes["centerline"]["truth"] == far.classes["centerline"]["predictions"] == 1
    turned = [replace(side, polylines=side.rotate(90).polylines, forward="y") for side in (predictions, truth)]
    assert mg.evaluate(turned[0], turned[1], "openlanev2-v1.1-far").mean["det_l"] == 1


@pytest.mark.parametrize("version", ["1.1", "2.1"])
def test_lanes_in_intersections_and_elsewhere(version: str) -> None:
    predictions, truth = both(world(4, version, frames=6))
    parts = [mg.evaluate(predictions, truth, f"openlanev2-v{version}-{part}") for part in ("intersection", "elsewhere")]
    for count in ("predictions", "truth"):
        whole = mg.evaluate(predictions, truth, f"openlanev2-v{version}").classes
        for name in ("centerline", "left_laneline")[: 1 + version.startswith("2")]:
            assert sum(part.classes[name][count] or 0 for part in parts) == whole[name][count]
    assert truth.intersection is not None
    lane = truth.label == truth.classes.index("centerline")
    assert parts[0].classes["centerline"]["truth"] == np.count_nonzero(truth.intersection & lane)
    assert all(part.mean["top_ll"] is not None for part in parts)
    with pytest.raises(mg.InvalidInput, match=r"truth: .*lie in intersections"):
        mg.evaluate(predictions, replace(truth, intersection=None), f"openlanev2-v{version}-elsewhere")


def test_a_prediction_belongs_to_the_part_of_the_nearest_true_lane() -> None:
    truth = replace(chain([0, 3], np.zeros((2, 2))), confidence=None, intersection=np.array([True, False]))
    lanes = [moved(LANES[0], y=1.9), moved(LANES[3], y=-1.9), moved(LANES[3], y=90)]
    predictions = chain([0, 1, 2], np.zeros((3, 3)), lanes=lanes)
    counts = [
        mg.evaluate(predictions, truth, f"openlanev2-v1.1-{part}").classes["centerline"]["predictions"]
        for part in ("intersection", "elsewhere")
    ]
    assert counts == [1, 2]
    empty = truth.at([0]).keep(np.empty(0, np.int64))
    assert mg.evaluate(predictions, empty, "openlanev2-v1.1-elsewhere").classes["centerline"]["predictions"] == 3


def f_of(predicted: list[Any], true: list[Any], forward: Literal["x", "y"] = "x") -> float | None:
    """Return the F-score of one frame of lanes."""
    sides = [
        {"a": {"lane_centerline": [{"points": points, "confidence": 0.5} for points in lanes]}}
        for lanes in (predicted, true)
    ]
    x, y = (replace(lane_frames(side, predicted=k == 0), forward=forward) for k, side in enumerate(sides))
    return mg.evaluate(x, y, V11, metrics=["f_lane"]).mean["f_lane"]


def test_the_f_score_of_lanes() -> None:
    assert f_of(LANES, LANES) == 1
    assert f_of([moved(lane, y=1.4) for lane in LANES], LANES) == 1
    assert f_of([moved(lane, z=1.6) for lane in LANES], LANES) == 0
    assert f_of([*LANES, moved(LANES[0], y=50)], LANES) == pytest.approx(2 * 6 / 13)
    assert f_of([], LANES) == f_of(LANES, []) == 0
    across = [points[:, [1, 0, 2]] for points in LANES]
    assert f_of(across, across, "y") == 1
    # Lanes beyond the places, or with fewer than two places, do not take part.
    assert f_of([moved(LANES[0], x=60)], [np.array([[0.5, 0, 0], [1.5, 9, 0]])]) is None
    # Points with the same x at the first place give no slope. Such a pair costs nothing and is near nowhere there.
    upright = np.array([[0.0, 0, 0], [0.0, 5, 0], [9.0, 5, 0]])
    assert f_of([upright], [upright]) == 1


def test_the_closing_point_of_true_areas() -> None:
    """Since version 1.1, a true ring has no closing point in the Chamfer distance. A predicted one keeps it."""
    ring = np.array([[0.0, 0, 0], [3, 0, 0], [3, 3, 0], [0, 3, 0], [0, 0, 0]])
    shifted = np.concatenate([moved(ring[:1], y=-2.2), ring[1:4], moved(ring[4:], y=-2.2)])
    sides = [
        {"a": {"area": [{"points": points, "category": 1, "confidence": 0.5}], "lane_segment": []}}
        for points in (shifted, ring)
    ]
    x, y = (lane_frames(side, predicted=k == 0) for k, side in enumerate(sides))
    # Nearest points: 2.2 m for 2 of 5 predicted points; 2.2 m for 2 of 5, or 1 of 4, true points.
    for version, distance in (("2.0", 0.88), ("2.1", (0.88 + 0.55) / 2)):
        for limit, hit in ((distance + 1e-9, 1.0), (distance, 0.0), (distance - 1e-9, 0.0)):
            protocol = mg.protocol(f"openlanev2-v{version}", settings={"det_a": {"thresholds": (limit,)}})
            found = mg.evaluate(x, y, protocol, metrics=["det_a"]).classes["ped_crossing"]["det_a"]
            if limit != distance:
                assert found == hit


def test_links_of_other_kinds_do_not_count() -> None:
    assert TRUTH.links is not None
    others = mg.Links.of([0, 0], [3, 4], weight=[1, 1], kind=["left", "right"])
    joined = mg.Links.of(
        [*TRUTH.links.source, *others.source],
        [*TRUTH.links.target, *others.target],
        kind=[*TRUTH.links.kind.tolist(), *others.kind.tolist()],
    )
    results = mg.evaluate(replace(TRUTH, links=joined).with_confidence(1), TRUTH, V11, metrics=["top_ll"])
    assert results.mean["top_ll"] == 1
    assert len(TRAFFIC_ELEMENTS) == 13
