"""``neighbours``: the frames whose truth is nearest to the truth of others by PLD, exactly and without all pairs.

The distance between two frames is the normalised PLD of all their lines, where lines of different classes do not match.
A lower bound of it takes a thirtieth of the time (``kernels``). Frames are compared in the order of their bounds, and a
search ends when the next bound is above the distances found so far. Nothing is approximate. The triangle inequality is
not used, because it excludes almost nothing where most distances are close to 1.
"""

import hashlib
import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.arguments import check_whole
from mapgauge.errors import InvalidInput, Remedy, UnreadableFile
from mapgauge.frames.content import content_hash
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import ranges
from mapgauge.io.files.writing import save
from mapgauge.metrics.groups import group
from mapgauge.metrics.pld import normalised_pld, score_lines
from mapgauge.protocols import Protocol
from mapgauge.protocols import protocol as protocol_of
from mapgauge.scoring.data import in_threads
from mapgauge.scoring.prepare import Frames, loaded, prepare
from mapgauge.typing import Flags, Floats, Indices, Progress

if TYPE_CHECKING:
    from mapgauge.kernels.lines import Lines

CELLS_OF_CUTOFF = 6  # cells of the raster along the cutoff; more make bounds tighter and rasters larger
MOST_CELLS = 1_000_000  # of a raster; in a larger region, cells are larger
STEP = 32  # frames that are compared together
BLOCK = 64  # frames whose neighbours are searched before they are kept
SECONDS = 10  # between two writes of the file of a search
ROUNDING = 1e-9  # a bound and a distance may be rounded differently

