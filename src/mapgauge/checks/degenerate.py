"""Finds instances that are valid but unusual: of length 0, with repeated points, or duplicated in a frame."""

from collections.abc import Iterator

import numpy as np

from mapgauge.checks.context import Context, examples, percent
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.survey import survey
from mapgauge.typing import Indices


def points(context: Context) -> Iterator[Finding]:
    """Find instances with fewer than two points, with length 0, or with repeated points."""
    for name, side in context.sides:
        sizes = np.diff(side.polylines.offsets)
        repeats = survey(side.polylines).repeats
        few = sizes < 2
        flat = ~few & (repeats == sizes - 1)
        for code, rows, what in (
            ("few-points", np.flatnonzero(few), "have fewer than two points and match nothing"),
            ("zero-length", np.flatnonzero(flat), "have length 0: all their points are equal"),
            ("repeated-points", np.flatnonzero((repeats > 0) & ~flat), "have consecutive points that are equal"),
        ):
            if len(rows):
                text = f"{name}: {len(rows)} of {len(sizes)} instances ({percent(len(rows), len(sizes))}) {what}"
                yield Finding("note", code, text, len(rows), examples(side, rows))


def duplicates(context: Context) -> Iterator[Finding]:
    """Find exact copies of an instance in the same frame and class."""
    for name, side in context.sides:
        rows = _again(side)
        if len(rows):
            effect = (
                "all but one count as false" if name == "predictions" else "a prediction can match only one of them"
            )
            text = (
                f"{name}: {len(rows)} of {len(side.polylines)} instances are exact copies of another in the same frame "
                f"and class; {effect}"
            )
            yield Finding("note", "duplicate-instances", text, len(rows), examples(side, rows))


def _again(side: MapFrames) -> Indices:
    """Return the instances that equal an earlier one of the same frame and class, point by point."""
    offsets = side.polylines.offsets
    filled = np.flatnonzero(np.diff(offsets))
    if not len(filled):
        return filled
    # Equal instances have the same key. Most keys are unique, so few instances are compared point by point.
    key = side.frame[filled] * len(side.classes) + side.label[filled]
    for at in (offsets[:-1], offsets[1:] - 1):
        for column in side.polylines.coords[at[filled]].view(np.int64).T:
            key = key * 1_000_003 ^ column
    in_order = np.sort(key)
    several = in_order[1:][in_order[1:] == in_order[:-1]]
    seen: set[tuple[int, int, bytes]] = set()
    again: list[int] = []
    for i in filled[np.isin(key, several)].tolist():
        what = int(side.frame[i]), int(side.label[i]), side.polylines[i].tobytes()
        if what in seen:
            again.append(i)
        seen.add(what)
    return np.array(again, np.int64)
