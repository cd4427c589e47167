"""What is said about results is true of every input, and its figures are those of the tables."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from tests.commands import said

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.metrics.causes import FAMILIES
from mapgauge.protocols import PROTOCOLS

LINES = {f"t{i}": {"divider": [[[0, i], [9, i]]]} for i in range(8)}
TRUTH = mg.MapFrames.of(LINES)
ONE_CLASS = mg.protocol("paper-60x30", classes=["divider"])
SCENES = {f"t{i}": f"scene-{i}" for i in range(8)}


@pytest.fixture(scope="module")
def world() -> tuple[mg.MapFrames, mg.MapFrames, mg.MapFrames]:
    """Return two methods and the truth, in 8 scenes."""
    good, truth = demo_world(80, predictions=30, quality="good")
    poor, _ = demo_world(80, predictions=30, quality="poor")
    return good, poor, truth


@pytest.fixture(scope="module")
def both(world: tuple[mg.MapFrames, ...]) -> list[mg.Results]:
    """Return the results of both methods."""
    good, poor, truth = world
    return [mg.evaluate(side, truth) for side in (good, poor)]


def texts(answer: mg.Answer) -> str:
    assert all(said.text.endswith(".") and said.text == said.text.strip() for said in answer.statements)
    assert "told apart" not in str(answer)
    assert "None" not in str(answer)
    assert "nan" not in str(answer).split()
    return str(answer)


def test_one_method_has_its_figures_from_the_tables(world: tuple[mg.MapFrames, ...]) -> None:
    results = mg.evaluate(world[0], world[2], metrics=["pld", "causes", "completeness"], ranges=(0, 10, 20, 30))
    answer = mg.answer(results)
    (facts,) = answer.methods
    assert facts.pld == results.mean["pld"]
    assert facts.causes is not None
    assert facts.families is not None
    assert sum(facts.families.values()) == pytest.approx(results.mean["pld"])
    for family, causes in FAMILIES.items():
        assert facts.families[family] == pytest.approx(sum(results.mean[f"due_to_{name}"] or 0 for name in causes))
    for name, of_class in facts.classes.items():
        values = results.classes[name]
        assert (of_class["pld"], of_class["found"]) == (values["pld"], values["completeness"])
        assert of_class["beside"] == values["median_across"]
    lengths = [results.classes[name] for name in results.classes]
    found, true = (sum(values[key] or 0 for values in lengths) for key in ("found_length", "true_length"))
    assert facts.found == pytest.approx(found / true)
    assert facts.ranges is not None
    assert [ring["pld"] for ring in facts.ranges] == [results.mean[f"pld:{k}-{k + 10}m"] for k in (0, 10, 20)]
    said = texts(answer)
    assert f"Finds {100 * found / true:.0f} % of the map" in said
    largest = max(facts.families, key=lambda family: facts.families[family])  # type: ignore[index]
    share = facts.families[largest] / (results.mean["pld"] or 1)
    assert f"Main families of causes: {largest} {100 * share:.0f} %, " in said
    worst = max(results.classes, key=lambda name: results.classes[name]["pld"] or 0)
    assert f"Worst class: {worst}. Worst range: 20 to 30 m." in said


def test_metrics_that_were_not_scored_are_computed_from_the_geometry(world: tuple[mg.MapFrames, ...]) -> None:
    scored = mg.evaluate(world[0], world[2], metrics=["pld", "causes", "completeness"])
    plain = mg.evaluate(world[0], world[2], metrics=["pld"])
    assert mg.answer(scored).to_dict() == mg.answer(plain).to_dict()


def test_without_geometry_only_what_was_scored_is_said(both: list[mg.Results]) -> None:
    results = both[0].without_data()
    (facts,) = mg.answer(results).methods
    assert facts.pld is not None
    assert facts.found is None
    assert facts.families is None
    assert "Worst class" in texts(mg.answer(results))


def test_the_answer_is_plain_json(both: list[mg.Results]) -> None:
    answer = mg.answer(both, names=["good", "poor"])
    document = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert list(document) == ["methods", "pairs", "statements"]
    assert {"name", "pld", "found", "beside", "far", "repeated", "other_class", "families", "causes"} <= set(
        document["methods"][0]
    )
    (pair,) = document["pairs"]
    assert set(pair["families"]) == set(FAMILIES)
    assert sum(gap["value"] for gap in pair["families"].values()) == pytest.approx(pair["pld"]["value"])
    assert [said["text"] for said in document["statements"]] == str(answer).split("\n")


def test_it_says_which_of_two_methods_is_better_and_why(both: list[mg.Results]) -> None:
    answer = mg.answer(both, names=["good", "poor"])
    (pair,) = answer.pairs
    difference = mg.compare(both, names=["good", "poor"]).differences["good", "poor"]["mean"]["pld"]
    assert pair.verdict == "worse"
    assert pair.pld is not None
    assert tuple(pair.pld) == (difference.value, difference.low, difference.high)
    numbers = f"{difference.value:.3f} [{difference.low:.3f}, {difference.high:.3f}] PLD (over 8 scenes)"
    assert f"poor is worse than good by {numbers}. Largest part: " in texts(answer)
    turned = mg.answer(both[::-1], names=["poor", "good"])
    assert turned.pairs[0].verdict == "better"
    assert "good is better than poor by" in texts(turned)


def test_the_largest_family_of_a_difference_is_the_planted_one() -> None:
    truth = mg.MapFrames.of({token: {"divider": [[[0, 0], [9, 0]], [[0, 5], [9, 5]]]} for token in LINES})
    lines = {token: {"divider": [[[0, 0.2], [9, 0.2]]]} for token in LINES}
    fewer = mg.MapFrames.of(lines, confidence={token: {"divider": [1]} for token in LINES})
    results = [mg.evaluate(side, truth, ONE_CLASS, scenes=SCENES) for side in (truth.with_confidence(1), fewer)]
    said = texts(mg.answer(results, names=["all", "half"]))
    assert "half is worse than all" in said
    assert "Largest part: missing lines" in said


def test_identical_files_are_called_identical() -> None:
    results = [mg.evaluate(TRUTH.with_confidence(0.9), TRUTH, ONE_CLASS, scenes=SCENES) for _ in range(2)]
    answer = mg.answer(results, names=["one", "two"])
    assert answer.pairs[0].verdict == "identical"
    assert "one and two are identical: their predictions are the same." in texts(answer)


def test_equal_values_of_different_files_are_not_called_identical() -> None:
    shifted = [
        mg.MapFrames.of(
            {token: {"divider": [[[0, i + side], [9, i + side]]]} for i, token in enumerate(LINES)},
            confidence={token: {"divider": [1]} for token in LINES},
        )
        for side in (0.25, -0.25)
    ]
    answer = mg.answer([mg.evaluate(one, TRUTH, ONE_CLASS, scenes=SCENES) for one in shifted], names=["left", "right"])
    assert answer.pairs[0].verdict == "cannot tell"
    assert "cannot be told: PLD is the same" in texts(answer)


@pytest.mark.parametrize(("count", "reason"), [(1, "there is only one scene"), (3, "3 scenes are too few")])
def test_few_scenes_do_not_decide(count: int, reason: str) -> None:
    scenes = {token: f"scene-{k % count}" for k, token in enumerate(LINES)}
    sides = [TRUTH.with_confidence(sure) for sure in (0.9, 0.5)]
    answer = mg.answer([mg.evaluate(side, TRUTH, ONE_CLASS, scenes=scenes) for side in sides], names=["a", "b"])
    assert answer.pairs[0].verdict == "cannot tell"
    assert f"Whether b or a is better cannot be told: {reason}; PLD of a is lower by 0.400." in texts(answer)


def test_unknown_scenes_are_named_beside_the_interval() -> None:
    sides = [TRUTH.with_confidence(sure) for sure in (0.9, 0.5)]
    answer = mg.answer([mg.evaluate(side, TRUTH, ONE_CLASS) for side in sides], names=["a", "b"])
    assert "(over 8 frames of unknown scenes)" in texts(answer)


def test_a_disagreement_of_pld_and_average_precision_is_said() -> None:
    # The sure method is right with confidence 1, but draws a false line of confidence 0.9 first; the faint method has
    # the perfect ranking, and confidences of 0.2.
    token_lines = {token: {"divider": [[[0, 0], [9, 0]], [[0, 8], [9, 8]]]} for token in LINES}
    truth = mg.MapFrames.of({token: {"divider": [[[0, 0], [9, 0]]]} for token in LINES})
    sure = mg.MapFrames.of(token_lines, confidence={token: {"divider": [0.95, 1]} for token in LINES})
    faint = mg.MapFrames.of(token_lines, confidence={token: {"divider": [0.1, 0.01]} for token in LINES})
    results = [mg.evaluate(side, truth, ONE_CLASS, scenes=SCENES) for side in (sure, faint)]
    answer = mg.answer(results, names=["sure", "faint"])
    assert answer.pairs[0].verdict == "disagree"
    said = texts(answer)
    assert said.startswith(("PLD and Chamfer-AP disagree", "PLD, Chamfer-AP and Fréchet-AP disagree"))
    assert "by PLD, sure is better than faint" in said
    assert "by Chamfer-AP, faint is better" in said


def test_nothing_but_the_reason_is_said_of_a_method_with_an_error(
    world: tuple[mg.MapFrames, ...], both: list[mg.Results]
) -> None:
    good, _, truth = world
    answer = mg.answer([mg.evaluate(good.rotate(90), truth), *both], names=["turned", "good", "poor"])
    assert answer.methods[0].refused is not None
    assert {(pair.first, pair.second) for pair in answer.pairs} == {("good", "poor")}
    assert [said.about for said in answer.statements if said.method == "turned"] == ["refused"]
    said = texts(answer)
    assert "turned: do not trust these numbers: " in said
    assert "poor is worse than good" in said
    for statement in answer.statements:
        if statement.method and statement.about != "comparison":
            assert statement.text.startswith(f"{statement.method}: ")


def test_all_methods_with_errors(world: tuple[mg.MapFrames, ...]) -> None:
    good, poor, truth = world
    results = [mg.evaluate(side.rotate(90), truth) for side in (good, poor)]
    answer = mg.answer(results, names=["one", "two"])
    assert not answer.pairs
    assert [said.about for said in answer.statements] == ["refused", "refused"]
    alone = mg.answer(results[0])
    assert [said.about for said in alone.statements] == ["refused"]


def test_several_methods_are_compared_with_the_best(world: tuple[mg.MapFrames, ...]) -> None:
    good, poor, truth = world
    worse = poor.with_confidence(0.5)
    names = ["poor", "good", "again", "worse", "faint", "sure", "more"]
    sides = [poor, good, good, worse, good.with_confidence(0.1), good.with_confidence(1), poor.with_confidence(1)]
    answer = mg.answer([mg.evaluate(side, truth, metrics=["pld"]) for side in sides], names=names)
    best = min(answer.methods, key=lambda facts: facts.pld or 1)
    first = answer.statements[0]
    assert first.text.startswith(f"{best.name} has the lowest PLD, {best.pld:.3f} (over 8 scenes).")
    assert all(name in first.text for name in names)
    assert len(answer.pairs) == len(names) - 1


@pytest.mark.parametrize("name", sorted({"paper-60x30", "paper-100x50", "network", "map"} & set(PROTOCOLS)))
@pytest.mark.parametrize("what", ["nothing predicted", "nothing true", "nothing at all", "no matches"])
def test_odd_inputs_have_an_answer_that_is_true(name: str, what: str) -> None:
    classes = list(PROTOCOLS[name].classes or ["divider"])[:2]
    lines = {f"t{i}": {classes[0]: [[[0, 0], [9, 0]]]} for i in range(3)}
    far = {f"t{i}": {classes[0]: [[[0, 9], [9, 9]]]} for i in range(3)}
    nothing: dict[str, Any] = {f"t{i}": {} for i in range(3)}
    predicted, true = {
        "nothing predicted": (nothing, lines),
        "nothing true": (lines, nothing),
        "nothing at all": (nothing, nothing),
        "no matches": (far, lines),
    }[what]
    settings = mg.protocol(name, classes=classes)
    truth = mg.MapFrames.of(true, classes=classes)
    predictions = mg.MapFrames.of(predicted, classes=classes).with_confidence(1)
    results = mg.evaluate(predictions, truth, settings)
    trusted = dataclasses.replace(results, findings=())
    answer = mg.answer(trusted)
    assert answer.statements
    said = texts(answer)
    assert ("There is nothing to compare" in said) == (what == "nothing at all")
    if what in ("nothing predicted", "no matches") and "Finds" in said:
        assert "Finds 0 % of the map" in said
        assert "beside it" not in said
    assert texts(mg.answer([trusted, trusted], names=["a", "b"]))
    assert mg.answer(results).statements


@pytest.mark.parametrize("order", [2.0, 1.0])
def test_other_orders_have_no_causes(order: float, world: tuple[mg.MapFrames, ...]) -> None:
    settings = mg.protocol("paper-60x30", order=order)
    results = [mg.evaluate(side, world[2], settings) for side in world[:2]]
    for answer in (mg.answer(results[0]), mg.answer(results, names=["a", "b"])):
        assert (answer.methods[0].families is not None) == (order == 1)
        assert any(word in texts(answer) for word in ("of causes", "Largest part")) == (order == 1)


def test_a_protocol_without_pld_is_told_by_its_first_metric(world: tuple[mg.MapFrames, ...]) -> None:
    results = [mg.evaluate(side, world[2], metrics=["ap_chamfer"]) for side in world[:2]]
    alone = mg.answer(results[0])
    assert alone.methods[0].pld is None
    assert f"Chamfer-AP is {results[0].mean['ap_chamfer']:.3f} (mean over classes)." in texts(alone)
    both = mg.answer(results, names=["good", "poor"])
    assert both.pairs[0].verdict == "worse"
    assert both.pairs[0].pld is None
    assert "poor is worse than good by" in texts(both)


def test_rings_of_a_map_are_not_told() -> None:
    settings = dataclasses.replace(ONE_CLASS, has_ego=False)
    results = mg.evaluate(TRUTH.with_confidence(1), TRUTH, settings, metrics=["pld"], ranges=(0, 10, 20))
    assert mg.answer(results).methods[0].ranges is None


def test_names_must_fit() -> None:
    results = mg.evaluate(TRUTH.with_confidence(1), TRUTH, ONE_CLASS)
    with pytest.raises(mg.InvalidInput, match="names"):
        mg.answer([results, results], names=["a"])
    with pytest.raises(mg.InvalidInput, match="results"):
        mg.answer([])


@pytest.mark.parametrize("count", [2, 4])
def test_the_command_that_compares_has_the_answer_of_the_library(count: int, tmp_path: Path) -> None:
    predictions, truth = demo_world(20, predictions=30)
    files = [f"m{k}.mg" for k in range(count)]
    for k, file in enumerate(files):
        mg.evaluate(predictions.with_confidence(0.9 - 0.1 * k), truth, metrics=["pld"]).save(tmp_path / file)
    printed = json.loads(said(f"compare {' '.join(files)} --json", tmp_path))["answer"]
    methods = [mg.load_results(tmp_path / file) for file in files]
    names = [file.removesuffix(".mg") for file in files]
    assert printed == json.loads(json.dumps(mg.answer(methods, names=names).to_dict()))
    # The table compares with the first from four files on, the answer each two.
    assert len(printed["pairs"]) == count * (count - 1) / 2


NEAR: list[list[float]] = [[2, 0], [8, 0]]
MIDDLE: list[list[float]] = [[12, 0], [18, 0]]
FAR: list[list[float]] = [[22, 5], [28, 5]]


def frames_of(lines: list[list[list[float]]]) -> mg.MapFrames:
    return mg.MapFrames.of({token: {"divider": lines} for token in LINES}, classes=["divider"])


def test_what_is_found_by_distance_is_what_was_planted() -> None:
    results = mg.evaluate(frames_of([NEAR, MIDDLE]).with_confidence(0.8), frames_of([NEAR, FAR]), ONE_CLASS)
    answer = mg.answer(results)
    rings = answer.methods[0].distances
    assert rings is not None
    assert [(ring["from"], ring["to"]) for ring in rings] == [(0, 10), (10, 20), (20, None)]
    assert [ring["true_length"] for ring in rings] == pytest.approx([48, 0, 48])
    assert [ring["found"] for ring in rings] == [1, None, 0]
    assert "Finds 100 % up to 10 m from the vehicle and 0 % beyond 20 m." in texts(answer)
    (said,) = [said for said in answer.statements if said.about == "distance"]
    assert said.values == {"found from 0 m": 1, "found from 20 m": 0}


def test_a_line_that_crosses_rings_counts_in_each_with_its_length_there() -> None:
    truth = frames_of([[[0.25, 0], [29.75, 0]]])
    results = mg.evaluate(frames_of([[[0.25, 0], [14.75, 0]]]).with_confidence(1), truth, ONE_CLASS)
    rings = mg.answer(results).methods[0].distances
    assert rings is not None
    # Points lie half a metre apart, and stand for the halves beside them.
    assert [ring["true_length"] for ring in rings] == pytest.approx([8 * 9.75, 8 * 10, 8 * 9.75], abs=0.1)
    found = [ring["found"] for ring in rings]
    assert found[0] == 1
    assert found[1] == pytest.approx(0.475, abs=0.16)  # the point that the prediction ends at may match one beyond
    assert found[2] == 0


@pytest.mark.parametrize("forward", ["x", "y"])
def test_lengths_by_distance_add_up_and_do_not_depend_on_the_axes(
    forward: str, world: tuple[mg.MapFrames, ...]
) -> None:
    good, _, truth = world
    name = "paper-60x30" if forward == "x" else "maptr"
    metrics = ["pld", "completeness"]
    turned = mg.evaluate(good, truth, "paper-60x30", metrics=metrics)
    if forward == "y":
        settings = mg.protocol(name, spacing=turned.protocol.spacing, cutoffs=[1.5])
        results = mg.evaluate(good.rotate(-90), truth.rotate(-90), settings, metrics=metrics)
    else:
        results = turned
    (facts,) = mg.answer(dataclasses.replace(results, findings=())).methods
    assert facts.distances is not None
    assert facts.found_length is not None
    true = [ring["true_length"] or 0.0 for ring in facts.distances]
    found = [length * (ring["found"] or 0.0) for length, ring in zip(true, facts.distances, strict=True)]
    assert sum(true) == pytest.approx(facts.true_length)
    assert sum(found) == pytest.approx(facts.found_length)
    assert found[0] / true[0] > found[2] / true[2]  # the demo world is harder far away


@pytest.mark.parametrize("region", [(60.0, 30.0), (100.0, 50.0)])
def test_rings_are_named_one_by_one_unless_there_are_many(region: tuple[float, float]) -> None:
    lines = [[[start + 1.0, 0.0], [start + 9.0, 0.0]] for start in range(0, int(region[0] / 2), 10)]
    truth = frames_of(lines)
    settings = ONE_CLASS.replace(region=region)
    found = frames_of([lines[0]]).with_confidence(1)
    said = texts(mg.answer(mg.evaluate(found, truth, settings)))
    if region[0] == 60:
        assert "Finds 100 % up to 10 m from the vehicle, 0 % from 10 to 20 m, 0 % beyond." in said
    else:
        assert "Finds 100 %, 0 %, 0 %, 0 % in rings of 10 m from the vehicle, 0 % beyond." in said


def test_methods_are_told_by_distance_in_one_sentence() -> None:
    truth = frames_of([NEAR, FAR])
    sides = [truth, frames_of([NEAR]), frames_of([FAR])]
    results = [mg.evaluate(side.with_confidence(1), truth, ONE_CLASS, scenes=SCENES) for side in sides]
    answer = mg.answer(results, names=["all", "near", "far"])
    sentence = (
        "Up to 10 m from the vehicle and beyond 20 m, all finds 100 % and 100 %; near 100 % and 0 %; far 0 % and 100 %."
    )
    assert sentence in texts(answer)
    four = mg.answer([*results, results[0]], names=["all", "near", "far", "again"])
    assert "from the vehicle" not in texts(four)


@pytest.mark.parametrize("name", ["map", "one ring"])
def test_distance_is_not_told_where_it_says_nothing(name: str) -> None:
    settings = ONE_CLASS
    truth = frames_of([NEAR])
    if name == "map":
        if "map" not in PROTOCOLS:
            pytest.skip("no protocol for maps")
        settings = mg.protocol("map", classes=["divider"])
        truth = frames_of([NEAR, FAR])
    answer = mg.answer(mg.evaluate(truth.with_confidence(1), truth, settings))
    assert "from the vehicle" not in texts(answer)


def test_distance_is_not_told_where_all_or_nothing_is_found() -> None:
    truth = frames_of([NEAR, FAR])
    for lines in ([NEAR, FAR], [MIDDLE]):
        said = texts(mg.answer(mg.evaluate(frames_of(lines).with_confidence(0.5), truth, ONE_CLASS)))
        assert "from the vehicle" not in said


def test_a_difference_too_small_for_its_digits_is_not_called_zero() -> None:
    sides = [TRUTH.with_confidence(sure) for sure in (0.9, 0.9001)]
    answer = mg.answer([mg.evaluate(side, TRUTH, ONE_CLASS, scenes=SCENES) for side in sides], names=["a", "b"])
    assert answer.pairs[0].verdict == "better"
    assert "b is better than a by less than 0.001 PLD (over 8 scenes)." in texts(answer)
    assert "0.000" not in answer.statements[0].text
