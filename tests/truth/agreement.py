"""Compares two sets of truth line by line: the share of lines that are the same.

Two lines are the same if their symmetric Hausdorff distance is below ``SAME``. Lines are paired one to one.
"""

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import shapely
from scipy.optimize import linear_sum_assignment
from tests.arrays import Points

import mapgauge as mg

SAME = 0.05  # metres

Lines: TypeAlias = Sequence[Points]
Cut: TypeAlias = Mapping[str, Mapping[str, Lines]]  # token -> class -> lines


def read_reference(path: Path) -> Cut:
    """Read what a public converter cut."""
    with gzip.open(path, "rt") as file:
        content: dict[str, dict[str, Any]] = json.load(file)
    return {
        token: {name: [np.array(line)[:, :2] for line in lines] for name, lines in classes.items()}
        for token, classes in content.items()
    }


def lines_of(frames: mg.MapFrames) -> Cut:
    """Return the lines of frames by token and class."""
    found: dict[str, dict[str, list[Points]]] = {}
    for token in frames.tokens:
        found[token] = {name: [] for name in frames.classes}
        for instance in frames[token]:
            found[token][str(instance.class_name)].append(instance.points)
    return found


def pairs(ours: Lines, theirs: Lines, limit: float = SAME) -> list[tuple[int, int]]:
    """Return the indices of the lines that are the same, as many pairs as possible."""
    if not ours or not theirs:
        return []
    one, other = (np.array([shapely.LineString(line) for line in lines], object) for lines in (ours, theirs))
    # Lines that are the same have almost the same bounds.
    same = np.abs(shapely.bounds(one)[:, None] - shapely.bounds(other)[None, :]).max(axis=2) < limit
    near = np.nonzero(same)
    same[near] = shapely.hausdorff_distance(one[near[0]], other[near[1]]) < limit  # vertices to lines, both ways
    rows, columns = linear_sum_assignment(~same)
    return [(int(i), int(j)) for i, j in zip(rows, columns, strict=True) if same[i, j]]


def agreement(ours: Cut, theirs: Cut, class_name: str) -> tuple[int, int, int]:
    """Return how many lines of a class are the same, how many are ours, and how many are theirs."""
    if set(ours) != set(theirs):
        raise ValueError(f"{len(set(ours) ^ set(theirs))} frames are in one of the two sets only")
    same = our_lines = their_lines = 0
    for token, classes in theirs.items():
        one, other = ours[token].get(class_name, []), classes.get(class_name, [])
        same += len(pairs(one, other))
        our_lines, their_lines = our_lines + len(one), their_lines + len(other)
    return same, our_lines, their_lines


def share(ours: Cut, theirs: Cut, class_name: str) -> float:
    """Return the share of lines of a class that are the same, of the larger of the two sets."""
    same, our_lines, their_lines = agreement(ours, theirs, class_name)
    return same / max(our_lines, their_lines, 1)
