"""``Accumulator``: evaluates batch by batch inside a loop, with the same result as ``evaluate``.

Frames are scored when they arrive. Only their rows are kept: some numbers per frame and per prediction. Results do not
depend on the order of rows, so batches may have any size, order and distribution over processes.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.frames.alignment import align
from mapgauge.frames.batches import Batch, as_array, frames_from_batch
from mapgauge.frames.content import HASH_BYTES, added_hashes, frame_hashes, hash_text
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.poses import check_poses
from mapgauge.metrics.table import METRICS, chosen_metrics
from mapgauge.protocols import Protocol, full_name
from mapgauge.protocols import protocol as protocol_of
from mapgauge.results.flat import flat
from mapgauge.results.frame_tables import MemoryRows
from mapgauge.results.metadata import checked_metadata
from mapgauge.results.results import Results
from mapgauge.results.values import Input, InputRecords
from mapgauge.scoring.data import Data
from mapgauge.scoring.prepare import check_boxes_of, check_linked, check_sides, cropped
from mapgauge.scoring.scene_frames import SIDES, SceneFrames, uses_tracks
from mapgauge.scoring.score import score_frames
from mapgauge.scoring.scores import Scores, Totals
from mapgauge.typing import Degenerate, Indices
from mapgauge.version import __version__
from mapgauge.words import counted


class ScoringSettings(NamedTuple):
    """The settings of an accumulator. Only accumulators with equal settings can be merged."""

    protocol: Protocol
    metrics: tuple[str, ...]
    classes: tuple[str, ...]  # that are evaluated

    def of(self, level: str) -> tuple[str, ...]:
        """Return the metrics of frames, computed when a frame arrives, or of scenes, computed in the end."""
        return tuple(name for name in self.metrics if METRICS[name].level == level)


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
            scenes=tuple(scene for part in parts for scene in part.scenes),
            hashes=np.concatenate([part.hashes for part in parts]),
            kept=SceneFrames.concatenate(kept) if kept else None,
        )

    def at(self, frames: list[int]) -> "BatchRows":
        """Return the rows of some frames."""
        if self.kept is None:
            kept = None
        else:
            kept = self.kept.at(frames)
        return BatchRows(
            self.scores.at(np.asarray(frames, np.int64)),
            self.tally[frames],
            tuple(self.tokens[i] for i in frames),
            scenes=tuple(self.scenes[i] for i in frames),
            hashes=self.hashes[frames],
            kept=kept,
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the rows as arrays, which processes exchange."""
        names = "".join(f"{token}\0{scene}\0" for token, scene in zip(self.tokens, self.scenes, strict=True))
        own: dict[str, NDArray[Any]] = {
            "tally": self.tally,
            "hashes": self.hashes,
            "names": np.frombuffer(names.encode(), np.uint8),
        }
        return self.scores.arrays() | own | ({} if self.kept is None else self.kept.columns())

    @classmethod
    def of_columns(cls, columns: dict[str, NDArray[Any]], settings: ScoringSettings) -> "BatchRows":
        """Return the rows of the arrays of ``columns``."""
        scores = Scores.of_arrays(columns, settings.of("frame"))
        names = columns["names"].tobytes().decode().split("\0")[:-1]
        kept = None
        if settings.of("scene"):
            kept = SceneFrames.of_columns(columns, settings.classes)
        return cls(
            scores, columns["tally"], tuple(names[::2]), scenes=tuple(names[1::2]), hashes=columns["hashes"], kept=kept
        )

    def hash_of(self, side: int) -> str:
        """Return the content hash of the predictions (0) or of the truth (1), in the same form as ``Input.hash``."""
        return hash_text(added_hashes([int.from_bytes(row.tobytes(), "little") for row in self.hashes[:, side]]))


class _Read(NamedTuple):
    """The frames of a batch, before they are aligned."""

    predictions: MapFrames
    truth: MapFrames
    dropped: tuple[Indices, Indices]  # dropped instances of each frame, of both sides
    tokens: tuple[str, ...]  # of the truth; "" for a frame without a token
    scenes: tuple[str, ...]  # "" for an unknown scene


