"""Links between instances of the same frame, such as a lane that leads into another lane.

Links are sparse: a few per instance. They hold the indices of two instances, a weight and a kind. Every operation of
``MapFrames`` that selects, reorders or cuts instances calls a function of this module, so that links stay at the same
lines. A link is removed together with either of its instances.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapgauge.errors import InvalidInput
from mapgauge.geometry.polylines import Polylines, ranges
from mapgauge.typing import Flags, Indices, Points

Names: TypeAlias = NDArray[np.str_]

SUCCESSOR = "successor"  # the end of the source leads into the start of the target
LEFT = "left"  # the target is the lane on the left of the source
RIGHT = "right"
LEFT_LINE = "left_line"  # the target is the line on the left side of the lane segment of the source, a centreline
RIGHT_LINE = "right_line"
CONTROLLED_BY = "controlled_by"  # the target is a traffic element that applies to the source, a lane

LinkState: TypeAlias = Literal["right", "false", "missing", "half"]
LINK_STATES: tuple[LinkState, ...] = ("right", "half", "missing", "false")  # in the order of drawing

_MOST_KINDS = 256  # a byte has the kind of a link


class FrameLink(NamedTuple):
    """A link from a lane to another lane of the same side, and whether it is right."""

    state: LinkState
    predicted: bool  # whether it is a predicted link; otherwise it is a true one
    source: int  # index into the predictions or the truth of the frame
    target: int
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Links between instances, as columns. They are sorted by source, target and kind when they are made.

    Predictions may link every lane with every other, so the columns are small: 25 bytes per link.

    >>> links = Links.of([1, 0], [2, 1], weight=[0.5, 1])
    >>> list(links)
    [(0, 1, 1.0, 'successor'), (1, 2, 0.5, 'successor')]
    """

    source: Indices  # (links,): index of an instance
    target: Indices  # (links,): index of an instance of the same frame
    weight: NDArray[np.float64]  # (links,): finite, at least 0; 1 in truth, the score of the link in predictions
    code: NDArray[np.uint8]  # (links,): index into kinds
    kinds: tuple[str, ...]  # "controlled_by", "left", "successor" and others, in the order of the alphabet
    checked: Indices | None = field(default=None, init=False, repr=False)  # what ``check_links`` compared them with

    def __post_init__(self) -> None:
        """Sort the links. Refuse columns whose sizes or values are invalid."""
        for name, kind in (("source", "i"), ("target", "i"), ("weight", "f"), ("code", "u")):
            column = getattr(self, name)
            if column.shape != self.source.shape or column.ndim != 1 or column.dtype.kind != kind:
                raise InvalidInput(
                    f"links: {name} must have one value per link ({len(self.source)}), "
                    f"got {column.dtype} {column.shape}"
                )
        if "" in self.kinds or list(self.kinds) != sorted(set(self.kinds)) or len(self.kinds) > _MOST_KINDS:
            raise InvalidInput(
                f"links: kinds must be at most {_MOST_KINDS} different names, sorted, got {self.kinds[:4]!r}"
            )
        if len(self.code) and self.code.max() >= len(self.kinds):
            raise InvalidInput(f"links: code must be below {len(self.kinds)}, the number of kinds")
        rising = self._sort()
        wrong = np.flatnonzero(~(np.isfinite(self.weight) & (self.weight >= 0)))
        if len(wrong):
            raise InvalidInput(
                f"{self._at(wrong[0])} has weight {self.weight[wrong[0]]}, expected a finite number of at least 0"
            )
        twice = np.flatnonzero(~rising)
        if len(twice):
            raise InvalidInput(f"{self._at(twice[0])} of kind {self.kinds[self.code[twice[0]]]} occurs twice")

    def _sort(self) -> Flags:
        """Sort the links by source, target and kind, and return which of them come before the next one."""
        if not (rising := self._rising()).all():
            width = max(int(self.source.max()), int(self.target.max()), 0) + 1
            if width**2 * len(self.kinds) < 2**62 and min(self.source.min(), self.target.min()) >= 0:
                # One sort of whole numbers is faster than three.
                order = np.argsort((self.source * width + self.target) * len(self.kinds) + self.code, kind="stable")
            else:
                order = np.lexsort((self.code, self.target, self.source))
            for name in ("source", "target", "weight", "code"):
                object.__setattr__(self, name, getattr(self, name)[order])
            rising = self._rising()
        return rising

    def _rising(self) -> Flags:
        """Return which links come before the next one in the order of source, target and kind."""
        source = np.diff(self.source)
        target = np.diff(self.target)
        kind = self.code[1:] > self.code[:-1]
        rising: Flags = (source > 0) | ((source == 0) & ((target > 0) | ((target == 0) & kind)))
        return rising

    @classmethod
    def unchecked(cls, *columns: Indices | NDArray[np.float64] | NDArray[np.uint8] | tuple[str, ...]) -> "Links":
        """Make links of source, target, weight, code and kinds that are sound and in order, without a look at them."""
        made = object.__new__(cls)
        for name, column in zip(cls.__slots__, (*columns, None), strict=True):
            object.__setattr__(made, name, column)
        return made

    @classmethod
    def of(
        cls,
        source: ArrayLike,
        target: ArrayLike,
        *,
        weight: ArrayLike = 1.0,
        kind: str | Sequence[str] | Names = SUCCESSOR,
    ) -> "Links":
        """Make links from arrays or lists; one weight and one kind may stand for all."""
        given = np.asarray(source, np.int64), np.asarray(target, np.int64)
        count = given[0].shape
        if np.ndim(weight) == 0:
            weights = np.full(count, weight, np.float64)
        else:
            weights = np.asarray(weight, np.float64)
        if isinstance(kind, str):
            return cls(*given, weights, np.zeros(count, np.uint8), (kind,))
        kinds, code = np.unique(np.array(kind, np.str_), return_inverse=True)
        if (kinds == "").any():
            k = int(np.argmax(code.ravel() == 0))
            ends = f"from instance {given[0][k]} to instance {given[1][k]}"
            raise InvalidInput(f"links: the link {ends} has no kind, expected a name")
        if len(kinds) > _MOST_KINDS:
            raise InvalidInput(f"links: {len(kinds)} kinds, expected at most {_MOST_KINDS}")
        return cls(*given, weights, code.ravel().astype(np.uint8), tuple(kinds.tolist()))

    @property
    def kind(self) -> Names:
        """The kind of each link, by name."""
        return self.kind_of(slice(None))

    def kind_of(self, rows: slice) -> Names:
        """Return the kinds of some links, by name."""
        names: Names = np.array([*self.kinds, ""], np.str_)[self.code[rows]]
        return names

    def _at(self, link: np.int64) -> str:
        return f"links: the link from instance {self.source[link]} to instance {self.target[link]}"

    def __len__(self) -> int:
        """Number of links."""
        return len(self.source)

    def __iter__(self) -> Iterator[tuple[int, int, float, str]]:
        """Iterate over the links as tuples: source, target, weight, kind."""
        return zip(self.source.tolist(), self.target.tolist(), self.weight.tolist(), self.kind.tolist(), strict=True)

    def is_kind(self, kind: str) -> Flags:
        """Return which links are of one kind."""
        if kind in self.kinds:
            flags: Flags = self.code == self.kinds.index(kind)
        else:
            flags = np.zeros(len(self), np.bool_)
        return flags

    def of_kind(self, kind: str) -> "Links":
        """Return the links of one kind."""
        return self._some(self.is_kind(kind))

    def _some(
        self, rows: Flags | Indices | slice, source: Indices | None = None, target: Indices | None = None
    ) -> "Links":
        """Return some of the links, at other instances if these are given."""
        if source is None:
            source = self.source[rows]
        if target is None:
            target = self.target[rows]
        made = Links.unchecked(source, target, self.weight[rows], self.code[rows], self.kinds)
        made._sort()  # the columns were checked, and only their order may be wrong
        return made

    def moved(self, source_at: Indices, target_at: Indices | None = None) -> "Links":
        """Return the links of instances that have other indices now, or -1 if they are gone.

        ``target_at`` has the indices of targets, if they differ.
        """
        source = source_at[self.source]
        target = (source_at if target_at is None else target_at)[self.target]
        kept = (source >= 0) & (target >= 0)
        return self._some(kept, source[kept], target[kept])


