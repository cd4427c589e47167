"""The comparison of two sets of truth."""

import numpy as np
import pytest
from tests.truth.agreement import agreement, pairs, share

LINE = np.array([(0.0, 0.0), (10.0, 0.0)])
ABOVE, BELOW = np.add(LINE, (0, 0.04)), np.add(LINE, (0, -0.04))


def test_lines_are_paired_one_to_one() -> None:
    assert pairs([LINE, LINE + 0.01], [LINE]) in ([(0, 0)], [(1, 0)])
    assert len(pairs([LINE, ABOVE], [BELOW, LINE])) == 2  # the greedy choice would give one
    assert pairs([], [LINE]) == []


def test_a_line_is_not_the_same_if_either_leaves_the_other() -> None:
    longer = np.array([(0.0, 0.0), (10.1, 0.0)])
    assert pairs([LINE], [longer]) == pairs([longer], [LINE]) == []
    assert pairs([LINE], [LINE[::-1]]) == [(0, 0)]  # neither direction nor vertices count
    assert pairs([LINE], [np.array([(0.0, 0.0), (3.0, 0.0), (10.0, 0.0)])]) == [(0, 0)]


def test_the_share_is_of_the_larger_set() -> None:
    ours, theirs = {"a": {"divider": [LINE]}}, {"a": {"divider": [LINE, LINE + 5]}}
    assert agreement(ours, theirs, "divider") == (1, 1, 2)
    assert share(ours, theirs, "divider") == share(theirs, ours, "divider") == 0.5
    with pytest.raises(ValueError, match="1 frames"):
        agreement({}, theirs, "divider")
