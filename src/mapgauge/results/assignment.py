"""The assignment of predictions to truth in one frame, with the matched points. Figures and the report draw it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mapgauge.frames.instances import Instance, is_box
from mapgauge.frames.links import FrameLink
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import ranges
from mapgauge.markup import shortened
from mapgauge.metrics.assigned import assigned
from mapgauge.metrics.groups import Block, Groups
from mapgauge.protocols import Protocol
from mapgauge.results.drawn_links import drawn_links
from mapgauge.results.notebook import assignment_html
from mapgauge.typing import Floats, Forward, Indices, Pairs, Points


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """A prediction and the truth it was assigned to."""

    class_name: str
    prediction: int  # index into the predictions of the frame
    truth: int  # index into its truth
    distance: float  # normalised SOSPA
    pairs: Pairs  # (k, 2): matched points, by index into both

    def __repr__(self) -> str:
        """Summary in one line."""
        ends = f"prediction {self.prediction} to truth {self.truth}"
        return f"<Match {shortened(self.class_name)}: {ends}, distance {self.distance:.3f}, {len(self.pairs)} points>"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Assignment:
    """One frame as it was compared: resampled polylines without closing points, and their matches.

    A true instance without a match was missed. A prediction without a match is false.
    """

    token: str
    predictions: list[Instance]
    truth: list[Instance]
    matches: list[Match]
    predictions_closed: list[bool] = field(default_factory=list)  # which predictions were compared as closed lines
    truth_closed: list[bool] = field(default_factory=list)
    forward: Forward | None = None  # the axis that points forward; None if it is unknown
    boxes: tuple[int, int] = (0, 0)  # number of predicted and true boxes in an image, which are left out
    ego: bool = True  # whether the frame is around an ego vehicle; False for a map
    links: list[FrameLink] = field(default_factory=list)  # right and wrong ones, if a feature compares links
    ignored: list[Instance] = field(default_factory=list)  # truth that is ignored, and predictions matched with it
    cutoff: float | None = None  # in metres, by which lines were matched; None if nothing was

    def __repr__(self) -> str:
        """Summary in one line."""
        counts = f"{len(self.predictions)} predictions, {len(self.truth)} truth, {len(self.matches)} matches"
        return f"<Assignment {shortened(self.token)}: {counts}>"

    def _repr_html_(self) -> str:
        return assignment_html(self)


class MatchColumns(NamedTuple):
    """The matches of a block of frames, frame by frame and class by class. Instances are those of its groups."""

    prediction: Indices  # (matches,): the instance
    truth: Indices  # (matches,): the instance that it was assigned to
    distance: Floats  # (matches,): normalised SOSPA
    sizes: Indices  # (matches,): number of matched points
    pairs: Pairs  # (sum of sizes, 2): matched points, by index into both lines


def match_frames(block: Block, protocol: Protocol, cutoff: float | None) -> list[Assignment]:
    """Return the optimal assignment of each frame of a block, for all classes. Without a cutoff, nothing is matched."""
    predictions, truth = block.sides
    groups = block.lines
    classes = len(truth.classes)
    place = places_of(groups, classes)
    matches: list[list[Match]] = [[] for _ in truth.tokens]
    if cutoff is not None and classes:
        matches = _matches(groups, place, truth.classes, protocol=protocol, cutoff=cutoff)
    points = _points_of(groups)
    boxes_of_x, boxes_of_y = (
        np.bincount(side.frame[is_box(side)], minlength=len(truth)).tolist() for side in (predictions, truth)
    )
    bounds = groups.bounds.tolist()  # of each frame and class
    assignments = []
    for f, token in enumerate(truth.tokens):
        ignored = []
        for side in (truth, predictions):
            if side.aside is not None:
                ignored += side.aside[token]
        assignment = Assignment(
            token=token,
            predictions=[],
            truth=[],
            matches=matches[f],
            forward=truth.forward or predictions.forward,
            boxes=(boxes_of_x[f], boxes_of_y[f]),
            ego=protocol.has_ego,
            ignored=ignored,
            cutoff=cutoff,
        )
        of_frame = bounds[f * classes : (f + 1) * classes]
        for class_name, (first, middle, end) in zip(truth.classes, of_frame, strict=True):
            x = slice(first, middle)
            y = slice(middle, end)
            assignment.predictions.extend(_instances(groups, x, points, side=predictions, class_name=class_name))
            assignment.predictions_closed.extend(groups.closed[groups.by_row[x]].tolist())
            assignment.truth.extend(_instances(groups, y, points, side=truth, class_name=class_name))
            assignment.truth_closed.extend(groups.closed[groups.by_row[y]].tolist())
        assignments.append(assignment)
    for assignment, links in zip(assignments, links_of_frames(block, place, protocol, cutoff), strict=True):
        assignment.links.extend(links)
    return assignments


def _points_of(groups: Groups) -> list[Points]:
    """Return the points of all lines in the order of rows, closed lines without the closing point."""
    starts = groups.polylines.offsets[:-1][groups.by_row]
    ends = (groups.polylines.offsets[1:] - groups.repeats)[groups.by_row]
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    return [groups.polylines.coords[start:end] for start, end in spans]


def _instances(
    groups: Groups, places: slice, points: list[Points], *, side: MapFrames, class_name: str
) -> Iterator[Instance]:
    """Yield the instances of one side at some places in the order of rows, which have one class."""
    lines = points[places]
    rows = groups.row[groups.by_row[places]]
    confidences: list[float | None] = [None] * len(lines)
    if side.confidence is not None:
        confidences = side.confidence[rows].tolist()
    tracks: list[str | None] = [None] * len(lines)
    if side.track is not None:
        tracks = [str(track) or None for track in side.track[rows]]
    for line, confidence, track in zip(lines, confidences, tracks, strict=True):
        yield Instance(class_name, line, confidence, track=track)


def links_of_frames(block: Block, place: Indices, protocol: Protocol, cutoff: float | None) -> list[list[FrameLink]]:
    """Return the links of each frame of a block, as far as features find some. ``place`` is from ``places_of``."""
    predictions, truth = block.sides
    found: list[list[FrameLink]] = [[] for _ in range(len(truth))]
    if cutoff is None or not truth.classes or not predictions.links or not truth.links:
        return found
    drawn = [links for links in drawn_links() if links.are_compared(protocol)]
    if not drawn:
        return found
    groups = block.lines
    of_predictions = np.full(len(predictions.polylines), -1)
    of_predictions[groups.row[groups.is_prediction]] = place[groups.is_prediction]
    of_truth = np.full(len(truth.polylines), -1)
    of_truth[groups.row[~groups.is_prediction]] = place[~groups.is_prediction]
    for f, of_frame in enumerate(found):
        frame = slice(f, f + 1)
        x = predictions.between(frame)
        y = truth.between(frame)
        rows_of_x = slice(*predictions.offsets[f : f + 2])
        rows_of_y = slice(*truth.offsets[f : f + 2])
        index = (of_predictions[rows_of_x], of_truth[rows_of_y])
        for links in drawn:
            of_frame.extend(links.of_frame(x, y, protocol, cutoff=cutoff, index=index))
    return found


def places_of(groups: Groups, classes: int) -> Indices:
    """Return the index of each instance among the predictions or the truth of its frame, in the order of rows."""
    place = np.zeros(len(groups.side), np.int64)
    frame = groups.side // max(2 * classes, 1)
    for flags in (groups.is_prediction, ~groups.is_prediction):
        of_side = frame[flags]
        place[groups.by_row[flags]] = np.arange(len(of_side)) - np.searchsorted(of_side, of_side)
    return place


def match_columns(groups: Groups, protocol: Protocol, cutoff: float) -> MatchColumns:
    """Return the matches of all frames of some groups."""
    whole = assigned(groups, protocol, cutoff)
    x = groups.by_row[whole.truth_of[groups.by_row] >= 0]
    y = whole.truth_of[x]
    start, stop = groups.lines.span[:, :2].astype(np.int64).T
    sizes = stop[x] - start[x]
    points = ranges(start[x], sizes)
    is_matched = whole.partner[points] >= 0
    points = points[is_matched]
    owner = np.repeat(np.arange(len(x)), sizes)[is_matched]
    pairs = np.column_stack([points - start[x][owner], whole.partner[points] - start[y][owner]])
    count = np.bincount(owner, minlength=len(x))
    return MatchColumns(x, y, whole.distance[x], sizes=count, pairs=pairs)


def _matches(
    groups: Groups, place: Indices, classes: Sequence[str], protocol: Protocol, cutoff: float
) -> list[list[Match]]:
    """Return the matches of each frame."""
    found = match_columns(groups, protocol, cutoff)
    ends = np.cumsum(found.sizes).tolist()
    matches: list[list[Match]] = [[] for _ in range(len(groups.bounds) // max(len(classes), 1))]
    columns = zip(
        (groups.side[found.prediction] // 2).tolist(),
        place[found.prediction].tolist(),
        place[found.truth].tolist(),
        found.distance.tolist(),
        pairwise([0, *ends]),
        strict=True,
    )
    for g, prediction, truth, distance, (first, end) in columns:
        frame, label = divmod(g, len(classes))
        match = Match(classes[label], prediction, truth, distance=distance, pairs=found.pairs[first:end])
        matches[frame].append(match)
    return matches
