"""A check: costs below 0, which would make it cheaper to miss a polyline than to find it."""

from collections.abc import Iterable, Iterator

import numpy as np

import mapgauge as mg
from mapgauge.plugin import Check, CheckInput


def negative_costs(found: CheckInput) -> Iterator[mg.Finding]:
    """Find costs below 0 on both sides."""
    for name, frames in found.sides:
        yield from negative_costs_of(name, frames)


def negative_costs_of(name: str, frames: mg.MapFrames) -> Iterator[mg.Finding]:
    """Find costs below 0 on one side, given its name."""
    if "cost" not in frames.more:
        return
    count = int(np.count_nonzero(frames.more["cost"] < 0))
    if count:
        text = f"{name}: {count} of {len(frames.polylines)} polylines have a cost below 0"
        yield mg.Finding("warning", "prices-negative", text, count=count, remedy=mg.Remedy.of("Check the costs"))


def checks() -> Iterable[Check]:
    """Yield the check."""
    yield Check(name="prices.negative", find=negative_costs, find_in_side=negative_costs_of)
