"""Adds the causes of PLD to a report: the values of all frames, and the costs of every drawn instance."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mapgauge.causes.felt import with_metrics
from mapgauge.causes.instances import instances_of
from mapgauge.display.colours import part_colours
from mapgauge.frames.boxes import is_box
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.causes import CAUSES, PLD_BY_CAUSE
from mapgauge.metrics.completeness import COMPLETENESS
from mapgauge.metrics.metric import Metric
from mapgauge.metrics.pld import PLD
from mapgauge.report.pack import Arrays
from mapgauge.results.results import Results
from mapgauge.typing import Floats

# Instances of all methods up to which causes are computed unless they are switched off. Together with
# completeness, an instance takes about 5 us: 2.5 s of one core for a method on the 6,019 frames of the nuScenes
# validation set.
LIMIT = 1_200_000


def with_causes(methods: Sequence[Results], wanted: bool | None) -> tuple[list[Results], str]:
    """Return results with the metric ``causes``, and a sentence if it would take long.

    Args:
        methods: The results.
        wanted: Whether to compute it, together with ``completeness``. If None, only ``causes`` is computed, and only if
            all results have PLD of order 1 and the geometry, and there are at most ``LIMIT`` instances.
    """
    found = list(methods)
    if wanted:
        return [with_metrics(method, [COMPLETENESS.name, PLD_BY_CAUSE.name]) for method in found], ""
    if wanted is False or not all(map(has_causes, found)):
        return found, ""
    lacking = [method for method in found if PLD_BY_CAUSE.name not in method.metrics]
    count = sum(int(method.scores.predicted.sum() + method.scores.true.sum()) for method in lacking)
    if count > LIMIT:
        return found, (
            f"The causes of PLD are not computed for all frames, because there are {count:,} instances. To compute "
            "them, pass causes=True to write_report, or --causes to mapgauge report."
        )
    return [with_metrics(method, [PLD_BY_CAUSE.name]) for method in found], ""


def has_causes(results: Results) -> bool:
    """Whether the causes of single instances can be computed: from the geometry, for PLD of order 1."""
    protocol = results.protocol
    return PLD.name in results.metrics and protocol.order == 1 and results.unsorted is not None


def is_pld_again(metric: Metric, metrics: Sequence[str]) -> bool:
    """Whether the main value of a metric is that of PLD, which is among the metrics."""
    return metric is PLD_BY_CAUSE and PLD.name in metrics


def is_first(metric: Metric, metrics: Sequence[str]) -> bool:
    """Whether a metric is shown where there is room for few. With PLD, its causes and the offsets are not."""
    return PLD.name not in metrics or metric not in (PLD_BY_CAUSE, COMPLETENESS)


def cause_columns(results: Results) -> Arrays:
    """Return the costs of all instances by cause, in the order of the drawings. The results must have their data.

    An instance has few causes, so the columns have the causes that cost something, and how many each instance has.
    """
    if results.data is None:
        return {}
    found = instances_of(results)
    sides = {"predictions": (results.data[0], found.predicted), "truth": (results.data[1], found.true)}
    return {
        f"{name}.{key}": column
        for name, (side, costs) in sides.items()
        for key, column in _columns(costs[_drawn_order(side)]).items()
    }


def _drawn_order(side: MapFrames) -> Any:
    """Return the instances frame by frame and class by class, without boxes in images."""
    order = np.argsort(side.frame * max(len(side.classes), 1) + side.label, kind="stable")
    return order[~is_box(side)[order]]


def _columns(costs: Floats) -> Arrays:
    instance, cause = np.nonzero(costs)
    return {
        "causes": np.bincount(instance, minlength=len(costs)).astype(np.uint8),
        "cause": cause.astype(np.uint8),
        "cost": costs[instance, cause].astype(np.float32),
    }


def described_causes() -> list[dict[str, str]]:
    """Return what the page needs to know about causes: the key of the column, name, explanation and colour."""
    colours = part_colours(PLD_BY_CAUSE)
    return [
        {"key": value.key, "name": cause.replace("_", " "), "about": about, "colour": colours[value.key]}
        for value, (cause, about) in zip(PLD_BY_CAUSE.with_role("part"), CAUSES.items(), strict=True)
    ]
