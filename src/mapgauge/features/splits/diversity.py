"""How diverse the truth of a set of frames is, and a smaller set with the same diversity."""

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.features.splits.neighbours import FrameIndex, prepared_truth
from mapgauge.frames.map_frames import MapFrames
from mapgauge.protocols import Protocol
from mapgauge.protocols import protocol as protocol_of
from mapgauge.scoring.data import in_threads
from mapgauge.scoring.prepare import Frames
from mapgauge.typing import Floats, Indices, Progress

ROUNDING = np.float32(1e-6)  # more than the rounding of bounds to 32 bits
MOST_PAIRS = 16_000_000  # whose bounds are in memory at once
STEP = 256  # pairs that are compared together
_SAMPLE = 50  # frames from which the number of pairs below a bound is estimated


@dataclass(frozen=True, eq=False)
class Diversity:
    """The minimum spanning tree of a set of frames, by PLD between their truth."""

    tokens: tuple[str, ...]
    edges: Indices  # (frames - 1, 2): indices into ``tokens``, the shortest edge first
    length: Floats  # of each edge

    @property
    def total(self) -> float:
        """The sum of the edges: the diversity of the set."""
        return float(self.length.sum())

    def duplicates(self, radius: float = 0.1) -> list[tuple[str, str, float]]:
        """Return pairs of frames with nearly the same truth: the edges up to a length, the shortest first."""
        near = np.flatnonzero(self.length <= radius)
        return [(*(self.tokens[frame] for frame in self.edges[k].tolist()), float(self.length[k])) for k in near]


def diversity(
    truth: Frames,
    *,
    protocol: str | Protocol = "paper-60x30",
    workers: int | None = None,
    progress: Progress | None = None,
) -> Diversity:
    """Return the minimum spanning tree of the truth of frames, whose length says how diverse they are.

    Args:
        truth: Truth, or its file.
        protocol: The settings of PLD.
        workers: Number of threads. If None, the number of processors.
        progress: Called with the number of edges that are found and of all edges.

    >>> from mapgauge.demo import demo_world
    >>> _, truth = demo_world(20)
    >>> tree = diversity(truth)
    >>> len(tree.edges), 1 < tree.total < 19
    (19, True)
    """
    settings = protocol_of(protocol)
    return tree_of_prepared(prepared_truth(truth, settings), settings, workers=workers, progress=progress)


def tree_of_prepared(
    frames: MapFrames,
    settings: Protocol,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    most_pairs: int = MOST_PAIRS,
) -> Diversity:
    """Return the tree of frames from ``prepared_truth``. The bounds of ``most_pairs`` are in memory at once."""
    count = len(frames)
    index = FrameIndex.of(frames, frames, settings)
    group = np.arange(count)  # frames with the same number are connected
    known: list[tuple[float, int, int]] = []
    edges: list[tuple[int, int]] = []
    lengths: list[float] = []
    # Kruskal's algorithm on bounds: the pair with the lowest bound is compared, and waits again at its distance. It is
    # done for the pairs with bounds up to a limit, then up to a higher one, without those that are connected already.
    low = -1.0
    high = -1.0
    while len(edges) < count - 1:
        low = high
        high = _limit(index, group, high, most_pairs=most_pairs)
        first, second, bounds = _pairs(index, group, low, high=high, workers=workers)
        place = 0
        while len(edges) < count - 1:
            while place < len(bounds) and (not known or bounds[place] <= known[0][0]):
                a = first[place : place + STEP]
                b = second[place : place + STEP]
                apart = group[a] != group[b]
                place = place + STEP
                a = a[apart]
                b = b[apart]
                for pair in zip(index.distances(a, b).tolist(), b.tolist(), a.tolist(), strict=True):
                    heappush(known, pair)
            if not known or known[0][0] > high:
                break
            length, a_frame, b_frame = heappop(known)
            if group[a_frame] != group[b_frame]:
                group[group == group[a_frame]] = group[b_frame]
                edges.append((a_frame, b_frame))
                lengths.append(length)
                if progress is not None:
                    progress(len(edges), count - 1)
    return Diversity(frames.tokens, np.array(edges, np.int64).reshape(-1, 2), np.array(lengths))


