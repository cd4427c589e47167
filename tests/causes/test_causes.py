"""``causes`` finds planted errors, adds up to PLD, and refuses what it cannot explain."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.planted_errors import ERRORS, plant
from tests.causes.planted import CLASSES, PLANTED, PROTOCOL, planted
from tests.shared_data import DATA, needs_data

import mapgauge as mg
from mapgauge.evaluation.evaluate import with_metrics
from mapgauge.metrics.causes import CAUSES, FAMILIES, Thresholds, family_of
from mapgauge.metrics.completeness import in_words
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.pld import Scored, assign_groups
from mapgauge.results.causes import lengths_of


@pytest.fixture(scope="module")
def results() -> mg.Results:
    return mg.evaluate(*mg.demo.demo_world(30))


@pytest.mark.parametrize("kind", PLANTED)
def test_a_detector_with_one_kind_of_error_shows_one_kind(kind: str) -> None:
    found = mg.causes(mg.evaluate(*planted(kind), PROTOCOL))
    total = found.per_frame.sum()
    assert total > 0
    assert found.per_frame[..., list(CAUSES).index(kind)].sum() == pytest.approx(total, rel=1e-9)
    assert found.sentence().endswith(" 100 %")


def test_planted_errors_are_found_in_proportion() -> None:
    rng = np.random.default_rng(0)
    kinds = rng.choice(list(PLANTED), 60, p=rng.dirichlet(np.ones(len(PLANTED)))).tolist()
    alone = {kind: mg.causes(mg.evaluate(*planted(kind), PROTOCOL)).per_frame.sum() for kind in PLANTED}
    found = mg.causes(mg.evaluate(*planted(*kinds), PROTOCOL))
    for k, cause in enumerate(CAUSES):
        assert found.per_frame[..., k].sum() == pytest.approx(kinds.count(cause) * alone[cause], rel=1e-9, abs=1e-12)
        tokens = [token for token, _ in found.frames(cause)]
        assert sorted(tokens) == [f"{i:03}-{kind}" for i, kind in enumerate(kinds) if kind == cause]


def test_a_reversed_line_has_the_wrong_shape_where_direction_matters() -> None:
    x, y = planted("missed")
    x = mg.MapFrames.of(
        {x.tokens[0]: {"divider": [y[x.tokens[0]][0].points[::-1], y[x.tokens[0]][1].points]}},
        confidence={x.tokens[0]: {"divider": [1, 1]}},
        classes=CLASSES,
    )
    settings = replace(PROTOCOL, classes=("divider",))
    assert mg.evaluate(x, y, settings).mean["pld"] == 0
    found = mg.causes(mg.evaluate(x, y, replace(settings, directed=True)))
    assert found.mean["wrong_shape"] > 0.9 * found.pld["mean"] > 0.5


def test_a_prediction_explains_missed_truth_as_far_as_it_is_confident() -> None:
    x, y = planted("wrong_class")
    found = mg.causes(mg.evaluate(x.with_confidence(np.where(x.label == 1, 0.3, 1.0)), y, PROTOCOL))
    divider = found.per_frame[0, 0]
    assert divider[list(CAUSES).index("wrong_class")] == pytest.approx(0.3 * 0.5)
    assert divider[list(CAUSES).index("missed")] == pytest.approx(0.7 * 0.5)


def test_a_repeated_fragment_is_a_duplicate() -> None:
    x, y = planted("fragment")
    again = mg.MapFrames.of(
        {x.tokens[0]: {"divider": [[[9, 0.1], [15, 0.1]]]}},
        confidence={x.tokens[0]: {"divider": [0.5]}},
        classes=CLASSES,
    )
    both = mg.causes(mg.evaluate(_beside(x, again), y, PROTOCOL))
    assert both.per_frame[..., list(CAUSES).index("duplicate")].sum() == pytest.approx(0.25)


def _beside(one: mg.MapFrames, other: mg.MapFrames) -> mg.MapFrames:
    """Return the instances of two sides with one frame."""
    lines: dict[str, list[object]] = {name: [] for name in CLASSES}
    sure: dict[str, list[float]] = {name: [] for name in CLASSES}
    for side in (one, other):
        for instance in side[side.tokens[0]]:
            lines[instance.class_name].append(instance.points)
            sure[instance.class_name].append(float(instance.confidence or 0))
    return mg.MapFrames.of({one.tokens[0]: lines}, confidence={one.tokens[0]: sure}, classes=CLASSES)


def test_causes_add_up_to_pld(results: mg.Results) -> None:
    found = mg.causes(results)
    for name in (*results.class_names, "mean"):
        pld = (results.mean if name == "mean" else results.classes[name])["pld"]
        causes = found.mean if name == "mean" else found.classes[name]
        assert math.fsum(causes.values()) == pytest.approx(pld, rel=1e-12)
        assert found.pld[name] == pytest.approx(pld, rel=1e-12)
        assert min(causes.values()) >= 0
    frames = results.scores.sums["pld"][0][..., :5].sum(axis=-1)
    assert found.per_frame.sum(axis=-1) == pytest.approx(frames, rel=1e-12)


@pytest.mark.parametrize(
    "thresholds",
    [
        Thresholds(covered=0.2),
        Thresholds(covered=0.9),
        Thresholds(reach=4.0),
        Thresholds(winding=0.0),
        Thresholds(sure=0),
    ],
)
def test_thresholds_move_costs_between_causes_and_not_their_sum(results: mg.Results, thresholds: Thresholds) -> None:
    before, after = mg.causes(results), mg.causes(results, thresholds=thresholds)
    assert after.pld["mean"] == pytest.approx(before.pld["mean"], rel=1e-12)
    assert after.mean != before.mean


def test_the_metric_and_the_function_agree(results: mg.Results, tmp_path: Path) -> None:
    x, y = mg.demo.demo_world(30)
    again = mg.evaluate(x, y, metrics=["pld", "causes"], workers=2)
    found = mg.causes(results)
    assert again.mean["causes"] == pytest.approx(again.mean["pld"], rel=1e-12)
    assert mg.causes(again).mean == pytest.approx(found.mean, rel=1e-12)
    again.save(tmp_path / "run.mg")  # without geometry
    assert mg.causes(mg.load_results(tmp_path / "run.mg")).mean == mg.causes(again).mean


def test_results_do_not_depend_on_the_order_of_instances(results: mg.Results) -> None:
    x, y = mg.demo.demo_world(30)
    rng = np.random.default_rng(0)
    x, y = (side.keep(np.lexsort((rng.random(len(side.frame)), side.frame))) for side in (x, y))
    assert mg.causes(mg.evaluate(x, y)).per_frame == pytest.approx(mg.causes(results).per_frame, abs=1e-12)


def test_known_matches_save_time_and_change_nothing() -> None:
    whole = mg.evaluate(*mg.demo.demo_world(60), workers=2)  # more than one block
    for known in (whole, whole.of_frames(range(59, -1, -1)), whole.of_frames([7, 50])):
        assert known.scores.matches is not None
        plain = with_matches(known, None)
        for one, other in zip(mg.causes(known).instances or (), mg.causes(plain).instances or (), strict=True):
            assert np.array_equal(one, other)
        both = [with_metrics(results, ["completeness", "causes"]).scores for results in (known, plain)]
        assert all(np.array_equal(both[0].sums[name], both[1].sums[name]) for name in both[0].sums)
    assert whole.data is not None
    x, y = (side.at(range(59, -1, -1)) for side in whole.data)
    turned = mg.evaluate(x, y, workers=1).scores.matches
    picked = whole.of_frames(range(59, -1, -1)).scores.matches
    assert turned is not None
    assert picked is not None
    assert np.array_equal(turned, picked)
    assert np.count_nonzero(picked >= 0) > 500


@pytest.mark.parametrize("order", [1, 2])
def test_matches_of_a_file_are_used_only_if_they_are_right(
    order: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = mg.demo.demo_world(60)  # more than one block
    whole = mg.evaluate(x, y, mg.protocol("paper-60x30", order=order), metrics=["pld"], workers=1)
    whole.save(tmp_path / "run.mg")
    loaded = mg.load_results(tmp_path / "run.mg", x, y)
    names = ["completeness", "causes"]
    expected = with_metrics(with_matches(whole, None), names).scores.sums
    solved: list[Groups] = []

    def assign(groups: Groups, *settings: Any) -> Scored:
        solved.append(groups)
        return assign_groups(groups, *settings)

    monkeypatch.setattr("mapgauge.metrics.assigned.assign_groups", assign)

    def check(results: mg.Results, blocks: int) -> None:
        solved.clear()
        found = with_metrics(results, names).scores.sums
        assert all(np.array_equal(found[name], expected[name]) for name in expected)
        assert len(solved) == blocks

    check(loaded, 0)
    assert loaded.scores.matches is not None
    right = loaded.scores.matches
    pairs = np.flatnonzero((right[:-1] == 0) & (right[1:] == 1))  # of one frame and class, because both have truth
    exchanged, fewer = right.copy(), right.copy()
    exchanged[pairs[0]], exchanged[pairs[0] + 1] = 1, 0
    fewer[pairs[-1]] = -1
    for wrong in (exchanged, fewer):
        check(with_matches(loaded, wrong), 1)
    check(with_matches(loaded, right[:-1]), 1)
    # Rounded coordinates are other data, so their assignment is not taken from the file.
    whole.save(tmp_path / "rounded.mg", geometry="rounded")
    rounded = mg.load_results(tmp_path / "rounded.mg")
    expected = with_metrics(with_matches(rounded, None), names).scores.sums
    check(rounded, 2)


def with_matches(results: mg.Results, matches: np.ndarray | None) -> mg.Results:
    rows = replace(results.rows, scores=replace(results.scores, matches=matches))  # type: ignore[type-var]
    return replace(results, rows=rows, geometry=replace(results.need_data(), added={}))


def test_fixing_the_only_error_brings_pld_to_zero() -> None:
    expected = {
        "snap_geometry": ("localisation", "extent", "wrong_shape"),
        "stitch_fragments": ("fragment",),
        "cut_merges": ("merge",),
        "remove_duplicates": ("duplicate",),
        "relabel": ("wrong_class",),
        "place_displaced": ("displaced",),
        "remove_background": ("background", "over_confident"),
        "add_missed": ("missed",),
        "ideal_confidences": ("under_confident", "faint"),
    }
    for name, kinds in expected.items():
        for kind in kinds:
            results = mg.evaluate(*planted(kind), PROTOCOL)
            fixes = {fix.name: fix.gain for fix in mg.causes(results, fixes=True).fixes}
            assert set(fixes) == set(expected)
            before = float(results.mean["pld"] or 0)
            assert fixes[name]["pld"] == pytest.approx(-before, abs=0.06 * before), (name, kind)
            assert fixes[name]["ap_chamfer"] >= -1e-12


@pytest.mark.parametrize("kind", [cause for cause in CAUSES if cause not in ("over_confident", "background")])
def test_a_fix_leaves_the_errors_of_other_causes_as_they_are(kind: str) -> None:
    results = mg.evaluate(*planted(kind), PROTOCOL)
    for fix in mg.causes(results, fixes=True).fixes:
        if kind not in fix.causes and fix.name != "ideal_confidences":
            assert abs(fix.gain["pld"]) < 0.01, fix.name


def test_geometry_of_a_matched_half_is_mended_but_it_stays_a_half() -> None:
    """The halves lie 0.3 m beside the truth, which only their localisation costs."""
    halves = [[[0, 0.3], [9.5, 0.3]], [[10, 0.3], [20, 0.3]]]
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [20, 0]]]}}, classes=CLASSES)
    x = mg.MapFrames.of({"a": {"divider": halves}}, confidence={"a": {"divider": [0.9, 1.0]}}, classes=CLASSES)
    exact = mg.MapFrames.of(
        {"a": {"divider": [halves[0], [[10, 0], [20, 0]]]}}, confidence={"a": {"divider": [0.9, 1.0]}}, classes=CLASSES
    )
    results = mg.evaluate(x, truth, PROTOCOL)
    (snap,) = (fix for fix in mg.causes(results, fixes=True).fixes if fix.name == "snap_geometry")
    before, after = results.mean["pld"], mg.evaluate(exact, truth, PROTOCOL).mean["pld"]
    assert before is not None
    assert after is not None
    assert snap.gain["pld"] == pytest.approx(after - before, abs=1e-9)


def test_a_corrected_prediction_is_not_a_duplicate() -> None:
    token = "000"
    along, beside = [[0, 0], [20, 0]], [[0, 2.5], [20, 2.5]]
    truth = mg.MapFrames.of({token: {"divider": [along]}}, classes=CLASSES)
    lines = {"divider": [along, beside, beside], "boundary": [along, along]}
    x = mg.MapFrames.of(
        {token: lines}, confidence={token: {"divider": [1, 0.8, 0.7], "boundary": [0.6, 0.5]}}, classes=CLASSES
    )
    for first in (0, 1):  # with the match; without it, one corrected prediction takes its place
        results = mg.evaluate(x.keep(np.arange(len(x.frame)) >= first), truth, PROTOCOL)
        found = mg.causes(results, fixes=True)
        gain = {fix.name: fix.gain["pld"] for fix in found.fixes}
        alone = {
            "relabel": [along] * (1 - first) + [beside] * 2 + [along] * first,
            "place_displaced": [along],
        }
        sure = {"relabel": [1.0] * (1 - first) + [0.8, 0.7] + [0.6] * first, "place_displaced": [0.8 if first else 1.0]}
        for name, rest in alone.items():
            others = {"boundary": [along, along]} if name == "place_displaced" else {}
            fixed = mg.MapFrames.of(
                {token: {"divider": rest, **others}},
                confidence={token: {"divider": sure[name], **({"boundary": [0.6, 0.5]} if others else {})}},
                classes=CLASSES,
            )
            before, after = results.mean["pld"], mg.evaluate(fixed, truth, PROTOCOL).mean["pld"]
            assert before is not None
            assert after is not None
            assert gain[name] == pytest.approx(after - before, abs=1e-12), (first, name)


def test_the_difference_between_methods_splits_by_cause() -> None:
    x, y = mg.demo.demo_world(60)
    poor = mg.demo.demo_world(60, quality="poor")[0]
    one, other = mg.evaluate(x, y), mg.evaluate(poor, y)
    found = mg.compare_causes(one, other)
    apart = mg.compare([one, other], names=["a", "b"]).differences["a", "b"]
    for name, causes in found.items():
        whole = apart[name]["pld"]
        assert math.fsum(causes[cause].value for cause in CAUSES) == pytest.approx(whole.value, abs=1e-12)
        assert causes["pld"].value == pytest.approx(whole.value, abs=1e-12)
    assert found["mean"]["localisation"].low < found["mean"]["localisation"].value
    with pytest.raises(mg.InvalidInput, match="cannot be compared"):
        mg.compare_causes(one, mg.evaluate(*mg.demo.demo_world(30)))


def test_the_difference_has_the_intervals_of_compare() -> None:
    x, y = mg.demo.demo_world(60, predictions=10)
    poor = mg.demo.demo_world(60, predictions=10, quality="poor")[0]
    crossing = y.classes.index("ped_crossing")
    x, poor, y = (side.keep((side.label != crossing) | (side.frame < 30)) for side in (x, poor, y))  # in 3 of 6 scenes
    some = y.keep(y.label != y.classes.index("boundary"))
    more = x.keep(x.label != x.classes.index("boundary"))
    for one, other, truth in ((x, poor, y), (x, more, some)):  # a rare class; a class that one method lacks
        methods = [mg.evaluate(side, truth, metrics=["pld", "causes"]) for side in (one, other)]
        found = mg.compare_causes(*methods, samples=200, level=0.9, seed=3)
        apart = mg.compare(methods, names=["a", "b"], samples=200, level=0.9, seed=3).differences["a", "b"]
        assert found.keys() == apart.keys()
        for name, causes in found.items():
            whole, same = causes["pld"], apart[name]["pld"]
            assert whole.decided is same.decided
            assert (whole.value, whole.low, whole.high, whole.p) == pytest.approx(
                (same.value, same.low, same.high, same.p), rel=1e-9, nan_ok=True
            )
            assert math.fsum(causes[cause].value for cause in CAUSES) == pytest.approx(causes["pld"].value, abs=1e-12)


def test_a_cause_in_few_scenes_has_no_interval() -> None:
    truth = planted(*["missed"] * 12)[1]
    scenes = tuple(f"s{k}" for k in range(12))
    methods = []
    for merged in (0, 4, 5):  # frames whose prediction is a duplicate; every frame is a scene
        x = planted(*["duplicate"] * merged, *["localisation"] * (12 - merged))[0]
        x = replace(x, tokens=truth.tokens)
        methods.append(mg.evaluate(x, replace(truth, scenes=scenes), PROTOCOL, metrics=["pld", "causes"]))
    for method, known in zip(methods[1:], (False, True), strict=True):
        changes = mg.compare_causes(methods[0], method)
        for name in ("divider", "mean"):
            assert math.isfinite(changes[name]["duplicate"].low) is known
            assert (changes[name]["duplicate"].decided is not None) is known
            assert math.isfinite(changes[name]["localisation"].low)


def test_costs_per_kilometre_do_not_share_a_denominator() -> None:
    x, y = mg.demo.demo_world(30)
    assert x.confidence is not None
    metrics = ["pld", "causes", "completeness"]
    good, unsure = (mg.evaluate(side, y, metrics=metrics) for side in (x, x.with_confidence(0.5 * x.confidence)))
    before, after = lengths_of(good), lengths_of(unsure)
    parts = mg.compare_causes(good, unsure)["mean"]
    assert parts["localisation"].value < -0.02  # without any change of the geometry
    assert before.keys() == {*y.classes, "mean"}
    for name in y.classes:
        assert (after[name].offset, after[name].completeness) == pytest.approx(before[name][:2], rel=0.02)
        kilometres = float(good.classes[name]["true_length"] or 0) / 1000
        costs = good.scores.sums["pld"][0][:, y.classes.index(name), :5].sum()
        assert sum(before[name].per_km.values()) == pytest.approx(costs / kilometres)
    assert lengths_of(mg.evaluate(x, y, metrics=["pld", "causes"])) == {}


def test_lacking_confidence_is_under_confidence_only_where_more_would_help() -> None:
    def causes(offset: float, confidence: float) -> dict[str, float]:
        line = [[0, 0], [20, 0]]
        truth = mg.MapFrames.of({"a": {"divider": [line]}}, classes=CLASSES)
        moved = mg.MapFrames.of(
            {"a": {"divider": [np.add(line, [0, offset])]}},
            confidence={"a": {"divider": [confidence]}},
            classes=CLASSES,
        )
        split = mg.causes(mg.evaluate(moved, truth, PROTOCOL)).classes["divider"]
        return {cause: part for cause, part in split.items() if part > 0}

    assert causes(0.3, 0.5).keys() == {"localisation", "under_confident"}
    assert causes(0.3, 0.05).keys() == {"localisation", "faint"}
    assert causes(1.2, 0.5).keys() == {"localisation"}  # its distance is 0.89


@pytest.fixture(scope="module")
def truth() -> mg.MapFrames:
    return mg.demo.demo_world(10, predictions=0)[1]


def test_pieces_beside_other_lines_are_fragments_and_copies_are_duplicates(truth: mg.MapFrames) -> None:
    for kind in ("halves", "thirds"):
        causes = plant(truth, "fragment", kind).of_predictions
        assert causes.get("duplicate", 0) <= 0.02 * sum(causes.values())
    for kind in ERRORS["duplicate"]:
        assert plant(truth, "duplicate", kind).of_predictions.keys() == {"duplicate"}


@pytest.mark.parametrize("cause", ERRORS)
def test_planted_errors_among_other_lines_are_found(cause: str, truth: mg.MapFrames) -> None:
    # A moved ring still lies on a part of its truth. The points of a reversed line are laid from the other end.
    least = {"moved by 2 m": 0.7, "moved by 2.5 m": 0.7, "ring moved by 2.5 m": 0.35, "drawn from the other end": 0.6}
    found = {kind: plant(truth, cause, kind).share(cause) for kind in ERRORS[cause]}
    assert {kind: share for kind, share in found.items() if share <= least.get(kind, 0.8)} == {}


def test_pld_split_by_cause_is_one_tested_difference() -> None:
    good, truth = mg.demo.demo_world(60, predictions=10)
    poor, _ = mg.demo.demo_world(60, predictions=10, quality="poor")
    methods = [mg.evaluate(side, truth, metrics=["pld"]) for side in (good, poor)]
    more = [with_metrics(method, ["causes"]) for method in methods]
    plain, split = (mg.compare(some, names=["a", "b"], correction="holm") for some in (methods, more))
    assert plain.tested == split.tested > 0
    assert all(found["causes"].p == found["pld"].p for found in split.differences["a", "b"].values())
    assert [found["pld"] for found in plain.differences["a", "b"].values()] == [
        found["pld"] for found in split.differences["a", "b"].values()
    ]


def test_errors_say_what_to_do(results: mg.Results) -> None:
    with pytest.raises(mg.InvalidInput, match=r"does not hold the geometry.*with_data\(\)"):
        mg.causes(results.without_data())
    with pytest.raises(mg.InvalidInput, match="reach must be between 1 and 100, got 0.5"):
        Thresholds(reach=0.5)  # a displaced line is beyond the cutoff
    with pytest.raises(mg.InvalidInput, match="covered must be .* got nan"):
        Thresholds(covered=float("nan"))
    with pytest.raises(mg.InvalidInput, match="order 1 only"):
        mg.causes(mg.evaluate(*planted("missed"), replace(PROTOCOL, order=2.0)))
    with pytest.raises(mg.InvalidInput, match="no cutoff"):
        mg.causes(mg.evaluate(*planted("missed"), mg.protocol("maptr", classes=CLASSES)))
    found = mg.causes(results)
    with pytest.raises(mg.InvalidInput, match="no cause 'bad'"):
        found.frames("bad")
    with pytest.raises(mg.InvalidInput, match="no class 'bad'"):
        found.frames("missed", class_name="bad")
    with pytest.raises(mg.InvalidInput, match="count must be a whole number of at least 0, got -1"):
        found.frames("missed", count=-1)
    given: Any = 5
    with pytest.raises(mg.InvalidInput, match="thresholds must be Thresholds, got int"):
        mg.causes(results, thresholds=given)
    with pytest.raises(mg.InvalidInput, match="results: expected Results from evaluate\\(\\), got int"):
        mg.causes(given)
    with pytest.raises(mg.InvalidInput, match="the second: expected Results from evaluate\\(\\), got int"):
        mg.compare_causes(results, given)


def test_odd_data_still_work() -> None:
    x, y = planted("localisation", "missed")
    equal = mg.causes(mg.evaluate(x.with_confidence(0.5), y, PROTOCOL))  # all confidences equal
    assert equal.mean["under_confident"] > 0
    nothing = mg.causes(mg.evaluate(x.filter(1).keep(np.zeros(len(x.frame), bool)), y, PROTOCOL), fixes=True)
    assert nothing.mean["missed"] == pytest.approx(nothing.pld["mean"]) == pytest.approx(1)  # no matched instance
    no_truth = mg.causes(mg.evaluate(x, y.keep(np.zeros(len(y.frame), bool)), PROTOCOL), fixes=True)
    assert no_truth.mean["over_confident"] == pytest.approx(1)
    names = {"divider": "a/b \u202e <i>"}
    odd = mg.evaluate(x.rename(names), y.rename(names), replace(PROTOCOL, classes=("a/b \u202e <i>", "road")))
    assert mg.causes(odd).classes.keys() == {"a/b \u202e <i>"}  # one class only has values
    assert "PLD" in mg.causes(odd).table()
    zero = mg.causes(mg.evaluate(y.with_confidence(1), y, PROTOCOL))
    assert zero.sentence() == "PLD is 0: there is no error to explain"


def test_lengths_and_shares_in_words_are_of_all_classes_together() -> None:
    y = mg.MapFrames.of({"a": {"divider": [[[0, 0], [100, 0]]], "boundary": [[[0, 20], [300, 20]]]}})
    x = mg.MapFrames.of(
        {"a": {"divider": [[[0, 0.2], [100, 0.2]], [[0, 50], [60, 50]]], "boundary": []}},
        confidence={"a": {"divider": [1, 0.5], "boundary": []}},
    )
    results = mg.evaluate(x, y, PROTOCOL)
    sums = with_metrics(results, ["completeness"]).scores.sums["completeness"][0].sum(axis=(0, 1))
    assert in_words(sums, results.protocol).endswith(
        "25 % of the true length found (100 of 400 m), 23 % of the predicted length has no truth of its class within "
        "1.5 m (0 % has truth of another class there), 0 % lies on truth that is matched already, 0 % on "
        "truth that is not matched"
    )
    rare = mg.causes(mg.evaluate(*planted("missed", *["wrong_class"] * 300), PROTOCOL))
    assert rare.mean["missed"] > 0
    assert rare.sentence() == "Largest causes: wrong class 100 %"


@needs_data("sample_60x30")
def test_errors_of_the_sample_are_those_it_was_given() -> None:
    folder = DATA / "sample_60x30"
    x, y = mg.read(folder / "submission_vector.json"), mg.read(folder / "tmp_gts_av2_60x30.pkl")
    errors = json.loads((folder / "prediction_errors.json").read_text(encoding="utf-8"))
    results = mg.evaluate(x, y)
    found = mg.causes(results)
    assert results.data is not None
    assert found.instances is not None
    data = results.data[0]
    seen: dict[str, list[str]] = {}
    for f, token in enumerate(data.tokens):
        order = [k for name in data.classes for k, one in enumerate(x[token]) if one.class_name == name]
        for row, k in zip(np.flatnonzero(data.frame == f).tolist(), order, strict=True):
            cause = int(found.instances.cause[row])
            seen.setdefault(errors[token][k][0], []).append("matched" if cause < 0 else list(CAUSES)[cause])
    assert seen["tp"].count("matched") > 0.95 * len(seen["tp"])
    assert seen["duplicate"].count("duplicate") + seen["duplicate"].count("matched") > 0.8 * len(seen["duplicate"])
    assert seen["class"].count("wrong_class") > 0.55 * len(seen["class"])
    assert seen["fragment"].count("fragment") + seen["fragment"].count("matched") > 0.9 * len(seen["fragment"])
    assert seen["fp"].count("background") > 0.6 * len(seen["fp"])
    assert set(seen["merge"]) == {"matched"}


def test_every_cause_is_in_exactly_one_family() -> None:
    assert sorted(cause for causes in FAMILIES.values() for cause in causes) == sorted(CAUSES)
    assert {family_of(cause) for cause in CAUSES} == set(FAMILIES)
