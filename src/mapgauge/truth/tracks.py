"""Names instances so that the same map element has the same name in all frames of a scene.

An instance is named after its map element, or after the first of the elements that were merged. A frame may show
several fragments of one element; they are numbered (``#1``, ``#2``). As the vehicle moves, fragments appear, disappear,
split and merge. A fragment keeps the name of the earlier fragment that it overlaps most.
"""

from collections.abc import Sequence

from mapgauge.truth.cutting.fragments import Fragment


class Tracker:
    """Names the fragments of one class, one frame of a scene after the other."""

    def __init__(self) -> None:
        """Start a scene."""
        self._seen: dict[str, dict[str, tuple[float, float]]] = {}  # element -> name -> where it was last seen
        self._names: set[str] = set()

    def names(self, fragments: Sequence[Fragment]) -> list[str]:
        """Return a name for each fragment of the next frame."""
        claims: dict[tuple[int, str], float] = {}  # over all elements that a fragment and a name have in common
        for k, fragment in enumerate(fragments):
            for element in fragment.elements:
                for name, along in self._seen.get(element, {}).items():
                    claims[k, name] = claims.get((k, name), 0.0) + _overlap(fragment, along)
        found: dict[int, str] = {}
        for (k, name), overlap in sorted(claims.items(), key=lambda claim: (-claim[1], claim[0])):
            if overlap > 0 and k not in found and name not in found.values():
                found[k] = name
        names = [found[k] if k in found else self._new(one.elements[0]) for k, one in enumerate(fragments)]
        for name, fragment in zip(names, fragments, strict=True):
            for element in fragment.elements:
                self._seen.setdefault(element, {})[name] = fragment.along
        return names

    def _new(self, element: str) -> str:
        name, number = element, 0
        while name in self._names:
            number += 1
            name = f"{element}#{number}"
        self._names.add(name)
        return name


def _overlap(fragment: Fragment, along: tuple[float, float]) -> float:
    """Metres that a fragment and an interval have in common, also across the start of a closed element."""
    start, stop = fragment.along
    if not fragment.period:
        return max(0.0, min(stop, along[1]) - max(start, along[0]))
    laps = (-fragment.period, 0.0, fragment.period)
    return sum(max(0.0, min(stop + lap, along[1]) - max(start + lap, along[0])) for lap in laps)
