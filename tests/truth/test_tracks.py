"""Names of fragments from frame to frame."""

import numpy as np

from mapgauge.truth.cutting.fragments import Fragment, Tracker

NO_POINTS = np.empty((0, 2))


def fragment(element: str, start: float, stop: float, period: float = 0.0) -> Fragment:
    return Fragment(NO_POINTS, (element,), (start, stop), period)


def test_a_fragment_has_the_name_of_its_element() -> None:
    assert Tracker().names([fragment("a", 0, 9), fragment("b", 0, 9)]) == ["a", "b"]


def test_a_second_fragment_of_an_element_gets_a_number() -> None:
    assert Tracker().names([fragment("a", 0, 9), fragment("a", 20, 29)]) == ["a", "a#1"]


def test_a_fragment_keeps_its_name_when_the_one_before_it_goes() -> None:
    tracker = Tracker()
    tracker.names([fragment("a", 0, 9), fragment("a", 20, 29)])
    assert tracker.names([fragment("a", 21, 30)]) == ["a#1"]


def test_a_fragment_that_parts_leaves_its_name_to_the_larger_part() -> None:
    tracker = Tracker()
    tracker.names([fragment("a", 0, 60)])
    assert tracker.names([fragment("a", 0, 10), fragment("a", 20, 60)]) == ["a#1", "a"]


def test_a_fragment_without_overlap_is_a_new_one() -> None:
    tracker = Tracker()
    tracker.names([fragment("a", 0, 9)])
    assert tracker.names([fragment("a", 50, 59)]) == ["a#1"]


def test_a_name_comes_back_with_its_piece() -> None:
    tracker = Tracker()
    tracker.names([fragment("a", 0, 9)])
    tracker.names([])
    assert tracker.names([fragment("a", 5, 14)]) == ["a"]


def test_fragments_overlap_across_the_beginning_of_a_closed_element() -> None:
    tracker = Tracker()
    tracker.names([fragment("a", 90, 105, period=100), fragment("a", 40, 60, period=100)])
    assert tracker.names([fragment("a", 41, 60, period=100), fragment("a", 2, 12, period=100)]) == ["a#1", "a"]


def test_merged_elements_are_named_after_the_first() -> None:
    assert Tracker().names([Fragment(NO_POINTS, ("a", "b"))]) == ["a"]


def test_a_crossing_keeps_its_name_when_another_part_of_it_comes_into_view() -> None:
    tracker = Tracker()
    assert tracker.names([Fragment(NO_POINTS, ("b",))]) == ["b"]
    assert tracker.names([Fragment(NO_POINTS, ("a", "b"))]) == ["b"]
    assert tracker.names([Fragment(NO_POINTS, ("a",))]) == ["b"]


def test_no_name_is_given_twice_in_a_frame() -> None:
    tracker = Tracker()
    tracker.names([Fragment(NO_POINTS, ("a", "b"))])
    assert sorted(tracker.names([Fragment(NO_POINTS, ("a",)), Fragment(NO_POINTS, ("b",))])) == ["a", "b"]
