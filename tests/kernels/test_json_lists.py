"""The JSON kernel against the standard library: the same numbers to the last bit, and nothing taken for a number."""

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapgauge import kernels
from mapgauge.io._json import PART, NumberLists, Place, PointLists, decode


def parse(*texts: str, workers: int = 1, part: int = PART) -> PointLists | None:
    members = ",".join(f'"{i}":{{"a":{text}}}' for i, text in enumerate(texts))
    lists = NumberLists.of(f"{{{members}}}".encode(), workers, part)
    found = None if lists is None else decode(lists.text, dict[str, dict[str, Place]])
    if lists is None or found is None or len(found) != len(texts):
        return None
    return lists.polylines([one["a"] for one in found.values()])


def numbers_of(words: list[str]) -> Any:
    """What becomes of numbers as they are written."""
    lists = parse("[[" + ",".join(f"[{word},0]" for word in words) + "]]")
    assert lists is not None
    return lists.coords[:, 0]


def test_lists_of_polylines_become_counts_sizes_and_coordinates() -> None:
    lists = parse("[[[1,2],[3.5,-4e1]],[]]", "[]", " [ [ [ 0 , -0.5 ] ] ]\n")
    assert lists is not None
    assert lists.counts.tolist() == [2, 0, 1]
    assert lists.sizes.tolist() == [2, 0, 1]
    assert lists.coords.tolist() == [[1, 2], [3.5, -40], [0, -0.5]]


def test_points_may_have_three_coordinates() -> None:
    lists = parse("[[[1,2,3],[4,5,6]]]")
    assert lists is not None
    assert lists.coords.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    "text",
    [
        *("[[[1,2],[3]]]", "[[[1,2],[3,4,5]]]", "[[[1]]]", "[[[1,2,3,4]]]", "[[[]]]", "[[1,2]]", "[[[[1,2]]]]"),
        *("[[[1,,2]]]", "[[[1 2]]]", "[[[1,2],]]", "[,[[1,2]]]", "[[[1,2]]", "[[[1,2]]],", "]", "[[[1,2]]]]", "1"),
        *("[[[01,2]]]", "[[[1.,2]]]", "[[[.5,2]]]", "[[[1e,2]]]", "[[[1e+,2]]]", "[[[-,2]]]", "[[[+1,2]]]"),
        *('[[["1",2]]]', "[[[null,2]]]", "[[[NaN,2]]]", "[[[-Infinity,2]]]", "[[[true,2]]]", "[[{},2]]", "[[[0x1,2]]]"),
        "[[[1.2.3,2]]]",
    ],
)
def test_what_is_not_a_list_of_polylines_is_left_to_others(text: str) -> None:
    assert parse(text) is None


def test_lists_of_any_depth_are_replaced_and_everything_else_stays() -> None:
    text = b'{"a": [1, 2.5], "b": "[1]\\"[2]", "c": [[1, 2]], "d": [true, [3]], "e": [], "f": [[[[4, 5]]]]} '
    lists = NumberLists.of(text)
    assert lists is not None
    assert lists.text == b'{"a": [0], "b": "[1]\\"[2]", "c": [1], "d": [true, [2]], "e": [], "f": [[3]]}'
    length, numbers = lists.numbers([[0], [], [2]]) or pytest.fail("these are numbers")
    assert (length.tolist(), numbers.tolist()) == ([2, 0, 1], [1, 2.5, 3])
    assert lists.numbers([[1]]) is None
    points = lists.points([[], [1]]) or pytest.fail("these are points")
    assert (points.sizes.tolist(), points.coords.tolist()) == ([0, 1], [[1, 2]])
    assert lists.points([[0]]) is None


@pytest.mark.parametrize("workers", [1, 3])
def test_a_text_that_is_cut_into_parts_gives_the_same(workers: int) -> None:
    texts = [json.dumps([[[i, k], [k, 0.1 * i]] for k in range(i % 4)]) for i in range(60)]
    whole = parse(*texts) or pytest.fail("these are polylines")
    cut = parse(*texts, workers=workers, part=50) or pytest.fail("these are polylines")
    assert all(np.array_equal(a, b) for a, b in zip(whole, cut, strict=True))


def test_a_text_that_is_cut_within_a_string_is_read_as_a_whole() -> None:
    lists = NumberLists.of(b'{"a": [1], "b": {"}, {}} }": [2, 3]}, "c": "}[4]"}', part=10)
    assert lists is not None
    assert lists.text == b'{"a": [0], "b": {"}, {}} }": [1]}, "c": "}[4]"}'


@pytest.mark.parametrize("text", [b"", b"[1]", b'{"a": [1]} x', b'{"a": "}', b"{" + 9 * b"[1]" + b"}", b"[" * 500])
def test_a_text_that_is_no_object_is_left_to_others(text: bytes) -> None:
    lists = NumberLists.of(text)
    assert lists is None or decode(lists.text, dict[str, Place]) is None


def test_dimensions_that_differ_between_chunks_are_left_to_others() -> None:
    assert parse("[[[1,2]]]" + " " * (1 << 22), "[[[1,2,3]]]") is None


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_any_double_comes_back(values: list[float]) -> None:
    assert [x.hex() for x in numbers_of([repr(value) for value in values])] == [x.hex() for x in values]


@given(st.integers(0, 10**19 - 1), st.integers(0, 25), st.integers(-30, 30), st.booleans())
def test_any_decimal_is_rounded_as_python_rounds_it(digits: int, places: int, power: int, negative: bool) -> None:
    text = str(digits).rjust(places + 1, "0")
    word = ("-" if negative else "") + (text[:-places] + "." + text[-places:] if places else text)
    for number in (word, f"{word}e{power}", f"{word}E+{abs(power)}"):
        assert numbers_of([number])[0] == float(number)


@given(st.integers(2**52, 2**53 - 1), st.integers(-60, 10), st.sampled_from([-1, 0, 1]))
def test_decimals_beside_the_middle_of_two_doubles_are_rounded_right(m: int, e: int, nudge: int) -> None:
    middle = Fraction(2 * m + 1) * Fraction(2) ** (e - 1)
    digits = max(0, min(22, 18 - len(str(int(middle)))))
    scaled = int(middle * 10**digits) + nudge
    text = str(scaled).rjust(digits + 1, "0")
    word = text[:-digits] + "." + text[-digits:] if digits else text
    assert numbers_of([word])[0] == float(word)


def test_doubt_about_the_last_bit_is_said() -> None:
    assert math.isnan(kernels.json_lists.quotient(np.uint64(2**53 + 1), 0))  # exactly between two doubles
    wrong = 0
    doubts = 0
    for w in range(9_007_199_254_740_993, 9_007_199_254_740_993 + 20_000):
        got = kernels.json_lists.quotient(np.uint64(w), 3)
        doubts += math.isnan(got)
        wrong += not math.isnan(got) and got != w / 1000  # Python divides integers with one rounding
    assert wrong == 0
    assert doubts < 200


@given(st.text('[]{},.-+0123456789eE \n"nul', max_size=40))
def test_what_it_accepts_is_json(text: str) -> None:
    lists = parse(text)
    if lists is not None:
        document = json.loads(f"[{text}]")
        assert [len(part) for part in document] == lists.counts.tolist()
        assert [len(line) for part in document for line in part] == lists.sizes.tolist()
        assert [
            x for part in document for line in part for point in line for x in point
        ] == lists.coords.ravel().tolist()
