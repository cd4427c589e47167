"""The causes of every instance, and fixes: what removing one cause alone would bring."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.instances import resampled
from mapgauge.frames.map_frames import MapFrames, members_of
from mapgauge.geometry.polylines import Polylines
from mapgauge.metrics.assigned import assigned
from mapgauge.metrics.causes import CAUSES, THRESHOLDS, Thresholds, costs_of
from mapgauge.metrics.groups import Block
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import METRICS, hit_metrics
from mapgauge.protocols import Protocol, full_name
from mapgauge.results.results import Results
from mapgauge.results.values import mean_of, values_of_classes
from mapgauge.scoring.data import Data
from mapgauge.scoring.score import score_frames
from mapgauge.scoring.scores import Totals
from mapgauge.typing import Flags, Floats, Indices, Points, Progress


class Instances(NamedTuple):
    """Costs of all predictions and of all truth, in the order of ``Results.data``."""

    predicted: Floats  # (predictions, causes)
    true: Floats  # (truth, causes)
    truth_of: Indices  # (predictions,): index of the true instance that it is matched with, or -1
    cause: Indices  # (predictions,): its cause if it is unmatched or in a loose pair, or -1
    about: Indices  # (predictions,): index of the true instance that this cause is about, or -1
    distance: Floats  # (predictions,): normalised SOSPA to the matched truth; 1 if it is unmatched

    def caused_by(self, name: str) -> Flags:
        """Return which unmatched predictions have a cause."""
        flags: Flags = (self.cause == list(CAUSES).index(name)) & (self.truth_of < 0)
        return flags

    @property
    def matched(self) -> Flags:
        """Which predictions are matched, and not in a loose pair."""
        return (self.truth_of >= 0) & (self.cause < 0)


def check_settings(protocol: Protocol) -> float:
    """Return the cutoff of PLD by cause, or raise an error for a protocol without PLD of order 1."""
    if not protocol.cutoffs:
        raise InvalidInput(
            f"the protocol {full_name(protocol)} has no cutoff, so it has no PLD to explain",
            remedy=Remedy("Evaluate with a protocol that has cutoffs=", "Evaluate with --cutoff 1.5"),
        )
    if protocol.order != 1:
        raise InvalidInput(
            f"PLD splits into causes for order 1 only, these results have order {protocol.order:g}",
            remedy="Evaluate with order 1",
        )
    return protocol.cutoffs[0]


def instances_of(
    results: Results,
    thresholds: Thresholds = THRESHOLDS,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Instances:
    """Return the causes of all instances. The arguments are those of ``causes``."""
    protocol = results.protocol
    cutoff = check_settings(results.protocol)

    def work(block: Block) -> Instances:
        return instances_of_block(block, protocol, cutoff, thresholds=thresholds)

    data = results.need_data()
    parts = data.in_blocks(work, known=results.scores, workers=workers, progress=progress)
    starts = np.cumsum([0, *(len(part.true) for part in parts)])[:-1].tolist()
    moved = [
        part._replace(
            truth_of=np.where(part.truth_of >= 0, part.truth_of + start, -1),
            about=np.where(part.about >= 0, part.about + start, -1),
        )
        for part, start in zip(parts, starts, strict=True)
    ]
    return Instances._make(np.concatenate(columns) for columns in zip(*moved, strict=True))


def instances_of_block(
    block: Block, protocol: Protocol, cutoff: float, thresholds: Thresholds = THRESHOLDS
) -> Instances:
    """Return the causes of the instances of a block. Indices of truth are those within the block."""
    lines = block.lines
    groups = block.groups
    costs = costs_of(lines, protocol, cutoff, thresholds=thresholds)
    whole = assigned(lines, protocol, cutoff)
    distance = np.where(whole.truth_of >= 0, whole.distance, 1.0)
    predictions = groups.by_row[groups.is_prediction]
    truth = groups.by_row[~groups.is_prediction]
    place = np.full(len(groups.row) + 1, -1)  # of true instances; the last is for no instance, which has the index -1
    place[truth] = np.arange(len(truth))
    if block.of_lines is None:
        of_lines = place
    else:
        of_lines = np.append(place[block.of_lines], -1)
    cost = block.for_all(costs.cost, of_boxes=0.0)
    return Instances(
        predicted=cost[predictions],
        true=cost[truth],
        truth_of=block.for_all(of_lines[whole.truth_of], of_boxes=-1)[predictions],
        cause=block.for_all(costs.cause, of_boxes=-1)[predictions],
        about=block.for_all(of_lines[costs.about], of_boxes=-1)[predictions],
        distance=block.for_all(distance, of_boxes=1.0)[predictions],
    )


@dataclass(frozen=True, slots=True)
class Fix:
    """The change of the mean PLD and of mean average precisions if one cause is fixed."""

    name: str
    about: str
    causes: tuple[str, ...]  # that it repairs
    gain: dict[str, float]  # by key: "pld", "ap_chamfer"; a negative PLD and a positive AP are better


def fixes_of(results: Results, instances: Instances, workers: int | None) -> tuple[Fix, ...]:
    """Return all fixes. Each evaluates the corrected predictions by PLD and the average precisions of the results."""
    predictions, truth = results.need_data().sorted_sides
    precisions = [metric.name for metric, _ in hit_metrics(results.metrics) if metric.level == "frame"]
    metrics = tuple(name for name in METRICS if name in (PLD.name, *precisions))

    def values(fixed: MapFrames) -> dict[str, float | None]:
        scores = score_frames(Data.of(fixed, truth, results.protocol), metrics, workers=workers)
        totals = Totals.of(scores, results.protocol)
        mean = mean_of(
            values_of_classes(totals, results.class_names, metrics, protocol=results.protocol, ranges=()).values()
        )
        return {name: mean[METRICS[name].main.key] for name in metrics}

    before = values(predictions)
    fixes = []
    for name, (causes, about, fix) in FIXES.items():
        after = values(fix(predictions, truth, instances, results.protocol))
        fixes.append(
            Fix(name, about, causes, gain={key: (after[key] or 0.0) - (before[key] or 0.0) for key in metrics})
        )
    return tuple(fixes)


def _rows(predictions: MapFrames, polylines: Polylines, frame: Indices, label: Indices, sure: Floats) -> MapFrames:
    """Return predictions with other rows, sorted by frame and class. ``sure`` are their confidences."""
    order = np.lexsort((label, frame))
    return replace(
        predictions,
        polylines=polylines.pick(order),
        frame=frame[order],
        label=label[order],
        confidence=sure[order],
        links=None,
        history=None,
        **members_of({}),
    )


def _confidence(frames: MapFrames) -> Floats:
    if frames.confidence is None:
        return np.ones(len(frames.polylines))
    return frames.confidence


def _relabel(x: MapFrames, y: MapFrames, instances: Instances, _: Protocol) -> MapFrames:
    """Give predictions the class of the truth that they fit."""
    wrong, target = _free(x, y, instances, cause="wrong_class")
    label = np.where(target >= 0, y.label[target] if len(y.label) else x.label, x.label)
    kept = np.flatnonzero(~wrong | (target >= 0))
    return _rows(x, x.polylines.pick(kept), x.frame[kept], label=label[kept], sure=_confidence(x)[kept])


def _free(x: MapFrames, y: MapFrames, instances: Instances, cause: str) -> tuple[Flags, Indices]:
    """Return which predictions have a cause, and the true instance for each of them to be matched with.

    It is -1 if the instance has a match already, or if a more confident one of these predictions is about it.
    """
    caused = instances.cause == list(CAUSES).index(cause)
    taken = np.zeros(len(y.polylines) + 1, np.bool_)
    taken[instances.truth_of[instances.matched]] = True
    target = np.full(len(x.polylines), -1)
    rows = np.flatnonzero(caused)
    for i in rows[np.lexsort((rows, -_confidence(x)[rows]))].tolist():
        if not taken[instances.about[i]]:
            taken[instances.about[i]] = True
            target[i] = instances.about[i]
    return caused, target


def _without(cause: str) -> Callable[..., MapFrames]:
    def fix(x: MapFrames, y: MapFrames, instances: Instances, _: Protocol) -> MapFrames:
        names = [cause]
        if cause == "background":
            names.append("over_confident")
        return x.keep(~np.logical_or.reduce([instances.caused_by(name) for name in names]))

    return fix


def _ideal(x: MapFrames, y: MapFrames, instances: Instances, _: Protocol) -> MapFrames:
    """Give confidence 1 to the matches of each class that lower its normalised PLD, and 0 to all other predictions.

    The pooled PLD of a class is smallest if the saving per mass is largest. Matches that save most come first.
    """
    confidence = np.zeros(len(x.polylines))
    weight = np.append(_confidence(y), 0.0)
    saving = weight[instances.truth_of] * (1.0 - instances.distance)
    for label in np.unique(x.label[instances.truth_of >= 0]).tolist():
        rows = np.flatnonzero((x.label == label) & (instances.truth_of >= 0))
        rows = rows[np.argsort(-saving[rows], kind="stable")]
        mass = weight[:-1][y.label == label].sum() + np.arange(1, len(rows) + 1)
        confidence[rows[: int((np.cumsum(saving[rows]) / mass).argmax()) + 1]] = 1.0
    return replace(x, confidence=confidence)


def _snap(x: MapFrames, y: MapFrames, instances: Instances, protocol: Protocol) -> MapFrames:
    """Give matched predictions the geometry of the truth, but not where other causes cost.

    Ends of the truth that fragments or merges cover are left out. Ends of a prediction along another true line stay.
    Where an end is displaced, both hold.
    """
    fixed = _placed(x, y, np.where(instances.matched, instances.truth_of, -1))
    merge, displaced, fragment = (list(CAUSES).index(name) for name in ("merge", "displaced", "fragment"))
    matched = np.flatnonzero(instances.matched)
    others_of_x = instances.predicted[matched][:, [merge, displaced]].sum(axis=1)
    others_of_y = instances.true[instances.truth_of[matched]][:, [fragment, displaced]].sum(axis=1)
    in_part = matched[others_of_x + others_of_y > 0]
    if not len(in_part):
        return fixed
    can_cover = (instances.truth_of < 0) | (instances.predicted[:, merge] > 0)
    lines_of_x = _sampled(x, protocol)
    lines_of_y = _sampled(y, protocol)
    sure = _confidence(x)
    lines = []
    owners = []
    for i in in_part.tolist():
        t = int(instances.truth_of[i])
        # A cover explains a cost as far as it is confident. From half on, the cost counts as that of the cover.
        least = 0.5 * min(sure[i], _confidence(y)[t])
        rivals = [k for k in _same_group(x, x, i) if k != i and can_cover[k] and sure[k] >= least]
        others = [k for k in _same_group(x, y, i) if k != t]
        line = _snapped(
            lines_of_x[i],
            lines_of_y[t],
            [lines_of_x[k] for k in rivals],
            others=[lines_of_y[k] for k in others],
            cutoff=protocol.cutoffs[0],
            reach=THRESHOLDS.reach * protocol.cutoffs[0],
        )
        if line is not None:
            lines.append(line)
            owners.append(i)
    return _replaced(fixed, np.array(owners, np.int64), lines, owners=owners)


def _snapped(
    line: Points, true: Points, rivals: list[Points], others: list[Points], *, cutoff: float, reach: float
) -> Points | None:
    """Return the true line without the ends that rivals cover, and with the ends of a line along other true lines.

    None if this is the whole true line. A line of which nothing can be mended is returned as it is.
    """
    nearest, gap = _nearest(line, true)
    on_true = np.flatnonzero(gap < cutoff)
    if not len(on_true):
        return line
    nearest_of_true, gap_of_true = _nearest(true, line)
    elsewhere = _is_covered(line, others, cutoff) | (gap < reach)
    past = _is_past_end(true, line, nearest_of_true)
    is_displaced = (gap_of_true >= cutoff) & (gap_of_true < reach) & ~past
    taken = is_displaced | (((gap_of_true >= cutoff) | past) & _is_covered(true, rivals, cutoff))
    first = int(on_true[0])
    last = int(on_true[-1])
    kept = np.flatnonzero(~taken)
    if len(kept) < 2:  # nothing of the truth is left to take
        return line
    run = true[kept[0] : kept[-1] + 1]
    if nearest[first] > nearest[last]:
        run = run[::-1]
    before = line[:first][elsewhere[:first]]
    after = line[last + 1 :][elsewhere[last + 1 :]]
    if len(run) == len(true) and not len(before) and not len(after):
        return None
    return np.concatenate([before, run, after])


def _is_past_end(points: Points, line: Points, nearest: Indices) -> Flags:
    """Return which points lie ahead of an end of an open line. ``nearest`` is the nearest point of the line to each."""
    past = np.zeros(len(points), np.bool_)
    if len(line) < 2 or np.array_equal(line[0], line[-1]):
        return past
    for end, before in ((0, 1), (len(line) - 1, len(line) - 2)):
        ahead = (points - line[end]) @ (line[end] - line[before]) > 0
        past |= (nearest == end) & ahead
    return past


def _is_covered(points: Points, lines: list[Points], cutoff: float) -> Flags:
    """Return which points are closer to one of some lines than the cutoff."""
    covered = np.zeros(len(points), np.bool_)
    for line in lines:
        covered |= _nearest(points, line)[1] < cutoff
    return covered


def _place(x: MapFrames, y: MapFrames, instances: Instances, _: Protocol) -> MapFrames:
    """Replace displaced predictions by the truth."""
    displaced, target = _free(x, y, instances, cause="displaced")
    return _placed(x, y, target).keep(~displaced | (target >= 0))


def _placed(x: MapFrames, y: MapFrames, target: Indices) -> MapFrames:
    """Return predictions with the geometry of true instances, where a target is not -1."""
    pool = x.polylines.and_then(y.polylines)
    rows = np.where(target >= 0, len(x.polylines) + target, np.arange(len(x.polylines)))
    return replace(x, polylines=pool.pick(rows))


def _add(x: MapFrames, y: MapFrames, instances: Instances, _: Protocol) -> MapFrames:
    """Add true instances, each with the part of its confidence that is missed and that no other cause explains."""
    lost = np.minimum(2.0 * instances.true[:, list(CAUSES).index("missed")], _confidence(y))
    rows = np.flatnonzero(lost > 0)
    return _rows(
        x,
        x.polylines.and_then(y.polylines.pick(rows)),
        np.append(x.frame, y.frame[rows]),
        label=np.append(x.label, y.label[rows]),
        sure=np.append(_confidence(x), lost[rows]),
    )


def _replaced(x: MapFrames, gone: Indices, lines: list[Points], owners: list[int]) -> MapFrames:
    """Return predictions without some, and with new lines that have the columns of their owners."""
    kept = np.setdiff1d(np.arange(len(x.polylines)), gone)
    rows = np.append(kept, np.array(owners, np.int64))
    new = Polylines.pack(lines, [""] * len(lines), x.dimension)
    return _rows(x, x.polylines.pick(kept).and_then(new), x.frame[rows], label=x.label[rows], sure=_confidence(x)[rows])


def _sampled(frames: MapFrames, protocol: Protocol) -> Polylines:
    if protocol.spacing is None and protocol.count is None:
        return frames.polylines
    return resampled(frames, protocol.spacing, protocol.count, sampling=protocol.sampling)


def _stitch(x: MapFrames, y: MapFrames, instances: Instances, protocol: Protocol) -> MapFrames:
    """Join a match and the fragments of the same truth to one line, in the order of the truth."""
    pieces = np.flatnonzero(instances.caused_by("fragment"))
    owner_of = {
        int(t): int(i)
        for i, t in zip(np.flatnonzero(instances.matched), instances.truth_of[instances.matched], strict=True)
    }
    parts: dict[int, list[int]] = {}
    for i in pieces.tolist():
        if (t := int(instances.about[i])) in owner_of:
            parts.setdefault(t, [owner_of[t]]).append(i)
    sampled = _sampled(x, protocol)
    true = _sampled(y, protocol)
    lines = []
    for t, members in parts.items():
        points = np.concatenate([sampled[i] for i in members])
        lines.append(points[np.argsort(_nearest(points, true[t])[0], kind="stable")])
    gone = np.array([i for members in parts.values() for i in members], np.int64)
    return _replaced(x, gone, lines, owners=[members[0] for members in parts.values()])


def _nearest(points: Points, line: Points) -> tuple[Indices, Floats]:
    """Return the nearest point of a line to each point, and its distance."""
    distance = np.sqrt(np.square(points[:, None] - line[None]).sum(axis=2))
    return distance.argmin(axis=1), distance.min(axis=1)


def _cut(x: MapFrames, y: MapFrames, instances: Instances, protocol: Protocol) -> MapFrames:
    """Cut predictions over several true lines where the nearest true line changes."""
    merged = np.flatnonzero(instances.predicted[:, list(CAUSES).index("merge")] > 0)
    sampled = _sampled(x, protocol)
    true = _sampled(y, protocol)
    lines = []
    owners = []
    gone = []
    for i in merged.tolist():
        lines_of = [true[t] for t in _same_group(x, y, i)]
        along = [line for line in lines_of if (_nearest(line, sampled[i])[1] < protocol.cutoffs[0]).mean() >= 0.5]
        if len(along) > 1:
            pieces = list(_pieces(sampled[i], along))
        else:
            pieces = []
        if len(pieces) > 1:
            lines += pieces
            owners += [i] * len(pieces)
            gone.append(i)
    return _replaced(x, np.array(gone, np.int64), lines, owners=owners)


def _same_group(x: MapFrames, side: MapFrames, i: int) -> list[int]:
    """Return the instances of a side in the frame and class of a prediction."""
    start, stop = side.offsets[x.frame[i] : x.frame[i] + 2].tolist()
    return [k for k in range(start, stop) if side.label[k] == x.label[i]]


def _pieces(points: Points, lines: list[Points]) -> Iterator[Points]:
    """Yield the pieces of a line that have the same nearest true line, if they have at least two points."""
    nearest = np.stack([_nearest(points, line)[1] for line in lines]).argmin(axis=0)
    ends = [0, *(np.flatnonzero(np.diff(nearest)) + 1).tolist(), len(points)]
    for begin, end in pairwise(ends):
        if end - begin > 1:
            yield points[begin:end]


# By name: the causes that the fix repairs, what it does and what else it changes, and its function.
FIXES: dict[str, tuple[tuple[str, ...], str, Callable[[MapFrames, MapFrames, Instances, Protocol], MapFrames]]] = {
    "snap_geometry": (
        ("localisation", "extent", "wrong_shape"),
        "matched predictions get the geometry of the truth, but not where fragments, merges or displaced ends cost",
        _snap,
    ),
    "place_displaced": (
        ("displaced",),
        "displaced predictions get the geometry of the truth, or are removed if it has a match",
        _place,
    ),
    "stitch_fragments": (("fragment",), "a match and the fragments of its truth become one line", _stitch),
    "cut_merges": (("merge",), "predictions over several true lines are cut", _cut),
    "remove_duplicates": (("duplicate",), "duplicates are removed", _without("duplicate")),
    "relabel": (
        ("wrong_class",),
        "predictions that fit another class get this class, or are removed if its truth has a match",
        _relabel,
    ),
    "remove_background": (
        ("background", "over_confident"),
        "false alarms without truth nearby are removed",
        _without("background"),
    ),
    "add_missed": (("missed",), "the missed part of the truth is added", _add),
    "ideal_confidences": (
        ("faint", "under_confident", "over_confident"),
        "matches that lower PLD get confidence 1, all others 0; so false predictions of every cause vanish too",
        _ideal,
    ),
}