def _limit(index: FrameIndex, group: Indices, low: float, *, most_pairs: int) -> float:
    """Return a bound below which there are about as many unconnected pairs as fit into memory; 2 if all do."""
    unconnected = (len(group) ** 2 - np.square(np.bincount(group)).sum()) / 2
    if unconnected <= most_pairs:
        return 2.0
    chosen = np.random.default_rng(0).permutation(len(group))[:_SAMPLE].tolist()
    bounds = np.concatenate([_bounds(index, frame, np.flatnonzero(group != group[frame])) for frame in chosen])
    left = bounds[bounds > low]
    if not len(left):
        return 2.0
    return float(np.quantile(left, min(most_pairs / unconnected, 1.0), method="higher"))


def _bounds(index: FrameIndex, frame: int, others: Indices) -> NDArray[np.float32]:
    """Return lower bounds of distances in half the memory. They stay bounds."""
    return index.bounds(frame, others).astype(np.float32) - ROUNDING


def _pairs(
    index: FrameIndex, group: Indices, low: float, high: float, workers: int | None
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    """Return the unconnected pairs of frames with bounds above ``low`` and up to ``high``, and the bounds, in order."""

    def search(frame: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        others = np.flatnonzero(group[:frame] != group[frame])
        bounds = _bounds(index, frame, others)
        kept = (low < bounds) & (bounds <= high)
        return others[kept].astype(np.int32), bounds[kept]

    found = in_threads(search, range(len(group)), workers)
    second, bounds = (np.concatenate(parts) for parts in zip(*found, strict=True))
    first = np.repeat(np.arange(len(group), dtype=np.int32), [len(others) for others, _ in found])
    order = np.argsort(bounds, kind="stable")
    return first[order], second[order], bounds[order]


@dataclass(frozen=True, eq=False)
class Thinned:
    """A set of frames without frames that are nearly the same."""

    tokens: tuple[str, ...]  # that are kept
    like: dict[str, str]  # by token of a frame that is left out: the token of a kept frame within the radius


def thin(
    truth: Frames,
    radius: float = 0.3,
    *,
    protocol: str | Protocol = "paper-60x30",
    progress: Progress | None = None,
) -> Thinned:
    """Leave out frames whose truth is nearly the same as that of a kept frame.

    Frames are looked at in the order of their tokens. Every frame is within the radius of a kept frame, and no two kept
    frames are within the radius of each other.

    Args:
        truth: Truth, or its file.
        radius: Largest PLD between a frame that is left out and a kept one, from 0 to 1.
        protocol: The settings of PLD.
        progress: Called with the number of finished frames and of all frames.

    >>> from mapgauge.demo import demo_world
    >>> _, truth = demo_world(20)
    >>> len(thin(truth, 0.0).tokens), len(thin(truth, 1.0).tokens)
    (20, 1)
    """
    if not 0 <= radius <= 1:
        raise InvalidInput(f"radius must be from 0 to 1, got {radius!r}")
    settings = protocol_of(protocol)
    frames = prepared_truth(truth, settings)
    index = FrameIndex.of(frames, frames, settings)
    kept: list[int] = []
    like: dict[str, str] = {}
    for done, frame in enumerate(np.argsort(np.array(frames.tokens)).tolist(), 1):
        others = np.array(kept, np.int64)
        bounds = index.bounds(frame, others)
        near = others[np.argsort(bounds, kind="stable")][: int((bounds <= radius + ROUNDING).sum())]
        partner = next(
            (other for other in near.tolist() if index.distances(frame, np.array([other]))[0] <= radius), None
        )
        if partner is None:
            kept.append(frame)
        else:
            like[frames.tokens[frame]] = frames.tokens[partner]
        if progress is not None:
            progress(done, len(frames))
    return Thinned(tuple(frames.tokens[frame] for frame in sorted(kept)), like)
