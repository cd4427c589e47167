"""PLD by what changed since a prior, the gain over a copy, and the detection of changes."""

import gzip
import json
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.shared_data import DATA, needs_data

import mapgauge as mg

STATES = ("kept", "moved", "inserted", "deleted")
PARTS = ("kept", "moved", "inserted", "stale", "invented")

FOLDER = "prior_reference"
NEEDED = needs_data(FOLDER)
BEHAVIOURS = ("perfect", "copier", "model", "mixed")
DIVIDERS = mg.protocol("paper-60x30", classes=["divider"])


def at(y: float) -> list[list[float]]:
    return [[0.0, y], [10.0, y]]


def dividers(*heights: float) -> mg.MapFrames:
    return mg.MapFrames.of({"a": {"divider": [at(y) for y in heights]}}, classes=["divider"])


def compared(predictions: mg.MapFrames, truth: mg.MapFrames, prior: mg.MapFrames, **how: Any) -> mg.Changes:
    certain = predictions if predictions.confidence is not None else predictions.with_confidence(1)
    return mg.changes(mg.evaluate(certain, truth, DIVIDERS, metrics=["pld"]), prior, **how)


def random_map(rng: np.random.Generator, frames: int = 5) -> dict[str, dict[str, list[Any]]]:
    def line() -> Any:
        return rng.uniform(-10, 10, 2) + rng.normal(0, 1.5, (rng.integers(2, 8), 2)).cumsum(axis=0)

    return {
        f"{k}": {name: [line() for _ in range(rng.integers(0, 6))] for name in ("divider", "boundary")}
        for k in range(frames)
    }


def shaken(frames: dict[str, dict[str, list[Any]]], rng: np.random.Generator) -> dict[str, dict[str, list[Any]]]:
    """Move lines by up to 2 m, drop some and add some."""
    new = random_map(rng, len(frames))
    return {
        token: {
            name: [line + rng.normal(0, 0.6, 2) for line in lines if rng.random() < 0.8] + new[token][name][:1]
            for name, lines in classes.items()
        }
        for token, classes in frames.items()
    }


def as_frames(frames: dict[str, dict[str, list[Any]]]) -> mg.MapFrames:
    return mg.MapFrames.of(frames, classes=["divider", "boundary"])


def test_each_line_has_its_state() -> None:
    changes = compared(dividers(0, 3, 6), dividers(0, 3, 6), dividers(3.9, 9, 0))
    assert changes.truth_states == ("kept", "moved", "inserted")
    assert changes.prior_states == ("moved", "deleted", "kept")


def test_each_cost_has_its_part() -> None:
    """The five dividers are 1.2 m off, missed and so on. A missed or false line costs 1/2."""
    truth, prior = dividers(0, 10, 20), dividers(0, 10.9, 30)
    stale, old_place, invented = 30.1, 11.0, 40.0
    changes = compared(dividers(stale, invented), truth, prior)
    values = changes.values()[0]
    # The cost is 1/2 for each of the three true and two predicted lines; 2 d / (mass + d) = 1 with d = mass.
    assert {part: round(values[part], 6) for part in PARTS} == dict.fromkeys(PARTS, 0.2)
    moved = compared(dividers(10, old_place), dividers(10), dividers(10.9)).values()[0]
    assert (moved["moved"], moved["stale"], moved["invented"]) == pytest.approx((0, moved["pld"], 0))


def test_a_line_that_moved_beyond_the_cutoff_is_deleted_and_inserted() -> None:
    changes = compared(dividers(0), dividers(0), dividers(2.5))
    assert (changes.truth_states, changes.prior_states) == (("inserted",), ("deleted",))


@pytest.mark.parametrize("same", [0.0, 0.1, 0.25, 1.0])
@pytest.mark.parametrize("cutoff", [0.1, 1.5, 10.0])
def test_a_prior_that_is_the_truth_is_kept(same: float, cutoff: float, rng: np.random.Generator) -> None:
    truth = as_frames(random_map(rng))
    protocol = mg.protocol("paper-60x30", classes=["divider", "boundary"], cutoffs=[cutoff])
    results = mg.evaluate(as_frames(random_map(rng)).with_confidence(0.7), truth, protocol, metrics=["pld"])
    changes = mg.changes(results, truth, same=same)
    assert {*changes.truth_states, *changes.prior_states} == {"kept"}
    assert not changes.changed.any()
    assert all(row["copy_pld"] == row["moved"] == row["inserted"] == row["stale"] == 0 for row in changes.values())


