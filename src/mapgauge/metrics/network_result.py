"""``NetworkPldResult``: network PLD with its parts, breaks, false joins and entropies."""

from dataclasses import dataclass, field
from typing import NamedTuple

from mapgauge.errors import InvalidInput
from mapgauge.metrics.network_frame import COUNTS, ENTROPIES, MASS, MATCHED, PARTS, UNPROVEN, NetworkSide, Overlaps
from mapgauge.metrics.pld import added, normalised_value, share_of
from mapgauge.typing import Floats


class NetworkParts(NamedTuple):
    """The five parts of network PLD. They add up to its value."""

    matched: float  # distances of matched points
    confidence: float  # differences of confidence of matched points
    missed: float  # true points without a match
    false: float  # predicted points without a match
    links: float  # links that are missing or false


class Overlap(NamedTuple):
    """How many points of a predicted line are assigned to a true line."""

    prediction: int
    truth: int
    points: float


@dataclass(frozen=True, slots=True)
class NetworkPldResult:
    """Network PLD of one class in one frame, or in many frames pooled with ``+`` or ``sum``."""

    parts: NetworkParts  # not normalised
    mass: float  # half the total confidence of all points
    cutoff: float  # metres
    break_cost: float
    break_count: int  # how often the predicted line changes along true lines
    false_join_count: int  # how often the true line changes along predicted lines
    split: float  # split entropy times the matched points
    merge: float
    matched_points: float
    unproven_count: int = 0  # frames whose value may be a little too high, because the solver did not prove it
    overlaps: tuple[Overlap, ...] = field(compare=False, default=())  # empty once frames are pooled

    @property
    def value(self) -> float:
        """Network PLD."""
        return float(added(self.parts))

    @property
    def normalised(self) -> float:
        """Normalised network PLD in [0, 1]; 0 if there is no confidence on either side."""
        return float(normalised_value(self.value, self.mass))

    @property
    def normalised_parts(self) -> NetworkParts:
        """The five parts of the normalised value. They add up to it."""
        return NetworkParts._make(float(share_of(part, self.value, self.mass)) for part in self.parts)

    @property
    def split_entropy(self) -> float | None:
        """How much true lines are split, in bits: 1 for two halves. None if no point is matched."""
        return self.split / self.matched_points if self.matched_points > 0 else None

    @property
    def merge_entropy(self) -> float | None:
        """How much predicted lines join several true lines, in bits. None if no point is matched."""
        return self.merge / self.matched_points if self.matched_points > 0 else None

    @property
    def _settings(self) -> str:
        return f"cutoff {self.cutoff:g}, break cost {self.break_cost:g}"

    def __add__(self, other: object) -> "NetworkPldResult":
        """Pool two frames: add their parts, masses and counts."""
        if not isinstance(other, NetworkPldResult):
            return NotImplemented
        if self._settings != other._settings:
            raise InvalidInput(f"cannot pool network PLD of {self._settings} with that of {other._settings}")
        return NetworkPldResult(
            NetworkParts._make(a + b for a, b in zip(self.parts, other.parts, strict=True)),
            self.mass + other.mass,
            self.cutoff,
            self.break_cost,
            self.break_count + other.break_count,
            self.false_join_count + other.false_join_count,
            self.split + other.split,
            self.merge + other.merge,
            self.matched_points + other.matched_points,
            self.unproven_count + other.unproven_count,
        )

    def __radd__(self, other: object) -> "NetworkPldResult":
        """Return the result itself for 0, so that ``sum`` works."""
        return self if isinstance(other, int) and other == 0 else NotImplemented


def result_of(
    row: Floats, overlaps: Overlaps, sides: tuple[NetworkSide, NetworkSide], settings: tuple[float, float]
) -> NetworkPldResult:
    """Return the result of one frame.

    Args:
        row: The numbers of ``network_frame.COLUMNS``.
        overlaps: Which lines are assigned to which.
        sides: Both sides.
        settings: The cutoff and the break cost.
    """
    numbers = row.tolist()
    columns = sides[0].index[overlaps.first], sides[1].index[overlaps.second], overlaps.points
    return NetworkPldResult(
        NetworkParts._make(numbers[: len(PARTS)]),
        mass=numbers[MASS],
        cutoff=settings[0],
        break_cost=settings[1],
        break_count=round(numbers[COUNTS][0]),
        false_join_count=round(numbers[COUNTS][1]),
        split=numbers[ENTROPIES][0],
        merge=numbers[ENTROPIES][1],
        matched_points=numbers[MATCHED],
        unproven_count=round(numbers[UNPROVEN]),
        overlaps=tuple(
            sorted(Overlap._make(one) for one in zip(*(column.tolist() for column in columns), strict=True))
        ),
    )
