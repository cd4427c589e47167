"""Batches of a training loop as scored rows, and rows as tensors that processes exchange."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.evaluation.data import Data
from mapgauge.evaluation.prepare import check_boxes_of, check_linked, check_sides, cropped
from mapgauge.evaluation.scene_frames import SIDES, SceneFrames, uses_tracks
from mapgauge.evaluation.scores import Scores
from mapgauge.evaluation.scoring import score_frames
from mapgauge.frames.alignment import align
from mapgauge.frames.batches import Batch, as_array, frames_from_batch
from mapgauge.frames.content import HASH_BYTES, added_hashes, frame_hashes, hash_text
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.poses import check_poses
from mapgauge.metrics.table import METRICS, hit_metrics, sum_metrics
from mapgauge.protocols import Protocol
from mapgauge.typing import Degenerate, Indices

TALLIES = 3  # columns of ``BatchRows.tally``


class ScoringSettings(NamedTuple):
    """The settings of an accumulator. Only accumulators with equal settings can be merged."""

    protocol: Protocol
    metrics: tuple[str, ...]
    classes: tuple[str, ...]  # that are evaluated

    @property
    def of_frames(self) -> tuple[str, ...]:
        """Metrics that are computed when a frame arrives."""
        return tuple(name for name in self.metrics if METRICS[name].level == "frame")

    @property
    def of_scenes(self) -> tuple[str, ...]:
        """Metrics that are computed when all frames are there."""
        return tuple(name for name in self.metrics if METRICS[name].level == "scene")


@dataclass(frozen=True, eq=False)
class BatchRows:
    """The rows of some frames."""

    scores: Scores  # of metrics of frames
    tally: NDArray[np.int64]  # (frames, 3): predictions dropped, truth dropped, whether predictions lacked the frame
    tokens: tuple[str, ...]  # "" for a frame without a token
    scenes: tuple[str, ...]  # "" for an unknown scene
    hashes: NDArray[np.uint8]  # (frames, 2, 16): content hash of predictions and truth; zeros for a frame without any
    kept: SceneFrames | None = None  # the frames themselves, if there are metrics of scenes

    @classmethod
    def concatenate(cls, parts: Sequence["BatchRows"]) -> "BatchRows":
        """Concatenate the rows of several batches."""
        kept = [part.kept for part in parts if part.kept is not None]
        return cls(
            Scores.concatenate([part.scores for part in parts]),
            np.concatenate([part.tally for part in parts]),
            tuple(token for part in parts for token in part.tokens),
            tuple(scene for part in parts for scene in part.scenes),
            np.concatenate([part.hashes for part in parts]),
            SceneFrames.concatenate(kept) if kept else None,
        )

    def at(self, frames: Sequence[int]) -> "BatchRows":
        """Return the rows of some frames."""
        return BatchRows(
            self.scores.at(np.asarray(frames, np.int64)),
            self.tally[list(frames)],
            picked(self.tokens, frames),
            picked(self.scenes, frames),
            self.hashes[list(frames)],
            None if self.kept is None else self.kept.at(frames),
        )

    def hash_of(self, side: int) -> str:
        """Return the content hash of the predictions (0) or of the truth (1), in the same form as ``Input.hash``."""
        data = self.hashes[:, side].tobytes()
        parts = [data[i : i + HASH_BYTES] for i in range(0, len(data), HASH_BYTES)]
        return hash_text(added_hashes([int.from_bytes(part, "little") for part in parts]))


def hashes_of(
    predictions: MapFrames, truth: MapFrames, tokens: Sequence[str], tracks: tuple[bool, bool]
) -> NDArray[np.uint8]:
    """Return the content hashes of the frames of a batch, before they are aligned.

    Predictions may lack frames of the truth. A frame without a token has the token "". ``tracks`` says whether metrics
    use the tracks of each side.
    """
    at = [truth.index[token] for token in predictions.tokens]
    hashes = np.zeros((len(truth), 2, HASH_BYTES), np.uint8)
    for side, frames, places in ((0, predictions, at), (1, truth, range(len(truth)))):
        joined = b"".join(frame_hashes(frames, picked(tuple(tokens), places), tracks=tracks[side]))
        hashes[list(places), side] = np.frombuffer(joined, np.uint8).reshape(-1, HASH_BYTES)
    return hashes


def picked(texts: tuple[str, ...], frames: Sequence[int]) -> tuple[str, ...]:
    """Return the strings of some frames."""
    return tuple(texts[i] for i in frames)


def score_batch(
    predictions: Batch | MapFrames,
    truth: Batch | MapFrames,
    of_frames: Mapping[str, Any],
    settings: ScoringSettings,
    numbers: tuple[str, ...] | None,
    degenerate: Degenerate,
) -> BatchRows:
    """Return the rows of a batch. ``numbers`` are the class names of integer labels, if these are allowed.

    ``of_frames`` are the tokens, scenes, timestamps and poses of the frames, each None if it is not given.
    """
    protocol = settings.protocol
    if isinstance(predictions, MapFrames) or isinstance(truth, MapFrames):
        if not (isinstance(predictions, MapFrames) and isinstance(truth, MapFrames)):
            raise InvalidInput("predictions and truth must both be MapFrames, or both lists of dicts")
        if any(value is not None for value in of_frames.values()):
            raise InvalidInput(
                "tokens, scenes, timestamps and poses are not allowed with MapFrames, which have their own",
                remedy="Leave them out",
            )
        x, y, tally = predictions, truth, np.zeros((len(truth), TALLIES), np.int64)
        check_sides(x, y)
        tally[:, 2] = [token not in x.index for token in y.tokens]
        tokens, scenes = y.tokens, y.scenes or ("",) * len(y)
    else:
        x, y, tally = _frames(predictions, truth, settings, numbers, degenerate)
        tokens, scenes = (texts(name, of_frames[name], len(y)) for name in ("tokens", "scenes"))
        times, poses = of_frames["timestamps"], of_frames["poses"]
        y = replace(
            y,
            scenes=None if of_frames["scenes"] is None else scenes,
            timestamps=None if times is None else _times(times, len(y)),
            poses=None if poses is None else _poses(poses, len(y)),
        )
    aligned = align(x, y, classes=settings.classes)
    check_boxes_of(protocol, *aligned)
    check_linked(settings.metrics, *aligned)
    hashes = hashes_of(x, y, tokens, uses_tracks(settings.metrics))
    sides = cropped(*aligned, protocol)
    scores = score_frames(Data.of(*sides, protocol), settings.of_frames, workers=None)
    kept = SceneFrames.of(*sides, settings.of_scenes) if settings.of_scenes else None
    return BatchRows(scores, tally, tokens, scenes, hashes, kept)


def _frames(
    predictions: Batch,
    truth: Batch,
    settings: ScoringSettings,
    numbers: tuple[str, ...] | None,
    degenerate: Degenerate,
) -> tuple[MapFrames, MapFrames, NDArray[np.int64]]:
    """Return both sides of a batch of dictionaries, and the number of dropped instances."""
    classes = tuple(dict.fromkeys((*settings.classes, *(numbers or ()))))
    boxes = settings.protocol.boxes
    x, less_x = frames_from_batch(predictions, SIDES[0], classes, numbers, degenerate, scored=True, boxes=boxes)
    y, less_y = frames_from_batch(truth, SIDES[1], classes, numbers, degenerate, scored=False, boxes=boxes)
    if len(x) != len(y):
        raise InvalidInput(
            f"{len(x)} predictions for {len(y)} frames of truth, expected a dict per frame on both sides"
        )
    return x, y, np.stack([less_x, less_y, np.zeros_like(less_x)], axis=1)


def texts(name: str, values: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Return one string per frame. Without values, the strings are empty."""
    if values is None:
        return ("",) * count
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InvalidInput(f"{name} must be a list with one string per frame, got {values!r}")
    if len(values) != count:
        raise InvalidInput(f"{len(values)} {name} for {count} frames, expected one per frame")
    for i, value in enumerate(values):
        if not isinstance(value, str) or not value or "\0" in value:
            raise InvalidInput(f"{name}[{i}] must be a string that is not empty, got {value!r}")
    return tuple(values)


