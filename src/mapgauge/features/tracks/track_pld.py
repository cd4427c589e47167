"""``track_pld`` (T-PLD): PLD of tracks with a cost for every switch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mapgauge.arguments import check_flag, check_switch_cost
from mapgauge.distances.sospa import check_sospa_arguments
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.features.tracks.track_scene import (
    COLUMNS,
    COUNTS,
    MASS,
    PARTS,
    PLD,
    SceneAssignment,
    partners,
    solve_scene,
)
from mapgauge.frames.alignment import align
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.tracks import check_tracks, frames_from_tracks, in_time, track_findings
from mapgauge.geometry.polylines import CLOSED_TOLERANCE
from mapgauge.metrics.groups import Groups, group
from mapgauge.metrics.metric import Metric, Setting, SumRows, Value
from mapgauge.metrics.pld import Parts, PooledPld, added, normalised_pld, normalised_value, share_of
from mapgauge.metrics.settings import PldSettings, setting
from mapgauge.protocols import Protocol
from mapgauge.typing import Closed, Floats
from mapgauge.words import counted

SWITCH_COST = 0.5  # the recommended cost of a switch of tracks; docs/explanation/time.md gives the reason


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackPldResult(PooledPld[TrackParts]):
    """T-PLD of one class in one scene, or in many scenes pooled with ``+`` or ``sum``. Parts are not normalised."""

    TITLE: ClassVar[str] = "T-PLD"
    SETTINGS: ClassVar[tuple[str, ...]] = ("cutoff", "switch_cost")

    pld_parts: Parts  # of PLD of the same frames, pooled
    switch_cost: float
    switch_count: int  # how often a true track was taken over by another predicted track
    fragmentations: int  # how often a true track was lost and found again
    matches: tuple[tuple[TrackMatch, ...], ...] = field(compare=False, default=())  # by frame; () once pooled
    tracks: tuple[TrueTrack, ...] = field(compare=False, default=())  # () once scenes are pooled
    findings: tuple[Finding, ...] = field(compare=False, default=())

    @property
    def pld(self) -> float:
        """Normalised PLD of the same frames, pooled: T-PLD with switch cost 0."""
        return min(float(normalised_pld(np.array([*self.pld_parts, self.mass]), order=1.0)), 1.0)

    @property
    def inconsistency(self) -> float:
        """Normalised T-PLD less normalised PLD: the price of inconsistent tracks."""
        return max(self.normalised - self.pld, 0.0)

    @property
    def changes(self) -> tuple[Change, ...]:
        """When true tracks were lost, found again or taken over, in the order of time."""
        changes = [
            Change(after.first, history.track, before.prediction, after=after.prediction)
            for history in self.tracks
            for before, after in pairwise(history.stretches)
        ]
        return tuple(sorted(changes, key=lambda change: (change.frame, change.truth)))


def track_pld(
    predictions: Any,
    truth: Any,
    *,
    switch_cost: float = SWITCH_COST,
    cutoff: float = 1.5,
    confidence: Any = None,
    truth_confidence: Any = None,
    closed: Closed = False,
    directed: bool = True,
    closed_tolerance: float = CLOSED_TOLERANCE,
    binary: bool = False,
) -> TrackPldResult:
    """T-PLD between the predicted and the true tracks of one class in one scene.

    T-PLD is PLD of all frames plus a cost for every change of the assignment of tracks. A true track that passes from
    one predicted track to another costs ``switch_cost`` once. Gaps, a late start and an early end cost nothing besides
    the missed frames. With ``switch_cost=0`` it is pooled PLD.

    Args:
        predictions: ``MapFrames`` of one scene and class with tracks, or a list with a dict ``{track: points}`` for
            each frame.
        truth: The true tracks. Both sides are compared point by point, so resample them first.
        switch_cost: The cost of a switch. A missed or false polyline of confidence 1 costs 1/2 in each frame.
        cutoff: Cutoff of SOSPA in metres.
        confidence: For lists: a list with a dict ``{track: number}`` for each frame. If None, 1 for all.
        truth_confidence: The same for the truth.
        closed: True, False or "auto", as in ``sospa_matrix``.
        directed: Whether the direction of polylines matters.
        closed_tolerance: Largest gap of a closed polyline in metres, for "auto".
        binary: If true, a pair is assigned in a frame or not. If false, an assignment may be divided. The value can
            then be smaller, but is usually the same, and takes less time. Both are metrics.

    Returns:
        The value, its six parts, and the history of each true track.

    >>> truth = [{"a": [[0, 0], [9, 0]]}] * 4
    >>> predictions = [{"1": [[0, 0], [9, 0]]}] * 2 + [{"2": [[0, 0], [9, 0]]}] * 2
    >>> result = track_pld(predictions, truth, switch_cost=0.5)
    >>> result.value, result.switch_count, result.changes
    (0.5, 1, (Change(frame=2, truth='a', before='1', after='2'),))
    """
    cost = check_switch_cost("switch_cost", switch_cost)
    way, cut, _ = check_sospa_arguments(cutoff, order=1.0, directed=directed)
    binary = check_flag("binary", binary)
    x = _side(predictions, confidence, "predictions")
    y = _side(truth, truth_confidence, "truth")
    if isinstance(predictions, MapFrames) != isinstance(truth, MapFrames):
        raise InvalidInput("predictions and truth must both be MapFrames, or both be lists of frames")
    if not isinstance(truth, MapFrames) and len(x) != len(y):
        raise InvalidInput(
            f"predictions have {counted(len(x), 'frame')} and truth has {len(y)}, expected the same number"
        )
    given = x, y
    x, y = align(x, y)
    scenes = set(y.scenes or ())
    if len(scenes) > 1:
        raise InvalidInput(
            f"truth has {len(scenes)} scenes, expected one",
            remedy=Remedy(
                'Use mg.evaluate with mg.protocol("paper-60x30", settings={"track_pld": {}}) for all scenes',
                "Use mapgauge evaluate --set track_pld.switch_cost=0.5",
            ),
        )
    classes = [name for name in y.classes if x.counts[name] + y.counts[name]]
    if len(classes) > 1:
        raise InvalidInput(
            f"there are {len(classes)} classes ({', '.join(classes)}), expected one",
            remedy=f'Select one on both sides: frames.select(["{classes[0]}"])',
        )
    order = in_time(y).tolist()
    # The instances of each side in the order of time, as rows of what was given.
    numbered = [replace(side, track=np.arange(len(side.polylines)).astype(np.str_)) for side in given]
    x_index, y_index = (np.asarray(side.at(order).track, np.int64) for side in align(*numbered))
    protocol = Protocol(name="", closed=closed, closed_tolerance=closed_tolerance, directed=way, cutoffs=(cut,))
    groups = group(x.at(order), y.at(order), protocol)
    rows, solved = solve_scene(groups, directed=way, cutoff=cut, switch_cost=cost, binary=binary)
    sums = [math.fsum(column) for column in rows.T.tolist()]
    index = np.concatenate([x_index, y_index])[groups.row + ~groups.is_prediction * len(x_index)]
    names = [str(name) for name in groups.column("track")]
    switches, fragmentations = sums[COUNTS]
    matches: list[list[TrackMatch]] = [[] for _ in groups.bounds]  # of each frame
    for i, j, weight in zip(solved.prediction.tolist(), solved.truth.tolist(), solved.weight.tolist(), strict=True):
        matches[int(solved.frame[i])].append(TrackMatch(names[i], names[j], weight))
    return TrackPldResult(
        parts=TrackParts._make(sums[: len(PARTS)]),
        mass=sums[MASS],
        pld_parts=Parts._make(sums[PLD]),
        cutoff=cut,
        switch_cost=cost,
        switch_count=round(switches),
        fragmentations=round(fragmentations),
        assignment=np.stack([index[solved.prediction], index[solved.truth]], axis=1),
        matches=tuple(tuple(sorted(pairs, key=lambda pair: (pair.truth, pair.prediction))) for pairs in matches),
        tracks=_true_tracks(groups, solved, names),
        findings=tuple(track_findings(x, y)),
    )


def _true_tracks(groups: Groups, solved: SceneAssignment, names: Sequence[str]) -> tuple[TrueTrack, ...]:
    """Return the history of each true track, sorted by name."""
    by_track: dict[int, list[tuple[int, int, int]]] = {}
    for instance, partner in zip(*(column.tolist() for column in partners(groups, solved)), strict=True):
        by_track.setdefault(int(solved.track[instance]), []).append((instance, partner, int(solved.frame[instance])))
    rows = []
    for seen in by_track.values():
        stretches: list[Stretch] = []
        of: list[int] = []  # the number of the predicted track of each stretch
        for number, places in groupby(seen, key=lambda place: -1 if place[1] < 0 else int(solved.track[place[1]])):
            run = list(places)
            stretches.append(Stretch(None if number < 0 else names[run[0][1]], run[0][2], run[-1][2]))
            of.append(number)
        matched = [number for number in of if number >= 0]
        rows.append(
            TrueTrack(
                names[seen[0][0]],
                len(seen),
                sum(partner >= 0 for _, partner, _ in seen),
                switches=sum(a != b for a, b in pairwise(matched)),
                fragmentations=sum(number < 0 for number in of[1:-1]),
                stretches=tuple(stretches),
            )
        )
    return tuple(sorted(rows, key=lambda row: (row.track, row.stretches[0].first)))


def _side(given: Any, confidence: Any, name: str) -> MapFrames:
    """Return one side as ``MapFrames`` with tracks."""
    if not isinstance(given, MapFrames):
        return frames_from_tracks(given, confidence, name)
    if confidence is not None:
        raise InvalidInput(f"{name} are MapFrames and have their own confidences", remedy="Call .with_confidence(...)")
    check_tracks(given, name, "T-PLD")
    return given


def _score(groups: Groups, protocol: Protocol, cutoff: float) -> Floats:
    """Return the numbers of ``COLUMNS`` for each group of a scene."""
    cost = protocol.settings["track_pld"].switch_cost
    return solve_scene(groups, directed=protocol.directed, cutoff=cutoff, switch_cost=cost)[0]


def _values(sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return all values from sums."""
    parts = np.moveaxis(sums[..., : len(PARTS)], -1, 0)
    value = added(parts)
    mass = sums[..., MASS]
    whole = normalised_value(value, mass)
    plain = np.concatenate([sums[..., PLD], mass[..., None]], axis=-1)
    count, fragments = np.moveaxis(sums[..., COUNTS], -1, 0)
    return {
        "track_pld": whole,
        "inconsistency": np.maximum(whole - np.minimum(normalised_pld(plain, order=1.0), 1.0), 0.0),
        "switch_count": count,
        **{f"track_{name}": share_of(part, value, mass) for name, part in zip(PARTS, parts, strict=True)},
        "fragmentations": fragments,
    }


