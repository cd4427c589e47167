"""T-PLD: PLD over time, a metric between two sets of tracks. An assignment that changes between frames costs more."""

import math
from typing import Any

import numpy as np

from mapgauge.arguments import check_flag, check_switch_cost
from mapgauge.distances.pack import check_sospa_arguments
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.alignment import align
from mapgauge.frames.groups import Groups, group
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.track_findings import track_findings
from mapgauge.frames.tracks import check_tracks, frames_from_tracks, in_time
from mapgauge.geometry.polylines import CLOSED_TOLERANCE
from mapgauge.metrics.metric import Metric, Setting, SumRows, Value
from mapgauge.metrics.pld import added, normalised_pld, normalised_value, share_of
from mapgauge.metrics.track_result import TrackPldResult, result_of
from mapgauge.metrics.track_scene import COLUMNS, COUNTS, MASS, PARTS, PLD, solve_scene
from mapgauge.protocols import SWITCH_COST, Protocol
from mapgauge.typing import Closed, Floats


def track_pld(
    predictions: Any,
    truth: Any,
    *,
    switch_cost: float = SWITCH_COST,
    cutoff: float = 1.5,
    confidence: Any = None,
    truth_confidence: Any = None,
    closed: Closed = "auto",
    directed: bool = False,
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
    way, cut, _ = check_sospa_arguments(cutoff, 1.0, directed)
    binary = check_flag("binary", binary)
    x = _side(predictions, confidence, "predictions")
    y = _side(truth, truth_confidence, "truth")
    if isinstance(predictions, MapFrames) != isinstance(truth, MapFrames):
        raise InvalidInput("predictions and truth must both be MapFrames, or both be lists of frames")
    if not isinstance(truth, MapFrames) and len(x) != len(y):
        raise InvalidInput(f"predictions have {len(x)} frames and truth has {len(y)}, expected the same number")
    x, y = align(x, y)
    _check_one_scene(x, y)
    findings = track_findings(x, y)
    order = in_time(y).tolist()
    protocol = Protocol("", closed=closed, closed_tolerance=closed_tolerance, directed=way, cutoffs=(cut,))
    groups = group(x.at(order), y.at(order), protocol)
    rows, found = solve_scene(groups, directed=way, cutoff=cut, switch_cost=cost, binary=binary)
    sums = np.array([math.fsum(column) for column in rows.T.tolist()])
    return result_of(sums, groups, found, cut, cost, tuple(findings))


def _side(given: Any, confidence: Any, name: str) -> MapFrames:
    """Return one side as ``MapFrames`` with tracks."""
    if not isinstance(given, MapFrames):
        return frames_from_tracks(given, confidence, name)
    if confidence is not None:
        raise InvalidInput(f"{name} are MapFrames and have their own confidences", remedy="Call .with_confidence(...)")
    check_tracks(given, name, "T-PLD")
    return given


def _check_one_scene(x: MapFrames, y: MapFrames) -> None:
    scenes = dict.fromkeys(y.scenes or ())
    if len(scenes) > 1:
        raise InvalidInput(
            f"truth has {len(scenes)} scenes, expected one",
            remedy=Remedy(
                'Use mg.evaluate(predictions, truth, mg.protocol("paper-60x30", switch_cost=0.5)) for all scenes',
                "Use mapgauge evaluate --switch-cost 0.5",
            ),
        )
    counts = {name: x.counts[name] + y.counts[name] for name in y.classes}
    there = [name for name, count in counts.items() if count]
    if len(there) > 1:
        raise InvalidInput(
            f"there are {len(there)} classes ({', '.join(there)}), expected one",
            remedy=f'Select one on both sides: frames.select(["{there[0]}"])',
        )


def _score(groups: Groups, protocol: Protocol, cutoff: float) -> Floats:
    """Return the numbers of ``COLUMNS`` for each group of a scene."""
    cost = protocol.switch_cost
    assert cost is not None
    return solve_scene(groups, directed=protocol.directed, cutoff=cutoff, switch_cost=cost)[0]


def _values(sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return all values from sums."""
    parts = np.moveaxis(sums[..., : len(PARTS)], -1, 0)
    value, mass = added(parts), sums[..., MASS]
    whole = normalised_value(value, mass)
    plain = np.concatenate([sums[..., PLD], mass[..., None]], axis=-1)
    count, fragments = np.moveaxis(sums[..., COUNTS], -1, 0)
    return {
        "track_pld": whole,
        "inconsistency": np.maximum(whole - np.minimum(normalised_pld(plain, 1.0), 1.0), 0.0),
        "switch_count": count,
        **{f"track_{name}": share_of(part, value, mass) for name, part in zip(PARTS, parts, strict=True)},
        "fragmentations": fragments,
    }


def _part(name: str) -> Value:
    return Value(f"track_{name}", name, name.removesuffix("_points"), "part")


TRACK_PLD = Metric(
    name="track_pld",
    title="T-PLD",
    symbol="T-PLD",
    lower_is_better=True,
    values=(
        Value("track_pld", "", "T-PLD", "main"),
        Value("inconsistency", "inconsistency", "T-PLD - PLD", "headline"),
        Value("switch_count", "switch_count", "id switches", "headline", limits=(0.0, math.inf)),
        *(_part(name) for name in PARTS),
        Value("fragmentations", "fragmentations", "fragmentations", limits=(0.0, math.inf)),
    ),
    rows=SumRows(columns=COLUMNS, score=_score, values=_values, mass=MASS),
    setting=Setting("cutoffs", "cutoff", option="--cutoff"),
    level="scene",
    needs=frozenset({"confidences", "tracks", "every track"}),
    requires=("switch_cost",),
    stated=lambda protocol: f"cutoff {protocol.cutoffs[0]:g} m, switch cost {protocol.switch_cost:g}",
    limits=(0.0, 1.0),
)
