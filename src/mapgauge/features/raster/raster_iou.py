"""IoU of drawn predictions and truth: over the pixels of all frames, or as a mean over frames."""

from dataclasses import dataclass

import numpy as np

from mapgauge.arguments import check_share
from mapgauge.features.raster.pixels import DrawingSettings, in_pixels
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import Metric, Setting, SumRows, Value
from mapgauge.metrics.settings import setting
from mapgauge.protocols import Protocol
from mapgauge.typing import Floats, Indices

FLOOR = "Least confidence of predictions that are drawn."


@dataclass(frozen=True, kw_only=True)
class RasterIouSettings(DrawingSettings):
    """Settings of the IoU over the pixels of all frames."""

    floors: tuple[float, ...] = setting((0.4,), check=check_share, word="floor", help=FLOOR)
    covers: bool = setting(
        default=False, help="Whether a pixel has one class: predictions hide those of earlier classes (MapTracker)."
    )


@dataclass(frozen=True, kw_only=True)
class FrameIouSettings(DrawingSettings):
    """Settings of the mean over frames of the IoU."""

    floor: float = setting(0.05, check=check_share, help=FLOOR)


def shared_pixels(groups: Groups, protocol: Protocol, own: DrawingSettings, floor: float, covers: bool) -> Indices:
    """Return, for each group, the number of pixels that both sides have, that predictions have, and that truth has."""
    from mapgauge.features.raster import kernels  # imports numba, which results do not need

    drawing = in_pixels(groups, protocol, own)
    kept = ((groups.confidence >= floor) | ~groups.is_prediction)[drawing.instance]
    sizes = np.diff(drawing.offsets)
    ends = np.searchsorted(groups.side[drawing.instance[kept]], np.arange(2 * len(groups.bounds) + 1))
    counts = np.zeros((len(groups.bounds), 3), np.int64)
    rows, columns = own.shape
    kernels.count_shared(
        drawing.points[np.repeat(kept, sizes)],
        np.append(0, sizes[kept].cumsum()),
        drawing.filled[kept],
        bounds=np.stack([ends[:-1:2], ends[1::2], ends[2::2]], axis=1),
        frame=groups.frame,
        rows=rows,
        columns=columns,
        thickness=own.thickness,
        reach=own.spread // 2,
        covers=covers,
        counts=counts,
    )
    return counts


def _pooled(groups: Groups, protocol: Protocol, floor: float) -> Floats:
    own: RasterIouSettings = protocol.settings["raster_iou"]
    return shared_pixels(groups, protocol, own, floor=floor, covers=own.covers).astype(np.float64)


def _pooled_values(sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    both, predicted, true = np.moveaxis(sums, -1, 0)
    return {
        "raster_iou": ratio(both, predicted + true - both),
        "raster_recall": ratio(both, true),
        "raster_precision": ratio(both, predicted),
    }


def _of_frames(groups: Groups, protocol: Protocol, _: None) -> Floats:
    own: FrameIouSettings = protocol.settings["raster_frame_iou"]
    both, predicted, true = shared_pixels(groups, protocol, own, floor=own.floor, covers=False).T
    union = predicted + true - both
    return np.stack([both / np.maximum(union, 1), union > 0], axis=1)


def ratio(part: Floats, whole: Floats) -> Floats:
    """Return a share; NaN if the whole is 0."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan)


RASTER_IOU = Metric(
    name="raster_iou",
    title="Raster IoU",
    symbol="IoU",
    lower_is_better=False,
    values=(
        Value(key="raster_iou", part="", title="IoU", role="main"),
        Value(key="raster_recall", part="recall", title="recall of pixels", lower_is_better=False),
        Value(key="raster_precision", part="precision", title="precision of pixels", lower_is_better=False),
    ),
    rows=SumRows(("shared", "predicted", "true"), _pooled, _pooled_values),
    setting=Setting("floors", "floor", ""),
    settings_type=RasterIouSettings,
    stated=lambda protocol: "pixels of all frames pooled",
    limits=(0.0, 1.0),
    percent=True,
    order=51,
)
RASTER_FRAME_IOU = Metric(
    name="raster_frame_iou",
    title="Frame IoU",
    symbol="IoU",
    lower_is_better=False,
    values=(Value(key="raster_frame_iou", part="", title="Frame IoU", role="main"),),
    rows=SumRows(
        ("iou", "frames"), _of_frames, lambda sums, _: {"raster_frame_iou": ratio(sums[..., 0], sums[..., 1])}
    ),
    settings_type=FrameIouSettings,
    stated=lambda protocol: "mean over frames with pixels on either side",
    limits=(0.0, 1.0),
    percent=True,
    order=51,
)
