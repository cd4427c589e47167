"""Groups: the polylines of a range of frames, resampled and sorted by frame, class and side.

A group is one class of one frame: its predictions, then its truth. Kernels score all groups of a range in one call.
Groups are in the order of frames. For a metric of level "scene", this is the order in time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.frames.columns import Values, column_of
from mapgauge.frames.content import by_content
from mapgauge.frames.findings import place_of
from mapgauge.frames.instances import is_box
from mapgauge.frames.links import Links, joined_links, kept_links
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines, ranges
from mapgauge.geometry.resampling import Side, resample_sides
from mapgauge.geometry.starts import with_fixed_starts
from mapgauge.protocols import Protocol
from mapgauge.typing import Confidences, Flags, Floats, Forward, Indices, Offsets

if TYPE_CHECKING:
    from mapgauge.kernels.lines import Lines


@dataclass(frozen=True, eq=False, kw_only=True)
class Groups:
    """Polylines in groups, sorted by frame, class, side and content, or position in the file (``Protocol.ties``)."""

    points: Floats  # (dimension, points), the layout of kernels
    offsets: Offsets  # instance i has the points offsets[i]:offsets[i + 1]
    bounds: Indices  # (groups, 3): first prediction, first truth, end
    confidence: Confidences  # 1 for truth
    closed: Flags
    repeats: Flags  # whether the last point repeats the first
    frame: Indices  # (groups,): the frame of each group, an index into poses
    label: Indices  # (groups,): the class of each group
    row: Indices  # (instances,): the index of each instance in the frames of its side
    classes: int = 1  # group g is class g % classes of its frame
    columns: Mapping[str, Values] = field(default_factory=dict)  # (instances,): further columns that a side has
    poses: NDArray[np.float64] | None = None  # (frames, 4, 4): from frame to world coordinates
    forward: Forward | None = None  # the axis that points forward
    links: Links | None = None  # between the instances of both sides; None unless a metric needs them
    boxes: tuple[int, ...] = ()  # the classes whose instances are boxes in an image
    names: tuple[str, ...] = ()  # of the classes
    part: "Part | None" = None  # whose part these groups are; None if lines are whole
    shared: dict[str, Any] = field(default_factory=dict, init=False, repr=False)  # what several metrics compute once

    @cached_property
    def polylines(self) -> Polylines:
        """The polylines."""
        return Polylines.unchecked(np.ascontiguousarray(self.points.T), self.offsets)

    @cached_property
    def whole(self) -> "Lines":
        """The lines with their closing points, for the Chamfer distance."""
        return self._lines(np.zeros_like(self.repeats))

    @cached_property
    def lines(self) -> "Lines":
        """The lines without closing points, for SOSPA and the Fréchet distance."""
        return self._lines(self.repeats)

    def _lines(self, drop: Flags) -> "Lines":
        start = self.offsets[:-1]
        stop = self.offsets[1:] - drop
        lines: Lines = kernels.lines.index_lines(self.points, start.astype(np.uint64), stop.astype(np.uint64))
        return lines

    @cached_property
    def side(self) -> Indices:
        """Twice the group of each instance, plus one if it is truth."""
        return np.repeat(np.arange(2 * len(self.bounds)), np.diff(self.bounds, axis=1).ravel())

    @property
    def is_prediction(self) -> Flags:
        """Which instances are predictions."""
        flags: Flags = self.side % 2 == 0
        return flags

    @cached_property
    def by_confidence(self) -> Indices:
        """Indices of all instances, sorted by group, predictions before truth, from high confidence to low."""
        return np.lexsort((-self.confidence, self.side))

    @cached_property
    def by_row(self) -> Indices:
        """Indices of all instances, sorted by group, predictions before truth, in the order of the frames."""
        return np.argsort(self.side * (self.row.max(initial=0) + 1) + self.row)

    @property
    def predictions(self) -> Indices:
        """Indices of the predictions, in the order of the rows of results: by group and position in the frames."""
        return self.by_row[self.is_prediction]

    @property
    def pairs(self) -> int:
        """Number of pairs of a prediction and a true instance in the same group."""
        predicted, true = np.diff(self.bounds, axis=1).T
        return int(predicted @ true)

    def rows(self, groups: Indices) -> Indices:
        """Return the indices of the instances of some groups, group by group."""
        start, _, end = self.bounds[groups].T
        return ranges(start, end - start)

    def of_classes(self, names: Sequence[str]) -> Indices:
        """Return the groups of some classes, given by name."""
        return np.flatnonzero(np.isin(self.label, [k for k, name in enumerate(self.names) if name in names]))

    def pick(self, groups: Indices) -> "Groups":
        """Return some of the groups, in the given order."""
        sizes = np.diff(self.bounds, axis=1)[groups]
        rows = self.rows(groups)
        ends = sizes.sum(axis=1).cumsum()
        return replace(
            self,
            bounds=np.stack([ends - sizes.sum(axis=1), ends - sizes[:, 1], ends], axis=1),
            frame=self.frame[groups],
            label=self.label[groups],
            part=None,
            **self.members(rows),
        )

    def column(self, name: str) -> Values:
        """Return a column by name, with a value for each instance: the empty one if no side has the column."""
        values = self.columns.get(name)
        if values is None:
            return column_of(name).empties(len(self.row))
        return values

    def members(self, rows: Indices) -> dict[str, Any]:
        """Return everything about some instances, in the given order, as arguments of ``replace``."""
        lines = self.polylines.pick(rows)
        return {
            "points": np.ascontiguousarray(lines.coords.T),
            "offsets": lines.offsets,
            "confidence": self.confidence[rows],
            "closed": self.closed[rows],
            "repeats": self.repeats[rows],
            **self._others(rows),
        }

    def _others(self, rows: Indices) -> dict[str, Any]:
        return {
            "row": self.row[rows],
            "columns": {name: values[rows] for name, values in self.columns.items()},
            "links": kept_links(self.links, rows, len(self.confidence)),
        }

    def of_lines(self) -> tuple["Groups", Indices]:
        """Return the groups without boxes, and the instances that are left. Groups of boxes become empty."""
        kept = ~np.isin(self.label, self.boxes)
        rows = self.rows(np.flatnonzero(kept))
        ends = (np.diff(self.bounds, axis=1) * kept[:, None]).ravel().cumsum().reshape(-1, 2)
        if len(ends):
            first = np.concatenate([[0], ends[:-1, 1]])
        else:
            first = np.empty(0, np.int64)
        return replace(self, bounds=np.column_stack([first, ends]), **self.members(rows)), rows

    def within(self, inner: float, outer: float) -> "Groups":
        """Return only the points in a ring around the ego vehicle, without closing points.

        The inner radius is inclusive, the outer exclusive. Polylines without points in the ring are left out. The
        points of a closed polyline stay a cyclic sequence, so that it does not matter at which point the file begins.
        """
        offsets = self.offsets
        radius = np.sqrt(np.square(self.polylines.coords[:, :2]).sum(axis=1))
        inside = (radius >= inner) & (radius < outer)
        inside[offsets[1:][self.repeats] - 1] = False
        sizes = np.add.reduceat(np.append(inside, False).astype(np.int64), offsets[:-1]) * (np.diff(offsets) > 0)
        rows = np.flatnonzero(sizes)
        before = np.concatenate([[0], (sizes > 0).cumsum()])
        return replace(
            self,
            points=np.ascontiguousarray(self.points[:, inside]),
            offsets=np.concatenate([[0], sizes[rows]]).cumsum(),
            bounds=before[self.bounds],
            confidence=self.confidence[rows],
            closed=self.closed[rows],
            repeats=np.zeros(len(rows), np.bool_),
            part=Part(self, np.flatnonzero(inside), rows),
            **self._others(rows),
        )


class Part(NamedTuple):
    """Where the points and instances of groups with parts of lines are in the groups with whole lines."""

    whole: Groups
    points: Indices
    rows: Indices


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive frames of an evaluation, in groups."""

    frames: slice  # in the order of the rows of results
    sides: tuple[MapFrames, MapFrames]  # predictions and truth of these frames
    groups: Groups

    @cached_property
    def _lines(self) -> tuple[Groups, Indices | None]:
        if self.groups.boxes:
            return self.groups.of_lines()
        return (self.groups, None)

    @property
    def lines(self) -> Groups:
        """The groups without boxes in an image."""
        return self._lines[0]

    @property
    def of_lines(self) -> Indices | None:
        """The instances of the groups that are lines; None if all are."""
        return self._lines[1]

    def for_all(self, column: NDArray[Any], of_boxes: Any) -> NDArray[Any]:
        """Return a column of the lines for all instances of the groups. Boxes have another value."""
        if self.of_lines is None:
            return column
        whole = np.full((len(self.groups.row), *column.shape[1:]), of_boxes, column.dtype)
        whole[self.of_lines] = column
        return whole