@pytest.mark.parametrize("same", [0.0, 0.25, 0.8])
def test_the_parts_add_up_to_pld_of_even_sampling(same: float, rng: np.random.Generator) -> None:
    for _ in range(10):
        world = random_map(rng)
        truth, prior, found = (as_frames(frames) for frames in (world, shaken(world, rng), shaken(world, rng)))
        predictions = found.with_confidence(rng.random(len(found.polylines)))
        protocol = mg.protocol("paper-60x30", classes=["divider", "boundary"])
        results = mg.evaluate(predictions, truth, protocol, metrics=["pld"])
        even = mg.protocol(protocol, sampling="even")
        evenly = mg.evaluate(predictions, truth, even, metrics=["pld"])
        copied = mg.evaluate(prior.with_confidence(1), truth, even, metrics=["pld"])
        for row in mg.changes(results, prior, same=same).values():
            for prefix, expected in (("", evenly), ("copy_", copied)):
                values = expected.mean if row["class"] == "mean" else expected.classes[row["class"]]
                assert sum(row[f"{prefix}{part}"] for part in PARTS) == pytest.approx(values["pld"], abs=1e-12)
                assert row[f"{prefix}pld"] == pytest.approx(values["pld"], abs=1e-12)
            assert row["gain"] == pytest.approx(row["copy_pld"] - row["pld"], abs=1e-12)


def test_a_copier_has_no_gain_and_says_nothing(rng: np.random.Generator) -> None:
    world = random_map(rng)
    truth, prior = as_frames(world), as_frames(shaken(world, rng))
    protocol = mg.protocol("paper-60x30", classes=["divider", "boundary"])
    changes = mg.changes(mg.evaluate(prior.with_confidence(1), truth, protocol, metrics=["pld"]), prior)
    assert {gain.value for gain in changes.gains.values()} == {0.0}
    assert all(row["invented"] == 0 for row in changes.values())
    assert [row["stated"] for row in changes.detection()] == [len(prior.polylines), 0, 0, 0]
    assert not changes.stated_changed.any()


def test_perfect_predictions_detect_all_changes(rng: np.random.Generator) -> None:
    world = random_map(rng, 8)
    truth, prior = as_frames(world), as_frames(shaken(world, rng))
    protocol = mg.protocol("paper-60x30", classes=["divider", "boundary"])
    changes = mg.changes(mg.evaluate(truth.with_confidence(1), truth, protocol, metrics=["pld"]), prior)
    assert all(row["pld"] == 0 for row in changes.values())
    assert all(row["true"] == row["stated"] == row["right"] for row in changes.detection())
    counts = changes.confusion.sum(axis=(0, 1))
    assert counts.sum() == np.trace(counts)
    assert (changes.changed == changes.stated_changed).all()


def test_the_order_of_lines_does_not_matter(rng: np.random.Generator) -> None:
    world = random_map(rng)
    old = shaken(world, rng)
    turned = {token: {name: lines[::-1] for name, lines in classes.items()} for token, classes in old.items()}
    results = mg.evaluate(
        as_frames(shaken(world, rng)).with_confidence(0.8),
        as_frames(world),
        mg.protocol("paper-60x30", classes=["divider", "boundary"]),
        metrics=["pld"],
    )
    first, second = (mg.changes(results, as_frames(prior)).values() for prior in (old, turned))
    for one, other in zip(first, second, strict=True):
        assert one == pytest.approx(other, abs=1e-12)


def redrawn(frames: mg.MapFrames, rng: np.random.Generator) -> mg.MapFrames:
    """Return the same geometry: all lines from the other end, and closed ones from another vertex."""
    lines = []
    for line in frames.polylines:
        if len(line) > 2 and np.array_equal(line[0], line[-1]):
            vertices = np.roll(line[:-1], int(rng.integers(len(line) - 1)), axis=0)
            line = np.concatenate([vertices, vertices[:1]])
        lines.append(line[::-1])
    return replace(frames, polylines=mg.Polylines.of(lines))


def with_polygons(rng: np.random.Generator, frames: int = 5) -> dict[str, dict[str, list[Any]]]:
    """Return random lines, half of them closed."""
    world = random_map(rng, frames)
    for classes in world.values():
        classes["boundary"] = [np.concatenate([line, line[:1]]) for line in classes["boundary"]]
    return world