def _times(values: Any, count: int) -> Indices:
    """Return one whole number per frame."""
    array = as_array(values, "timestamps")
    if array.shape != (count,):
        raise InvalidInput(f"timestamps must be {count} whole numbers, one per frame, got shape {array.shape}")
    if count and array.dtype.kind not in "iu":
        raise InvalidInput(
            f"timestamps must be whole numbers, got values of type {array.dtype}",
            remedy="Pass nanoseconds or microseconds, or the number of the frame in its scene",
        )
    return array.astype(np.int64)


def _poses(values: Any, count: int) -> NDArray[np.float64]:
    """Return one matrix per frame."""
    array = as_array(values, "poses")
    if not count and not array.size:
        return np.empty((0, 4, 4))
    if array.shape != (count, 4, 4):
        raise InvalidInput(f"poses must be {count} matrices (4, 4), one per frame, got shape {array.shape}")
    return check_poses(array, count)


_HASHES = 2 * HASH_BYTES // 8  # columns of the hashes of both sides, as 64-bit integers


def packed(rows: BatchRows) -> list[NDArray[Any]]:
    """Return the rows of some frames as arrays."""
    scores = rows.scores
    blocks = [np.moveaxis(block, 1, 0).reshape(len(rows.tokens), -1) for block in scores.sums.values()]
    bits = [np.ascontiguousarray(block).view(np.int64) for block in blocks]
    hashes = np.ascontiguousarray(rows.hashes).reshape(len(rows.tokens), -1).view(np.int64)
    names = "".join(f"{token}\0{scene}\0" for token, scene in zip(rows.tokens, rows.scenes, strict=True))
    return [
        np.concatenate([rows.tally, hashes, scores.predicted, scores.true, *bits], axis=1),
        np.stack([scores.confidence.view(np.int64), *(hits.astype(np.int64) for hits in scores.hits.values())], axis=1),
        np.array(bytearray(names.encode()), np.uint8),
        *(() if rows.kept is None else (rows.kept.packed(),)),
    ]


