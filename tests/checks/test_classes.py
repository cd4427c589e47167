import numpy as np
import pytest
from tests.checks.world import CLASSES, codes, none, one
from tests.listed import protocols

import mapgauge as mg


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("boundary", "contours"),
        ("boundary", "road_boundary"),
        ("ped_crossing", "crosswalk"),
        ("ped_crossing", "pedestrian_crossing"),
        ("divider", "lane_divider"),
        ("boundary", "road_edge"),
        ("boundary", "curb"),
        ("divider", "lane_marking"),
        ("boundary", "Boundary"),
        ("ped_crossing", "ped crossing"),
    ],
)
def test_another_name_for_a_class_comes_with_the_renaming(
    predictions: mg.MapFrames, truth: mg.MapFrames, ours: str, theirs: str
) -> None:
    odd = predictions.rename({ours: theirs})
    finding = one("classes-named-differently", odd, truth)
    assert finding.level == "error"
    assert str(finding).endswith(f"Use predictions.rename({ {theirs: ours} })")
    assert f",rename={theirs}:{ours}" in finding.for_shell()
    assert codes(odd.rename({theirs: ours}), truth) == set()


def test_names_of_maps_are_known_in_the_truth(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("classes-named-differently", predictions, truth.rename({"boundary": "road_edge"}))
    assert "road_edge" in finding.for_shell()
    assert finding.level == "error"


def test_two_classes_that_are_one_in_the_truth_are_joined(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    odd = predictions.rename({"divider": "lane_divider", "boundary": "road_divider"})
    remedy = {"lane_divider": "divider", "road_divider": "divider"}
    assert f"Use predictions.rename({remedy})" in str(one("classes-named-differently", odd, truth))


def test_two_classes_that_are_one_in_the_predictions_are_joined(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    odd = truth.rename({"divider": "lane_divider", "boundary": "road_divider"})
    remedy = {"lane_divider": "divider", "road_divider": "divider"}
    finding = one("classes-named-differently", predictions, odd)
    assert f"Use truth.rename({remedy})" in str(finding)
    assert finding.for_shell().endswith(",rename=lane_divider:divider,rename=road_divider:divider")


def test_other_names_of_classes_that_are_not_asked_for_do_not_matter(
    predictions: mg.MapFrames, truth: mg.MapFrames
) -> None:
    odd = predictions.rename({"boundary": "contours"})
    assert none("classes-named-differently", odd, truth, classes=["divider"])
    assert one("classes-named-differently", odd, truth, classes=["boundary"]).level == "error"


def test_a_class_of_neither_side_that_was_asked_for_is_a_warning(
    predictions: mg.MapFrames, truth: mg.MapFrames
) -> None:
    finding = one("classes-unknown", predictions, truth, classes=["divider", "stop_line"])
    assert finding.level == "warning"
    assert "neither side has the class stop_line" in finding.message
    assert codes(predictions, truth, classes=["divider"]) == set()


def test_a_class_of_a_protocol_that_neither_side_has_is_a_note(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    two = predictions.select(CLASSES[1:]), truth.select(CLASSES[1:])
    levels = {finding.code: finding.level for finding in mg.evaluate(*two, "paper-60x30").findings}
    assert levels["classes-unknown"] == "note"
    asked = mg.evaluate(*two, mg.protocol("paper-60x30", classes=["divider", "ped_crossing"]))
    assert {finding.code: finding.level for finding in asked.findings}["classes-unknown"] == "warning"


def test_without_any_class_of_the_protocol_nothing_is_compared(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    assert one("classes-unknown", predictions, truth, classes=["stop_line"]).level == "error"


def test_for_lanes_the_remedy_names_the_known_protocols_that_compare_them() -> None:
    """They belong to features, and a feature may have been deleted."""
    lanes = mg.MapFrames.of({"a": {"centerline": [[[0, 0], [9, 0]]]}})
    finding = one("classes-unknown", lanes.with_confidence(1), lanes, classes=["divider"])
    of_lanes = [
        name
        for name, protocol in protocols().items()
        if protocol.classes is not None and "centerline" in protocol.classes and "left_laneline" not in protocol.classes
    ]
    expected = "Choose among these with classes="
    if of_lanes:
        expected = f"For lanes, choose one of the protocols {', '.join(of_lanes)}"
    assert str(finding).endswith(expected)


def test_no_class_in_common_is_an_error(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("classes-disjoint", predictions.rename({name: f"{i}" for i, name in enumerate(CLASSES)}), truth)
    assert finding.level == "error"
    assert "the predictions have 0, 1, 2, the truth has ped_crossing, divider, boundary" in finding.message
    assert finding.for_shell().endswith("Give one side as FILE,rename=OLD:NEW")


def test_a_class_that_only_the_predictions_know_is_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("class-only-predicted", predictions, truth.select(["divider", "boundary"]))
    assert (finding.level, finding.count) == ("warning", predictions.counts["ped_crossing"])
    assert none("class-never-predicted", predictions, truth.select(["divider", "boundary"]))


def test_a_class_that_only_the_truth_knows_is_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one("class-never-predicted", predictions.select(["divider", "boundary"]), truth)
    assert (finding.level, finding.count) == ("warning", 16)


def test_a_known_class_without_truth_is_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    stale = truth.select(["divider", "boundary"]).as_classes(CLASSES)
    finding = one("class-without-truth", predictions, stale)
    assert (finding.level, finding.count) == ("warning", predictions.counts["ped_crossing"])
    assert "delete it" in str(finding)


def test_a_known_class_without_predictions_is_a_warning(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    finding = one(
        "class-without-predictions", predictions.select(["divider"]).as_classes(["divider", "boundary"]), truth
    )
    assert (finding.level, finding.count) == ("warning", truth.counts["boundary"])


def test_a_class_that_no_side_has_is_a_note(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    more = [*CLASSES, "centerline"]
    finding = one("class-empty", predictions.as_classes(more), truth.as_classes(more))
    assert finding.level == "note"
    assert finding.message.startswith("class centerline")
    assert codes(predictions.as_classes(more), truth.as_classes(more)) == set()


def test_exchanged_ids_are_a_warning_with_the_table(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    swap = {"ped_crossing": "divider", "divider": "ped_crossing"}
    odd = predictions.rename(swap)
    finding = one("classes-exchanged", odd, truth)
    assert finding.level == "warning"
    assert codes(odd, truth) == {"classes-exchanged"}
    table = {"divider": "ped_crossing", "ped_crossing": "divider"}
    assert f"predictions.rename({table})" in str(finding)
    assert ",rename=divider:ped_crossing,rename=ped_crossing:divider" in finding.for_shell()
    assert codes(odd.rename(table), truth) == set()


def test_ids_that_moved_in_a_circle_are_found(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    odd = predictions.rename({"ped_crossing": "divider", "divider": "boundary", "boundary": "ped_crossing"})
    table = {"divider": "ped_crossing", "boundary": "divider", "ped_crossing": "boundary"}
    assert f"predictions.rename({table})" in str(one("classes-exchanged", odd, truth))


def test_a_class_taken_for_another_is_not_an_exchange(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    label = np.where(predictions.label == 1, 2, predictions.label)  # a model that calls every divider a boundary
    confused = mg.MapFrames(
        tokens=predictions.tokens,
        classes=CLASSES,
        frame=predictions.frame,
        label=label,
        polylines=predictions.polylines,
        confidence=predictions.confidence,
    )
    assert none("classes-exchanged", confused, truth)


def test_classes_given_as_a_text_are_refused(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    with pytest.raises(mg.InvalidInput, match="Put it in a list"):
        codes(predictions, truth, classes="divider")


@pytest.mark.parametrize("name", ["Divider", "dividers", "DIVIDER", "di-vider", "lane_divider"])
def test_instances_under_another_spelling_of_a_compared_class_are_a_warning(
    predictions: mg.MapFrames, truth: mg.MapFrames, name: str
) -> None:
    """One of three dividers has another name. It would vanish from the numbers."""
    places = np.flatnonzero(predictions.label == CLASSES.index("divider"))[::3]
    label = predictions.label.copy()
    label[places] = 3
    odd = mg.MapFrames(
        tokens=predictions.tokens,
        classes=(*CLASSES, name),
        frame=predictions.frame,
        label=label,
        polylines=predictions.polylines,
        confidence=predictions.confidence,
    )
    finding = one("class-not-compared", odd, truth, classes=CLASSES)
    assert (finding.level, finding.count) == ("warning", len(places))
    assert "another spelling of divider" in finding.message
    assert str(finding).endswith(f"Use predictions.rename({ {name: 'divider'} })")
    assert finding.for_shell().endswith(f",rename={name}:divider")
    assert mg.evaluate(odd, truth).findings.count(finding) == 1
    assert none("class-not-compared", odd.rename({name: "divider"}), truth, classes=CLASSES)


def test_predictions_of_a_class_that_is_not_compared_are_a_warning(
    predictions: mg.MapFrames, truth: mg.MapFrames
) -> None:
    odd = predictions.rename({"boundary": "kerb"})
    finding = one("class-not-compared", odd, truth, classes=CLASSES)
    assert (finding.level, finding.count) == ("warning", predictions.counts["boundary"])
    assert "kerb, a class that is not compared" in finding.message
    assert "FILE,rename=OLD:NEW" in finding.for_shell()
    assert none("class-not-compared", odd, truth)


def test_classes_of_the_truth_or_of_both_sides_that_are_left_out_are_a_note(
    predictions: mg.MapFrames, truth: mg.MapFrames
) -> None:
    found = [f for f in mg.check(predictions, truth, classes=["divider"]) if f.code == "class-not-compared"]
    assert [finding.level for finding in found] == ["note"] * 4
    only = one("class-not-compared", predictions.select(["divider"]), truth.select(CLASSES[:2]), classes=["divider"])
    assert (only.level, only.message[:6]) == ("note", "truth:")