@pytest.mark.parametrize("sampled", [{}, {"count": 30}, {"spacing": None}])
def test_a_prior_that_is_drawn_the_other_way_round_changes_nothing(
    sampled: dict[str, Any], rng: np.random.Generator
) -> None:
    for _ in range(5):
        world = with_polygons(rng)
        truth, prior, found = (as_frames(frames) for frames in (world, shaken(world, rng), shaken(world, rng)))
        protocol = mg.protocol("paper-60x30", classes=["divider", "boundary"], **sampled)
        results = mg.evaluate(found.with_confidence(0.8), truth, protocol, metrics=["pld"])
        first, second = (mg.changes(results, frames) for frames in (prior, redrawn(prior, rng)))
        assert (first.truth_states, first.prior_states) == (second.truth_states, second.prior_states)
        assert (first.confusion == second.confusion).all()
        for one, other in zip(first.values(), second.values(), strict=True):
            assert one == pytest.approx(other, abs=1e-9)
        for again in (prior, redrawn(prior, rng)):
            ignored = mg.mark_ignored(truth, again, protocol=protocol).ignore
            assert ignored is not None
            assert ignored.tolist() == [state != "inserted" for state in first.truth_states]


@pytest.mark.parametrize("same", [0.0, 0.25])
def test_a_truth_that_is_drawn_the_other_way_round_is_kept(same: float, rng: np.random.Generator) -> None:
    truth = as_frames(with_polygons(rng))
    protocol = mg.protocol("paper-60x30", classes=["divider", "boundary"])
    results = mg.evaluate(truth.with_confidence(1), truth, protocol, metrics=["pld"])
    closed = mg.changes(results, redrawn(truth, rng), same=same).truth_states
    if same:
        assert {*closed} == {"kept"}
    else:  # open lines have the same points up to rounding, closed ones to the last bit
        assert {closed[i] for i in np.flatnonzero(truth.label == truth.classes.index("boundary"))} == {"kept"}


def test_noisy_crossings_of_twenty_points_are_kept() -> None:
    """Twenty points cut the corners off, and noise moves the point where a ring begins."""
    rng = np.random.default_rng(2)
    old: dict[str, Any] = {}
    new: dict[str, Any] = {}
    for k in range(60):
        length, width = rng.uniform(8, 17), rng.uniform(2.5, 4)
        corners = np.array([[0, 0], [length, 0], [length, width], [0, width], [0, 0]])
        angle = rng.uniform(0, np.pi)
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        crossing = corners @ turn
        noisy = mg.resample(crossing, count=20) + np.pad(rng.normal(0, 0.06, (19, 2)), ((0, 1), (0, 0)))
        noisy[-1] = noisy[0]
        old[str(k)], new[str(k)] = {"ped_crossing": [crossing]}, {"ped_crossing": [noisy]}
    truth, prior = mg.MapFrames.of(new), mg.MapFrames.of(old)
    protocol = mg.protocol("paper-60x30", classes=["ped_crossing"])
    results = mg.evaluate(truth.with_confidence(1), truth, protocol, metrics=["pld"])
    assert Counter(mg.changes(results, prior).truth_states) == {"kept": 60}


def test_intervals_of_gains_have_possible_values_only() -> None:
    """With two scenes, half the width of an interval is 12.7 standard errors."""
    tokens = {"a": 0.0, "b": 0.0}
    truth = mg.MapFrames.of({token: {"divider": [at(y)]} for token, y in tokens.items()}, classes=["divider"])
    truth = replace(truth, scenes=("one", "two"))
    prior = mg.MapFrames.of({"a": {"divider": [at(0)]}, "b": {"divider": [at(0.9)]}}, classes=["divider"])
    changes = compared(mg.MapFrames.of({"a": {}, "b": {"divider": [at(0)]}}, classes=["divider"]), truth, prior)
    assert changes.units == "scenes"
    for gain in changes.gains.values():
        assert -1 == gain.low < gain.value < gain.high == 1


def test_blocks_of_frames_do_not_matter(rng: np.random.Generator) -> None:
    """120 frames are three blocks. Their sums are those of the frames alone."""
    world = random_map(rng, 120)
    truth, prior = as_frames(world), as_frames(shaken(world, rng))
    predictions = as_frames(shaken(world, rng)).with_confidence(0.8)
    protocol = mg.protocol("paper-60x30", classes=["divider", "boundary"])
    changes = mg.changes(mg.evaluate(predictions, truth, protocol, metrics=["pld"]), prior)
    token = truth.tokens[100]
    alone = mg.evaluate(predictions.of_tokens([token]), truth.of_tokens([token]), protocol, metrics=["pld"])
    expected = mg.changes(alone, prior)
    place = changes.tokens.index(token)
    assert (changes.sums[:, place] == expected.sums[:, 0]).all()
    assert (changes.confusion[place] == expected.confusion[0]).all()


