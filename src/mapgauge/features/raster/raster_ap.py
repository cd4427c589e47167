"""Raster AP of MapVR: average precision with the IoU of drawn instances, by the rules of COCO's evaluator."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mapgauge.arguments import check_share
from mapgauge.errors import InvalidInput
from mapgauge.features.raster.pixels import DrawingSettings, in_pixels
from mapgauge.features.raster.raster_iou import FLOOR
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import Bits, HitRows, Metric, Setting, Value
from mapgauge.metrics.settings import HitSettings, setting
from mapgauge.protocols import Protocol


@dataclass(frozen=True, kw_only=True)
class RasterApSettings(DrawingSettings, HitSettings):
    """Settings of raster AP."""

    thresholds: tuple[float, ...] = setting(
        (0.25, 0.3, 0.35, 0.4, 0.45, 0.5), check=check_share, word="IoU", help="IoU from which a line is a hit."
    )
    filled_extra: float = setting(
        0.25, check=check_share, help="What is added to the thresholds for classes that are filled."
    )
    interpolation: Literal["area", "11-point", "101-point"] = setting(
        "101-point", help="How average precision follows from precision and recall."
    )
    floor: float = setting(0.05, check=check_share, help=FLOOR)
    most: int = setting(100, help="Most predictions of a class in a frame, by confidence, that may be hits.")

    def __post_init__(self) -> None:
        """Refuse instances in several pieces."""
        super().__post_init__()
        if self.cut:
            raise InvalidInput("raster AP draws whole instances, got cut=True")


def _hits(groups: Groups, protocol: Protocol) -> Bits:
    from mapgauge.features.raster import kernels  # imports numba, which results do not need

    own: RasterApSettings = protocol.settings["raster_ap"]
    drawing = in_pixels(groups, protocol, own)
    ious = np.empty(groups.pairs)
    rows, columns = own.shape
    kernels.instance_ious(
        drawing.points,
        drawing.offsets,
        drawing.filled,
        bounds=groups.bounds,
        rows=rows,
        columns=columns,
        thickness=own.thickness,
        reach=own.spread // 2,
        ious=ious,
    )
    place = np.empty(len(groups.confidence), np.int64)
    place[groups.by_confidence] = np.arange(len(place))
    considered = (groups.confidence >= own.floor) & (place - groups.bounds[groups.side // 2, 0] < own.most)
    filled = np.isin(groups.label, [k for k, name in enumerate(groups.names) if name in own.filled])
    thresholds = np.array(own.thresholds) + own.filled_extra * filled[:, None]
    hits = np.zeros(len(groups.confidence), np.uint16)
    kernels.match_greedily(
        ious, groups.bounds, groups.by_confidence, considered=considered, thresholds=thresholds, hits=hits
    )
    return hits


RASTER_AP = Metric(
    name="raster_ap",
    title="Raster-AP",
    symbol="AP",
    lower_is_better=False,
    values=(Value(key="raster_ap", part="", title="Raster-AP", role="main"),),
    rows=HitRows(_hits),
    setting=Setting("thresholds", "IoU", ""),
    settings_type=RasterApSettings,
    stated=lambda _: "mean over thresholds of IoU",
    limits=(0.0, 1.0),
    order=50,
)
