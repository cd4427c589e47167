"""Colours of polylines: that of the largest cause of an error, or that of the class; dark where confidence is low."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.frames.instances import without_boxes
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.table import colours_of
from mapgauge.results.results import Results
from mapgauge.typing import Indices
from mapgauge.views.report.sections import SECTIONS

BACKGROUND = (27, 29, 33)  # of the views. Lines that are nearly transparent would be dark as well
FAINTEST = 0.12  # smallest share of the colour of a prediction

Colours = NDArray[np.uint8]  # (lines, 3)


class Causes(NamedTuple):
    """The causes of errors, and the largest cause of each instance."""

    names: tuple[str, ...]  # none if causes cannot be computed
    colours: Colours
    largest: dict[str, Indices]  # by side: -1 for an instance without errors

    @classmethod
    def of(cls, results: Results) -> "Causes":
        """Compute the causes of all instances of results, in the order of drawings."""
        x, y = (without_boxes(side) for side in results.need_data().sorted_sides)
        largest = {"predictions": np.full(len(x.polylines), -1), "truth": np.full(len(y.polylines), -1)}
        rows: list[dict[str, Any]] = []
        for section in SECTIONS:
            own = section.added([results], range(len(results.tokens)), None).meta.get("causes", [])
            arrays = section.columns(results, None) if own else {}
            for name in largest if own else ():
                number, cause, cost = (arrays[f"{name}.{key}"] for key in ("causes", "cause", "cost"))
                order = np.argsort(cost, kind="stable")  # the last of an instance stays
                largest[name][np.repeat(np.arange(len(number)), number)[order]] = cause[order]
            rows += own
        return cls(tuple(row["name"] for row in rows), _colours([row["colour"] for row in rows]), largest)

    def labels(self, side: str) -> NDArray[np.str_]:
        """Return the name of the largest cause of each instance, or ``""``."""
        return np.array([*self.names, ""])[self.largest[side]]


def line_colours(side: MapFrames, causes: Causes, cause: Indices) -> Colours:
    """Return the colour of each instance: that of a cause, or of its class if the cause is -1."""
    by_class = colours_of(side.classes)
    mixed = _colours([by_class[name] for name in side.classes])[side.label].astype(np.float64)
    mixed[cause >= 0] = causes.colours[cause[cause >= 0]]
    if side.confidence is not None:
        share = np.maximum(side.confidence, FAINTEST)[:, None]
        mixed = share * mixed + (1 - share) * np.array(BACKGROUND)
    return np.rint(mixed).astype(np.uint8)


def rgb(colour: str) -> tuple[int, int, int]:
    """Return the parts of a colour.

    >>> rgb("#0072B2")
    (0, 114, 178)
    """
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


def _colours(texts: list[str]) -> Colours:
    return np.array([rgb(text) for text in texts], np.uint8).reshape(-1, 3)