_OTHER_FILE = "Name another file, or delete this one"


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest frames of each frame, from the nearest on."""

    tokens: tuple[str, ...]  # the frames
    among: tuple[str, ...]  # the frames that were searched
    nearest: Indices  # (frames, count): indices into ``among``; -1 if there are fewer
    distance: Floats  # (frames, count): normalised PLD, from 0 to 1; NaN if there are fewer
    compared: int  # pairs of frames whose PLD was computed

    @property
    def partners(self) -> list[str]:
        """The token of the nearest frame of each frame; ``""`` if there is none."""
        return ["" if k < 0 else self.among[k] for k in self.nearest[:, 0].tolist()]

    @property
    def pairs(self) -> int:
        """The number of all pairs of frames."""
        return len(self.tokens) * len(self.among)


def neighbours(
    frames: Frames,
    among: Frames | None = None,
    *,
    tokens: Sequence[str] | None = None,
    count: int = 1,
    protocol: str | Protocol = "paper-60x30",
    other_scenes: bool = False,
    work: Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Neighbours:
    """Find the frames whose truth is nearest by PLD. The result equals that of a comparison of all pairs.

    Args:
        frames: Truth, or its file.
        among: The truth to search. If None, the other frames of ``frames``.
        tokens: The frames to find neighbours of. If None, all frames of ``frames``.
        count: Number of neighbours of each frame.
        protocol: The settings of PLD: cutoff, sampling, classes. Its order must be 1.
        other_scenes: Whether to leave out frames of the same scene. Consecutive frames are always alike.
        work: A file (.npz) for the finished frames. A search with the same inputs and settings continues from it.
        workers: Number of threads. If None, the number of processors.
        progress: Called with the number of finished frames and of all frames.

    >>> from mapgauge.demo import demo_world
    >>> _, truth = demo_world(30)
    >>> near = neighbours(truth, tokens=["scene-0001-3"], count=2)
    >>> [near.among[k] for k in near.nearest[0]]
    ['scene-0001-2', 'scene-0001-4']
    """
    settings = protocol_of(protocol)
    count = check_whole("count", count, least=1)
    x = prepared_truth(frames, settings)
    y = None
    if among is not None:
        y = prepared_truth(among, settings)
    return neighbours_of_prepared(
        x,
        y,
        tokens=tokens,
        count=count,
        protocol=settings,
        other_scenes=other_scenes,
        work=work,
        workers=workers,
        progress=progress,
    )


def neighbours_of_prepared(
    x: MapFrames,
    among: MapFrames | None,
    *,
    tokens: Sequence[str] | None = None,
    count: int = 1,
    protocol: Protocol,
    other_scenes: bool = False,
    work: Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    block: int = BLOCK,
    pause: float = SECONDS,
) -> Neighbours:
    """Find the nearest frames between sides from ``prepared_truth``. The arguments are as in ``neighbours``.

    ``block`` frames are searched before they are kept, and ``pause`` is the time between two writes of the file.
    """
    y = x
    if among is not None:
        y = among
    if x.classes != y.classes:
        raise InvalidInput(
            f"both sides must have the same classes, got {', '.join(x.classes)} and {', '.join(y.classes)}"
        )
    _check_axes(x, y)
    if tokens is None:
        chosen = list(range(len(x)))
    else:
        chosen = [x.index[token] for token in x.of_tokens(tokens).tokens]
    index = FrameIndex.of(x, y, protocol)
    if other_scenes and (x.scenes is None or y.scenes is None):
        raise InvalidInput("other_scenes needs frames with scenes", remedy="Read the truth with scenes: scenes=FILE")
    scenes = np.array(y.scenes if other_scenes else ())
    content = [(f"{content_hash(side):x}", side.tokens, side.scenes if other_scenes else None) for side in (x, y)]
    state = _Search(
        f"{content} {protocol.to_dict()} {chosen} {count} {among is None}", work, len(chosen), count=count, pause=pause
    )

    def search(rows: range) -> None:
        for row in rows:
            frame = chosen[row]
            skipped = np.zeros(len(y), np.bool_)
            if other_scenes and x.scenes is not None:
                skipped |= scenes == x.scenes[frame]
            if among is None:
                skipped[frame] = True
            state.write(row, *index.nearest(frame, count, skipped))
        state.save()

    blocks = [range(first, min(first + block, len(chosen))) for first in range(0, len(chosen), block)]
    left = [rows for rows in blocks if (state.compared[rows.start : rows.stop] < 0).any()]
    done = len(blocks) - len(left)

    def advance(finished: int, _: int) -> None:
        if progress is not None:
            progress(min((done + finished) * block, len(chosen)), len(chosen))

    in_threads(search, left, workers, progress=advance)
    named = tuple(x.tokens[frame] for frame in chosen)
    return Neighbours(named, y.tokens, state.nearest, distance=state.distance, compared=int(state.compared.sum()))


def _check_axes(frames: MapFrames, among: MapFrames) -> None:
    """Refuse two sets whose forward axes are known to differ: their lines would be compared across each other."""
    if frames.forward is None or among.forward is None or frames.forward == among.forward:
        return
    degrees = 90
    if among.forward == "y":
        degrees = -90
    first = among.name or "one set"
    second = frames.name or "the other"
    raise InvalidInput(
        f"{first} has {among.forward} forward and {second} has {frames.forward} forward: "
        "their lines cannot be compared",
        remedy=Remedy(f"Use rotate({degrees}) on the first", f"Read the first with {first},rotate={degrees}"),
    )


def prepared_truth(frames: Frames, protocol: Protocol) -> MapFrames:
    """Return truth with the classes of the protocol, cropped if it says so."""
    if not protocol.cutoffs or protocol.order != 1:
        raise InvalidInput(
            f"similar frames need a protocol with PLD of order 1, got {protocol.name}", remedy="Use paper-60x30"
        )
    truth = loaded(frames).with_ignore(ignore=None)
    if truth.confidence is not None:
        raise InvalidInput(
            f"{truth.name or 'the frames'}: neighbours are frames with similar truth, and these are predictions",
            remedy=Remedy("Pass the truth", "Name the file of the truth"),
        )
    if protocol.boxes and protocol.classes is not None:  # boxes in images say nothing about places
        lines = [name for name in protocol.classes if name not in protocol.boxes]
        protocol = protocol.replace(classes=lines, boxes=())
    _, prepared = prepare(truth.with_confidence(1.0), truth, protocol, unknown="error")
    if len(truth.frame) and not len(prepared.frame):  # all frames would be the same
        raise InvalidInput(
            f"{truth.name or 'the truth'}: no lines of {', '.join(prepared.classes)}, the classes of {protocol.name}",
            remedy="Use a protocol with the classes of the truth",
        )
    return prepared


class _Search:
    """What a search has found so far, in memory and in a file."""

    def __init__(self, described: str, file: Path | None, frames: int, *, count: int, pause: float) -> None:
        """Take over what a file has, if it belongs to the same search."""
        self.key = hashlib.sha256(described.encode()).hexdigest()
        self.file = file
        self.pause = pause
        self.nearest: Indices = np.full((frames, count), -1)
        self.distance: Floats = np.full((frames, count), np.nan)
        self.compared: Indices = np.full(frames, -1)  # -1 for frames that are not done
        self._lock = Lock()
        self._saved = monotonic()
        if file is not None and file.exists():
            try:
                with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as arrays:
                    if str(arrays["key"]) != self.key:
                        raise InvalidInput(
                            f"{file}: it belongs to a search of other frames or settings", remedy=_OTHER_FILE
                        )
                    for name in ("nearest", "distance", "compared"):
                        getattr(self, name)[:] = arrays[name]
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
                raise UnreadableFile(f"{file}: expected a file of a search for neighbours: {error}") from error

    def write(self, row: int, nearest: Indices, distance: Floats, compared: int) -> None:
        """Write the neighbours of a frame. Threads write different rows."""
        self.nearest[row, : len(nearest)] = nearest
        self.distance[row, : len(nearest)] = distance
        self.compared[row] = compared

    def save(self) -> None:
        """Write the file, if there is one and some time has passed, or all frames are done."""
        with self._lock:
            if self.file is not None and (monotonic() - self._saved > self.pause or (self.compared >= 0).all()):
                data = io.BytesIO()
                key = np.array(self.key)
                compared = self.compared.copy()  # first, because other threads write frames meanwhile
                np.savez(data, key=key, compared=compared, nearest=self.nearest, distance=self.distance)
                save(self.file, data.getvalue())
                self._saved = monotonic()


@dataclass(frozen=True, eq=False, kw_only=True)
class FrameIndex:
    """Two sets of frames, resampled, with what bounds and distances between them need."""

    lines: "Lines"  # of both sets
    closed: Flags
    own: Indices  # (frames, classes, 2): first line and end of each class of the first set
    others: Indices  # the same for the second set
    cells: NDArray[np.int32]  # the cell of the raster of each point
    corner: Floats
    cell: float
    shape: tuple[int, int]
    ends: Indices  # (2, lines): the first point and the end of each line
    rank: Indices  # the place of each frame of the second set in the order of tokens, which decides ties
    protocol: Protocol

    @classmethod
    def of(cls, x: MapFrames, y: MapFrames, protocol: Protocol) -> "FrameIndex":
        """Resample both sets."""
        from mapgauge.features.splits.kernels import write_cells

        groups = [group(side.keep(np.zeros(0, np.int64)).with_confidence(1.0), side, protocol) for side in (x, y)]
        shift = [0, groups[0].points.shape[1]]
        start, stop = (
            np.concatenate([bound + first for bound, first in zip(bounds, shift, strict=True)]).astype(np.uint64)
            for bounds in ([g.offsets[:-1] for g in groups], [g.offsets[1:] - g.repeats for g in groups])
        )
        points = np.concatenate([g.points for g in groups], axis=1)
        lines = kernels.lines.index_lines(points, start, stop)
        own, others = (g.bounds[:, 1:].reshape(-1, max(g.classes, 1), 2) for g in groups)
        half = protocol.cutoffs[0] / 2
        seen = points[:2, : shift[1]]
        low = np.zeros(2)
        high = np.ones(2)
        if seen.size:
            low = seen.min(axis=1) - half
            high = seen.max(axis=1) + half
        cell = max(protocol.cutoffs[0] / CELLS_OF_CUTOFF, float(np.sqrt(np.prod(high - low) / MOST_CELLS)))
        width, height = (np.floor((high - low) / cell).astype(int) + 1).tolist()
        cells = np.empty(points.shape[1], np.int32)
        write_cells(points, low, cell, width=width, height=height, cells=cells)
        closed = np.concatenate([g.closed for g in groups])
        rank = np.argsort(np.argsort(np.array(y.tokens)))
        others = others + len(groups[0].closed)
        ends = np.stack([start, stop]).astype(np.int64)
        return cls(
            lines=lines,
            closed=closed,
            own=own,
            others=others,
            cells=cells,
            corner=low,
            cell=cell,
            shape=(width, height),
            ends=ends,
            rank=rank,
            protocol=protocol,
        )

    def bounds(self, frame: int, among: Indices | slice = slice(None)) -> Floats:
        """Return lower bounds of the distances from a frame of the first set to frames of the second."""
        from mapgauge.features.splits.kernels import bound_distances, draw_distances

        start, stop = self.ends
        half = self.protocol.cutoffs[0] / 2
        own = self.own[frame]
        # A raster for each class: the distance of each cell to the lines of the frame, at most half of the cutoff. The
        # last entry is for points outside.
        width, height = self.shape
        rasters = np.full((len(own), width * height + 1), half)
        for raster, (first, end) in zip(rasters, own.tolist(), strict=True):
            draw_distances(
                self.lines.points,
                start,
                stop,
                first=first,
                last=end,
                corner=self.corner,
                cell=self.cell,
                half=half,
                raster=raster[:-1].reshape(width, height),
            )
        others = self.others[among]
        out = np.empty(len(others))
        bound_distances(
            stop - start,
            own,
            rasters,
            cells=self.cells,
            start=start,
            stop=stop,
            others=others,
            half=half,
            out=out,
        )
        return out

    def distances(self, frame: int | Indices, others: Indices) -> Floats:
        """Return the distances from a frame of the first set, or one for each, to some frames of the second."""
        x = np.broadcast_to(self.own[frame], (len(others), *self.own.shape[1:]))
        first_and_end = np.stack([x, self.others[others]], axis=2).reshape(-1, 2)  # frame by frame, class by class
        sizes = first_and_end[:, 1] - first_and_end[:, 0]
        rows = ranges(first_and_end[:, 0], sizes)
        ends = np.concatenate([[0], sizes.cumsum()])
        lines = self.lines._replace(span=self.lines.span[rows], line_box=self.lines.line_box[:, rows].copy())
        bounds = np.stack([ends[0:-1:2], ends[1::2], ends[2::2]], axis=1)
        protocol = self.protocol
        ones = np.ones(len(rows))
        scored = score_lines(
            lines,
            self.closed[rows],
            ones,
            bounds=bounds,
            directed=protocol.directed,
            cutoff=protocol.cutoffs[0],
            order=1.0,
        )
        return normalised_pld(scored.sums.reshape(*x.shape[:2], scored.sums.shape[1]).sum(axis=1), 1.0)

    def nearest(self, frame: int, count: int, skipped: Flags) -> tuple[Indices, Floats, int]:
        """Return the nearest frames of the second set, their distances, and how many frames were compared."""
        bounds = self.bounds(frame)
        order = np.argsort(bounds, kind="stable")
        order = order[~skipped[order]]
        near = order[:0]
        distance = np.zeros(0)
        compared = 0
        while compared < len(order):
            if len(distance) >= count:
                limit = distance[count - 1]
            else:
                limit = np.inf
            some = order[compared : compared + STEP]
            some = some[bounds[some] <= limit + ROUNDING]
            if not len(some):
                break
            near = np.concatenate([near, some])
            distance = np.concatenate([distance, self.distances(frame, some)])
            best = np.lexsort((self.rank[near], distance))[:count]
            near = near[best]
            distance = distance[best]
            compared += len(some)
        return near, distance, compared