def _given_frames(predictions: MapFrames, truth: MapFrames) -> _Read:
    """Return a batch that was given as frames. Nothing was dropped from it."""
    check_sides(predictions, truth)
    none = np.zeros(len(truth), np.int64)
    scenes = truth.scenes or ("",) * len(truth)
    return _Read(predictions, truth, dropped=(none, none), tokens=truth.tokens, scenes=scenes)


def _texts(name: str, values: Sequence[str] | None, count: int) -> tuple[str, ...]:
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


def _times(values: Any, count: int) -> NDArray[np.int64]:
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


def repeated_in(tokens: Sequence[str], *seen: set[str]) -> list[int]:
    """Return the places of tokens that were seen, or that stand before in the list. Frames without a name are new."""
    again = []
    here: set[str] = set()
    for i, token in enumerate(tokens):
        if token and (token in here or any(token in some for some in seen)):
            again.append(i)
        here.add(token)
    return again


def refuse_repeated(tokens: Sequence[str], *seen: set[str]) -> None:
    """Raise an error if a token of a batch was seen before."""
    again = repeated_in(tokens, *seen)
    if again:
        raise InvalidInput(
            f"{len(again)} of {len(tokens)} frames were seen before (first: {tokens[again[0]]})",
            remedy='Call reset() between epochs, or pass repeated="drop" if a sampler repeats frames',
        )


def names_of_numbers(classes: Sequence[str] | None, protocol: Protocol) -> tuple[str, ...] | None:
    """Return the class names of integer labels. They must contain every class that is evaluated."""
    if classes is None:
        if protocol.classes is None:
            raise InvalidInput(
                f"the protocol {protocol.name} has no classes", remedy="Pass classes= with the names of all classes"
            )
        return None
    if isinstance(classes, str) or not isinstance(classes, Sequence) or not all(isinstance(c, str) for c in classes):
        raise InvalidInput(f"classes must be a list of names, got {classes!r}")
    if not classes or len(set(classes)) < len(classes):
        raise InvalidInput(f"classes must be one or more different names, got {list(classes)!r}")
    lacking = [name for name in protocol.classes or () if name not in classes]
    if lacking:
        raise InvalidInput(
            f"classes lacks {', '.join(lacking)}, which the protocol {protocol.name} evaluates",
            remedy=f'Choose other classes with mg.protocol("{protocol.name}", classes=(...))',
        )
    return tuple(classes)


Repeated: TypeAlias = Literal["error", "drop"]


