"""Metrics over time for PyTorch: torchmetrics classes around an ``Accumulator``."""

from typing import Any

from mapgauge.protocols import Protocol
from mapgauge.protocols import protocol as protocol_of
from mapgauge.training.torch.metrics import PolylineMetric


class TrackPolylineLocalisationDetection(PolylineMetric):
    """T-PLD: PLD over time, with a cost for every switch of ids. Lower is better.

    It needs ``tracks`` on both sides, scenes and time stamps. ``switch_cost`` is the cost of a switch; None takes the
    cost in the protocol, or the recommended cost. The other arguments are as in ``PolylineMetric``.
    """

    higher_is_better: bool | None = False

    def __init__(
        self, protocol: str | Protocol = "paper-60x30", *, switch_cost: float | None = None, **arguments: Any
    ) -> None:
        """Create the metric without frames."""
        if switch_cost is None:
            own = {}
        else:
            own = {"switch_cost": switch_cost}
        chosen = protocol_of(protocol).replace(settings={"track_pld": own})
        super().__init__(chosen, metrics=("track_pld",), **arguments)


class ConsistentPolylineAveragePrecision(PolylineMetric):
    """C-mAP by MapTracker's rules: average precision of predictions that keep their ids. Higher is better.

    It needs ``tracks`` on both sides, scenes and time stamps. The arguments are as in ``PolylineMetric``.
    """

    higher_is_better: bool | None = True

    def __init__(self, protocol: str | Protocol = "maptracker-c-60x30", **arguments: Any) -> None:
        """Create the metric without frames."""
        super().__init__(protocol, metrics=("c_map",), **arguments)


class PolylineStability(PolylineMetric):
    """mAS as its paper defines it: how stable predictions are over time. Higher is better.

    It needs ``tracks`` of the truth, scenes, time stamps and poses. The arguments are as in ``PolylineMetric``.
    """

    higher_is_better: bool | None = True

    def __init__(self, protocol: str | Protocol = "mas-60x30", **arguments: Any) -> None:
        """Create the metric without frames."""
        super().__init__(protocol, metrics=("mas",), **arguments)
