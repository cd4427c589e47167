"""``mg.suspicious_truth`` finds wrong labels, and nothing that methods have in common."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.features.suspects import road

import mapgauge as mg
from mapgauge.features.suspects.saving import Corrections, savings
from mapgauge.frames.alignment import add_instances


@pytest.fixture(scope="module")
def methods() -> list[mg.Results]:
    return road.methods(np.random.default_rng(1), road.wrong_truth())


@pytest.fixture(scope="module")
def found(methods: list[mg.Results]) -> mg.SuspiciousTruth:
    return mg.suspicious_truth(methods, names=["A", "B"])


def exact() -> mg.MapFrames:
    return road.frames_of([road.elements() for _ in range(4)])


def by_kind(found: mg.SuspiciousTruth) -> dict[str, mg.SuspiciousPlace]:
    assert len(found.places) == 3
    return {place.kind: place for place in found.places}


def test_every_planted_error_is_one_place(found: mg.SuspiciousTruth) -> None:
    places = by_kind(found)
    assert places["not_in_truth"].class_name == "divider"
    assert places["not_in_truth"].scenes == ("scene-0",)
    assert places["shifted"].class_name == "divider"
    assert places["shifted"].scenes == ("scene-1",)
    assert places["not_found"].class_name == "boundary"
    assert places["not_found"].scenes == ("scene-2",)
    assert found.sentence == (
        "3 places where the truth may be wrong: 1 true line that no method finds, 1 line that methods agree on and the "
        "truth lacks, 1 true line that methods see shifted"
    )


def test_places_have_their_line_in_the_world(found: mg.SuspiciousTruth) -> None:
    places = by_kind(found)
    assert places["not_in_truth"].line.mean(axis=0) == pytest.approx([26.0, 0.0], abs=0.5)
    assert places["not_found"].line.mean(axis=0) == pytest.approx([20.0, 2 * road.APART - 11.0], abs=0.5)
    assert (places["not_found"].x, places["not_found"].y) == pytest.approx((20.0, 2 * road.APART - 11.0), abs=1.0)
    assert places["shifted"].shift == pytest.approx(1.0, abs=0.15)
    assert places["not_found"].length == pytest.approx(20.0)


def test_exact_truth_has_no_suspicious_place(rng: np.random.Generator) -> None:
    found = mg.suspicious_truth(road.methods(rng, exact()), names=["A", "B"])
    assert found.places == ()
    assert found.sentence == "no place was found where the truth may be wrong"
    assert found.before == found.after


def test_one_place_is_said_in_the_singular(rng: np.random.Generator) -> None:
    scenes = [road.elements() for _ in range(4)]
    scenes[2]["boundary"].append(np.array([[10.0, -11.0], [30.0, -11.0]]))
    found = mg.suspicious_truth(road.methods(rng, road.frames_of(scenes)), names=["A", "B"])
    assert found.sentence == "1 place where the truth may be wrong: 1 true line that no method finds"


def test_what_all_methods_miss_far_away_is_not_suspicious(rng: np.random.Generator) -> None:
    truth = exact()
    results = []
    for _ in range(2):
        x = road.method(rng)
        distance = np.sqrt(np.square(x.polylines.coords).sum(axis=1))
        near = np.minimum.reduceat(distance, x.polylines.offsets[:-1]) < 15.0
        results.append(mg.evaluate(x.keep(near), truth, metrics=["pld"]))
    assert mg.suspicious_truth(results, names=["A", "B"]).places == ()


def test_a_shift_of_all_lines_is_the_methods_own(rng: np.random.Generator) -> None:
    truth = exact()
    results = []
    for _ in range(2):
        x = road.method(rng)
        moved = mg.Polylines(x.polylines.coords + np.array([0.0, 0.8]), x.polylines.offsets)
        results.append(mg.evaluate(replace(x, polylines=moved), truth, metrics=["pld"]))
    assert mg.suspicious_truth(results, names=["A", "B"]).places == ()


def test_a_false_alarm_in_one_frame_is_not_suspicious(rng: np.random.Generator) -> None:
    truth = exact()
    line = {"scene-1-3": {"boundary": [[[0.0, -12.0], [20.0, -12.0]]]}}
    predictions = []
    for _ in range(2):
        x = road.method(rng)
        more = mg.MapFrames.of({token: line.get(token, {}) for token in x.tokens}, classes=x.classes)
        predictions.append(add_instances(x, more.with_confidence([0.8])))
    results = [mg.evaluate(x, truth, metrics=["pld"]) for x in predictions]
    assert mg.suspicious_truth(results, names=["A", "B"]).places == ()
    bare = [mg.evaluate(x, replace(truth, poses=None), metrics=["pld"]) for x in predictions]
    places = mg.suspicious_truth(bare, names=["A", "B"]).places
    assert [place.tokens for place in places if place.kind == "not_in_truth"] == [("scene-1-3",)]


def test_what_one_of_two_methods_says_is_not_suspicious(rng: np.random.Generator) -> None:
    truth = road.wrong_truth()
    perfect = mg.evaluate(truth.with_confidence(np.full(len(truth.polylines), 0.9)), truth, metrics=["pld"])
    other = mg.evaluate(road.method(rng), truth, metrics=["pld"])
    assert mg.suspicious_truth([perfect, other], names=["A", "B"]).places == ()


def test_more_than_half_of_three_methods_are_enough_for_a_line_that_truth_lacks(rng: np.random.Generator) -> None:
    truth = road.wrong_truth()
    perfect = mg.evaluate(truth.with_confidence(np.full(len(truth.polylines), 0.9)), truth, metrics=["pld"])
    found = mg.suspicious_truth([perfect, *road.methods(rng, truth)], names=["A", "B", "C"])
    (place,) = found.places
    assert place.kind == "not_in_truth"
    assert place.saved < 0  # the first method does not have the line, and loses more than the others gain


def test_nothing_depends_on_the_order_of_methods_and_frames_or_on_workers(
    methods: list[mg.Results], found: mg.SuspiciousTruth
) -> None:
    document = found.to_dict()
    turned = mg.suspicious_truth(methods[::-1], names=["B", "A"], workers=3)
    assert turned.to_dict() == document
    count = len(methods[0].tokens)
    order = np.random.default_rng(0).permutation(count).tolist()
    shuffled = [methods[0].of_frames(order), methods[1].of_frames(order[::-1])]
    assert mg.suspicious_truth(shuffled, names=["A", "B"]).to_dict() == document


def test_what_is_saved_is_pld_of_the_frames_with_and_without_the_line(
    methods: list[mg.Results], found: mg.SuspiciousTruth
) -> None:
    place = by_kind(found)["not_found"]
    truth = road.wrong_truth()
    scenes = [road.elements() for _ in range(4)]
    corrected = road.frames_of(scenes)
    changes = []
    for method in methods:
        after = mg.evaluate(method.need_data().sides[0], corrected, metrics=["pld"])
        one = {row["token"]: row["pld"] for row in method.frames()}
        two = {row["token"]: row["pld"] for row in after.frames()}
        changes.append(sum(one[token] - two[token] for token in place.tokens))
    assert truth.tokens == corrected.tokens
    assert place.saved == pytest.approx(np.mean(changes), abs=1e-9)


def test_the_mean_pld_before_is_that_of_the_results(methods: list[mg.Results], found: mg.SuspiciousTruth) -> None:
    assert found.before == pytest.approx([method.mean["pld"] for method in methods])
    assert all(after < before for before, after in zip(found.before, found.after, strict=True))


def test_without_poses_each_frame_is_a_place_of_its_own(found: mg.SuspiciousTruth, tmp_path: Path) -> None:
    truth = road.wrong_truth()
    bare = replace(truth, poses=None)
    results = road.methods(np.random.default_rng(5), bare)
    alone = mg.suspicious_truth(results, names=["A", "B"])
    assert not alone.has_poses
    assert len(alone.places) > len(found.places)
    assert {place.frames for place in alone.places} == {1}
    assert alone.sentence.startswith(f"{len(alone.places)} lines of single frames where the truth may be wrong: ")
    assert "There are no poses, so frames were not placed in the world" in alone.sentence
    assert all(np.isnan(place.x) for place in alone.places)
    with pytest.raises(mg.InvalidInput, match="no poses"):
        alone.save(tmp_path / "places.geojson")
    given = mg.suspicious_truth(results, names=["A", "B"], poses=truth)
    assert given.has_poses
    assert len(given.places) == 3


def test_geojson_has_a_line_for_each_place(found: mg.SuspiciousTruth, tmp_path: Path) -> None:
    found.save(tmp_path / "places.geojson")
    document = json.loads((tmp_path / "places.geojson").read_text(encoding="utf-8"))
    assert document["sentence"] == found.sentence
    assert [feature["properties"]["rank"] for feature in document["features"]] == [1, 2, 3]
    coordinates = document["features"][0]["geometry"]["coordinates"]
    assert np.array(coordinates) == pytest.approx(found.places[0].line, abs=1e-3)
    with pytest.raises(mg.InvalidInput, match="is no format of suspicious places"):
        found.save(tmp_path / "places.csv")


def test_places_are_ranked_by_what_correcting_them_saves(found: mg.SuspiciousTruth) -> None:
    saved = [place.saved for place in found.places]
    assert saved == sorted(saved, reverse=True)
    assert min(saved) > 0


def test_one_method_is_refused(methods: list[mg.Results]) -> None:
    with pytest.raises(mg.InvalidInput, match="needs two or more, got 1"):
        mg.suspicious_truth(methods[:1])


def test_different_truth_is_refused(rng: np.random.Generator) -> None:
    one = mg.evaluate(road.method(rng), road.wrong_truth(), metrics=["pld"])
    two = mg.evaluate(road.method(rng), exact(), metrics=["pld"])
    with pytest.raises(mg.InvalidInput, match="A and B have different truth"):
        mg.suspicious_truth([one, two], names=["A", "B"])


def test_results_without_pld_are_refused(rng: np.random.Generator) -> None:
    results = [mg.evaluate(road.method(rng), exact(), metrics=["ap_chamfer"]) for _ in range(2)]
    with pytest.raises(mg.InvalidInput, match="A: these results have no PLD"):
        mg.suspicious_truth(results, names=["A", "B"])


def test_frames_without_any_line_have_no_place() -> None:
    truth = mg.MapFrames.of({"a": {}, "b": {}}, classes=road.CLASSES)
    results = [mg.evaluate(truth.with_confidence([]), truth, metrics=["pld"]) for _ in range(2)]
    found = mg.suspicious_truth(results, names=["A", "B"])
    assert found.places == ()
    assert found.sentence.startswith("no line of a single frame was found where the truth may be wrong. There are no ")


def test_copies_of_one_method_are_refused_because_their_agreement_says_nothing(rng: np.random.Generator) -> None:
    truth = road.wrong_truth()
    one, other = road.method(rng), road.method(rng)
    assert one.confidence is not None
    surest = one.keep(one.confidence > 0.6).with_confidence(0.9)
    rounded = replace(one, polylines=mg.Polylines(one.polylines.coords.round(6), one.polylines.offsets))
    for copy in (one, surest, rounded):
        results = [mg.evaluate(x, truth, metrics=["pld"]) for x in (one, other, copy)]
        with pytest.raises(mg.InvalidInput, match="A and C have the same lines"):
            mg.suspicious_truth(results, names=["A", "B", "C"])


def test_one_training_and_a_few_common_lines_are_no_copy(rng: np.random.Generator) -> None:
    truth = road.wrong_truth()
    one, other = road.method(rng), road.method(rng)
    first = np.flatnonzero(other.frame < 4)
    mixed = add_instances(one.keep(np.flatnonzero(one.frame >= 4)), other.keep(first))
    results = [mg.evaluate(x, truth, metrics=["pld"]) for x in (mixed, other)]
    assert len(mg.suspicious_truth(results, names=["A", "B"]).places) >= 2


def test_savings_of_each_kind_are_those_of_an_evaluation_with_the_changed_truth(methods: list[mg.Results]) -> None:
    truth = road.wrong_truth()
    frame = 20
    label = truth.classes.index("divider")
    rows = np.flatnonzero((truth.frame == frame) & (truth.label == label)).tolist()
    side = methods[0].need_data().sides[1]
    known = np.flatnonzero((side.frame == frame) & (side.label == label)).tolist()
    new = np.array([[-5.0, 5.0], [9.0, 5.5]])
    corrections = Corrections(
        np.array([frame] * 3),
        np.array([label] * 3),
        removed={0: [known[0]]},
        moved={1: [(known[1], np.array([0.0, 0.8]))]},
        added={2: [new]},
    )
    lines = [truth.polylines[row] for row in rows]
    changed = [lines[1:], [lines[0], lines[1] + [0.0, 0.8], *lines[2:]], [*lines, new]]
    for saved, dividers in zip(savings(methods, corrections), changed, strict=True):
        others = truth.at([frame]).keep(truth.at([frame]).label != label)
        more = mg.MapFrames.of({truth.tokens[frame]: {"divider": dividers}}, classes=truth.classes)
        corrected = add_instances(others, more)
        differences = []
        for method in methods:
            alone = method.need_data().sides[0].at([frame])
            before = mg.evaluate(alone, truth.at([frame]), metrics=["pld"]).frames()[0]["pld"]
            differences.append(before - mg.evaluate(alone, corrected, metrics=["pld"]).frames()[0]["pld"])
        assert saved == pytest.approx(np.mean(differences), abs=1e-9)
        assert abs(saved) > 1e-4


def test_the_mean_pld_after_is_that_of_an_evaluation_with_the_corrected_truth(rng: np.random.Generator) -> None:
    scenes = [road.elements() for _ in range(4)]
    scenes[2]["boundary"].append(np.array([[10.0, -11.0], [30.0, -11.0]]))
    predictions = [road.method(rng), road.method(rng)]
    results = [mg.evaluate(x, road.frames_of(scenes), metrics=["pld"]) for x in predictions]
    found = mg.suspicious_truth(results, names=["A", "B"])
    (place,) = found.places
    assert (place.kind, place.frames) == ("not_found", place.seen)
    corrected = [mg.evaluate(x, exact(), metrics=["pld"]).mean["pld"] for x in predictions]
    assert found.after == pytest.approx(corrected, abs=1e-12)
