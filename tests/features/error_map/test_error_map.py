"""The error map: its rule, and what it must not depend on."""

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.features.error_map import planted, reference

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.error_map.pieces import STEP, grid_keys, pieces_of, samples_of


def rows(made: mg.ErrorMap, method: int = 0) -> list[tuple[object, ...]]:
    """All pieces with their values."""
    columns = made.columns(made.names[method])
    return [tuple(row) for row in zip(*(values.tolist() for values in columns.values()), strict=True)]


@pytest.mark.parametrize("least", [0.0, 0.4])
def test_the_map_is_that_of_the_rule_in_plain_python(least: float) -> None:
    results = mg.evaluate(*demo_world(24))
    made = mg.error_map(results, confidence=least)
    columns = made.columns()
    along_x = np.isclose(made.pieces.half_x, STEP / 2) & (np.abs(made.pieces.half_y) <= STEP / 2 / 0.9 + 1e-9)
    expected = reference.pieces(results, least)
    assert len(expected) == len(columns["x"])
    ours = []
    for k in range(len(columns["x"])):
        x, y = columns["x"][k], columns["y"][k]
        is_x = bool(along_x[k]) and float(x / STEP).is_integer()
        on, across = (x, y) if is_x else (y, x)
        numbers = [int(columns[key][k]) for key in ("seen", "found", "pairs", "flips")]
        ours.append(
            (columns["class"][k], "x" if is_x else "y", round(on / STEP), across, *numbers, columns["offset"][k])
        )
    ours.sort()
    for mine, (name, way, line, place, seen, found, offset, pairs, flips) in zip(ours, expected, strict=True):
        assert mine[:3] == (name, way, line)
        assert mine[3] == pytest.approx(place, abs=1e-4)  # means are rounded to a tenth of a millimetre
        assert mine[4:8] == (seen, found, pairs, flips)
        assert mine[8] == pytest.approx(offset, abs=1e-5, nan_ok=True)  # offsets are kept in single precision


def test_every_frame_cuts_a_road_into_the_same_pieces() -> None:
    made = mg.error_map(planted.evaluated(planted.perfect()))
    road = made.pieces.label == 2
    # A road that six scenes see has no second set of pieces, so the map is as long as what was seen of it.
    columns = made.columns()
    total = columns["length"][road].sum()
    assert total == pytest.approx(2 * 116 + 2 * (15 - 7 + 2), rel=0.06)
    assert (columns["not_found"] == 0).all()
    assert np.nanmax(columns["offset"]) < 1e-6
    assert (columns["flips"] == 0).all()


def test_the_order_of_frames_and_the_number_of_workers_do_not_matter() -> None:
    x, y = planted.predictions(), planted.truth()
    made = mg.error_map(planted.evaluated(x, y), workers=1)
    order = np.random.default_rng(5).permutation(len(y)).tolist()
    shuffled = mg.error_map(planted.evaluated(x.at(order), y.at(order)), workers=3)
    assert repr(rows(made)) == repr(rows(shuffled))
    assert shuffled.frames(7) == made.frames(7)
    first, second = (each.worst(kind="missed") for each in (made, shuffled))
    assert [place.to_dict() for place in first] == [place.to_dict() for place in second]


def test_a_higher_least_confidence_finds_less_and_needs_no_new_match() -> None:
    made = mg.error_map(mg.evaluate(*demo_world(24)))
    last = made.counts().found
    for least in (0.2, 0.5, 0.9, 1.0):
        raised = made.at(least)
        assert (raised.counts().found <= last).all()
        last = raised.counts().found
        np.testing.assert_array_equal(made.found(0, least), last)
    assert raised.confidence == 1.0
    again = mg.error_map(mg.evaluate(*demo_world(24)), confidence=0.5)
    assert rows(made.at(0.5)) != rows(made)
    assert repr(rows(made.at(0.5))) == repr(rows(again))


def test_two_methods_share_their_pieces_and_have_a_difference() -> None:
    made = mg.error_map([planted.evaluated(planted.perfect()), planted.evaluated()], names=("good", "poor"))
    columns = made.columns("poor")
    np.testing.assert_allclose(columns["difference"], columns["not_found"])
    assert "difference" not in made.columns("good")
    assert made.columns("good")["found"].sum() > columns["found"].sum()


