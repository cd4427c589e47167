"""A predicted and a true graph, with a method for each score, by the corrected rules or by those of CGNet."""

from functools import cached_property

from mapgauge.errors import InvalidInput
from mapgauge.frames.graph import Graph
from mapgauge.graphs import apls, cgnet, cgnet_apls, reach
from mapgauge.graphs.sampling import Roads, Samples
from mapgauge.graphs.settings import GraphSettings, Score
from mapgauge.graphs.topo import Neighbourhoods


class GraphPair:
    """Two graphs, compared by the corrected rules. Scores are None if there is nothing to score."""

    def __init__(self, predicted: Graph, true: Graph, settings: GraphSettings) -> None:
        """Keep both graphs in a form that does not depend on the order of nodes and edges."""
        self._sides, self._settings = (predicted.tidy(), true.tidy()), settings

    @cached_property
    def _roads(self) -> tuple[Roads, Roads]:
        return Roads.of(self._sides[0]), Roads.of(self._sides[1])

    @cached_property
    def _near(self) -> Neighbourhoods:
        x, y = (Samples.of(roads, self._settings.spacing) for roads in self._roads)
        return Neighbourhoods(x, y, self._settings)

    @cached_property
    def _ways(self) -> tuple[reach.Ways, reach.Ways]:
        spacing, hops = self._settings.control_spacing, self._settings.hops
        return reach.Ways(self._sides[0], spacing, hops), reach.Ways(self._sides[1], spacing, hops)

    def geo(self) -> Score | None:
        """Compare the points on edges."""
        return self._near.geo()

    def topo(self) -> Score | None:
        """Compare the points around matched points."""
        return self._near.topo()

    def jtopo(self) -> Score | None:
        """Compare the points around true splits."""
        return self._near.jtopo()

    def apls(self) -> float | None:
        """Compare the lengths of paths, with edges in both directions."""
        return apls.apls(*self._roads, self._settings, directed=False)

    def apls_directed(self) -> float | None:
        """Compare the lengths of paths along the edges."""
        return apls.apls(*self._roads, self._settings, directed=True)

    def sda(self) -> Score | None:
        """Compare the split points."""
        return reach.split_score(*self._sides, self._settings)

    def landmark(self) -> Score | None:
        """Compare the nodes where lanes begin and end."""
        return reach.landmark_score(*self._ways, self._settings)

    def reach(self) -> Score | None:
        """Compare the ways between landmarks."""
        return reach.reach_score(*self._ways, self._settings)


class CgnetPair(GraphPair):
    """Two graphs, compared as CGNet's evaluator compares them. It has neither directed paths nor reachability."""

    def __init__(self, predicted: Graph, true: Graph) -> None:
        """Keep both graphs as they are."""
        super().__init__(predicted, true, GraphSettings())
        self._raw = predicted, true

    @cached_property
    def _points(self) -> cgnet.Neighbourhoods:
        return cgnet.Neighbourhoods(*self._raw)

    def geo(self) -> Score | None:
        """Compare the points on edges."""
        return self._points.geo()

    def topo(self) -> Score | None:
        """Compare the points around every tenth matched point."""
        return self._points.topo()

    def jtopo(self) -> Score | None:
        """Compare the points around true nodes with several successors."""
        return self._points.jtopo()

    def apls(self) -> float | None:
        """Compare the lengths of paths."""
        return cgnet_apls.apls(*self._raw)

    def apls_directed(self) -> float | None:
        """Return None."""
        return None

    def sda(self) -> Score | None:
        """Compare the nodes with several edges to or from them."""
        return cgnet.split_score(*self._raw)

    def landmark(self) -> Score | None:
        """Return None."""
        return None

    def reach(self) -> Score | None:
        """Return None."""
        return None


def pair_of(predicted: Graph, true: Graph, *, cgnet_rules: bool, settings: GraphSettings | None = None) -> GraphPair:
    """Return a pair of graphs, and refuse graphs of different dimensions."""
    if predicted.dimension != true.dimension and len(predicted.nodes) and len(true.nodes):
        raise InvalidInput(
            f"nodes have {predicted.dimension} coordinates in predictions and {true.dimension} in truth",
            remedy="Leave out the height: nodes[:, :2], or frames.planar()",
        )
    return CgnetPair(predicted, true) if cgnet_rules else GraphPair(predicted, true, settings or GraphSettings())
