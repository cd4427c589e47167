"""What is refused before an evaluation, what is not, and which findings are about the metrics that are asked for."""

from dataclasses import replace

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.metrics.rows import SELECTIONS
from mapgauge.plugin import Selection
from mapgauge.protocols import PROTOCOLS
from mapgauge.scoring.prepare import check_needs, check_rings, findings_of

PROTOCOL = mg.protocol("paper-60x30")


def tracked() -> tuple[mg.MapFrames, mg.MapFrames]:
    """Predictions and truth with tracks, scenes, time stamps and poses."""
    _, truth = demo_world(6)
    return truth.with_confidence(0.9), truth


def codes(predictions: mg.MapFrames, truth: mg.MapFrames, *metrics: str) -> set[str]:
    return {finding.code for finding in findings_of(predictions, truth, PROTOCOL, metrics)}


@pytest.mark.needs_feature("tracks")
def test_data_with_everything_are_not_refused_by_any_metric_over_time() -> None:
    check_needs(["track_pld", "c_map", "mas"], *tracked())


@pytest.mark.needs_feature("tracks")
@pytest.mark.parametrize("metric", ["track_pld", "c_map"])
@pytest.mark.parametrize("side", ["predictions", "truth"])
def test_a_metric_of_tracks_needs_them_on_both_sides(metric: str, side: str) -> None:
    x, y = tracked()
    if side == "predictions":
        x = replace(x, track=None)
    else:
        y = replace(y, track=None)
    lacking = (x if side == "predictions" else y).name or side
    with pytest.raises(mg.InvalidInput, match=f"{lacking}: {metric} needs tracks") as refused:
        check_needs([metric], x, y)
    wanted = "predictions with ids" if side == "predictions" else "Read ids with the truth"
    assert wanted in str(refused.value)


@pytest.mark.needs_feature("tracks")
def test_stability_needs_tracks_of_the_truth_only() -> None:
    x, y = tracked()
    check_needs(["mas"], replace(x, track=None), y)
    with pytest.raises(mg.InvalidInput, match="truth: mas needs tracks"):
        check_needs(["mas"], x, replace(y, track=None, name=""))


@pytest.mark.needs_feature("tracks")
def test_poses_of_one_side_are_enough() -> None:
    x, y = tracked()
    check_needs(["mas"], replace(x, poses=None), y)
    check_needs(["mas"], x, replace(y, poses=None))
    with pytest.raises(mg.InvalidInput, match="mas needs poses"):
        check_needs(["mas"], replace(x, poses=None), replace(y, poses=None))


@pytest.mark.needs_feature("tracks")
def test_a_metric_over_time_needs_scenes() -> None:
    x, y = tracked()
    without = replace(y, scenes=None)
    with pytest.raises(mg.InvalidInput, match=r"c_map .* the truth has no scenes"):
        check_needs(["c_map"], x, without)


def test_a_metric_of_frames_needs_no_tracks_scenes_or_poses() -> None:
    x, y = tracked()
    check_needs(["pld", "ap_chamfer"], replace(x, track=None), replace(y, scenes=None, track=None, poses=None))


@pytest.mark.needs_feature("tracks")
def test_predictions_without_a_single_line_need_no_tracks() -> None:
    _, y = tracked()
    nothing = {token: dict[str, list[object]]() for token in y.tokens}
    empty = mg.MapFrames.of(nothing, classes=y.classes).with_confidence(1.0)
    check_needs(["c_map"], empty, y)


def boxed(kind: str) -> mg.MapFrames:
    """One frame whose sign is boxes in an image, or lines, or of which there is none."""
    lines: dict[str, list[list[list[float]]]] = {"divider": [[[0, 0], [9, 0]]], "sign": []}
    if kind != "none":
        lines["sign"] = [[[1, 1], [4, 5]]]
    made = mg.MapFrames.of({"a": lines}, classes=["divider", "sign"])
    return replace(made, boxes=("sign",)) if kind == "boxes" else made