def check_links(links: Links | None, frame: Indices) -> None:
    """Refuse links to instances that do not exist, and links between different frames."""
    if links is None or not len(links) or links.checked is frame:
        return
    if links.source[0] >= 0 and links.source[-1] < len(frame):
        # Links are sorted by source, and so by frame. Do all targets of a frame lie within it?
        offsets = np.searchsorted(frame, np.arange(frame[-1] + 2))
        bounds = np.searchsorted(links.source, offsets)
        some = np.flatnonzero(np.diff(bounds))
        least, most = (extreme.reduceat(links.target, bounds[some]) for extreme in (np.minimum, np.maximum))
        if ((least >= offsets[some]) & (most < offsets[some + 1])).all():
            object.__setattr__(links, "checked", frame)
            return
    for name, column in (("source", links.source), ("target", links.target)):
        wrong = np.flatnonzero((column < 0) | (column >= len(frame)))
        if len(wrong):
            raise InvalidInput(
                f"links: {name} {wrong[0]} is {column[wrong[0]]}, expected the index of one of {len(frame)} instances"
            )
    apart = np.flatnonzero(frame[links.source] != frame[links.target])
    raise InvalidInput(f"{links._at(apart[0])} joins two frames, expected instances of the same frame")


def kept_links(links: Links | None, rows: Indices, count: int) -> Links | None:
    """Return the links of some of ``count`` instances, given as different indices in any order."""
    if links is None:
        return None
    at = np.full(count, -1)
    at[rows] = np.arange(len(rows))
    return links.moved(at)