class Accumulator:
    """Evaluates batch by batch, with the same result as ``evaluate`` on all frames at once.

    ``update`` scores a batch and keeps its rows. ``merge`` adds the rows of another process. ``compute`` returns flat
    values for loggers. ``results`` returns the same as ``evaluate``, without the geometry. ``reset`` removes all
    frames. An accumulator can be pickled.

    It keeps about a kilobyte per frame. Metrics of scenes, such as those of tracks, need all frames of a
    scene, so the polylines are kept as well: 16 bytes per point (24 in 3-D) and about 70 bytes per polyline. 6,000
    frames with 100 polylines of 20 points take 230 MB. ``compute`` and ``results`` score them, and need about twice as
    much again meanwhile.

    Args:
        protocol: The settings, by name or as a ``Protocol``.
        metrics: Names of metrics, as for ``evaluate``. If None, all that the protocol has settings for.
        classes: Class names of integer labels, in order. If None, labels must be names, because repositories number
            their classes differently. The protocol defines which classes are evaluated.
        degenerate: What to do with instances that are not polylines (fewer than two points, or a number that is not
            finite). ``"strict"`` raises an error. ``"drop"`` leaves them out and counts them.
        repeated: What to do with a token that was seen before. ``"error"`` raises an error, because a forgotten
            ``reset`` would count frames twice. ``"drop"`` leaves the frame out and counts it, for samplers that repeat
            frames to fill batches.

    >>> import mapgauge as mg
    >>> accumulator = mg.Accumulator("paper-60x30", classes=["divider", "ped_crossing", "boundary"])
    >>> predictions = [{"polylines": [[[0, 0.5], [9, 0.5]]], "labels": [0], "confidence": [1.0]}]
    >>> accumulator.update(predictions, [{"polylines": [[[0, 0], [9, 0]]], "labels": [0]}])
    >>> accumulator.update([{"polylines": [], "labels": [], "confidence": []}], [{"polylines": [], "labels": []}])
    >>> len(accumulator), round(accumulator.compute()["pld/mean"], 3)
    (2, 0.667)
    """

    def __init__(
        self,
        protocol: str | Protocol = "paper-60x30",
        *,
        metrics: Sequence[str] | None = None,
        classes: Sequence[str] | None = None,
        degenerate: Degenerate = "strict",
        repeated: Repeated = "error",
    ) -> None:
        """Check the settings and begin without frames."""
        for name, value, kind in (("degenerate", degenerate, Degenerate), ("repeated", repeated, Repeated)):
            if value not in get_args(kind):
                raise InvalidInput(f"{name} must be {' or '.join(map(repr, get_args(kind)))}, got {value!r}")
        settings = protocol_of(protocol)
        self.numbers: tuple[str, ...] | None = names_of_numbers(classes, settings)
        if settings.classes is None:
            settings = settings.replace(classes=self.numbers)
        assert settings.classes is not None
        self.settings: ScoringSettings = ScoringSettings(settings, chosen_metrics(settings, metrics), settings.classes)
        self.degenerate: Degenerate = degenerate
        self.repeated: Repeated = repeated
        self.reset()

    def reset(self) -> None:
        """Remove all frames."""
        self._rows: list[BatchRows] = []
        self._seen: set[str] = set()
        self._repeats = 0
        self._of_scenes: tuple[BatchRows, Scores, tuple[Finding, ...]] | None = None

    def fresh(self) -> "Accumulator":
        """Return an accumulator with the same settings, without frames."""
        other = copy(self)
        other.reset()
        return other

    def __len__(self) -> int:
        return sum(len(rows.tokens) for rows in self._rows)

    def __repr__(self) -> str:
        protocol = full_name(self.settings.protocol)
        metrics = ", ".join(self.settings.metrics)
        return f"<Accumulator {protocol}: {metrics} of {counted(len(self), 'frame')}>"

    def update(
        self,
        predictions: Batch | MapFrames,
        truth: Batch | MapFrames,
        tokens: Sequence[str] | None = None,
        scenes: Sequence[str] | None = None,
        timestamps: Any = None,
        poses: Any = None,
    ) -> None:
        """Score a batch and keep its rows.

        Args:
            predictions: One dictionary per frame: ``polylines``, a sequence of ``(n, 2 or 3)`` arrays in metres or one
                ``(polylines, n, 2 or 3)`` array; ``labels``, names or whole numbers; ``confidence``, numbers in [0, 1].
                For metrics that need tracks also ``tracks``, whole numbers or texts: an object has the same id in all
                frames of its scene. For metrics of lane graphs also ``links``, an array ``(polylines, polylines)`` of
                scores in [0, 1]: entry ``[i, j]`` says that lane i leads into lane j, or that traffic element j applies
                to lane i. Arrays of any library and tensors on any device are accepted. Or ``MapFrames``.
            truth: The truth of the same frames in the same order, without confidences. It may have ``ignore``, a flag
                for each polyline that is neither found nor missed. Or ``MapFrames``, which are aligned by token.
            tokens: The name of each frame. With tokens, repeated frames are detected, and results can be compared frame
                by frame. ``MapFrames`` have their own tokens.
            scenes: The scene of each frame, for intervals over scenes. Metrics of scenes need it.
            timestamps: The time of each frame as a whole number, or its number in its scene. Metrics of scenes need it,
                because the frames of a scene may arrive in any order.
            poses: The motion from each frame to the world, ``(frames, 4, 4)``. Some metrics of scenes need it.
        """
        rows = self.score(predictions, truth, tokens=tokens, scenes=scenes, timestamps=timestamps, poses=poses)
        self.add(rows)

    def score(
        self,
        predictions: Batch | MapFrames,
        truth: Batch | MapFrames,
        *,
        tokens: Sequence[str] | None = None,
        scenes: Sequence[str] | None = None,
        timestamps: Any = None,
        poses: Any = None,
    ) -> BatchRows:
        """Score a batch without keeping its rows, which ``add`` takes. Repeated tokens are not detected."""
        protocol, metrics, classes = self.settings
        if isinstance(predictions, MapFrames) and isinstance(truth, MapFrames):
            if any(value is not None for value in (tokens, scenes, timestamps, poses)):
                raise InvalidInput(
                    "tokens, scenes, timestamps and poses are not allowed with MapFrames, which have their own",
                    remedy="Leave them out",
                )
            read = _given_frames(predictions, truth)
        elif isinstance(predictions, MapFrames) or isinstance(truth, MapFrames):
            raise InvalidInput("predictions and truth must both be MapFrames, or both lists of dicts")
        else:
            read = self._frames_of(predictions, truth, tokens, scenes=scenes, timestamps=timestamps, poses=poses)
        x = read.predictions
        y = read.truth
        lacks_frame = [token not in x.index for token in y.tokens]
        tally = np.stack([*read.dropped, lacks_frame], axis=1).astype(np.int64)
        aligned = align(x, y, classes=classes)
        check_boxes_of(protocol, *aligned)
        check_linked(metrics, *aligned)
        hashes = np.zeros((len(y), 2, HASH_BYTES), np.uint8)  # of the frames before they are aligned
        for k, (side, tracks) in enumerate(zip((x, y), uses_tracks(metrics), strict=True)):
            places = [y.index[token] for token in side.tokens]
            names = tuple(read.tokens[i] for i in places)
            joined = b"".join(frame_hashes(side, names, tracks=tracks))
            hashes[places, k] = np.frombuffer(joined, np.uint8).reshape(-1, HASH_BYTES)
        sides = cropped(*aligned, protocol)
        scores = score_frames(Data.of(*sides, protocol), self.settings.of("frame"), workers=None)
        of_scenes = self.settings.of("scene")
        kept = None
        if of_scenes:
            kept = SceneFrames.of(*sides, of_scenes)
        return BatchRows(scores, tally, read.tokens, scenes=read.scenes, hashes=hashes, kept=kept)

    def _frames_of(
        self,
        predictions: Batch,
        truth: Batch,
        tokens: Sequence[str] | None,
        *,
        scenes: Sequence[str] | None,
        timestamps: Any,
        poses: Any,
    ) -> _Read:
        """Return the frames of a batch of dictionaries."""
        labels = tuple(dict.fromkeys((*self.settings.classes, *(self.numbers or ()))))
        boxes = self.settings.protocol.boxes
        x, less_x = frames_from_batch(
            predictions, SIDES[0], labels, numbers=self.numbers, degenerate=self.degenerate, scored=True, boxes=boxes
        )
        y, less_y = frames_from_batch(
            truth, SIDES[1], labels, numbers=self.numbers, degenerate=self.degenerate, scored=False, boxes=boxes
        )
        if len(x) != len(y):
            raise InvalidInput(
                f"{counted(len(x), 'prediction')} for {counted(len(y), 'frame')} of truth, "
                "expected a dict per frame on both sides"
            )
        check_sides(x, y)
        names = _texts("tokens", tokens, len(y))
        scene_names = _texts("scenes", scenes, len(y))
        y = replace(
            y,
            scenes=None if scenes is None else scene_names,
            timestamps=None if timestamps is None else _times(timestamps, len(y)),
            poses=None if poses is None else _poses(poses, len(y)),
        )
        return _Read(x, y, dropped=(less_x, less_y), tokens=names, scenes=scene_names)

    def merge(self, other: "Accumulator") -> None:
        """Add the frames of another accumulator with the same settings. The other accumulator does not change."""
        if not isinstance(other, Accumulator):
            raise InvalidInput(f"cannot merge a {type(other).__name__}, expected an Accumulator")
        if other.settings != self.settings:
            raise InvalidInput(f"cannot merge {other!r} into {self!r}: their settings differ")
        repeats = other._repeats
        if len(other):
            self.add(other.rows())
        self._repeats += repeats

    def add(self, rows: BatchRows) -> None:
        """Add rows of an accumulator with the same settings. Frames without a name count as new."""
        if self.repeated == "error":
            refuse_repeated(rows.tokens, self._seen)
        again = repeated_in(rows.tokens, self._seen)
        new = sorted(set(range(len(rows.tokens))).difference(again))
        if new:
            self._rows.append(rows.at(new) if again else rows)
        self._seen.update(filter(None, rows.tokens))
        self._repeats += len(again)

    def rows(self) -> BatchRows:
        """Return the rows of all frames, for callers that transfer them between processes."""
        if not self._rows:
            raise InvalidInput("no frames to compare", remedy="Call update first")
        if len(self._rows) > 1:
            self._rows = [BatchRows.concatenate(self._rows)]
        return self._rows[0]

    def compute(self) -> dict[str, float]:
        """Return the values of all classes and their means, with the flat keys of ``mapgauge.results.flat``."""
        return flat(self.results())

    def results(self) -> Results:
        """Return the results of ``evaluate`` for these frames, without the geometry and without the checks of files."""
        rows = self.rows()
        (protocol, metrics, classes) = self.settings
        sides = rows.scores.predicted, rows.scores.true
        counts = [dict(zip(classes, side.sum(axis=0).tolist(), strict=True)) for side in sides]
        x, y = (Input("", "", len(rows.tokens), counts=count, hash=rows.hash_of(k)) for k, count in enumerate(counts))
        tokens = tuple(token or f"#{i}" for i, token in enumerate(rows.tokens))
        scores, findings = self._whole(rows, tokens)
        dropped = []
        for side, count in zip(SIDES, rows.tally[:, :2].sum(axis=0).tolist(), strict=True):
            if count:
                instances = counted(count, "instance")
                text = f"{side}: {instances} dropped with fewer than 2 points or a number that is not finite"
                dropped.append(Finding("warning", "dropped-degenerate", text, count=count))
        if self._repeats:
            text = f"{counted(self._repeats, 'frame')} dropped with a token that was seen before"
            dropped.append(Finding("note", "dropped-repeated", text, count=self._repeats))
        return Results(
            protocol=protocol,
            metrics=metrics,
            class_names=classes,
            ranges=(),
            records=InputRecords.known(x, y),
            frames_missing=int(rows.tally[:, 2].sum()),
            frames_ignored=0,
            findings=(*dropped, *findings),
            version=__version__,
            totals_from=partial(Totals.of, scores, protocol),
            rows=MemoryRows(tokens, rows.scenes if all(rows.scenes) else None, scores),
            date=checked_metadata(given=None)[0],
        )

    def _whole(self, rows: BatchRows, tokens: tuple[str, ...]) -> tuple[Scores, tuple[Finding, ...]]:
        """Return the rows of all metrics. Scenes are scored once, unless frames are added."""
        if rows.kept is None:
            return rows.scores, ()
        if self._of_scenes is None or self._of_scenes[0] is not rows:
            protocol, metrics, _ = self.settings
            scores, findings = rows.kept.scored(
                protocol, self.settings.of("scene"), rows.tokens, names=tokens, hashes=rows.hashes
            )
            self._of_scenes = rows, rows.scores.and_metrics(scores, metrics), findings
        return self._of_scenes[1:]
