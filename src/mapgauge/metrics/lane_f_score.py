"""The F-score of 3-D lanes that OpenLane-V2's kit prints beside its own scores.

Lanes are compared at places one metre apart along the axis that points forward, from 50 m behind the vehicle. Points
are sorted along this axis, so lanes that turn or run across are distorted. Predicted and true lanes are assigned one to
one with the smallest total distance, in whole metres. All predictions count, whatever their confidence.
"""

import numpy as np

from mapgauge import kernels
from mapgauge.frames.groups import Groups
from mapgauge.metrics.lane_matching import at_lanes, of_frames
from mapgauge.metrics.metric import Metric, SumRows, Value
from mapgauge.protocols import LANE, Protocol
from mapgauge.typing import Floats

FIRST, PLACES = -50.0, 100  # metres behind the vehicle, number of places
APART = 1.5  # metres between lanes that count as apart
SHARE = 0.75  # share of the places of a lane at which it must be near the other
_COLUMNS = ("found", "right", "true", "predicted")


def _score(groups: Groups, protocol: Protocol, setting: object) -> Floats:
    """Return the numbers of lanes that are found, that are right, that are true and that are predicted."""
    lanes, _ = of_frames(groups, (LANE,))
    points = lanes.points
    if groups.forward == "y":
        points = np.ascontiguousarray(points[[1, 0, *range(2, len(points))]])
    counts = np.zeros((len(lanes.bounds), len(_COLUMNS)))
    kernels.lanes.matched_lanes(points, lanes.polylines.offsets, lanes.bounds, FIRST, PLACES, APART, SHARE, counts)
    return at_lanes(groups, counts)


def _values(sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return the F-score, precision and recall; NaN if no lane takes part."""
    found, right, true, predicted = np.moveaxis(sums, -1, 0)
    recall = found / np.where(true > 0, true, 1.0)
    precision = right / np.where(predicted > 0, predicted, 1.0)
    both = recall + precision
    score = 2 * recall * precision / np.where(both > 0, both, 1.0)
    return {
        "f_lane": np.where(true + predicted > 0, score, np.nan),
        "f_lane_precision": np.where(predicted > 0, precision, np.nan),
        "f_lane_recall": np.where(true > 0, recall, np.nan),
    }


F_LANE = Metric(
    name="f_lane",
    title="F-score of 3-D lanes",
    symbol="F",
    lower_is_better=False,
    values=(
        Value("f_lane", "", "F", "main"),
        Value("f_lane_precision", "precision", "precision"),
        Value("f_lane_recall", "recall", "recall"),
    ),
    rows=SumRows(_COLUMNS, _score, _values),
    requires=("lanes",),
    stated=lambda _: f"within {APART:g} m at {SHARE:.0%} of the places",
    limits=(0.0, 1.0),
    percent=True,
    of="lanes",
)
