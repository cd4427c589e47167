"""``LaneGraphPldResult``: lane-graph PLD of one frame, its parts, its matches and its wrong links."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.frames.findings import Finding
from mapgauge.metrics.lane_graph_frame import COUNTS, MASS, PARTS, PLAIN, GraphAssignment
from mapgauge.metrics.lane_graph_sides import KINDS, FrameGraphs
from mapgauge.metrics.pld import added, normalised_value, share_of
from mapgauge.typing import Floats, Indices

LinkError: TypeAlias = Literal["false", "missing", "half"]


class LaneGraphParts(NamedTuple):
    """The nine parts of lane-graph PLD. They add up to its value."""

    matched_points: float  # distances of matched points in matched lanes
    unmatched_points: float  # unmatched points in matched lanes
    confidence: float  # differences of confidence in matched lanes
    missed: float  # true lanes without a match
    false: float  # predicted lanes without a match
    traffic_elements: float  # distances, confidences, missed and false traffic elements
    false_links: float  # predicted links between assigned elements that the truth lacks
    missing_links: float  # true links between assigned elements that the predictions lack
    half_links: float  # links of either side between an assigned and an unassigned element


class LinkCounts(NamedTuple):
    """The numbers of links of which at least one half is wrong."""

    false: int
    missing: int
    half: int


class ElementMatch(NamedTuple):
    """An assigned pair of lanes or traffic elements, by index."""

    prediction: int
    truth: int
    weight: float  # 1, or less if the linear programme divides the assignment
    near: bool  # False if the pair saves nothing and only carries links


class WrongLink(NamedTuple):
    """A link that costs something."""

    error: LinkError
    predicted: bool  # whether it is a predicted link; otherwise it is a true one
    kind: str  # "successor" or "controlled_by"
    source: int  # index of a lane of its side
    target: int  # index of a lane or traffic element of its side
    weight: float  # its score
    cost: float


@dataclass(frozen=True, slots=True)
class LaneGraphPldResult:
    """Lane-graph PLD of one frame, or of many frames pooled with ``+`` or ``sum``. Parts are not normalised."""

    parts: LaneGraphParts
    mass: float  # half the total confidence of both sides
    plain: float  # the value with link cost 0
    cutoff: float  # metres
    link_cost: float
    link_floor: float
    link_counts: LinkCounts
    # Value less the value of the linear programme, which is 0 if that has a 0/1 solution. None if the assignment is
    # divided, and once frames are pooled.
    gap: float | None = field(compare=False)
    matches: tuple[ElementMatch, ...] = field(compare=False)  # () once frames are pooled
    wrong_links: tuple[WrongLink, ...] = field(compare=False)  # the most expensive first; () once frames are pooled
    findings: tuple[Finding, ...] = field(compare=False, default=())

    @property
    def value(self) -> float:
        """Lane-graph PLD."""
        return float(added(self.parts))

    @property
    def normalised(self) -> float:
        """Normalised lane-graph PLD in [0, 1]; 0 if there is no confidence on either side."""
        return float(normalised_value(self.value, self.mass))

    @property
    def normalised_parts(self) -> LaneGraphParts:
        """The nine parts of the normalised value. They add up to it."""
        return LaneGraphParts._make(float(share_of(part, self.value, self.mass)) for part in self.parts)

    @property
    def topology(self) -> float:
        """The normalised value less that with link cost 0: the price of wrong links."""
        return max(self.normalised - float(normalised_value(self.plain, self.mass)), 0.0)

    @property
    def _settings(self) -> str:
        return f"cutoff {self.cutoff:g}, link cost {self.link_cost:g}, link floor {self.link_floor:g}"

    def __add__(self, other: object) -> "LaneGraphPldResult":
        """Pool two frames: add their parts, masses and counts."""
        if not isinstance(other, LaneGraphPldResult):
            return NotImplemented
        if self._settings != other._settings:
            raise InvalidInput(f"cannot pool lane-graph PLD of {self._settings} with that of {other._settings}")
        return LaneGraphPldResult(
            LaneGraphParts._make(a + b for a, b in zip(self.parts, other.parts, strict=True)),
            mass=self.mass + other.mass,
            plain=self.plain + other.plain,
            cutoff=self.cutoff,
            link_cost=self.link_cost,
            link_floor=self.link_floor,
            link_counts=LinkCounts._make(a + b for a, b in zip(self.link_counts, other.link_counts, strict=True)),
            gap=None,
            matches=(),
            wrong_links=(),
            findings=(*self.findings, *other.findings),
        )

    def __radd__(self, other: object) -> "LaneGraphPldResult":
        """Return the result itself for 0, so that ``sum`` works."""
        return self if isinstance(other, int) and other == 0 else NotImplemented


def result_of(
    row: Floats,
    frame: FrameGraphs,
    found: GraphAssignment,
    index: Indices,
    settings: tuple[float, float, float],
    findings: tuple[Finding, ...],
) -> LaneGraphPldResult:
    """Return the result of one frame.

    Args:
        row: The numbers of ``lane_graph_frame.COLUMNS``.
        frame: Both sides.
        found: The assignment.
        index: The index of each instance of the groups in its side of the input.
        settings: The cutoff, the link cost and the floor.
        findings: What was noticed about the data.
    """
    x, y = index[frame.x.instance], index[frame.y.instance]
    near = frame.saving[found.first, found.second] > 0
    columns = (x[found.first], y[found.second], found.weight, near)
    matches = sorted(ElementMatch._make(match) for match in zip(*(column.tolist() for column in columns), strict=True))
    numbers = row.tolist()
    return LaneGraphPldResult(
        LaneGraphParts._make(numbers[: len(PARTS)]),
        mass=numbers[MASS],
        plain=numbers[PLAIN],
        cutoff=settings[0],
        link_cost=settings[1],
        link_floor=settings[2],
        link_counts=LinkCounts._make(map(round, numbers[COUNTS])),
        gap=found.gap,
        matches=tuple(matches),
        wrong_links=wrong_links(frame, found, x, y, settings[1]),
        findings=findings,
    )


def wrong_links(
    frame: FrameGraphs, found: GraphAssignment, x: Indices, y: Indices, link_cost: float
) -> tuple[WrongLink, ...]:
    """Return all links that cost something, the most expensive first.

    Args:
        frame: Both sides.
        found: The assignment.
        x: The index of each predicted element in the list.
        y: The index of each true element in the list.
        link_cost: The cost of a wrong link of weight 1.
    """
    wrong = []
    for predicted, side, index, full, half in (
        (True, frame.x, x, found.links.false, found.links.false_half),
        (False, frame.y, y, found.links.missing, found.links.missing_half),
    ):
        graph, cost = side.graph, link_cost * (full + half)
        name: LinkError = "false" if predicted else "missing"
        for k in np.flatnonzero(cost > 0).tolist():
            wrong.append(
                WrongLink(
                    "half" if half[k] > full[k] else name,
                    predicted,
                    KINDS[side.kind[k]],
                    int(index[graph.source[k]]),
                    int(index[graph.target[k]]),
                    float(side.score[k]),
                    float(cost[k]),
                )
            )
    return tuple(sorted(wrong, key=lambda link: (-link.cost, link[:-1])))
