"""The distances of the graph scores, and the scores of one comparison."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mapgauge.arguments import check_length, check_whole
from mapgauge.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """The distances of the graph scores, in metres. The defaults are those of CGNet and RoadNet.

    >>> GraphSettings(radius=1.0).radius
    1.0
    """

    spacing: float = 0.25  # GEO and TOPO: distance between points on edges
    radius: float = 0.5  # GEO and TOPO: matched points are closer than this
    walk: float = 8.0  # TOPO and JTOPO: points up to this distance along the edges are compared
    control_spacing: float = 1.0  # APLS and reachability: distance between points on edges
    snap: float = 0.5  # APLS: control points farther from the other graph are lost
    shortest: float = 5.0  # APLS: shorter paths are left out
    split_radius: float = 1.0  # split points: matched ones are closer than this
    landmark_radii: tuple[float, ...] = (0.5, 1.5, 2.5, 4.0, 5.0)  # landmarks: the score is a mean over these
    path_radii: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0, 2.5)  # reachability: the score is a mean over these
    hops: int = 5  # reachability: paths over at most this number of lanes

    def __post_init__(self) -> None:
        """Refuse settings that are not positive."""
        for name in ("spacing", "radius", "walk", "control_spacing", "snap", "shortest", "split_radius"):
            object.__setattr__(self, name, check_length(name, getattr(self, name)))
        for name in ("landmark_radii", "path_radii"):
            radii = getattr(self, name)
            if not isinstance(radii, tuple | list) or not radii:
                raise InvalidInput(f"{name} must be a tuple of lengths in metres, got {radii!r}")
            object.__setattr__(self, name, tuple(check_length(name, radius) for radius in radii))
        object.__setattr__(self, "hops", check_whole("hops", self.hops, 1))


class GraphScore(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def score(precision: float, recall: float) -> GraphScore:
    """Return precision, recall and F1, which is 0 if both are 0."""
    precision, recall = float(precision), float(recall)
    both = precision + recall
    return GraphScore(precision, recall, 2 * (precision * recall) / both if both > 0 else 0.0)


def share(found: float, predicted: int, true: int) -> GraphScore:
    """Return the score of a number of matches. A side without anything to match has the share 0."""
    return score(found / predicted if predicted else 0.0, found / true if true else 0.0)


def mean_score(scores: list[GraphScore]) -> GraphScore:
    """Return the means of precision, recall and F1."""
    return GraphScore(*np.array(scores).mean(axis=0).tolist())
