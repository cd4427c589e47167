"""``graph_scores``: all graph scores of one predicted and one true graph."""

from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

from mapgauge.errors import InvalidInput
from mapgauge.frames.graph import Graph, GraphLike
from mapgauge.graphs.pair import GraphPair, pair_of
from mapgauge.graphs.settings import GraphSettings, Score

Parity: TypeAlias = Literal["cgnet"]


@dataclass(frozen=True, slots=True)
class GraphScores:
    """The graph scores of one frame. A score is None if there is nothing to score, and is then left out of means."""

    geo: Score | None  # points on edges
    topo: Score | None  # points around matched points
    jtopo: Score | None  # the same around true splits
    apls: float | None  # lengths of paths, edges in both directions
    apls_directed: float | None  # lengths of paths along the edges
    sda: Score | None  # split points
    landmark: Score | None  # nodes where lanes begin and end
    reach: Score | None  # ways between landmarks

    def to_dict(self) -> dict[str, Any]:
        """Return all values as a flat dictionary: ``geo_precision``, ``geo_recall``, ``geo_f1``, ..., ``apls``."""
        flat: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.startswith("apls"):
                flat[field.name] = value
            else:
                parts = (None,) * 3 if value is None else value
                flat |= {f"{field.name}_{part}": parts[k] for k, part in enumerate(Score._fields)}
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