def links_between(links: Links | None, first: int, last: int) -> Links | None:
    """Return the links of the instances from ``first`` to ``last``, which are whole frames."""
    if links is None:
        return None
    rows = slice(*np.searchsorted(links.source, [first, last]).tolist())
    return links._some(rows, links.source[rows] - first, links.target[rows] - first)


def links_of_frames(links: Links | None, offsets: Indices, order: Indices) -> Links | None:
    """Return the links of some frames, in the order given. A frame that occurs twice has its links twice.

    Frame ``i`` has the instances ``offsets[i]:offsets[i + 1]``.
    """
    if links is None:
        return None
    bounds = np.searchsorted(links.source, offsets)  # links are sorted by source, and so by frame
    counts = np.diff(bounds)[order]
    rows = ranges(bounds[order], counts)
    sizes = np.diff(offsets)[order]
    shift = np.repeat(sizes.cumsum() - sizes - offsets[order], counts)
    return links._some(rows, links.source[rows] + shift, links.target[rows] + shift)


def joined_links(parts: Sequence[Links | None], counts: Sequence[int]) -> Links | None:
    """Return the links of several parts, one after the other. None counts as no links; None if no part has links.

    ``counts`` has the number of instances of each part.
    """
    if all(links is None for links in parts):
        return None
    kinds = tuple(sorted({kind for links in parts if links for kind in links.kinds}))
    columns = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0, np.uint8))]
    for links, start in zip(parts, np.cumsum([0, *counts]).tolist(), strict=False):
        if links:
            code = np.array([kinds.index(kind) for kind in links.kinds], np.uint8)[links.code]
            columns.append((links.source + start, links.target + start, links.weight, code))
    source, target, weight, codes = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Links(source, target, weight, code=codes, kinds=kinds)


def cut_links(links: Links | None, before: Polylines, after: Polylines, sources: Indices) -> Links | None:
    """Return the links of polylines that were cut into pieces.

    A successor link belongs to the piece that holds the end of its source and the piece that holds the start of its
    target. It is removed if either was cut off. A link of another kind joins all pieces of its source with all pieces
    of its target. ``sources`` has the polyline of each piece, ascending, as ``crop_polylines`` returned it.
    """
    if links is None:
        return None
    first = np.searchsorted(sources, np.arange(len(before) + 1))
    counts = np.diff(first)
    follows = links.is_kind(SUCCESSOR)
    ends = links._some(follows).moved(_ends(before, after, first, which=-1), _ends(before, after, first, which=0))
    others = np.flatnonzero(~follows)
    pieces = counts[links.target[others]]  # of each target
    pairs = counts[links.source[others]] * pieces
    link = np.repeat(others, pairs)
    number = ranges(np.zeros_like(pairs), pairs)  # of a pair of pieces
    width = np.repeat(pieces, pairs)
    sides = links._some(link, first[links.source[link]] + number // width, first[links.target[link]] + number % width)
    return joined_links([ends, sides], [0, 0])


def _points_at(lines: Polylines, rows: Indices, which: int) -> Points:
    """Return the first (``which`` 0) or last (-1) points of some polylines, which must have points."""
    if which == 0:
        return lines.coords[lines.offsets[rows]]
    return lines.coords[lines.offsets[rows + 1] - 1]


def _ends(before: Polylines, after: Polylines, first: Indices, which: int) -> Indices:
    """Return the piece that holds the first (``which`` 0) or last (-1) point of each polyline, or -1 if none does."""
    cut = np.flatnonzero(np.diff(first) > 0)
    if which == 0:
        piece = first[:-1][cut]
    else:
        piece = first[1:][cut] - 1
    filled = np.diff(after.offsets)[piece] > 0  # a polyline without points stays as it is
    holds = ~filled
    old = _points_at(before, cut[filled], which)
    new = _points_at(after, piece[filled], which)
    holds[filled] = (old == new).all(axis=1)
    holder = np.full(len(before), -1)
    holder[cut[holds]] = piece[holds]
    # The pieces of a polygon before and after its first point are joined, so that point is inside the first piece.
    for i in cut[~holds].tolist():
        line = before[i]
        joined = after[int(first[i])]
        if len(line) > 2 and (line[0] == line[-1]).all() and (joined[1:-1] == line[0]).all(axis=1).any():
            holder[i] = first[i]
    return holder
