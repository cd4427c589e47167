"""Protocols of graph scores."""

from collections.abc import Iterable

from mapgauge.frames.lane_classes import LANE
from mapgauge.protocols.protocol import Protocol

_GRAPHS = ("geo", "topo", "jtopo", "apls", "sda", "reach")


def protocols_of_graphs() -> Iterable[Protocol]:
    """Yield the protocols of graph scores."""
    lanes = Protocol(name="", classes=(LANE,), closed=False, directed=True)
    yield lanes.replace(
        name="graph",
        about="graph scores of lanes: GEO, TOPO, JTOPO, APLS, split points and reachability",
        settings={name: {"rules": "corrected"} for name in _GRAPHS},
    )
    yield lanes.replace(
        name="cgnet-graph",
        about="graph scores as CGNet's evaluator computes them",
        ties="file",
        settings={name: {"rules": "cgnet"} for name in _GRAPHS},
    )