@dataclass(frozen=True, kw_only=True)
class TrackPldSettings(PldSettings):
    """Settings of T-PLD."""

    switch_cost: float = setting(SWITCH_COST, check=check_switch_cost, help="Cost of a switch of tracks.")


TRACK_PLD = Metric(
    name="track_pld",
    title="T-PLD",
    symbol="T-PLD",
    lower_is_better=True,
    values=(
        Value(key="track_pld", part="", title="T-PLD", role="main"),
        Value(key="inconsistency", part="inconsistency", title="T-PLD - PLD", role="headline"),
        Value(key="switch_count", part="switch_count", title="id switches", role="headline", limits=(0.0, math.inf)),
        *(Value(key=f"track_{name}", part=name, title=name.removesuffix("_points"), role="part") for name in PARTS),
        Value(key="fragmentations", part="fragmentations", title="fragmentations", limits=(0.0, math.inf)),
    ),
    rows=SumRows(columns=COLUMNS, score=_score, values=_values, mass=MASS),
    setting=Setting("cutoffs", "cutoff"),
    level="scene",
    needs=frozenset({"confidences", "tracks", "every track"}),
    settings_type=TrackPldSettings,
    stated=lambda protocol: (
        f"cutoff {protocol.cutoffs[0]:g} m, switch cost {protocol.settings['track_pld'].switch_cost:g}"
    ),
    limits=(0.0, 1.0),
    order=10,
)
