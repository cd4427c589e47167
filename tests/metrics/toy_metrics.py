"""Two toy metrics. Each needs a few lines and one row."""

import numpy as np
from tests.arrays import Floats

import mapgauge as mg
from mapgauge.plugin import Groups, Metric, SumRows, Value


def _lengths(groups: Groups, protocol: mg.Protocol, setting: None) -> Floats:
    """Return the length of the predictions, weighted by confidence, and of the truth, for each group."""
    coords, offsets = groups.polylines.coords, groups.polylines.offsets
    steps = np.append(np.sqrt(np.square(np.diff(coords, axis=0)).sum(axis=1)), 0.0)
    steps[offsets[1:-1] - 1] = 0.0  # the step from one polyline to the next is no length
    sums = np.zeros(2 * len(groups.bounds))
    np.add.at(sums, groups.side, np.add.reduceat(np.append(steps, 0.0), offsets[:-1]) * groups.confidence)
    return sums.reshape(-1, 2)


def _length_error(sums: Floats, protocol: mg.Protocol) -> dict[str, Floats]:
    predicted, true = sums[..., 0], sums[..., 1]
    longer = np.maximum(predicted, true)
    error = np.abs(predicted - true)
    return {
        "length_error": np.divide(error, longer, out=np.zeros_like(longer), where=longer > 0),
        "length_predicted": predicted,
    }


LENGTH_ERROR = Metric(
    name="length_error",
    title="Length error",
    symbol="error",
    lower_is_better=True,
    values=(
        Value(key="length_error", part="", title="Length error", role="main"),
        Value(key="length_predicted", part="predicted", title="predicted length", role="headline"),
    ),
    rows=SumRows(("predicted", "true"), _lengths, _length_error),
)


def _flicker(groups: Groups, protocol: mg.Protocol, setting: None) -> Floats:
    """Return the changes of the number of predictions between the frames of a scene, and the number of frames."""
    classes = len(protocol.classes or ())
    counts = (groups.bounds[:, 1] - groups.bounds[:, 0]).reshape(-1, classes)
    changes = np.abs(np.diff(counts, axis=0, prepend=counts[:1]))
    return np.stack([changes, np.ones_like(changes)], axis=2).reshape(-1, 2).astype(np.float64)


FLICKER = Metric(
    name="flicker",
    title="Flicker",
    symbol="changes",
    lower_is_better=True,
    values=(Value(key="flicker", part="", title="Flicker", role="main"),),
    rows=SumRows(
        ("changes", "frames"),
        _flicker,
        lambda sums, _: {"flicker": sums[..., 0] / np.maximum(sums[..., 1], 1.0)},
    ),
    level="scene",
)