def group(predictions: MapFrames, truth: MapFrames, protocol: Protocol, *, links: bool = False) -> Groups:
    """Resample aligned frames and sort their instances by frame, class and side."""
    sides = (predictions, truth)
    sizes = [len(side.polylines) for side in sides]
    forward = truth.forward or predictions.forward
    joined = None
    if links:
        joined = joined_links([side.links for side in sides], sizes)

    # Sorted by this number, instances are in the order of frames and of classes, and predictions before truth.
    classes = len(truth.classes)
    key = [2 * (side.frame * classes + side.label) for side in sides]
    both = np.concatenate([key[0], key[1] + 1])
    if protocol.ties == "file":
        order = np.argsort(both, kind="stable")
    else:
        order = by_content(both, sides, joined)

    resampled_truth = truth
    if protocol.truth_count is not None:
        resampled_truth = truth.resample(count=protocol.truth_count)
    tolerance = -1.0  # no tolerance: rings are lines whose ends are equal
    if protocol.closed == "auto":
        tolerance = protocol.closed_tolerance
    points, offsets, ends_meet = resample_sides(
        _side_of(predictions, protocol, forward),
        _side_of(resampled_truth, protocol, forward),
        order,
        spacing=protocol.spacing,
        count=protocol.count,
        sampling=protocol.sampling,
        tolerance=tolerance,
    )
    if protocol.closed == "auto":
        closed = ends_meet
    else:
        closed = np.full(len(order), protocol.closed)

    poses = truth.poses
    if poses is None:
        poses = predictions.poses
    return Groups(
        points=points,
        offsets=offsets,
        bounds=_bounds(key, len(truth) * classes),
        confidence=np.concatenate([_confidence_of(side) for side in sides])[order],
        closed=closed,
        repeats=ends_meet & closed,
        frame=np.repeat(np.arange(len(truth)), classes),
        label=np.tile(np.arange(classes), len(truth)),
        row=np.concatenate([np.arange(size) for size in sizes])[order],
        classes=classes,
        columns=_joined_columns(sides, order),
        poses=poses,
        forward=forward,
        links=kept_links(joined, order, sum(sizes)),
        boxes=tuple(k for k, name in enumerate(truth.classes) if name in truth.boxes),
        names=truth.classes,
    )


