"""The error map: how often each piece of the road was seen and found, from all frames that have a pose."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.arguments import check_number
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.features.error_map.pieces import Pieces, grid_keys, pieces_of, samples_of
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.poses import take_poses
from mapgauge.geometry.polylines import ranges
from mapgauge.geometry.poses import check_poses
from mapgauge.metrics.assigned import assigned
from mapgauge.metrics.groups import Block
from mapgauge.protocols import Protocol
from mapgauge.results.comparison import check_comparable, method_names
from mapgauge.results.results import Results
from mapgauge.results.scene_order import frames_by_scene
from mapgauge.scoring.data import Sides
from mapgauge.truth.poses import read_poses
from mapgauge.typing import Confidences, Floats, Indices, Progress

if TYPE_CHECKING:
    from mapgauge.features.error_map.places import Place

CONFIDENCE = 0.0  # every match counts, as in completeness
NOT_FOUND = -1.0  # the confidence of a piece that is not matched
_FAR = 1e9  # metres from the origin of the world


class Found(NamedTuple):
    """How one method found the pieces, in the order of ``ErrorMap.seen_piece``."""

    confidence: Confidences  # of the prediction that found the piece; NOT_FOUND if none did
    across: NDArray[np.float32]  # metres beside the true line; NaN if it was not found


class Counts(NamedTuple):
    """What happened to each piece over all frames, for one method and one least confidence."""

    found: Indices  # number of frames that found it
    offset: Floats  # metres: median over these frames; NaN if there is none
    flips: Indices  # how often it was found in one of two frames in a row, and not in the other


@dataclass(frozen=True, eq=False)
class ErrorMap:
    """The pieces of the road, and how often methods found them.

    ``seen_piece`` and ``seen_frame`` have a row for each piece and each frame that saw it, sorted by piece and then by
    scene and time.
    """

    names: tuple[str, ...]  # of the methods
    classes: tuple[str, ...]
    tokens: tuple[str, ...]
    scenes: tuple[str, ...] | None  # the scene of each frame
    poses: NDArray[np.float64]  # (frames, 4, 4)
    pieces: Pieces
    seen_piece: NDArray[np.int32]
    seen_frame: NDArray[np.int32]
    in_a_row: NDArray[np.bool_]  # whether the next row is the same piece in the next frame of the scene
    methods: tuple[Found, ...]
    confidence: float  # a match counts from this confidence of its prediction
    cutoff: float  # metres: matched points are closer
    kept: dict[float, tuple[Counts, ...]] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        """Summary in one line."""
        length = float(self.pieces.length.sum()) / 1000
        return (
            f"<ErrorMap of {', '.join(self.names)}: {len(self.pieces.x):,} pieces, {length:.2f} km, "
            f"{len(self.tokens):,} frames, confidence at least {self.confidence:g}>"
        )

    @cached_property
    def offsets(self) -> Indices:
        """The rows of piece p are ``offsets[p]:offsets[p + 1]``."""
        return np.searchsorted(self.seen_piece, np.arange(len(self.pieces.x) + 1))

    @cached_property
    def seen(self) -> Indices:
        """The number of frames that saw each piece."""
        seen: Indices = np.diff(self.offsets)
        return seen

    @cached_property
    def pairs(self) -> Indices:
        """How often two frames in a row saw each piece: as many flips are possible."""
        return self._sums(self.in_a_row)

    def at(self, confidence: float) -> "ErrorMap":
        """Return the map for another least confidence. Nothing is matched again."""
        return replace(self, confidence=_checked(confidence))

    def counts(self, method: int = 0, confidence: float | None = None) -> Counts:
        """Return what happened to each piece, for a method by its index."""
        least = self.confidence if confidence is None else _checked(confidence)
        if least not in self.kept:
            self.kept[least] = tuple(self._count(k, least) for k in range(len(self.methods)))
        return self.kept[least][method]

    def found(self, method: int, confidence: float) -> Indices:
        """Return the number of frames that found each piece. This is faster than ``counts``."""
        return self._sums(self.is_found(method, confidence))

    def shares(self, method: int = 0) -> Floats:
        """Return the share of the frames that saw each piece and did not find it."""
        shares: Floats = 1 - self.counts(method).found / self.seen
        return shares

    def frames(self, piece: int) -> list[str]:
        """Return the tokens of the frames that saw a piece, by scene and time."""
        count = len(self.pieces.x)
        if not 0 <= piece < count:
            raise InvalidInput(f"piece must be a whole number from 0 to {count - 1}, got {piece!r}")
        rows = slice(self.offsets[piece], self.offsets[piece + 1])
        return [self.tokens[frame] for frame in self.seen_frame[rows].tolist()]

    def index(self, name: str) -> int:
        """Return the index of a method by its name."""
        if name not in self.names:
            raise InvalidInput(f"no method {name!r}. Available: {', '.join(self.names)}")
        return self.names.index(name)

    def columns(self, name: str | None = None) -> dict[str, NDArray[Any]]:
        """Return a column for each value, with a row for each piece.

        Args:
            name: The method. If None, the first one.

        Returns:
            ``class``, ``x`` and ``y`` (the middle, in metres in the world), ``length`` (metres), ``seen`` and ``found``
            (numbers of frames), ``not_found`` (the share of the frames that saw it and did not find it), ``offset``
            (metres beside the true line, the median over the frames that found it, NaN without any), ``pairs`` (how
            often two frames in a row saw it) and ``flips`` (how often one of two found it and the other did not). For a
            method after the first, ``difference`` is its ``not_found`` less that of the first.
        """
        method = 0 if name is None else self.index(name)
        counts = self.counts(method)
        columns: dict[str, NDArray[Any]] = {
            "class": np.array(self.classes, object)[self.pieces.label],
            "x": self.pieces.x,
            "y": self.pieces.y,
            "length": self.pieces.length,
            "seen": self.seen,
            "found": counts.found,
            "not_found": self.shares(method),
            "offset": counts.offset,
            "pairs": self.pairs,
            "flips": counts.flips,
        }
        if method:
            columns["difference"] = self.shares(method) - self.shares(0)
        return columns

    def worst(self, name: str | None = None, **how: Any) -> "list[Place]":
        """Return the worst places of a method: ``kind="missed"``, ``"beside"`` or ``"difference"``.

        The arguments are those of ``worst_places``, whose help says how places are found and ranked.
        """
        from mapgauge.features.error_map.places import worst_places

        return worst_places(self, name, **how)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all pieces as lines: GeoJSON (``.geojson``, ``.json``) or GeoParquet (``.parquet``).

        There is a row for each piece and method. Coordinates are metres in the world.
        """
        from mapgauge.features.error_map.writing import save_map

        save_map(self, Path(path))

    def is_found(self, method: int = 0, confidence: float | None = None) -> NDArray[np.bool_]:
        """Return whether each frame found each piece that it saw, in the order of ``seen_piece``."""
        least = self.confidence if confidence is None else _checked(confidence)
        # A piece without a match has the confidence -1, so it is not found with a least confidence of 0.
        return self.methods[method].confidence >= least

    def _count(self, method: int, least: float) -> Counts:
        flags = self.is_found(method, least)
        flips = np.zeros(len(flags), np.bool_)
        flips[:-1] = self.in_a_row[:-1] & (flags[1:] != flags[:-1])
        return Counts(self._sums(flags), self._medians(flags, self.methods[method].across), self._sums(flips))

    def _sums(self, flags: NDArray[np.bool_]) -> Indices:
        """Return the number of rows of each piece that have a flag."""
        before = np.concatenate([[0], np.cumsum(flags, dtype=np.int64)])
        sums: Indices = np.diff(before[self.offsets])
        return sums

    def _medians(self, flags: NDArray[np.bool_], values: NDArray[np.float32]) -> Floats:
        """Return the median of the flagged rows of each piece; NaN without any."""
        piece = self.seen_piece[flags]
        some = values[flags].astype(np.float64)
        some = some[np.lexsort((some, piece))]
        count = np.bincount(piece, minlength=len(self.pieces.x))
        first = np.cumsum(count) - count
        median = np.full(len(count), np.nan)
        there = np.flatnonzero(count)
        lower = some[(first + (count - 1) // 2)[there]]
        upper = some[(first + count // 2)[there]]
        median[there] = (lower + upper) / 2
        return median


def error_map(
    results: Results | Sequence[Results],
    *,
    names: Sequence[str] | None = None,
    confidence: float = CONFIDENCE,
    cutoff: float | None = None,
    poses: MapFrames | str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> ErrorMap:
    """Return how often each piece of the road was seen and found, over all frames.

    Every true line of every frame is placed in the world by the pose of its frame, and cut into pieces of half a metre
    that are the same from frame to frame. A frame *saw* a piece if one of its true lines, as it was compared, runs
    through it. It *found* the piece if the nearest point of that line is matched by PLD's assignment: to a point of the
    prediction that the line is assigned to, closer than the cutoff, with a confidence of at least ``confidence``. If
    several lines of the class run through the piece, all must be found.

    Args:
        results: Results of one method, or of several on the same truth. They need their data
            (``Results.with_data``) and poses.
        names: Names of the methods; None uses the file names.
        confidence: The least confidence of the prediction, from 0 to 1.
        cutoff: SOSPA cutoff in metres. If None, the first cutoff of the protocol.
        poses: Frames with poses, or a file of poses, if the data have none.
        workers: Number of threads; None for one per processor.
        progress: Called with the number of frames done so far and their total.

    Returns:
        The map. It does not depend on the order of the frames or on the number of workers.

    >>> import mapgauge as mg
    >>> from mapgauge.demo import demo_world
    >>> made = mg.error_map(mg.evaluate(*demo_world(20)))
    >>> columns = made.columns()
    >>> list(columns)
    ['class', 'x', 'y', 'length', 'seen', 'found', 'not_found', 'offset', 'pairs', 'flips']
    >>> bool((columns["found"] <= columns["seen"]).all())
    True
    """
    least = _checked(confidence)
    methods = [results] if isinstance(results, Results) else list(results)
    called = method_names(methods, names)
    check_comparable(methods, called, metrics=False)
    first = methods[0]
    ordered = [first, *(_in_order_of(first, method) for method in methods[1:])]
    length = first.cutoff_or_first(cutoff)
    sides = first.need_data().sides
    drive = drive_of(first, sides, poses)
    assert drive.poses is not None
    locate = [f"{drive.name or 'poses'}: the pose of frame {token}" for token in drive.tokens]
    motions = check_poses(drive.poses, len(drive), locate.__getitem__)
    _check_place(motions, drive)
    total = len(first.tokens) * len(methods)
    sampled = []
    for k, method in enumerate(ordered):

        def advance(done: int, _: int, before: int = k * len(first.tokens)) -> None:
            if progress is not None:
                progress(before + done, total)

        sampled.append(_sampled(method, length, motions, workers=workers, progress=advance))
    made, seen = _joined(sampled, _positions(first, drive))
    return ErrorMap(
        names=called,
        classes=first.class_names,
        tokens=first.tokens,
        scenes=drive.scenes or first.scenes,
        poses=motions,
        pieces=made,
        seen_piece=seen.piece.astype(np.int32),
        seen_frame=seen.frame.astype(np.int32),
        in_a_row=seen.in_a_row,
        methods=seen.methods,
        confidence=least,
        cutoff=length,
    )


def has_poses(results: Results) -> bool:
    """Whether the data of results have poses. Results without their data have none."""
    if results.geometry is None:
        return False
    return any(side.poses is not None for side in results.geometry.all_sides)


def drive_of(results: Results, sides: Sides, poses: MapFrames | str | os.PathLike[str] | None) -> MapFrames:
    """Return frames in the order of the tokens of results, with poses: those given, of the truth, or of predictions."""
    x, y = sides
    bare = replace(y, history=None)
    if poses is not None:
        others = poses if isinstance(poses, MapFrames) else read_poses(Path(poses), y)
        return take_poses(bare, others)
    if y.poses is not None:
        return bare
    if x.poses is not None:
        return replace(bare, poses=x.poses, scenes=y.scenes or x.scenes)
    raise InvalidInput(
        f"{results.origin or y.name or 'the results'}: no poses, so the true lines have no place in the world",
        remedy=Remedy(
            "Pass poses= with a file of poses, or evaluate truth that has poses",
            "Give a file with --poses, or evaluate again with the poses of the truth: TRUTH,poses=FILE",
        ),
    )


def _checked(confidence: float) -> float:
    least = check_number("confidence", confidence, "a number from 0 to 1")
    if not 0 <= least <= 1:
        raise InvalidInput(f"confidence must be a number from 0 to 1, got {confidence!r}")
    return least


def _check_place(motions: NDArray[np.float64], drive: MapFrames) -> None:
    """Refuse poses that are not on the Earth."""
    far = np.flatnonzero(np.abs(motions[:, :3, 3]).max(axis=1, initial=0.0) > _FAR)
    if len(far):
        raise InvalidInput(
            f"{drive.name or 'poses'}: the pose of frame {drive.tokens[int(far[0])]} is more than {_FAR:g} m from the "
            "origin",
            remedy="Check that the poses are in metres",
        )


def _in_order_of(first: Results, method: Results) -> Results:
    """Return results with the frames in the order of those of another method."""
    if method.tokens == first.tokens:
        return method
    place = {token: k for k, token in enumerate(method.tokens)}
    return method.of_frames([place[token] for token in first.tokens])


class _Sampled(NamedTuple):
    """The samples of one method."""

    keys: Indices
    place: Floats  # on the grid line, metres
    slope: Floats
    frame: NDArray[np.int32]
    confidence: Confidences
    across: NDArray[np.float32]


class _Seen(NamedTuple):
    """Pieces and the frames that saw them."""

    piece: Indices
    frame: Indices
    in_a_row: NDArray[np.bool_]
    methods: tuple[Found, ...]


def _sampled(
    results: Results,
    cutoff: float,
    motions: NDArray[np.float64],
    workers: int | None,
    progress: Progress,
) -> _Sampled:
    """Return the samples of all frames, in their order."""
    protocol = results.protocol

    def work(block: Block) -> _Sampled:
        return _of_block(block, protocol, cutoff, motions=motions[block.frames])

    known = results.scores
    parts = results.need_data().in_blocks(work, known=known, workers=workers, progress=progress)
    return _Sampled._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _of_block(block: Block, protocol: Protocol, cutoff: float, motions: NDArray[np.float64]) -> _Sampled:
    """Return the samples of some frames. ``motions`` are their poses."""
    groups = block.lines
    matches = assigned(groups, protocol, cutoff)
    prediction_of = np.full(len(groups.row), -1)
    predicted, true = matches.pairs
    prediction_of[true] = predicted
    rows = np.flatnonzero(~groups.is_prediction)
    count = np.maximum(np.diff(groups.offsets)[rows] - 1, 0)
    start = ranges(groups.offsets[rows], count)
    line = np.repeat(rows, count)
    of_group = groups.side // 2
    frame = groups.frame[of_group[line]]
    points = groups.points
    begin = _moved(points[:, start], motions[frame])
    end = _moved(points[:, start + 1], motions[frame])
    samples = samples_of(begin, end)
    line = line[samples.segment]
    segment = start[samples.segment]
    nearest = segment + samples.at_end
    # The last point of a closed line repeats the first, and only the first is matched.
    closing = groups.repeats[line] & (nearest == groups.offsets[line + 1] - 1)
    nearest = np.where(closing, groups.offsets[line], nearest)
    partner = matches.partner[nearest]
    is_found = (partner >= 0) & (prediction_of[line] >= 0)
    confidence = np.where(is_found, groups.confidence[prediction_of[line]], NOT_FOUND)
    # The distance at right angles to the segment of the true line.
    along = points[:2, segment + 1] - points[:2, segment]
    away = points[:2, partner] - points[:2, nearest]
    size = np.sqrt(along[0] * along[0] + along[1] * along[1])
    product = np.abs(along[0] * away[1] - along[1] * away[0])
    across = np.full(len(line), np.nan, np.float32)
    across[is_found] = product[is_found] / size[is_found]
    label = groups.label[of_group[line]]
    return _Sampled(
        keys=grid_keys(label, samples.along_x, samples.line),
        place=samples.across,
        slope=samples.slope,
        frame=(frame[samples.segment] + block.frames.start).astype(np.int32),
        confidence=confidence,
        across=across,
    )


def _moved(points: Floats, motions: NDArray[np.float64]) -> Floats:
    """Return points ``(dimension, n)`` in the world, ``(n, 2)``. The pose of flat points has no roll and no pitch."""
    if len(points) == 2:
        cosine = motions[:, 0, 0]
        sine = motions[:, 1, 0]
        size = np.sqrt(cosine * cosine + sine * sine)
        upright = size > 0
        cosine = np.where(upright, cosine / np.where(upright, size, 1.0), 1.0)
        sine = np.where(upright, sine / np.where(upright, size, 1.0), 0.0)
        x = cosine * points[0] - sine * points[1]
        y = sine * points[0] + cosine * points[1]
    else:
        x, y = (
            motions[:, k, 0] * points[0] + motions[:, k, 1] * points[1] + motions[:, k, 2] * points[2] for k in (0, 1)
        )
    return np.stack([x + motions[:, 0, 3], y + motions[:, 1, 3]], axis=1)


def _positions(results: Results, drive: MapFrames) -> Indices:
    """Return a number for each frame, which is one more than that of the frame before it in its scene."""
    count = len(drive)
    scenes: Mapping[str, Sequence[int]] = frames_by_scene(drive if drive.scenes is not None else results)
    if not scenes:
        return 2 * np.arange(count)  # no frame follows another
    position = np.zeros(count, np.int64)
    at = 0
    for _, frames in sorted(scenes.items()):
        position[frames] = at + np.arange(len(frames))
        at += len(frames) + 1
    return position


def _joined(sampled: Sequence[_Sampled], position: Indices) -> tuple[Pieces, _Seen]:
    """Return the pieces of all samples, and the frames that saw each piece, with the matches of each method."""
    first = sampled[0]
    for other in sampled[1:]:
        same = np.array_equal(first.keys, other.keys) and np.array_equal(first.place, other.place)
        if not same:
            raise InvalidInput(
                "the results were compared with different truth, so they have no common map",
                remedy="Evaluate both on the same truth",
            )
    made, piece = pieces_of(first.keys, first.place, first.slope)
    frame = first.frame.astype(np.int64)
    both = piece * (int(position.max(initial=0)) + 2) + position[frame]
    order = np.argsort(both, kind="stable")
    both = both[order]
    begins = np.ones(len(both), np.bool_)
    begins[1:] = np.diff(both) != 0
    rows = np.flatnonzero(begins)
    chosen = order[rows]
    of_row = piece[chosen]
    at = position[frame[chosen]]
    in_a_row = np.zeros(len(rows), np.bool_)
    in_a_row[:-1] = (np.diff(of_row) == 0) & (np.diff(at) == 1)
    methods = []
    for method in sampled:
        if len(rows):
            # All lines of a frame in a piece must be found, so the least confidence and the largest offset count.
            confidence = np.minimum.reduceat(method.confidence[order], rows)
            across = np.maximum.reduceat(method.across[order], rows)
        else:
            confidence = np.zeros(0)
            across = np.zeros(0, np.float32)
        methods.append(Found(confidence, across))
    return made, _Seen(of_row, frame[chosen], in_a_row, tuple(methods))
