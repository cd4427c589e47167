"""The largest cause of the error of each instance, for labels, and colours as Rerun takes them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.frames.instances import without_boxes
from mapgauge.metrics.causes import CAUSES, label_of
from mapgauge.results.instance_costs import instances_of
from mapgauge.results.results import Results
from mapgauge.typing import Floats, Indices
from mapgauge.views.report.causes import drawn_order, has_causes

BACKGROUND = (27, 29, 33)  # of the views

Colours = NDArray[np.uint8]  # (lines, 3)


class LargestCauses(NamedTuple):
    """The causes of errors, and the largest cause of each instance."""

    names: tuple[str, ...]  # none if causes cannot be computed
    largest: dict[str, Indices]  # by side: -1 for an instance without errors

    @classmethod
    def of(cls, results: Results) -> "LargestCauses":
        """Compute the causes of all instances of results, in the order of drawings."""
        x, y = results.need_data().sorted_sides
        if not has_causes(results):
            sides = {"predictions": x, "truth": y}
            none = {name: np.full(len(without_boxes(side).polylines), -1) for name, side in sides.items()}
            return cls(names=(), largest=none)
        instances = instances_of(results)
        return cls(
            names=tuple(map(label_of, CAUSES)),
            largest={
                "predictions": _largest(instances.predicted[drawn_order(x)]),
                "truth": _largest(instances.true[drawn_order(y)]),
            },
        )

    def labels(self, side: str) -> NDArray[np.str_]:
        """Return the name of the largest cause of each instance, or ``""``."""
        return np.array([*self.names, ""])[self.largest[side]]


def _largest(costs: Floats) -> Indices:
    """Return the largest cause of each instance, the last of equal ones; -1 without a cost."""
    causes = costs.shape[1]
    last = causes - 1 - np.argmax(costs[:, ::-1], axis=1)
    return np.where(costs.any(axis=1), last, -1)


def rgb(colour: str) -> tuple[int, int, int]:
    """Return the parts of a colour.

    >>> rgb("#0072B2")
    (0, 114, 178)
    """
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


def colours_of_texts(texts: Sequence[str]) -> Colours:
    """Return colours as rows of numbers."""
    return np.array([rgb(text) for text in texts], np.uint8).reshape(-1, 3)
