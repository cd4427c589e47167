"""The language of conditions on frames."""

import numpy as np
import pytest
from tests.results.query_cases import CLASSES, ERRORS, HOLD, OF_CLASS, TABLE, TOO_LONG

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.results.frame_query import FrameTable
from mapgauge.results.query import Columns, InvalidQuery, parse


def held(text: str) -> list[int]:
    columns = Columns((TABLE | OF_CLASS).get, list(TABLE), CLASSES)
    return np.flatnonzero(parse(text).holds(columns)).tolist()


@pytest.mark.parametrize(("text", "frames"), HOLD)
def test_a_condition_holds_for_frames(text: str, frames: list[int]) -> None:
    assert held(text) == frames


@pytest.mark.parametrize(("text", "place", "message"), ERRORS)
def test_an_error_points_at_the_character(text: str, place: int, message: str) -> None:
    with pytest.raises(InvalidQuery) as raised:
        held(text)
    assert raised.value.what == message
    assert raised.value.place == place
    assert raised.value.pointer.endswith(f"\n  {text}\n  {' ' * place}^")
    assert str(raised.value).startswith(f"character {place + 1} of {text!r}: ")


def test_a_condition_has_a_limited_length() -> None:
    text, message = TOO_LONG
    with pytest.raises(InvalidQuery) as raised:
        parse(text)
    assert raised.value.what == raised.value.pointer == str(raised.value) == message
    assert parse(f"pld > {'9' * 9_994}").names == ("pld",)


def test_random_texts_are_refused_or_read() -> None:
    rng = np.random.default_rng(0)
    words = [
        "pld",
        "missed",
        "city",
        "night",
        "and",
        "or",
        "not",
        "in",
        "(",
        ")",
        ",",
        "=",
        "<",
        ">=",
        "0.5",
        "'a'",
        "none",
    ]
    read = 0
    for _ in range(3000):
        text = " ".join(rng.choice(words, rng.integers(1, 9)))
        places = []
        try:
            held(text)
        except InvalidQuery as error:
            places.append(error.place)
        assert all(0 <= place <= len(text) for place in places)
        read += not places
    assert read > 20


@pytest.fixture(scope="module")
def results() -> mg.Results:
    return mg.evaluate(*demo_world(30, quality="poor"))


def test_numbers_of_missed_and_false_lines_are_those_of_the_assignment(results: mg.Results) -> None:
    table = FrameTable(results)
    for frame, token in enumerate(results.tokens):
        assignment = results.assignment(token)
        matched = {match.truth for match in assignment.matches}
        missed = [line.class_name for j, line in enumerate(assignment.truth) if j not in matched]
        row = table.rows([frame], [f"missed.{name}" for name in results.class_names])[0]
        assert row["missed"] == len(missed)
        assert row["false"] == len(assignment.predictions) - len(assignment.matches)
        assert [row[f"missed.{name}"] for name in results.class_names] == [
            missed.count(name) for name in results.class_names
        ]


def test_the_columns_are_those_of_the_rows_of_results(results: mg.Results) -> None:
    table = FrameTable(results)
    rows = {row["token"]: row for row in results.frames()}
    own = table.rows(range(len(results.tokens)))
    renamed = {"missed": "pld_missed", "false": "pld_false"}
    for row in own:
        assert all(row[renamed.get(key, key)] == value for key, value in rows[row["token"]].items())
    ranked = [results.tokens[frame] for frame in table.ranked()]
    assert ranked == [row["token"] for row in results.frames()]
    of_class = [results.tokens[frame] for frame in table.ranked("pld.divider")]
    assert of_class == [row["token"] for row in results.frames(class_name="divider")]


def test_where_returns_the_results_of_the_frames(results: mg.Results) -> None:
    some = results.where("pld > 0.8 and scene = 'scene-0001'")
    expected = [row["token"] for row in results.frames() if row["pld"] > 0.8 and row["scene"] == "scene-0001"]
    assert set(some.tokens) == set(expected)
    with pytest.raises(mg.InvalidInput, match=r"no frame of 30 .*'pld > 2'"):
        results.where("pld > 2")


def test_results_without_pld_have_no_numbers_of_missed_lines() -> None:
    results = mg.evaluate(*demo_world(3), "maptr")
    with pytest.raises(InvalidQuery, match="no column 'missed'"):
        results.where("missed > 1")
    assert len(results.where("hits:ap_chamfer@1.5 > 1 and truth.divider > 0").tokens)


def test_frames_without_predictions_or_truth_are_apart() -> None:
    line = {"divider": [[[0, 0], [9, 0]]]}
    truth = mg.MapFrames.of({"a": line, "b": line, "c": {}, "d": {}})
    predictions = mg.MapFrames.of({"a": line, "c": line}, confidence={"a": {"divider": [0.9]}, "c": {"divider": [0.9]}})
    table = FrameTable(mg.evaluate(predictions, truth))
    assert table.apart(table.ranked()) == ([0], [1, 3], [2])
