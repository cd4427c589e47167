"""PyTorch: SOSPA as a cost and a loss for training, and metrics for torchmetrics.

The cost and the losses need torch only. The metrics need torchmetrics too, which is imported when they are used.
"""

from typing import TYPE_CHECKING, Any

from mapgauge.dependencies import require

require("torch", "mapgauge.torch", "torch")

from mapgauge.training.torch.cost import SospaMatching, sospa_cost, sospa_matching  # noqa: E402
from mapgauge.training.torch.criterion import PldCriterion  # noqa: E402
from mapgauge.training.torch.loss import SospaLoss, SospaMatcher, pld_loss  # noqa: E402
from mapgauge.training.torch.targets import Targets  # noqa: E402

if TYPE_CHECKING:
    from mapgauge.training.torch.metrics import (
        ConsistentPolylineAveragePrecision,
        PolylineAveragePrecision,
        PolylineLocalisationDetection,
        PolylineMetric,
        PolylineStability,
        TrackPolylineLocalisationDetection,
    )

__all__ = [
    "ConsistentPolylineAveragePrecision",
    "PldCriterion",
    "PolylineAveragePrecision",
    "PolylineLocalisationDetection",
    "PolylineMetric",
    "PolylineStability",
    "SospaLoss",
    "SospaMatcher",
    "SospaMatching",
    "Targets",
    "TrackPolylineLocalisationDetection",
    "pld_loss",
    "sospa_cost",
    "sospa_matching",
]


def __getattr__(name: str) -> Any:
    """Import the metrics on first use."""
    if name in __all__:
        from mapgauge.training.torch import metrics

        return getattr(metrics, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
