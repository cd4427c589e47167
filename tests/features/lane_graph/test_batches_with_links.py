"""Tests links and traffic elements in the batches of an accumulator."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mapgauge as mg

LANES = [[[0.0, 0.0], [9.0, 0.0]], [[9.0, 0.0], [20.0, 0.0]], [[9.0, 0.0], [20.0, 8.0]]]
BOX = [[100.0, 100.0], [140.0, 180.0]]
PROTOCOL = mg.protocol("lane-graph", cutoffs=(1.5,))
MATRIX = np.array([[0, 1, 0.5, 0.25], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
LABELS = ["centerline"] * 3 + ["red"]


def item(**changes: Any) -> dict[str, Any]:
    """One frame: three lanes, of which the first leads into the others, and a traffic light."""
    return {"polylines": [*LANES, BOX], "labels": LABELS, "links": (MATRIX > 0).astype(int)} | changes


def predicted(**changes: Any) -> dict[str, Any]:
    return item(links=MATRIX, confidence=[0.9, 0.8, 0.7, 0.6]) | changes


def frames(scores: list[float] | None, links: mg.Links) -> mg.MapFrames:
    confidence = None if scores is None else {"a": {"centerline": scores[:3], "red": scores[3:]}}
    made = mg.MapFrames.of({"a": {"centerline": LANES, "red": [BOX]}}, confidence=confidence)
    return replace(made, boxes=("red",), links=links)


def test_a_matrix_of_scores_gives_the_same_values_as_frames_with_links() -> None:
    accumulator = mg.Accumulator(PROTOCOL)
    accumulator.update([predicted()], [item()])
    kinds = ["successor", "successor", "controlled_by"]
    expected = mg.evaluate(
        frames([0.9, 0.8, 0.7, 0.6], mg.Links.of([0, 0, 0], [1, 2, 3], weight=[1, 0.5, 0.25], kind=kinds)),
        frames(None, mg.Links.of([0, 0, 0], [1, 2, 3], kind=kinds)),
        PROTOCOL,
    )
    results = accumulator.results()
    assert results.mean == expected.mean
    assert results.mean["lane_graph_pld"] is not None


def test_links_of_dropped_lanes_are_dropped() -> None:
    broken = [LANES[0], [[9.0, 0.0]], LANES[2], BOX]
    dropping = mg.Accumulator(PROTOCOL, degenerate="drop")
    dropping.update([predicted(polylines=broken)], [item()])
    short = mg.Accumulator(PROTOCOL)
    rest = [0, 2, 3]
    short.update(
        [
            predicted(
                polylines=[LANES[0], LANES[2], BOX],
                labels=[LABELS[k] for k in rest],
                confidence=[0.9, 0.7, 0.6],
                links=MATRIX[np.ix_(rest, rest)],
            )
        ],
        [item()],
    )
    assert dropping.results().mean == short.results().mean


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"links": MATRIX[:3, :3]}, r"predictions\[0\]\['links'\] has shape \(3, 3\), expected \(4, 4\)"),
        ({"links": MATRIX * 3}, r"\['links'\]\[0, 1\] is 3.0, expected a score in \[0, 1\].*sigmoid"),
        ({"links": np.where(MATRIX == 0.5, np.nan, MATRIX)}, r"\['links'\]\[0, 2\] is nan"),
        ({"links": MATRIX.T}, r"\['links'\]\[3, 0\] begins at a traffic element"),
        ({"links": MATRIX.astype(str)}, r"must be numbers in \[0, 1\]"),
        ({"polylines": [*LANES, [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]]}, "expected a box"),
    ],
)
def test_wrong_links_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        mg.Accumulator(PROTOCOL).update([predicted(**changes)], [item()])


def test_frames_without_links_are_refused_where_others_have_them_or_a_metric_needs_them() -> None:
    bare = {key: value for key, value in predicted().items() if key != "links"}
    with pytest.raises(mg.InvalidInput, match=r"predictions\[1\] has no links, but other frames"):
        mg.Accumulator(PROTOCOL).update([predicted(), bare], [item(), item()])
    with pytest.raises(mg.InvalidInput, match="predictions: lane_graph_pld needs links"):
        mg.Accumulator(PROTOCOL).update([bare], [item()])
