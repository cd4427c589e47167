"""What happened to each piece of the road: the frames that saw it, and the predictions that found it."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mapgauge.arguments import check_number
from mapgauge.errors import InvalidInput
from mapgauge.features.error_map.pieces import RoadPieces
from mapgauge.typing import Confidences, Floats, Indices

NOT_FOUND = -1.0  # the confidence of a piece that is not matched


class FoundBy(NamedTuple):
    """How one method found the pieces, in the order of ``ErrorMap.seen_piece``."""

    confidence: Confidences  # of the prediction that found the piece; NOT_FOUND if none did
    across: NDArray[np.float32]  # metres beside the true line; NaN if it was not found


class Counts(NamedTuple):
    """What happened to each piece over all frames, for one method and one least confidence."""

    found: Indices  # number of frames that found it
    offset: Floats  # metres: median over these frames; NaN if there is none
    flips: Indices  # how often it was found in one of two frames in a row, and not in the other


@dataclass(frozen=True, eq=False, kw_only=True)
class CountedPieces:
    """The pieces of the road, and how often methods found them.

    ``seen_piece`` and ``seen_frame`` have a row for each piece and each frame that saw it, sorted by piece and then by
    scene and time.
    """

    names: tuple[str, ...]  # of the methods
    classes: tuple[str, ...]
    tokens: tuple[str, ...]
    scenes: tuple[str, ...] | None  # the scene of each frame
    poses: NDArray[np.float64]  # (frames, 4, 4)
    pieces: RoadPieces
    seen_piece: NDArray[np.int32]
    seen_frame: NDArray[np.int32]
    order: Indices  # (frames,): the place of each frame in time, one more than that of the frame before in its scene
    in_a_row: NDArray[np.bool_]  # whether the next row is the same piece in the next frame of the scene
    methods: tuple[FoundBy, ...]
    confidence: float  # a match counts from this confidence of its prediction
    cutoff: float  # metres: matched points are closer
    kept: dict[float, tuple[Counts, ...]] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        """Summary in one line."""
        length = float(self.pieces.length.sum()) / 1000
        return (
            f"<{type(self).__name__} of {', '.join(self.names)}: {len(self.pieces.x):,} pieces, {length:.2f} km, "
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

    def at(self, confidence: float) -> Self:
        """Return the map for another least confidence. Nothing is matched again."""
        return replace(self, confidence=checked_confidence(confidence))

    def counts(self, method: int = 0, confidence: float | None = None) -> Counts:
        """Return what happened to each piece, for a method by its index."""
        least = self.confidence if confidence is None else checked_confidence(confidence)
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

    def is_found(self, method: int = 0, confidence: float | None = None) -> NDArray[np.bool_]:
        """Return whether each frame found each piece that it saw, in the order of ``seen_piece``."""
        least = self.confidence if confidence is None else checked_confidence(confidence)
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
        piece = self.seen_piece[flags].astype(np.int64)
        # The bits of numbers that are not negative have the order of the numbers, so one sort of keys sorts both.
        keys = (piece << 32) | values[flags].view(np.int32)
        keys.sort()
        some = (keys & 0xFFFFFFFF).astype(np.int32).view(np.float32).astype(np.float64)
        count = np.bincount(piece, minlength=len(self.pieces.x))
        first = np.cumsum(count) - count
        median = np.full(len(count), np.nan)
        there = np.flatnonzero(count)
        lower = some[(first + (count - 1) // 2)[there]]
        upper = some[(first + count // 2)[there]]
        median[there] = (lower + upper) / 2
        return median


def checked_confidence(confidence: float) -> float:
    """Return a least confidence; refuse anything that is no number from 0 to 1."""
    least = check_number("confidence", confidence, "a number from 0 to 1")
    if not 0 <= least <= 1:
        raise InvalidInput(f"confidence must be a number from 0 to 1, got {confidence!r}")
    return least