def test_a_class_of_boxes_is_refused_where_the_protocol_compares_lines_on_either_side() -> None:
    protocol = PROTOCOL.replace(classes=("divider", "sign"))
    lines, boxes, none = (boxed(kind) for kind in ("lines", "boxes", "none"))
    mg.evaluate(lines.with_confidence(0.5), lines, protocol, metrics=["pld"])
    for predictions, truth in ((boxes, none), (none, boxes), (boxes, boxes)):
        with pytest.raises(mg.InvalidInput, match="instances of sign are boxes in an image") as refused:
            mg.evaluate(predictions.with_confidence(0.5), truth, protocol, metrics=["pld"])
        assert "compares polylines of this name" in str(refused.value)


def test_boxes_that_do_not_occur_are_not_refused() -> None:
    protocol = PROTOCOL.replace(classes=("divider", "sign"))
    declared = replace(boxed("none"), boxes=("sign",))
    values = mg.evaluate(declared.with_confidence(0.5), boxed("none"), protocol, metrics=["pld"]).mean
    assert values["pld"] is not None


@pytest.mark.needs_feature("tracks")
def test_the_order_of_frames_is_looked_at_for_metrics_over_time_whichever_side_has_tracks() -> None:
    x, y = tracked()
    assert y.timestamps is not None
    backwards = replace(y, timestamps=y.timestamps[::-1].copy())
    plain = replace(x, track=None)
    assert "scenes-order" in codes(plain, backwards, "mas")
    assert "scenes-order" in codes(plain, replace(backwards, track=None), "mas")
    assert "scenes-order" not in codes(plain, replace(backwards, track=None), "pld")
    assert "scenes-order" not in codes(plain, y, "mas")


@pytest.mark.needs_feature("tracks")
def test_the_order_of_frames_is_said_once_if_both_sides_have_tracks() -> None:
    x, y = tracked()
    assert y.timestamps is not None
    backwards = replace(y, timestamps=y.timestamps[::-1].copy())
    found = [finding.code for finding in findings_of(x, backwards, PROTOCOL, ["mas"])]
    assert found.count("scenes-order") == 1


@pytest.mark.needs_feature("tracks")
def test_tracks_of_one_side_are_no_finding_because_a_metric_that_needs_them_refuses_them() -> None:
    x, y = tracked()
    assert "tracks-one-side" not in codes(replace(x, track=None), y, "pld")
    assert "tracks-one-side" not in codes(replace(x, track=None), y, "mas")


def equally_sure() -> tuple[mg.MapFrames, mg.MapFrames]:
    """Predictions that all have the same confidence, and their truth."""
    line = {"divider": [[[0, 0], [9, 0]]] * 3}
    truth = mg.MapFrames.of({f"{k}": line for k in range(40)}, classes=["divider"])
    return truth.with_confidence(0.5), truth


def test_equal_confidences_are_a_finding_for_metrics_that_use_them() -> None:
    equal, truth = equally_sure()
    assert "confidence-equal" in codes(equal, truth, "pld")
    assert "confidence-equal" in codes(equal, truth)


@pytest.mark.needs_feature("graph_scores")
def test_equal_confidences_are_no_finding_for_metrics_that_use_none() -> None:
    equal, truth = equally_sure()
    assert "confidence-equal" not in codes(equal, truth, "topo")
    assert "confidence-equal" in codes(equal, truth, "topo", "pld")


def laned(linked: bool) -> mg.MapFrames:
    """One frame with two lanes, which may be linked."""
    lanes = {"centerline": [[[0, 0], [9, 0]], [[9, 0], [19, 0]]]}
    made = mg.MapFrames.of({"a": lanes}, classes=["centerline"])
    return replace(made, links=mg.Links.of([0], [1])) if linked else made


@pytest.mark.needs_feature("lane_graph")
def test_links_of_one_side_are_a_finding_only_for_metrics_of_links() -> None:
    x, y = laned(False).with_confidence(0.5), laned(True)
    protocol = PROTOCOL.replace(classes=("centerline",))
    said = {
        metrics: {finding.code for finding in findings_of(x, y, protocol, metrics)}
        for metrics in ((), ("pld",), ("pld", "lane_graph_pld"))
    }
    assert "links-one-side" not in said[()]
    assert "links-one-side" not in said[("pld",)]
    assert "links-one-side" in said[("pld", "lane_graph_pld")]