def test_poses_can_be_given_to_frames_without_them() -> None:
    y = planted.truth()
    bare = planted.evaluated(planted.predictions(), replace(y, poses=None))
    with pytest.raises(mg.InvalidInput, match="no poses") as caught:
        mg.error_map(bare)
    assert "TRUTH,poses=FILE" in caught.value.for_shell()
    assert repr(rows(mg.error_map(bare, poses=y))) == repr(rows(mg.error_map(planted.evaluated())))


def test_a_map_says_in_one_line_what_it_is() -> None:
    text = repr(mg.error_map(planted.evaluated(), names=("A",)))
    assert text.startswith("<ErrorMap of A: ")
    assert text.endswith("90 frames, confidence at least 0>")


def test_without_scenes_there_are_no_pairs() -> None:
    y = replace(planted.truth(), scenes=None)
    made = mg.error_map(planted.evaluated(planted.predictions(), y))
    assert made.pairs.sum() == 0
    assert made.worst()[0].scenes == 0


def test_wrong_arguments_are_refused() -> None:
    results = planted.evaluated()
    for wrong in (-0.1, 1.5, float("nan")):
        with pytest.raises(mg.InvalidInput, match="confidence"):
            mg.error_map(results, confidence=wrong)
    made = mg.error_map(results)
    with pytest.raises(mg.InvalidInput, match="no method 'B'"):
        made.columns("B")
    with pytest.raises(mg.InvalidInput, match="piece must be"):
        made.frames(10**6)
    with pytest.raises(mg.InvalidInput, match="did not|does not hold the geometry"):
        mg.error_map(results.without_data())


def test_frames_without_lines_make_an_empty_map() -> None:
    y = planted.truth()
    empty = y.keep(np.empty(0, np.int64))
    made = mg.error_map(mg.evaluate(empty.with_confidence(1), empty, metrics=("pld",)))
    assert len(made.columns()["x"]) == 0
    assert made.worst() == []


def test_poses_far_from_the_earth_are_refused() -> None:
    y = planted.truth()
    assert y.poses is not None
    poses = y.poses.copy()
    poses[3, 0, 3] = 1e12
    with pytest.raises(mg.InvalidInput, match="0-03 is more than 1e"):
        mg.error_map(planted.evaluated(planted.predictions(), replace(y, poses=poses)))


def test_samples_are_those_of_the_twin(rng: np.random.Generator) -> None:
    start = rng.uniform(-3, 3, (500, 2))
    end = start + rng.normal(0, 0.7, (500, 2))
    start[:50] = np.round(start[:50] / STEP) * STEP  # exactly on the grid
    end[:50] = np.round(end[:50] / STEP) * STEP
    found = samples_of(start, end)
    expected = [
        (k, axis == "x", line, place, at_end)
        for k in range(len(start))
        for axis, line, place, at_end in reference.crossings(tuple(start[k]), tuple(end[k]))
    ]
    ours = list(
        zip(
            found.segment.tolist(),
            found.along_x.tolist(),
            found.line.tolist(),
            found.across.tolist(),
            found.at_end.tolist(),
            strict=True,
        )
    )
    assert len(ours) == len(expected)
    for mine, other in zip(ours, expected, strict=True):
        assert mine[:3] == other[:3]
        assert mine[3] == pytest.approx(other[3], abs=1e-12)
        assert mine[4] == other[4]


def test_samples_that_are_close_are_one_piece_and_others_are_not() -> None:
    across = np.array([3.0, 3.2, 3.9, 3.4, 3.0])
    label = np.array([0, 0, 0, 0, 1])
    keys = grid_keys(label, np.ones(5, np.bool_), np.full(5, 7))
    made, piece = pieces_of(keys, across, np.zeros(5))
    assert piece.tolist() == [0, 0, 1, 0, 2]
    assert made.x.tolist() == [3.5, 3.5, 3.5]
    assert made.y.tolist() == [3.2, 3.9, 3.0]
    assert made.length.tolist() == [0.5, 0.5, 0.5]


def test_a_piece_with_two_lines_of_a_frame_is_found_only_if_both_are() -> None:
    lines = {"a": {"divider": [[[0, 0], [10, 0]], [[0, 0.2], [10, 0.2]]]}}
    y = replace(mg.MapFrames.of(lines), poses=np.eye(4)[None])
    x = mg.MapFrames.of({"a": {"divider": [lines["a"]["divider"][0]]}}, confidence={"a": {"divider": [0.9]}})
    made = mg.error_map(mg.evaluate(x, y, mg.protocol("paper-60x30", classes=("divider",)), metrics=("pld",)))
    assert made.counts().found.sum() == 0
    assert made.seen.tolist() == [1] * 20
    assert math.isnan(made.counts().offset[0])
