"""``TrackPldResult``: T-PLD of one scene and class, its parts, and who was assigned to whom."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.frames.findings import Finding
from mapgauge.frames.groups import Groups
from mapgauge.metrics.pld import Parts, added, normalised_pld, normalised_value, share_of
from mapgauge.metrics.track_scene import SceneAssignment, partners
from mapgauge.typing import Floats


class TrackParts(NamedTuple):
    """The six parts of T-PLD. They add up to its value."""

    matched_points: float  # distances of matched points in matched polylines
    unmatched_points: float  # unmatched points in matched polylines
    confidence: float  # differences of confidence in matched polylines
    missed: float  # true polylines without a match
    false: float  # predicted polylines without a match
    switches: float  # changes of the assignment between frames


class TrackMatch(NamedTuple):
    """An assigned pair of tracks in one frame."""

    prediction: str
    truth: str
    weight: float  # 1, or less if the linear programme divides the assignment


class Stretch(NamedTuple):
    """Frames of a true track with the same match. Frames in which the track is absent do not end a stretch."""

    prediction: str | None  # the predicted track; None if the true track is missed
    first: int  # first frame, from 0
    last: int


class TrueTrack(NamedTuple):
    """The history of a true track."""

    track: str
    frames: int  # number of frames in which it is present
    matched: int  # number of frames in which it is matched
    switches: int
    fragmentations: int
    stretches: tuple[Stretch, ...]


class Change(NamedTuple):
    """A true track that is lost, found again or taken over."""

    frame: int
    truth: str
    before: str | None  # the predicted track until then; None if the true track was missed
    after: str | None  # the predicted track from this frame on; None if the true track is lost


@dataclass(frozen=True, slots=True)
class TrackPldResult:
    """T-PLD of one class in one scene, or in many scenes pooled with ``+`` or ``sum``. Parts are not normalised."""

    parts: TrackParts
    mass: float  # half the total confidence of both sides
    pld_parts: Parts  # of PLD of the same frames, pooled
    cutoff: float  # metres
    switch_cost: float
    switch_count: int  # how often a true track was taken over by another predicted track
    fragmentations: int  # how often a true track was lost and found again
    assignment: tuple[tuple[TrackMatch, ...], ...] = field(compare=False)  # of each frame; () once scenes are pooled
    tracks: tuple[TrueTrack, ...] = field(compare=False)  # () once scenes are pooled
    findings: tuple[Finding, ...] = field(compare=False, default=())

    @property
    def value(self) -> float:
        """T-PLD."""
        return float(added(self.parts))

    @property
    def normalised(self) -> float:
        """Normalised T-PLD in [0, 1]; 0 if there is no confidence on either side."""
        return float(normalised_value(self.value, self.mass))

    @property
    def normalised_parts(self) -> TrackParts:
        """The six parts of the normalised value. They add up to it."""
        return TrackParts._make(float(share_of(part, self.value, self.mass)) for part in self.parts)

    @property
    def pld(self) -> float:
        """Normalised PLD of the same frames, pooled: T-PLD with switch cost 0."""
        return min(float(normalised_pld(np.array([*self.pld_parts, self.mass]), 1.0)), 1.0)

    @property
    def inconsistency(self) -> float:
        """Normalised T-PLD less normalised PLD: the price of inconsistent tracks."""
        return max(self.normalised - self.pld, 0.0)

    @property
    def changes(self) -> tuple[Change, ...]:
        """When true tracks were lost, found again or taken over, in the order of time."""
        found = [
            Change(after.first, one.track, before.prediction, after.prediction)
            for one in self.tracks
            for before, after in pairwise(one.stretches)
        ]
        return tuple(sorted(found, key=lambda change: (change.frame, change.truth)))

    def __add__(self, other: object) -> "TrackPldResult":
        """Pool two scenes: add their parts, masses and counts."""
        if not isinstance(other, TrackPldResult):
            return NotImplemented
        if (self.cutoff, self.switch_cost) != (other.cutoff, other.switch_cost):
            raise InvalidInput(
                f"cannot pool T-PLD of cutoff {self.cutoff:g}, switch cost {self.switch_cost:g} "
                f"with T-PLD of cutoff {other.cutoff:g}, switch cost {other.switch_cost:g}"
            )
        return TrackPldResult(
            TrackParts._make(a + b for a, b in zip(self.parts, other.parts, strict=True)),
            mass=self.mass + other.mass,
            pld_parts=Parts._make(a + b for a, b in zip(self.pld_parts, other.pld_parts, strict=True)),
            cutoff=self.cutoff,
            switch_cost=self.switch_cost,
            switch_count=self.switch_count + other.switch_count,
            fragmentations=self.fragmentations + other.fragmentations,
            assignment=(),
            tracks=(),
            findings=(*self.findings, *other.findings),
        )

    def __radd__(self, other: object) -> "TrackPldResult":
        """Return the result itself for 0, so that ``sum`` works."""
        return self if isinstance(other, int) and other == 0 else NotImplemented


def matches_by_frame(groups: Groups, found: SceneAssignment, frames: int) -> tuple[tuple[TrackMatch, ...], ...]:
    """Return the assigned pairs of each frame, sorted by the name of the true track."""
    names = _names(groups)
    lists: list[list[TrackMatch]] = [[] for _ in range(frames)]
    for x, y, weight in zip(found.prediction.tolist(), found.truth.tolist(), found.weight.tolist(), strict=True):
        lists[int(found.frame[x])].append(TrackMatch(names[x], names[y], weight))
    return tuple(tuple(sorted(one, key=lambda match: (match.truth, match.prediction))) for one in lists)


def true_tracks(groups: Groups, found: SceneAssignment) -> tuple[TrueTrack, ...]:
    """Return the history of each true track, sorted by name."""
    names = _names(groups)
    by_track: dict[int, list[tuple[int, int, int]]] = {}
    for instance, partner in zip(*(column.tolist() for column in partners(groups, found)), strict=True):
        by_track.setdefault(int(found.track[instance]), []).append((instance, partner, int(found.frame[instance])))
    rows = []
    for seen in by_track.values():
        stretches: list[Stretch] = []
        of: list[int] = []  # the number of the predicted track of each stretch
        for _, partner, frame in seen:
            number = -1 if partner < 0 else int(found.track[partner])
            if of and of[-1] == number:
                stretches[-1] = stretches[-1]._replace(last=frame)
            else:
                stretches.append(Stretch(None if partner < 0 else names[partner], frame, frame))
                of.append(number)
        matched = [number for number in of if number >= 0]
        lost = sum(number < 0 for number in of[1:-1]) if len(of) > 2 else 0
        rows.append(
            TrueTrack(
                names[seen[0][0]],
                len(seen),
                sum(partner >= 0 for _, partner, _ in seen),
                sum(a != b for a, b in pairwise(matched)),
                lost,
                tuple(stretches),
            )
        )
    return tuple(sorted(rows, key=lambda row: (row.track, row.stretches[0].first)))


def result_of(
    rows: Floats,
    groups: Groups,
    found: SceneAssignment,
    cutoff: float,
    switch_cost: float,
    findings: tuple[Finding, ...],
) -> TrackPldResult:
    """Return the result of one scene and class from the summed columns of ``track_scene.COLUMNS``."""
    numbers = rows.tolist()
    return TrackPldResult(
        TrackParts._make(numbers[:6]),
        mass=numbers[6],
        pld_parts=Parts._make(numbers[7:12]),
        cutoff=cutoff,
        switch_cost=switch_cost,
        switch_count=round(numbers[12]),
        fragmentations=round(numbers[13]),
        assignment=matches_by_frame(groups, found, len(groups.bounds)),
        tracks=true_tracks(groups, found),
        findings=findings,
    )


def _names(groups: Groups) -> list[str]:
    return [] if groups.track is None else [str(name) for name in groups.track]