def test_only_unknown_frames_become_a_note_if_they_are_ignored() -> None:
    x, y = tracked()
    fewer = y.of_tokens(y.tokens[:-1])
    turned = x.rotate(180)
    as_asked = {finding.code: finding for finding in findings_of(turned, fewer, PROTOCOL, ["pld"])}
    ignored = {finding.code: finding for finding in findings_of(turned, fewer, PROTOCOL, ["pld"], "ignore")}
    assert as_asked["tokens-unknown"].level == "error"
    assert ignored["tokens-unknown"].level == "note"
    assert ignored["tokens-unknown"].message.endswith("They are ignored")
    others = [code for code in as_asked if code != "tokens-unknown"]
    assert others
    assert [ignored[code] for code in others] == [as_asked[code] for code in others]


def test_lines_are_refused_where_the_protocol_compares_boxes() -> None:
    protocol = PROTOCOL.replace(classes=("divider", "sign"), boxes=("sign",))
    lines = boxed("lines")
    with pytest.raises(mg.InvalidInput, match="predictions: instances of sign are polylines") as refused:
        mg.evaluate(lines.with_confidence(0.5), lines, protocol, metrics=["pld"])
    assert "compares boxes in an image of this name" in str(refused.value)


@pytest.mark.parametrize("ranges", [(0, 10), (0, 10, 20), (5, 6)])
def test_rising_rings_are_taken(ranges: tuple[float, ...]) -> None:
    assert check_rings(ranges, ["pld"]) == ranges


@pytest.mark.parametrize("ranges", [(10,), (-1, 5), (0, 0), (0, 10, 10), (10, 0), ("a", "b"), 3])
def test_other_rings_are_refused(ranges: object) -> None:
    with pytest.raises(mg.InvalidInput, match="ranges must be"):
        check_rings(ranges)  # type: ignore[arg-type]


def test_rings_need_a_metric_that_has_them() -> None:
    assert check_rings((), ["ap_chamfer"]) == ()
    with pytest.raises(mg.InvalidInput, match="ranges need a metric with values in rings"):
        check_rings((0, 10), ["ap_chamfer"])
    assert check_rings((0, 10), ["ap_chamfer", "pld"]) == (0, 10)


def test_coordinates_stay_as_they_are_if_nothing_is_cropped() -> None:
    _, y = tracked()
    far = y.transform(np.array([[1.0, 0, 0, 40], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]))
    assert not PROTOCOL.crop
    values = mg.evaluate(far.with_confidence(1.0), far, PROTOCOL, metrics=["pld"]).mean
    assert values["pld"] == 0


def _without_boundaries(x: mg.MapFrames, y: mg.MapFrames, _: mg.Protocol) -> tuple[mg.MapFrames, mg.MapFrames]:
    """Return both sides without boundaries."""
    kept = [np.flatnonzero(side.label != side.classes.index("boundary")) for side in (x, y)]
    return x.keep(kept[0]), y.keep(kept[1])


def test_a_protocol_compares_the_part_that_a_selection_selects(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = Selection(name="inner", of="lines", metrics=("ap_chamfer",), select=_without_boundaries)
    monkeypatch.setitem(SELECTIONS, "inner", inner)
    assert "paper-60x30-inner" not in PROTOCOLS
    named = mg.protocol("paper-60x30-inner")
    assert named == mg.protocol("paper-60x30", part="inner", name="paper-60x30-inner")
    x, y = tracked()
    results = mg.evaluate(x, y, named)
    assert results.classes["boundary"]["truth"] == 0
    assert results.classes["divider"] == mg.evaluate(x, y, "paper-60x30").classes["divider"]


def test_a_part_that_nobody_selects_is_refused() -> None:
    with pytest.raises(mg.InvalidInput, match="part must be .* got 'upper'"):
        mg.protocol("paper-60x30", part="upper")
