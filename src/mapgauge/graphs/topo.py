"""GEO, TOPO and JTOPO: are the points of one graph near those of the other, and does the same lie around them?

Both graphs are sampled. GEO matches their points one to one. TOPO walks from both points of a matched pair along the
edges, and matches the points that it meets. Precision is the share of predicted points that are matched, averaged over
all pairs and multiplied by the precision of GEO; recall likewise. JTOPO starts at true splits and the nearest predicted
points, if there are any within the radius.
"""

from functools import cached_property

import numpy as np

from mapgauge import kernels
from mapgauge.graphs.matching import Near, match
from mapgauge.graphs.sampling import Samples
from mapgauge.graphs.settings import GraphSettings, Score, score, share
from mapgauge.typing import Floats, Pairs

_ROUNDING = 1e-9  # metres: a point at the end of a walk belongs to it


class Neighbourhoods:
    """Two sampled graphs and the matching of their points."""

    def __init__(self, predicted: Samples, true: Samples, settings: GraphSettings) -> None:
        """Match the points of both graphs."""
        self.predicted, self.true, self.settings = predicted, true, settings

    @cached_property
    def near(self) -> Near:
        """The matching of all points."""
        return match(self.predicted.points, self.true.points, self.settings.radius)

    def geo(self) -> Score | None:
        """Return the share of points that are matched; None if neither graph has points."""
        if not len(self.predicted.points) and not len(self.true.points):
            return None
        return share(len(self.near.accepted), len(self.predicted.points), len(self.true.points))

    def topo(self) -> Score | None:
        """Return the share of points that are matched around all matched pairs; None if neither graph has points."""
        return self._around(self.near.pairs)

    def jtopo(self) -> Score | None:
        """Return the same around true splits and the predicted points nearest to them; None without true splits."""
        if not self.true.splits.any():
            return None
        first, second = self.near.first, self.near.second
        _, nearest = np.unique(np.where(self.true.splits[second], second, -1), return_index=True)
        nearest = nearest[self.true.splits[second[nearest]]]
        return self._around(np.stack([first[nearest], second[nearest]], axis=1))

    def _around(self, pairs: Pairs) -> Score | None:
        geo = self.geo()
        if geo is None or not len(pairs):
            return None if geo is None else score(0.0, 0.0)
        precision, recall = self._shares(pairs)
        return score(geo.precision * precision, geo.recall * recall)

    def _shares(self, pairs: Pairs) -> tuple[float, float]:
        """Return the mean shares of points that are matched around some pairs."""
        near = self.near
        ranks = np.argsort(near.first, kind="stable")
        of = np.searchsorted(near.first[ranks], np.arange(len(self.predicted.points) + 1))
        counts = kernels.walks.matches_within(
            self.predicted.csr(directed=True),
            self.true.csr(directed=True),
            np.ascontiguousarray(pairs),
            self.settings.walk + _ROUNDING,
            near.first,
            near.second,
            of,
            ranks,
        )
        shares: Floats = counts[:, 2:] / counts[:, :2]
        precision, recall = shares.mean(axis=0).tolist()
        return precision, recall
