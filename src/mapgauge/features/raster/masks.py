"""``mask_iou``: IoU of the masks of a segmentation head with drawn truth.

MapTracker writes masks into ``submission_vector.json``: ``results[token]["semantic_mask"]`` has a row of labels for
each row of the image. 0 is nothing, and 1, 2, ... are the classes of the protocol. The first row has the largest y.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapgauge.decoding import decode_json
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.features.raster.pixels import in_pixels
from mapgauge.features.raster.raster_iou import RasterIouSettings, ratio
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io.files.source import Content
from mapgauge.markup import text_table
from mapgauge.metrics.groups import group
from mapgauge.protocols import Protocol
from mapgauge.protocols import protocol as named
from mapgauge.scoring.ignored import refuse_ignored
from mapgauge.scoring.prepare import Frames, loaded, prepare

Masks: TypeAlias = Mapping[str, ArrayLike] | str | os.PathLike[str]
Labels: TypeAlias = NDArray[np.int64]


class _MaskFrame(msgspec.Struct):
    semantic_mask: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _File(msgspec.Struct):
    results: dict[str, _MaskFrame]


@dataclass(frozen=True, eq=False, kw_only=True)
class MaskIou:
    """IoU of masks, over the pixels of all frames."""

    name: str  # of the masks
    protocol: Protocol
    class_names: tuple[str, ...]
    frames_missing: int  # frames of the truth without a mask, which count as empty
    shared: Labels  # (classes,): pixels that masks and truth have
    predicted: Labels  # (classes,): pixels of masks
    true: Labels  # (classes,): pixels of truth

    @property
    def classes(self) -> dict[str, float | None]:
        """IoU by class; None for a class without pixels."""
        values = ratio(self.shared.astype(np.float64), (self.predicted + self.true - self.shared).astype(np.float64))
        return {
            name: None if np.isnan(value) else value
            for name, value in zip(self.class_names, values.tolist(), strict=True)
        }

    @property
    def mean(self) -> float | None:
        """The mean over the classes that have a value, mIoU."""
        values = [value for value in self.classes.values() if value is not None]
        if not values:
            return None
        return float(np.mean(values))

    def table(self) -> str:
        """Return IoU and the numbers of pixels as text."""
        return text_table(*self.cells())

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Return the head and the rows of the table."""
        counts = zip(self.shared.tolist(), self.predicted.tolist(), self.true.tolist(), strict=True)
        rows = [[name, *map(str, row)] for name, row in zip(self.class_names, counts, strict=True)]
        values = [*self.classes.values(), self.mean]
        texts = ["-" if value is None else f"{value:.3f}" for value in values]
        rows = [[*row, text] for row, text in zip([*rows, ["mean", "", "", ""]], texts, strict=True)]
        return ["class", "shared pixels", "predicted", "true", "IoU ↑"], rows

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain values, for JSON."""
        pixels = {
            name: {"shared": shared, "predicted": predicted, "true": true}
            for name, shared, predicted, true in zip(
                self.class_names, self.shared.tolist(), self.predicted.tolist(), self.true.tolist(), strict=True
            )
        }
        settings = {"name": self.name, "protocol": self.protocol.to_dict(), "frames_missing": self.frames_missing}
        return settings | {"classes": self.classes, "mean": self.mean, "pixels": pixels}


def mask_iou(masks: Masks, truth: Frames, protocol: str | Protocol) -> MaskIou:
    """Compare masks with truth that is drawn by the rules of a protocol.

    Args:
        masks: MapTracker's ``submission_vector.json`` with masks; or by token an array ``(rows, columns)`` of labels,
            whose first row has the largest y.
        truth: The truth. Its frames without a mask count as empty.
        protocol: A protocol with settings of ``raster_iou``, such as ``"maptracker-iou-60x30"``. Label 1 is its first
            class.

    >>> import numpy as np
    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({"a": {"divider": [[[-40, 1], [40, 1]]]}})
    >>> mask = np.zeros((100, 200), int)
    >>> mask[44:49] = 2
    >>> mg.mask_iou({"a": mask}, truth, "maptracker-iou-60x30").classes["divider"]
    1.0
    """
    from mapgauge.features.raster.drawing_kernels import draw  # imports numba

    settings = named(protocol)
    own: RasterIouSettings | None = settings.settings.get("raster_iou")
    if own is None or settings.classes is None:
        raise InvalidInput(
            f"the protocol {settings.name} has no rules for drawing",
            remedy=Remedy("Pass maptracker-iou-60x30 or another one", "Pass --protocol maptracker-iou-60x30"),
        )
    frames = loaded(truth)
    refuse_ignored(frames, "pixels cannot be matched with them")
    name, given = _read(masks)
    extra = [token for token in given if token not in frames.index]
    if extra:
        raise InvalidInput(f"{name or 'masks'}: {len(extra)} masks are not in the truth (first: {extra[0]})")
    empty, y = prepare(_without_lines(frames), frames, settings, unknown="error")
    groups = group(empty, y, settings)
    drawing = in_pixels(groups, settings, own)
    ends = np.searchsorted(groups.side[drawing.instance] // 2, np.arange(len(groups.bounds) + 1))
    counts = np.zeros((len(settings.classes), 3), np.int64)
    image = np.empty(own.shape, np.uint8)
    for f, token in enumerate(y.tokens):
        labels = _labels(given.get(token), token, own.shape, classes=settings.classes, name=name)
        for c in range(len(settings.classes)):
            first = ends[f * groups.classes + c]
            end = ends[f * groups.classes + c + 1]
            image[:] = 0
            if end > first:
                offsets = drawing.offsets[first : end + 1]
                filled = drawing.filled[first:end]
                draw(image, drawing.points, offsets, filled=filled, thickness=own.thickness, reach=own.spread // 2)
            predicted = labels == c + 1
            counts[c] += np.count_nonzero(predicted & (image > 0)), np.count_nonzero(predicted), np.count_nonzero(image)
    missing = sum(token not in given for token in y.tokens)
    both, predicted, true = counts.T
    return MaskIou(
        name=name,
        protocol=settings,
        class_names=settings.classes,
        frames_missing=missing,
        shared=both,
        predicted=predicted,
        true=true,
    )


def _without_lines(frames: MapFrames) -> MapFrames:
    return frames.keep(np.zeros(len(frames.polylines), np.bool_)).with_confidence(1)


def _read(masks: Masks) -> tuple[str, Mapping[str, Any]]:
    """Return the name of a file and its masks by token, undecoded; or given masks."""
    if isinstance(masks, Mapping):
        return "", masks
    content = Content(masks)
    try:
        frames = decode_json(content.data, _File).results
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise content.error(f"not a submission with masks: {error}") from error
    found = {token: frame.semantic_mask for token, frame in frames.items() if frame.semantic_mask is not msgspec.UNSET}
    if not found:
        raise content.error(
            "no frame has a semantic_mask",
            remedy=Remedy("Use evaluate() to draw predicted polylines", "mapgauge evaluate draws predicted polylines"),
        )
    return str(content.path), found


def _labels(mask: Any, token: str, shape: tuple[int, int], classes: tuple[str, ...], name: str) -> Labels:
    """Return the labels of a mask, the smallest y first. A frame without a mask has none."""
    if mask is None:
        return np.zeros(shape, np.int64)
    where = f"{name or 'masks'}, frame {token}"
    try:
        labels = np.asarray(decode_json(bytes(mask), list[list[int]]) if isinstance(mask, msgspec.Raw) else mask)
    except (msgspec.DecodeError, ValueError) as error:
        raise InvalidInput(f"{where}: expected rows of labels of the same length, all of them whole numbers") from error
    if labels.shape != shape:
        raise InvalidInput(
            f"{where}: expected {shape[0]} rows of {shape[1]} labels, got an array {labels.shape}",
            remedy=Remedy(
                'Set settings={"raster_iou": {"pixels": (columns, rows)}}', "Choose the protocol of this size of mask"
            ),
        )
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() > len(classes):
        raise InvalidInput(f"{where}: expected labels from 0 to {len(classes)} ({', '.join(classes)})")
    return labels[::-1].astype(np.int64)
