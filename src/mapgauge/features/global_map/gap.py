"""GAP and mGAP of GlobalMapNet, equal to what its public code prints.

The truth is cut by the union of the boxes of the poses, and each part counts by itself. Predictions are not cut. Every
line gets 200 points, and Chamfer-AP is computed over all scenes. So the distance of two lines depends on their length:
two long lines that lie on each other are ``sampling_floor(length)`` apart.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.evaluation.evaluate import evaluate_frames
from mapgauge.features.global_map.region import distances_along, public_poses, region_of, shapely_module
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.protocols import CLASSES, protocol
from mapgauge.typing import Bounds, Indices

# The numbers of the public evaluator (plugin/datasets/evaluation/scene_eval.py).
POINTS = 200  # of a line, whatever its length
_THRESHOLDS = (0.5, 1.0, 1.5)  # metres, in the region of 60 x 30 m
_WIDE = (1.0, 1.5, 2.0)  # in the region of 100 x 50 m


class Gap(NamedTuple):
    """GAP of each class, as GlobalMapNet's evaluator prints it."""

    value: float  # mGAP, the mean over the three classes
    classes: dict[str, dict[str, float]]  # by class: "GAP" and "GAP@0.5", ...
    thresholds: tuple[float, ...]  # metres
    lines: dict[str, tuple[int, int, int]]  # by class: true lines that meet the region, their parts, predictions
    longest: float  # metres, of the longest part of the truth

    @property
    def floor(self) -> float:
        """The distance of a perfect prediction to the longest part of the truth, in metres, because of the sampling."""
        return sampling_floor(self.longest)


def sampling_floor(length: float) -> float:
    """Return the Chamfer distance of two lines that lie on each other but do not begin at the same point, in metres.

    Points are ``length / (POINTS - 1)`` apart. The points of one line lie anywhere between those of the other, so the
    nearest is a quarter of a step away on average.

    >>> round(sampling_floor(400), 2), round(sampling_floor(100), 2)
    (0.5, 0.13)
    """
    return 0.25 * length / (POINTS - 1)


def _parts(truth: MapFrames, regions: Mapping[str, Any]) -> tuple[MapFrames, Indices]:
    """Return the parts of the truth in the region of each scene, which count by themselves, and their sources."""
    shapely = shapely_module()
    lines = truth.polylines.coords[:, :2]
    offsets = truth.polylines.offsets
    geometry = shapely.from_ragged_array(shapely.GeometryType.LINESTRING, np.ascontiguousarray(lines), (offsets,))
    region = np.array([regions[truth.tokens[frame]] for frame in truth.frame.tolist()], object)
    # A simple line in the region is its own only part. In a large map, most lines are.
    inner = shapely.contains_properly(region, geometry) & shapely.is_simple(geometry)
    parts = geometry.copy()
    parts[~inner] = shapely.intersection(region[~inner], geometry[~inner])
    cut, source = shapely.get_parts(parts, return_index=True)
    is_line = (shapely.get_type_id(cut) == 1) & (shapely.length(cut) > 0)
    cut = cut[is_line]
    source = source[is_line]
    points = [shapely.get_coordinates(part) for part in cut]
    polylines = Polylines.of(points, dimension=2)
    return MapFrames(
        tokens=truth.tokens,
        classes=truth.classes,
        frame=truth.frame[source],
        label=truth.label[source],
        polylines=polylines,
    ), source


def gap_of(predictions: MapFrames, truth: MapFrames, poses: Mapping[str, NDArray[np.float64]], box: Bounds) -> Gap:
    """Return GAP of maps, one frame for each scene, by the poses of each scene."""
    if max(box[2] - box[0], box[3] - box[1]) > 60:
        thresholds = _WIDE
    else:
        thresholds = _THRESHOLDS
    settings = protocol(
        "map",
        classes=CLASSES,
        count=POINTS,
        cutoffs=(),
        settings={"ap_chamfer": {"thresholds": thresholds}, "network_pld": None},
    )
    regions = {scene: region_of(public_poses(own), box, closing=0.0) for scene, own in poses.items()}
    x, y = (side.as_classes(CLASSES) for side in (predictions, truth))
    parts, source = _parts(y, regions)
    results = evaluate_frames(x, parts, settings, metrics=("ap_chamfer",))
    keys = ["ap_chamfer", *(f"ap_chamfer@{each}" for each in thresholds)]
    classes = {  # a class without truth counts as 0
        name: {key.replace("ap_chamfer", "GAP"): float(results.classes[name].get(key) or 0.0) for key in keys}
        for name in CLASSES
    }
    lines = {
        name: (
            len(np.unique(source[parts.label == label])),
            int(np.count_nonzero(parts.label == label)),
            int(np.count_nonzero(x.label == label)),
        )
        for label, name in enumerate(CLASSES)
    }
    longest = max((float(distances_along(line)[-1]) for line in parts.polylines), default=0.0)
    value = sum(values["GAP"] for values in classes.values()) / len(CLASSES)
    return Gap(value, classes, thresholds, lines=lines, longest=longest)
