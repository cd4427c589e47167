"""Predictions with planted errors: each kind of error in lines that are far from each other."""

from collections.abc import Callable
from typing import Any

import numpy as np

import mapgauge as mg

CLASSES = ("divider", "boundary")
ALONG = np.linspace([0.0, 0.0], [20.0, 0.0], 5)
RING = np.array([[0.0, 0.0], [6.0, 0.0], [6.0, 4.0], [0.0, 4.0], [0.0, 0.0]])
Lines = list[tuple[str, Any, float]]  # class, points, confidence


def _shifted(line: Any, across: float) -> Any:
    return np.add(line, [0.0, across])


# For each cause: true lines, and predictions of them.
PLANTED: dict[str, Callable[[], tuple[list[Any], Lines]]] = {
    "localisation": lambda: ([ALONG], [("divider", _shifted(ALONG, 0.4), 1.0)]),
    "extent": lambda: ([ALONG], [("divider", ALONG * [0.7, 1.0], 1.0)]),
    "wrong_shape": lambda: ([RING], [("divider", RING[:4], 1.0)]),
    "displaced": lambda: ([ALONG], [("divider", _shifted(ALONG, 2.5), 1.0)]),
    "fragment": lambda: (
        [ALONG],
        [("divider", part, 1.0) for part in ([[0, 0], [8, 0]], [[8.5, 0], [15, 0]], [[15.5, 0], [20, 0]])],
    ),
    "merge": lambda: ([[[0, 0], [10, 0]], [[10.5, 0], [20, 0]]], [("divider", ALONG, 1.0)]),
    "duplicate": lambda: ([ALONG], [("divider", ALONG, 1.0), ("divider", _shifted(ALONG, 0.2), 0.6)]),
    "wrong_class": lambda: ([ALONG], [("boundary", ALONG, 1.0)]),
    "background": lambda: ([], [("divider", ALONG, 0.3)]),
    "missed": lambda: ([ALONG], []),
    "faint": lambda: ([ALONG], [("divider", ALONG, 0.05)]),
    "under_confident": lambda: ([ALONG], [("divider", ALONG, 0.4)]),
    "over_confident": lambda: ([], [("divider", ALONG, 0.8)]),
}


def planted(*kinds: str) -> tuple[mg.MapFrames, mg.MapFrames]:
    """Return predictions and truth with a frame for each planted error, beside a line without an error."""
    lines: dict[str, dict[str, list[Any]]] = {}
    truth: dict[str, dict[str, list[Any]]] = {}
    sure: dict[str, dict[str, list[float]]] = {}
    for k, kind in enumerate(kinds):
        token = f"{k:03}-{kind}"
        right = [_shifted(ALONG, 12.0)]
        true, predicted = PLANTED[kind]()
        truth[token] = {"divider": [*true, *right], "boundary": right}
        lines[token], sure[token] = {name: list(right) for name in CLASSES}, {name: [1.0] for name in CLASSES}
        for name, points, confidence in predicted:
            lines[token][name].append(points)
            sure[token][name].append(confidence)
    return mg.MapFrames.of(lines, confidence=sure, classes=CLASSES), mg.MapFrames.of(truth, classes=CLASSES)


PROTOCOL = mg.protocol("paper-60x30", classes=CLASSES)