def test_false_insertions_and_missed_ones_are_counted() -> None:
    changes = compared(dividers(0, 20), dividers(0, 10), dividers(0))
    counts = {
        (true, said): int(changes.confusion[0, 0, i, j])
        for i, true in enumerate((*STATES, "nothing"))
        for j, said in enumerate((*STATES, "nothing"))
        if changes.confusion[0, 0, i, j]
    }
    assert counts == {("kept", "kept"): 1, ("inserted", "nothing"): 1, ("nothing", "inserted"): 1}


def test_predictions_below_the_floor_say_nothing() -> None:
    predictions = dividers(0, 20).with_confidence(0.3)
    changes = compared(predictions, dividers(0), dividers(0))
    assert [row["stated"] for row in changes.detection()] == [0, 0, 0, 1]
    lower = compared(predictions, dividers(0), dividers(0), floor=0.3)
    assert [row["stated"] for row in lower.detection()] == [1, 0, 1, 0]


def test_frames_that_the_prior_lacks_have_no_prior() -> None:
    truth = mg.MapFrames.of({"a": {"divider": [at(0)]}, "b": {"divider": [at(0)]}})
    changes = compared(truth, truth, dividers(0))
    assert changes.truth_states == ("kept", "inserted")
    (finding,) = changes.findings
    assert (finding.code, finding.examples) == ("frames-without-prior", ("b",))
    assert "1 of 2 frames have no prior" in finding.message


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        (dividers(), "none of its 0 lines in the frames"),
        (dividers(400, 500), "none of its 2 lines in the frames and classes of the truth is near"),
        (dividers(0).rename({"divider": "lane"}), "none of its 0 lines in the frames"),
    ],
)
def test_a_prior_without_lines_where_the_truth_is_has_a_finding(prior: mg.MapFrames, words: str) -> None:
    changes = compared(dividers(0), dividers(0), prior)
    (finding,) = changes.findings
    assert finding.code == "prior-without-truth"
    assert words in finding.message
    assert changes.truth_states == ("inserted",)


def test_other_input_is_refused() -> None:
    with pytest.raises(mg.InvalidInput, match="one flag per frame"):
        mg.mean_accuracy([True], [True, False])
    truth = dividers(0)
    results = mg.evaluate(truth.with_confidence(1), truth, DIVIDERS, metrics=["pld"])
    with pytest.raises(mg.InvalidInput, match=r"same must be .*got 2"):
        mg.changes(results, truth, same=2)
    with pytest.raises(mg.InvalidInput, match="no frame of the prior"):
        mg.changes(results, mg.MapFrames.of({"z": {"divider": [at(0)]}}))
    with pytest.raises(mg.InvalidInput, match="results: expected Results from evaluate\\(\\), got MapFrames"):
        mg.changes(truth, truth)  # type: ignore[arg-type]
    squared = mg.evaluate(truth.with_confidence(1), truth, mg.protocol(DIVIDERS, order=2), metrics=["pld"])
    with pytest.raises(mg.InvalidInput, match=r"need order 1 .*got order 2"):
        mg.changes(squared, truth)


@cache
def read(name: str) -> mg.MapFrames:
    return mg.read(DATA / FOLDER / f"{name}.gz")


def of_behaviour(name: str) -> mg.Changes:
    predictions = read(f"submission_vector_{name}.json")
    return mg.changes(mg.evaluate(predictions, read("truth.geojson"), metrics=["pld"]), read("prior.geojson"))


def labels() -> Any:
    return json.loads(gzip.decompress((DATA / FOLDER / "labels.json.gz").read_bytes()))


@NEEDED
@pytest.mark.parametrize("name", ["prior", "prior_jitter"])
def test_planted_changes_are_found(name: str) -> None:
    """A crossing, or a line with an error of 5 cm, that was moved by 0.5 m is close to the limit.

    Five crossings that the region cuts were moved mostly along their own edges: 0.22 to 0.25.
    """
    truth, prior = read("truth.geojson"), read(f"{name}.geojson")
    changes = mg.changes(mg.evaluate(truth.with_confidence(1), truth, metrics=["pld"]), prior)
    given = labels()
    for side, frames, states in (("truth", truth, changes.truth_states), ("prior", prior, changes.prior_states)):
        place: Counter[tuple[str, str]] = Counter()
        for label, frame, state in zip(frames.label.tolist(), frames.frame.tolist(), states, strict=True):
            key = frames.tokens[frame], frames.classes[label]
            expected = given[key[0]][side][key[1]][place[key]]
            place[key] += 1
            near = expected["moved_m"] == 0.5 and (name == "prior_jitter" or key[1] == "ped_crossing")
            assert state in (expected["state"], "kept" if near else "")
    assert [given[token]["changed"] for token in changes.tokens] == changes.changed.tolist()