def unpacked(arrays: list[NDArray[Any]], settings: ScoringSettings) -> BatchRows:
    """Return the rows of the arrays of ``packed``, or of several of them concatenated."""
    frames, records, names, *kept = arrays
    metrics, classes = settings.of_frames, settings.classes
    shapes = _shapes(settings)
    sizes = [TALLIES, _HASHES, len(classes), len(classes), *(math.prod(shape) for shape in shapes.values())]
    tally, hashes, predicted, true, *bits = np.split(frames, np.cumsum(sizes)[:-1], axis=1)
    sums = {}
    for (name, shape), block in zip(shapes.items(), bits, strict=True):
        numbers = np.ascontiguousarray(block).view(np.float64).reshape(len(frames), *shape)
        sums[name] = np.ascontiguousarray(np.moveaxis(numbers, 0, 1))
    rings = {
        metric.name: np.zeros((0, len(frames), len(classes), len(rows.columns)))
        for metric, rows in sum_metrics(metrics)
        if rows.rings
    }
    hits = [metric.name for metric, _ in hit_metrics(metrics)]
    scores = Scores(
        predicted,
        true,
        np.ascontiguousarray(records[:, 0]).view(np.float64),
        sums,
        rings,
        {name: records[:, k].astype(np.uint16) for k, name in enumerate(hits, 1)},
    )
    texts = names.tobytes().decode().split("\0")[:-1]
    bits_of_hashes = np.ascontiguousarray(hashes).view(np.uint8).reshape(len(frames), 2, HASH_BYTES)
    of_scenes = SceneFrames.unpacked(kept[0], classes) if kept else None
    return BatchRows(scores, tally, tuple(texts[::2]), tuple(texts[1::2]), bits_of_hashes, of_scenes)


def _shapes(settings: ScoringSettings) -> dict[str, tuple[int, int, int]]:
    """Return the shape of the sums of a frame, by metric: settings, classes, columns."""
    return {
        metric.name: (len(metric.settings(settings.protocol)), len(settings.classes), len(rows.columns))
        for metric, rows in sum_metrics(settings.of_frames)
    }


def widths_of(settings: ScoringSettings) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the arrays for no frames."""
    sums = sum(math.prod(shape) for shape in _shapes(settings).values())
    hits = sum(1 for _ in hit_metrics(settings.of_frames))
    kept = ((0,),) if settings.of_scenes else ()
    return (0, TALLIES + _HASHES + 2 * len(settings.classes) + sums), (0, 1 + hits), (0,), *kept
