"""mAPC and mACC of ArgoTweak, from labels of changes on both sides.

Their exact definition is not public. This is the part that is: in mAPC a match also needs the right change, and mACC is
the balanced accuracy over frames for each kind of change. The rest follows Chamfer-AP and mAcc of TbV: lines with
different changes cannot be matched, a prediction states its change from a least confidence on, and only kinds that
occur in the truth count.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mapgauge import kernels
from mapgauge.errors import InvalidInput
from mapgauge.features.priors.prior import blocks_of
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.average_precision import ChamferSettings, average_precisions, chamfer_distances, matches_by
from mapgauge.metrics.groups import Groups, group
from mapgauge.protocols import Protocol
from mapgauge.typing import Floats, Indices

MEAN = "mean"


def mean_accuracy(changed: ArrayLike, stated: ArrayLike) -> float:
    """Return mAcc of TbV: the mean of the shares of changed and of unchanged frames that are called so.

    A kind of frames that does not occur has the share 0, as in the public code.

    Args:
        changed: Whether each frame is changed.
        stated: Whether each frame is called changed.

    >>> round(mean_accuracy([True, True, False], [True, False, False]), 6)
    0.75
    """
    truth = np.asarray(changed, np.bool_)
    said = np.asarray(stated, np.bool_)
    if truth.shape != said.shape or truth.ndim != 1:
        raise InvalidInput(f"changed and stated must have one flag per frame, got {truth.shape} and {said.shape}")
    shares = [np.count_nonzero(truth[kind] == said[kind]) / (np.count_nonzero(kind) + 1e-7) for kind in (truth, ~truth)]
    return float(np.mean(shares))


def scores_of_labels(
    predictions: MapFrames, truth: MapFrames, protocol: Protocol, floor: float
) -> dict[str, dict[str, float]] | None:
    """Return ``mapc`` by class and ``macc`` by kind of change, with their means; None if a side has no labels.

    A line can have several kinds of change, separated by commas. The order does not matter.
    """
    if predictions.change is None or truth.change is None:
        return None
    codes: dict[frozenset[str], int] = {}
    kinds = [[_kinds(text) for text in side.tolist()] for side in (predictions.change, truth.change)]
    labels = [np.array([codes.setdefault(each, len(codes)) for each in side], np.int64) for side in kinds]
    accuracy = {}
    for kind in sorted(set().union(*kinds[1])):
        rows = [np.array([kind in each for each in side], np.bool_) for side in kinds]
        if predictions.confidence is not None:
            rows[0] &= predictions.confidence >= floor
        said, true = (
            np.bincount(side.frame[flags], minlength=len(truth)) > 0
            for side, flags in zip((predictions, truth), rows, strict=True)
        )
        accuracy[kind] = mean_accuracy(true, said)
    return {
        "mapc": _with_mean(_precisions(predictions, truth, protocol, of_x=labels[0], of_y=labels[1])),
        "macc": _with_mean(accuracy),
    }


def _kinds(text: str) -> frozenset[str]:
    return frozenset(kind.strip() for kind in text.split(",") if kind.strip())


def _with_mean(values: dict[str, float]) -> dict[str, float]:
    return values | ({MEAN: float(np.mean(list(values.values())))} if values else {})


def _precisions(x: MapFrames, y: MapFrames, protocol: Protocol, of_x: Indices, of_y: Indices) -> dict[str, float]:
    """Return the average precision of each class with truth, where lines with different labels cannot be matched."""
    own = protocol.settings.get("ap_chamfer") or ChamferSettings()
    hits = np.zeros(len(x.polylines), np.uint16)
    for some in blocks_of(y):
        groups = group(x.between(some), y.between(some), protocol)
        start = x.offsets[some.start], y.offsets[some.start]
        label = np.where(groups.is_prediction, _at(of_x, start[0] + groups.row), _at(of_y, start[1] + groups.row))

        def distance(groups: Groups, protocol: Protocol, own: Any, limit: float, label: Indices = label) -> Floats:
            # A farther line with the right label can be matched, if the nearest line has another one.
            distances = chamfer_distances(groups, protocol, own, limit=limit, nearest_only=False)
            pairs = kernels.gains.pairs_of_groups(groups.bounds)
            distances[label[pairs[:, 0]] != label[pairs[:, 1]]] = np.inf
            return distances

        bits = matches_by(distance, groups, protocol, own=own)[0]
        rows = groups.is_prediction
        hits[start[0] + groups.row[rows]] = bits[rows]
    flags = (hits[:, None] >> np.arange(len(own.thresholds))) & 1 > 0
    if x.confidence is None:
        sure = np.ones(len(hits))
    else:
        sure = x.confidence
    values = {}
    for c, name in enumerate(y.classes):
        count = int(np.count_nonzero(y.label == c))
        rows = x.label == c
        if count:
            how = [own.interpolation] * len(own.thresholds)
            values[name] = float(
                np.mean(average_precisions(sure[rows], sure[rows], flags[rows], truth=count, interpolation=how))
            )
    return values


def _at(values: Indices, rows: Indices) -> Indices:
    """Return values at rows, which may lie beyond the end where they are not used."""
    return np.append(values, -1)[np.minimum(rows, len(values))]
