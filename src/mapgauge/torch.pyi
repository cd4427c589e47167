# Written by `python -m tools.public_names` from the manifests. Do not edit it.
from mapgauge.features.tracks.torch_metrics import (
    ConsistentPolylineAveragePrecision as ConsistentPolylineAveragePrecision,
)
from mapgauge.features.tracks.torch_metrics import PolylineStability as PolylineStability
from mapgauge.features.tracks.torch_metrics import (
    TrackPolylineLocalisationDetection as TrackPolylineLocalisationDetection,
)
from mapgauge.training.torch.cost import SospaMatching as SospaMatching
from mapgauge.training.torch.cost import sospa_cost as sospa_cost
from mapgauge.training.torch.cost import sospa_matching as sospa_matching
from mapgauge.training.torch.criterion import PldCriterion as PldCriterion
from mapgauge.training.torch.loss import SospaLoss as SospaLoss
from mapgauge.training.torch.loss import SospaMatcher as SospaMatcher
from mapgauge.training.torch.loss import pld_loss as pld_loss
from mapgauge.training.torch.metrics import PolylineAveragePrecision as PolylineAveragePrecision
from mapgauge.training.torch.metrics import PolylineLocalisationDetection as PolylineLocalisationDetection
from mapgauge.training.torch.metrics import PolylineMetric as PolylineMetric
from mapgauge.training.torch.targets import Targets as Targets

__all__: list[str]
