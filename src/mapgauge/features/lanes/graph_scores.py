"""``graph_scores``: all scores of a pair of graphs."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal, TypeAlias

from mapgauge.errors import InvalidInput
from mapgauge.features.lanes import cgnet, reach
from mapgauge.features.lanes import cgnet as cgnet_apls
from mapgauge.features.lanes import topo as apls
from mapgauge.features.lanes.graph import Graph, GraphLike
from mapgauge.features.lanes.graph_sampling import Roads, Samples
from mapgauge.features.lanes.graph_settings import GraphScore, GraphSettings
from mapgauge.features.lanes.topo import Neighbourhoods


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

    def geo(self) -> GraphScore | None:
        """Compare the points on edges."""
        return self._near.geo()

    def topo(self) -> GraphScore | None:
        """Compare the points around matched points."""
        return self._near.topo()

    def jtopo(self) -> GraphScore | None:
        """Compare the points around true splits."""
        return self._near.jtopo()

    def apls(self) -> float | None:
        """Compare the lengths of paths, with edges in both directions."""
        return apls.apls(*self._roads, self._settings, directed=False)

    def apls_directed(self) -> float | None:
        """Compare the lengths of paths along the edges."""
        return apls.apls(*self._roads, self._settings, directed=True)

    def sda(self) -> GraphScore | None:
        """Compare the split points."""
        return reach.split_score(*self._sides, self._settings)

    def landmark(self) -> GraphScore | None:
        """Compare the nodes where lanes begin and end."""
        return reach.landmark_score(*self._ways, self._settings)

    def reach(self) -> GraphScore | None:
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

    def geo(self) -> GraphScore | None:
        """Compare the points on edges."""
        return self._points.geo()

    def topo(self) -> GraphScore | None:
        """Compare the points around every tenth matched point."""
        return self._points.topo()

    def jtopo(self) -> GraphScore | None:
        """Compare the points around true nodes with several successors."""
        return self._points.jtopo()

    def apls(self) -> float | None:
        """Compare the lengths of paths."""
        return cgnet_apls.apls(*self._raw)

    def apls_directed(self) -> float | None:
        """Return None."""
        return None

    def sda(self) -> GraphScore | None:
        """Compare the nodes with several edges to or from them."""
        return cgnet.split_score(*self._raw)

    def landmark(self) -> GraphScore | None:
        """Return None."""
        return None

    def reach(self) -> GraphScore | None:
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


Parity: TypeAlias = Literal["cgnet"]


@dataclass(frozen=True, slots=True)
class GraphScores:
    """The graph scores of one frame. A score is None if there is nothing to score, and is then left out of means."""

    geo: GraphScore | None  # points on edges
    topo: GraphScore | None  # points around matched points
    jtopo: GraphScore | None  # the same around true splits
    apls: float | None  # lengths of paths, edges in both directions
    apls_directed: float | None  # lengths of paths along the edges
    sda: GraphScore | None  # split points
    landmark: GraphScore | None  # nodes where lanes begin and end
    reach: GraphScore | None  # ways between landmarks

    def to_dict(self) -> dict[str, Any]:
        """Return all values with the keys of ``evaluate``: ``geo`` (F1), ``geo_precision``, ``geo_recall``, ..."""
        flat: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.startswith("apls"):
                flat[field.name] = value
            else:
                precision, recall, f1 = value or (None, None, None)
                flat |= {field.name: f1, f"{field.name}_precision": precision, f"{field.name}_recall": recall}
        return flat


def graph_scores(
    predictions: GraphLike,
    truth: GraphLike,
    *,
    parity: Parity | None = None,
    settings: GraphSettings | None = None,
) -> GraphScores:
    """Compute the graph scores of one predicted and one true graph of centrelines.

    Args:
        predictions: A networkx graph whose nodes have the attribute ``pos``, a dictionary with ``nodes`` and
            ``edges``, or a ``Graph``. Positions are in metres.
        truth: The true graph.
        parity: ``"cgnet"`` copies CGNet's evaluator with its faults. By default these are corrected.
        settings: The distances. With ``parity``, those of CGNet apply.

    >>> import mapgauge as mg
    >>> fork = {"nodes": [[0, 0], [10, 0], [20, 5], [20, -5]], "edges": [[0, 1], [1, 2], [1, 3]]}
    >>> straight = {"nodes": [[0, 0.2], [10, 0.2], [20, 5.2]], "edges": [[0, 1], [1, 2]]}
    >>> scores = mg.graph_scores(straight, fork)
    >>> round(scores.geo.precision, 3), round(scores.geo.recall, 3), scores.sda.recall
    (1.0, 0.659, 0.0)
    """
    predicted, true = Graph.of(predictions, "predictions"), Graph.of(truth, "truth")
    if parity == "cgnet":
        if settings is not None:
            raise InvalidInput("settings cannot be changed with parity='cgnet'", remedy="Leave out one of the two")
        return scores_of(pair_of(predicted, true, cgnet_rules=True))
    if parity is not None:
        raise InvalidInput(f"parity must be 'cgnet' or None, got {parity!r}")
    return scores_of(pair_of(predicted, true, cgnet_rules=False, settings=settings))


def scores_of(pair: GraphPair) -> GraphScores:
    """Return all scores of a pair of graphs."""
    return GraphScores(**{field.name: getattr(pair, field.name)() for field in fields(GraphScores)})