def _side_of(side: MapFrames, protocol: Protocol, forward: Forward | None) -> Side:
    """Return one side as the resampling takes it: which instances are lines, and where rings begin."""
    kept = None
    if side.boxes:
        kept = is_box(side)
    starts = None
    if protocol.sampling == "even":
        starts = with_fixed_starts(
            side.polylines, protocol.closed, protocol.closed_tolerance, forward=forward, kept=kept
        )
    return Side.of(
        side.polylines,
        protocol.spacing,
        protocol.count,
        locate=partial(place_of, side),
        frames=side.offsets,
        kept=kept,
        starts=starts,
    )


def _bounds(key: Sequence[Indices], groups: int) -> Indices:
    """Return where the predictions of each group begin, where its truth begins, and where it ends; ``(groups, 3)``."""
    counts = np.stack([np.bincount(k // 2, minlength=groups) for k in key], axis=1)
    ends = counts.sum(axis=1).cumsum()
    return np.stack([ends - counts.sum(axis=1), ends - counts[:, 1], ends], axis=1)


def _confidence_of(side: MapFrames) -> Floats:
    """Return the confidences of a side. Truth has none, and counts as certain."""
    if side.confidence is None:
        return np.ones(len(side.polylines))
    return side.confidence


def _joined_columns(sides: Sequence[MapFrames], order: Indices) -> dict[str, NDArray[Any]]:
    """Return all columns of both sides, in the order of the groups. A side without a column has its empty value."""
    columns = {}
    for name in dict.fromkeys(name for side in sides for name in side.columns):
        empties = column_of(name).empties
        values = [side.columns.get(name, empties(len(side.polylines))) for side in sides]
        columns[name] = np.concatenate(values)[order]
    return columns
