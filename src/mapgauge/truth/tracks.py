"""Names for what is the same thing in several frames of a scene.

An instance is named after the element of the map it was cut from, or after the first of the elements that were merged.
An element may be seen in several pieces (``#1``, ``#2``), which come, go, part and meet as the vehicle drives on; a
piece keeps the name of the piece that it overlapped most when it was last seen.
"""

from collections.abc import Sequence

from mapgauge.truth.cutting.cut import Piece


class Tracker:
    """Gives names to the pieces of one class, frame after frame of one scene."""

    def __init__(self) -> None:
        """At the beginning of a scene."""
        self._seen: dict[str, dict[str, tuple[float, float]]] = {}  # of each element, where each piece was last seen
        self._names: set[str] = set()

    def names(self, pieces: Sequence[Piece]) -> list[str]:
        """A name for each piece of a frame."""
        claims = [
            (-_overlap(piece, along), k, name)
            for k, piece in enumerate(pieces)
            for member in piece.members
            for name, along in self._seen.get(member, {}).items()
        ]
        found: dict[int, str] = {}
        for overlap, k, name in sorted(claims):  # the largest first
            if overlap < 0 and k not in found and name not in found.values():
                found[k] = name
        names = [found[k] if k in found else self._new(piece.members[0]) for k, piece in enumerate(pieces)]
        for name, piece in zip(names, pieces, strict=True):
            for member in piece.members:
                self._seen.setdefault(member, {})[name] = piece.along
        return names

    def _new(self, element: str) -> str:
        name, number = element, 0
        while name in self._names:
            number += 1
            name = f"{element}#{number}"
        self._names.add(name)
        return name


def _overlap(piece: Piece, along: tuple[float, float]) -> float:
    """Metres that a piece and an interval have in common, also across the beginning of a closed element."""
    laps = (-piece.period, 0.0, piece.period) if piece.period else (0.0,)
    start, stop = piece.along
    return sum(max(0.0, min(stop + lap, along[1]) - max(start + lap, along[0])) for lap in laps)