@NEEDED
@pytest.mark.parametrize("name", ["prior", "prior_jitter"])
def test_a_real_prior_that_is_drawn_the_other_way_round_changes_nothing(name: str, rng: np.random.Generator) -> None:
    prior = read(f"{name}.geojson")
    results = mg.evaluate(read("submission_vector_mixed.json"), read("truth.geojson"), metrics=["pld"])
    first, second = (mg.changes(results, frames) for frames in (prior, redrawn(prior, rng)))
    assert (first.truth_states, first.prior_states) == (second.truth_states, second.prior_states)
    assert first.values()[-1] == pytest.approx(second.values()[-1], abs=1e-9)


@NEEDED
def test_pld_of_the_behaviours() -> None:
    found = {name: of_behaviour(name) for name in BEHAVIOURS}
    pld = {name: round(changes.values()[-1]["pld"], 3) for name, changes in found.items()}
    assert pld == {"perfect": 0.0, "copier": 0.297, "model": 0.782, "mixed": 0.485}
    assert {round(changes.values()[-1]["copy_pld"], 3) for changes in found.values()} == {0.297}
    assert abs(found["copier"].gains["mean"].value) < 1e-3  # its confidences are a little below 1
    assert found["perfect"].gains["mean"].value > 0.29
    accuracy = {name: round(changes.mean_accuracy, 3) for name, changes in found.items()}
    assert accuracy["perfect"] == 1
    assert accuracy["copier"] == accuracy["model"] == 0.5
    assert 0.8 < accuracy["mixed"] < 0.9


@NEEDED
@pytest.mark.parametrize("name", BEHAVIOURS)
def test_mean_accuracy_is_that_of_tbv(name: str) -> None:
    """Rows of the confusion are divided by their sum + 1e-7, as in the public code."""
    reference = json.loads((DATA / FOLDER / "reference.json").read_text(encoding="utf-8"))
    behaviour = reference["behaviours"][name]["frame_change"]
    found = mg.mean_accuracy(reference["frame_change_truth"], behaviour["decisions"])
    assert found == pytest.approx(behaviour["mAcc"], abs=1e-9)


BLOCKS = {  # which true lines count, and whether predictions that were copied from the prior do
    "ap_all_truth": (("kept", "moved", "inserted"), True),
    "ap_masked_truth_all_predictions": (("inserted",), True),
    "ap_masked_truth_without_predictions_from_the_prior": (("inserted",), False),
    "ap_truth_kept_only_all_predictions": (("kept",), True),
    "ap_truth_moved_only_all_predictions": (("moved",), True),
}


@NEEDED
@pytest.mark.parametrize("name", BEHAVIOURS)
def test_average_precision_of_parts_of_the_truth_is_that_of_m3tr(name: str) -> None:
    """The public mean counts a class without truth as 0."""
    reference = json.loads((DATA / FOLDER / "reference.json").read_text(encoding="utf-8"))["behaviours"][name]
    sources = json.loads(gzip.decompress((DATA / FOLDER / "provenance.json.gz").read_bytes()))[name]
    truth, predictions, given = read("truth.geojson"), read(f"submission_vector_{name}.json"), labels()
    states = np.array(
        [each["state"] for token in truth.tokens for c in truth.classes for each in given[token]["truth"][c]]
    )
    by_class = np.lexsort((truth.label, truth.frame))
    state = np.empty(len(by_class), states.dtype)
    state[by_class] = states
    copied = np.array([source.startswith("prior") for token in predictions.tokens for source in sources[token]])
    for block, (counted, with_copies) in BLOCKS.items():
        x = predictions if with_copies else predictions.keep(~copied)
        results = mg.evaluate(x, truth.keep(np.isin(state, counted)), "maptr", metrics=["ap_chamfer"])
        for class_name, expected in ((key, row) for key, row in reference[block].items() if key != "mAP"):
            values = results.classes[class_name]
            assert (values["predictions"], values["truth"]) == (expected["num_dets"], expected["num_gts"])
            for key in ("", "@0.5", "@1.0", "@1.5"):
                assert (values[f"ap_chamfer{key}"] or 0) == pytest.approx(expected[f"AP{key}"], abs=1e-6)
