"""Small scenes that show one cause of PLD each. The documentation and the legend of drawings show them."""

from typing import NamedTuple

from mapgauge.metrics.causes import CAUSES

Line = list[list[float]]


class CauseScene(NamedTuple):
    """Lines of a scene, in metres, and predictions with their confidences."""

    truth: list[Line]
    predictions: list[tuple[Line, float]]
    others: list[tuple[Line, float]]  # predictions of another class


_LINE = [[0.0, 0.0], [14.0, 0.0]]
_BESIDE = [[0.0, 0.5], [14.0, 0.5]]
_LEFT = [[0.0, 0.0], [7.0, 0.0]]
_RIGHT = [[7.5, 0.0], [14.0, 0.0]]
_RING = [[3.0, -1.0], [11.0, -1.0], [11.0, 2.0], [3.0, 2.0], [3.0, -1.0]]

SCENES = {
    "localisation": CauseScene([_LINE], [([[0.0, 0.6], [14.0, 0.4]], 1.0)], []),
    "extent": CauseScene([_LINE], [([[0.0, 0.0], [9.0, 0.0]], 1.0)], []),
    "wrong_shape": CauseScene([_RING], [(_RING[:4], 1.0)], []),
    "displaced": CauseScene([_LINE], [([[0.0, 2.4], [14.0, 2.4]], 1.0)], []),
    "fragment": CauseScene([_LINE], [(_LEFT, 1.0), (_RIGHT, 1.0)], []),
    "merge": CauseScene([_LEFT, _RIGHT], [(_LINE, 1.0)], []),
    "duplicate": CauseScene([_LINE], [(_LINE, 1.0), (_BESIDE, 0.5)], []),
    "wrong_class": CauseScene([_LINE], [], [(_BESIDE, 1.0)]),
    "background": CauseScene([], [(_LINE, 0.2)], []),
    "missed": CauseScene([_LINE], [], []),
    "faint": CauseScene([_LINE], [(_LINE, 0.05)], []),
    "under_confident": CauseScene([_LINE], [(_LINE, 0.4)], []),
    "over_confident": CauseScene([], [(_LINE, 0.9)], []),
}

_UNIT = 2.0  # pixels per metre


def _path(lines: list[Line], lift: float = 0.0) -> str:
    """Return lines as a path in pixels. Those that lie on the truth are lifted, so that both are seen."""
    parts = []
    for line in lines:
        corners = [f"{3 + _UNIT * x:g} {11 - lift - _UNIT * y:g}" for x, y in line]
        parts.append("M" + "L".join(corners))
    return "".join(parts)


def _picture(scene: CauseScene) -> dict[str, str]:
    """Return the paths of a small picture, by what they show. A faint prediction is dotted."""
    sure = [line for line, confidence in scene.predictions if confidence >= _SURE]
    faint = [line for line, confidence in scene.predictions if confidence < _SURE]
    paths = {
        "truth": _path(scene.truth),
        "sure": _path(sure, lift=1.5),
        "faint": _path(faint, lift=1.5),
        "other": _path([line for line, _ in scene.others], lift=1.5),
    }
    return {name: path for name, path in paths.items() if path}


_SURE = 0.5
PICTURES = {cause: _picture(SCENES[cause]) for cause in CAUSES}
