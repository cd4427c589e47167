"""The error map: how often each piece of the road was seen and found, from all frames that have a pose."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.features.error_map.counting import NOT_FOUND, CountedPieces, FoundBy, checked_confidence
from mapgauge.features.error_map.pieces import RoadPieces, grid_keys, pieces_of, samples_of
from mapgauge.features.error_map.places import COUNT, ErrorPlace, Kind, worst_places
from mapgauge.features.error_map.writing import save_map
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.poses import take_poses
from mapgauge.geometry.polylines import ranges
from mapgauge.geometry.poses import check_poses
from mapgauge.metrics.assigned import assigned
from mapgauge.metrics.groups import Block
from mapgauge.protocols import Protocol
from mapgauge.results.bootstrap import SAMPLES
from mapgauge.results.comparison import check_comparable, method_names
from mapgauge.results.intervals import LEVEL
from mapgauge.results.results import Results
from mapgauge.results.scene_order import frames_by_scene
from mapgauge.scoring.data import BlockWork, Sides
from mapgauge.truth.poses import read_poses
from mapgauge.typing import Confidences, Floats, Indices, Progress

CONFIDENCE = 0.0  # every match counts, as in completeness
_FAR = 1e9  # metres from the origin of the world


@dataclass(frozen=True, eq=False, repr=False)
class ErrorMap(CountedPieces):
    """The pieces of the road, how often methods found them, and the worst places.

    ``columns`` has the values of all pieces, and ``frames`` the frames that saw one of them. ``at`` returns the map for
    another least confidence.
    """

    def worst(
        self,
        name: str | None = None,
        *,
        kind: Kind = "missed",
        count: int = COUNT,
        samples: int = SAMPLES,
        level: float = LEVEL,
        seed: int = 0,
    ) -> list[ErrorPlace]:
        """Return the worst places of a method: connected runs of pieces.

        A run is connected: the middles of two pieces in a row are at most one metre apart, and all have the same class.

        - ``"missed"``: pieces that half of the frames that saw them did not find, or more. The run with the largest
          length not found comes first. This is the sum over its pieces of the length times the share of the frames.
        - ``"beside"``: pieces that half of the frames or more found, in the median at least half a metre beside the
          true line. The run with the largest sum of length times offset comes first.
        - ``"difference"``: pieces whose share not found is larger than that of the first method by 0.25 or more. The
          run with the largest sum of length times difference comes first.
        - ``"gained"``: the same for a share that is smaller by 0.25 or more.

        The share of a place is that of all its pieces in all frames that saw them, by length. Its interval comes from
        a bootstrap over the scenes that saw the place. A place that fewer than five scenes saw has none.

        Args:
            name: The method. If None, the first one; for ``"difference"`` and ``"gained"``, the last one.
            kind: Which places.
            count: Largest number of places.
            samples: Number of bootstrap samples.
            level: The probability with which an interval covers the true value.
            seed: Seed of the draws.
        """
        return worst_places(self, name, kind=kind, count=count, samples=samples, level=level, seed=seed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all pieces as lines: GeoJSON (``.geojson``, ``.json``) or GeoParquet (``.parquet``).

        There is a row for each piece and method. Coordinates are metres in the world.
        """
        save_map(self, Path(path))


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
    least = checked_confidence(confidence)
    methods = [results] if isinstance(results, Results) else list(results)
    called = method_names(methods, names)
    check_comparable(methods, called, metrics=False)
    first = methods[0]
    ordered = [first, *(_in_order_of(first, method) for method in methods[1:])]
    length = first.cutoff_or_first(cutoff)
    drive = drive_of(first, first.need_data().sides, poses)
    motions = motions_of(drive)
    total = len(first.tokens) * len(methods)
    sampled = []
    for k, method in enumerate(ordered):

        def advance(done: int, _: int, before: int = k * len(first.tokens)) -> None:
            if progress is not None:
                progress(before + done, total)

        sampled.append(_sampled(method, length, motions, workers=workers, progress=advance))
    order = _positions(first, drive)
    made, seen = _joined(sampled, order)
    return ErrorMap(
        names=called,
        classes=first.class_names,
        tokens=first.tokens,
        scenes=drive.scenes or first.scenes,
        poses=motions,
        pieces=made,
        seen_piece=seen.piece.astype(np.int32),
        seen_frame=seen.frame.astype(np.int32),
        order=order,
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


def has_errors(results: Results) -> bool:
    """Whether a finding says that the numbers of a method cannot be trusted. Then no sentence says anything of it."""
    return any(finding.level == "error" for finding in results.findings)


def drive_of_sides(sides: Sides) -> MapFrames | None:
    """Return the truth with its poses, or with those of the predictions; None if neither has some."""
    x, y = sides
    bare = replace(y, history=None)
    if y.poses is not None:
        return bare
    if x.poses is not None:
        return replace(bare, poses=x.poses, scenes=y.scenes or x.scenes)
    return None


def motions_of(drive: MapFrames) -> NDArray[np.float64]:
    """Return the poses of frames as motions, ``(frames, 4, 4)``. Refuse poses that are none."""
    assert drive.poses is not None
    locate = [f"{drive.name or 'poses'}: the pose of frame {token}" for token in drive.tokens]
    motions = check_poses(drive.poses, len(drive), locate.__getitem__)
    _check_place(motions, drive)
    return motions


def drive_of(results: Results, sides: Sides, poses: MapFrames | str | os.PathLike[str] | None) -> MapFrames:
    """Return frames in the order of the tokens of results, with poses: those given, of the truth, or of predictions."""
    _, y = sides
    if poses is not None:
        others = poses if isinstance(poses, MapFrames) else read_poses(Path(poses), y)
        return take_poses(replace(y, history=None), others)
    drive = drive_of_sides(sides)
    if drive is not None:
        return drive
    raise InvalidInput(
        f"{results.origin or y.name or 'the results'}: no poses, so the true lines have no place in the world",
        remedy=Remedy(
            "Pass poses= with a file of poses, or evaluate truth that has poses",
            "Give a file with --poses, or evaluate again with the poses of the truth: TRUTH,poses=FILE",
        ),
    )


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


class _RoadSamples(NamedTuple):
    """The samples of one method."""

    keys: Indices
    place: Floats  # on the grid line, metres
    slope: Floats
    frame: NDArray[np.int32]
    confidence: Confidences
    across: NDArray[np.float32]


class _SeenPieces(NamedTuple):
    """Pieces and the frames that saw them."""

    piece: Indices
    frame: Indices
    in_a_row: NDArray[np.bool_]
    methods: tuple[FoundBy, ...]


def _sampled(
    results: Results,
    cutoff: float,
    motions: NDArray[np.float64],
    workers: int | None,
    progress: Progress,
) -> _RoadSamples:
    """Return the samples of all frames, in their order."""
    work = work_of(results.protocol, cutoff, motions)
    parts = results.need_data().outcomes_of(work, known=results.scores, workers=workers, progress=progress)
    return _RoadSamples._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


def work_of(protocol: Protocol, cutoff: float, motions: NDArray[np.float64]) -> BlockWork:
    """Return what an error map needs from every block of frames. ``motions`` are the poses of all frames."""

    def of_block(block: Block) -> _RoadSamples:
        return _of_block(block, protocol, cutoff, motions=motions[block.frames])

    return BlockWork(("error map", cutoff, motions.tobytes()), of_block)


def _of_block(block: Block, protocol: Protocol, cutoff: float, motions: NDArray[np.float64]) -> _RoadSamples:
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
    begin = _moved(points[:, start], motions, frame)
    end = _moved(points[:, start + 1], motions, frame)
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
    return _RoadSamples(
        keys=grid_keys(label, samples.along_x, samples.line),
        place=samples.across,
        slope=samples.slope,
        frame=(frame[samples.segment] + block.frames.start).astype(np.int32),
        confidence=confidence,
        across=across,
    )


def _moved(points: Floats, motions: NDArray[np.float64], frame: Indices) -> Floats:
    """Return points ``(dimension, n)`` in the world, ``(n, 2)``. The pose of flat points has no roll and no pitch.

    ``motions`` are those of all frames, and ``frame`` is the frame of each point.
    """
    if len(points) == 2:
        cosine = motions[:, 0, 0]
        sine = motions[:, 1, 0]
        size = np.sqrt(cosine * cosine + sine * sine)
        upright = size > 0
        cosine = np.where(upright, cosine / np.where(upright, size, 1.0), 1.0)[frame]
        sine = np.where(upright, sine / np.where(upright, size, 1.0), 0.0)[frame]
        x = cosine * points[0] - sine * points[1]
        y = sine * points[0] + cosine * points[1]
    else:
        x, y = (
            row[frame, 0] * points[0] + row[frame, 1] * points[1] + row[frame, 2] * points[2]
            for row in (motions[:, 0], motions[:, 1])
        )
    return np.stack([x + motions[:, 0, 3][frame], y + motions[:, 1, 3][frame]], axis=1)


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


def _joined(sampled: Sequence[_RoadSamples], position: Indices) -> tuple[RoadPieces, _SeenPieces]:
    """Return the pieces of all samples, and the frames that saw each piece, with the matches of each method."""
    first = sampled[0]
    for other in sampled[1:]:
        same = np.array_equal(first.keys, other.keys) and np.array_equal(first.place, other.place)
        if not same:
            raise InvalidInput(
                "the results have different truth, or truth on different axes, so they have no common map",
                remedy="Evaluate both with the same file of truth",
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
        methods.append(FoundBy(confidence, across))
    return made, _SeenPieces(of_row, frame[chosen], in_a_row, methods=tuple(methods))
