"""The instances and matches of a block of frames as they are drawn, as columns for all its frames at once."""

from typing import NamedTuple

import numpy as np

from mapgauge import kernels
from mapgauge.frames.instances import Instance
from mapgauge.frames.links import FrameLink
from mapgauge.geometry.polylines import ranges
from mapgauge.metrics.groups import Block, Groups
from mapgauge.protocols import Protocol
from mapgauge.results.assignment import MatchColumns, links_of_frames, match_columns, places_of
from mapgauge.results.marks import STEPS, Levels
from mapgauge.typing import Confidences, Flags, Floats, Forward, Indices, Pairs, Points


class DrawnSide(NamedTuple):
    """Instances of one side, frame by frame and class by class."""

    frames: Indices  # (frames,): number of instances of each frame
    label: Indices  # (instances,): index of the class
    closed: Flags
    confidence: Confidences  # 1 for truth
    sizes: Indices  # (instances,): number of points
    points: Points  # (points, 2): x forward and y to the left, in metres


class DrawnMatches(NamedTuple):
    """Matches, frame by frame and class by class."""

    frames: Indices  # (frames,): number of matches of each frame
    prediction: Indices  # (matches,): index among the drawn predictions of the frame
    truth: Indices  # (matches,): index among the truth of the frame
    distance: Floats  # normalised SOSPA
    costs: Floats  # (matches, 3): matched points, unmatched points, confidence; not normalised
    sizes: Indices  # (matches,): number of matched points
    pairs: Pairs  # (points, 2): matched points, by index into both lines


class DrawnBlock(NamedTuple):
    """What is drawn of some frames."""

    predictions: DrawnSide
    truth: DrawnSide
    ignored: list[list[Instance]]  # of each frame, as in the file, with x forward
    matches: DrawnMatches
    links: list[list[FrameLink]]  # of each frame, by index among its drawn instances
    levels: Levels  # of all points of the predictions: how far each piece is from the truth, see ``levels_of``
    kept: Flags  # which predictions are drawn


def drawn_block(
    block: Block, protocol: Protocol, cutoff: float | None, *, centred: bool = False, least: float = 0.0
) -> DrawnBlock:
    """Return what is drawn of a block of frames. The arguments are as in ``drawings``.

    Without a cutoff, nothing is matched, and all levels are 0.
    """
    predictions, truth = block.sides
    groups = block.lines
    classes = len(truth.classes)
    place = places_of(groups, classes)
    matches = _matches(groups, protocol, cutoff)
    links = links_of_frames(block, place, protocol, cutoff)
    forward = truth.forward or predictions.forward
    coords = groups.polylines.coords
    centres: list[Points | None] = [None] * len(truth)
    if centred:
        centres = _centres(groups, len(truth))
        coords = _around_centres(groups, centres)
    x = groups.predictions
    y = groups.by_row[~groups.is_prediction]
    frame = _frame_of(groups, classes)

    # Most methods predict many lines with almost no confidence, and they are most of the size of a page. Predictions
    # that are matched or linked stay, whatever their confidence, so that the truth is found or missed as before.
    is_drawn = groups.confidence >= least
    is_drawn[matches.prediction] = True
    is_drawn[_linked(links, x, frame[x])] = True
    kept = is_drawn[x]
    place[x] = _numbers_in_frames(frame[x], kept)
    x = x[kept]

    turned = forward
    if centred:
        turned = forward or "y"  # a map has y upwards unless an axis points forward
    return DrawnBlock(
        predictions=_lines(groups, x, coords, forward=turned, frame=frame[x], frames=len(truth)),
        truth=_lines(groups, y, coords, forward=turned, frame=frame[y], frames=len(truth)),
        ignored=_ignored(block, centres, forward),
        matches=DrawnMatches(
            frames=np.bincount(frame[matches.prediction], minlength=len(truth)),
            prediction=place[matches.prediction],
            truth=place[matches.truth],
            distance=matches.distance,
            costs=_costs(groups, coords, matches, protocol=protocol),
            sizes=matches.sizes,
            pairs=matches.pairs,
        ),
        links=_renumbered(links, kept, np.bincount(frame[groups.predictions], minlength=len(truth))),
        levels=_levels(groups, coords, x, y, matches=matches, cutoff=cutoff),
        kept=kept,
    )


def with_x_forward(points: Floats, forward: Forward | None) -> Floats:
    """Return points with x forward and y to the left, so that the panels of all methods have the same axes."""
    if forward == "y":
        turned: Floats = points[:, 1::-1] * (1.0, -1.0)
        return turned
    return points[:, :2]


def _matches(groups: Groups, protocol: Protocol, cutoff: float | None) -> MatchColumns:
    if cutoff is not None:
        return match_columns(groups, protocol, cutoff)
    nothing = np.empty(0, np.int64)
    return MatchColumns(nothing, nothing, np.empty(0), sizes=nothing, pairs=np.empty((0, 2), np.int64))


def _frame_of(groups: Groups, classes: int) -> Indices:
    """Return the frame of each instance."""
    return groups.side // max(2 * classes, 1)


def _sizes(groups: Groups, rows: Indices) -> Indices:
    """Return the number of points of some instances, without closing points."""
    sizes: Indices = np.diff(groups.offsets)[rows] - groups.repeats[rows]
    return sizes


def _lines(
    groups: Groups, rows: Indices, coords: Points, forward: Forward | None, frame: Indices, frames: int
) -> DrawnSide:
    """Return some instances. ``frame`` is that of each."""
    sizes = _sizes(groups, rows)
    return DrawnSide(
        frames=np.bincount(frame, minlength=frames),
        label=groups.label[groups.side[rows] // 2],
        closed=groups.closed[rows],
        confidence=groups.confidence[rows],
        sizes=sizes,
        points=with_x_forward(coords[ranges(groups.offsets[rows], sizes)], forward),
    )


def _numbers_in_frames(frame: Indices, kept: Flags) -> Indices:
    """Return the index of each kept instance among the kept ones of its frame. Frames are in their order."""
    before = np.concatenate([[0], kept.cumsum()])
    first = np.searchsorted(frame, frame)
    numbers: Indices = before[:-1] - before[first]
    return numbers


def _linked(links: list[list[FrameLink]], x: Indices, frame: Indices) -> Indices:
    """Return the predictions that are linked. ``x`` are all predictions in their order, and ``frame`` their frames."""
    linked = []
    for f, of_frame in enumerate(links):
        if not of_frame:
            continue
        first = int(np.searchsorted(frame, f))
        for link in of_frame:
            if link.predicted:
                linked += [first + link.source, first + link.target]
    return x[np.array(linked, np.int64)]


def _renumbered(links: list[list[FrameLink]], kept: Flags, count: Indices) -> list[list[FrameLink]]:
    """Return links by index among the kept predictions. ``count`` is the number of predictions of each frame."""
    if kept.all():
        return links
    renumbered = []
    for of_frame, of_kept in zip(links, np.split(kept, np.cumsum(count)[:-1]), strict=True):
        number = (of_kept.cumsum() - 1).tolist()
        changed = []
        for link in of_frame:
            if link.predicted:
                link = link._replace(source=number[link.source], target=number[link.target])
            changed.append(link)
        renumbered.append(changed)
    return renumbered


def _ignored(block: Block, centres: list[Points | None], forward: Forward | None) -> list[list[Instance]]:
    """Return the ignored instances of each frame: truth, then predictions that are matched with it."""
    predictions, truth = block.sides
    asides = [side.aside for side in (truth, predictions) if side.aside is not None]
    ignored = []
    for token, centre in zip(truth.tokens, centres, strict=True):
        lines = [line for aside in asides for line in aside[token]]
        if centre is None:
            placed = [line._replace(points=with_x_forward(line.points, forward)) for line in lines]
        else:
            placed = [line._replace(points=with_x_forward(line.points - centre, forward or "y")) for line in lines]
        ignored.append(placed)
    return ignored


def _centres(groups: Groups, frames: int) -> list[Points | None]:
    """Return the middle of the truth of each frame, or of its predictions if it has no truth; None without lines."""
    classes = len(groups.bounds) // max(frames, 1)
    coords = groups.polylines.coords
    centres: list[Points | None] = []
    for f in range(frames):
        bounds = groups.bounds[f * classes : (f + 1) * classes]
        rows = np.concatenate([np.empty(0, np.int64), *(np.arange(first, end) for _, first, end in bounds)])
        if not len(rows):
            rows = np.concatenate([np.empty(0, np.int64), *(np.arange(first, end) for first, end, _ in bounds)])
        points = coords[ranges(groups.offsets[rows], _sizes(groups, rows))]
        if len(points):
            centres.append(points.min(axis=0) / 2 + points.max(axis=0) / 2)
        else:
            centres.append(None)
    return centres


def _around_centres(groups: Groups, centres: list[Points | None]) -> Points:
    """Return the points of all instances with the centres of their frames at the origin."""
    coords = groups.polylines.coords.copy()
    classes = len(groups.bounds) // max(len(centres), 1)
    for f, centre in enumerate(centres):
        if centre is None:
            continue
        bounds = groups.bounds[f * classes : (f + 1) * classes]
        coords[groups.offsets[bounds[0, 0]] : groups.offsets[bounds[-1, -1]]] -= centre
    return coords


def _costs(groups: Groups, coords: Points, matches: MatchColumns, *, protocol: Protocol) -> Floats:
    """Return the unnormalised costs of all matches: matched points, unmatched points, confidence; ``(matches, 3)``."""
    if not len(matches.prediction):
        return np.zeros((0, 3))
    order = protocol.order
    cutoff = protocol.cutoffs[0]
    x = matches.prediction
    y = matches.truth
    owner = np.repeat(np.arange(len(x)), matches.sizes)
    gaps = coords[groups.offsets[x][owner] + matches.pairs[:, 0]]
    gaps = gaps - coords[groups.offsets[y][owner] + matches.pairs[:, 1]]
    of_points = np.bincount(owner, np.sqrt(np.square(gaps).sum(axis=1)) ** order, len(x))
    points = _sizes(groups, x) + _sizes(groups, y)
    total = of_points + cutoff**order / 2 * (points - 2 * matches.sizes)
    share = np.divide(of_points, total, out=np.zeros(len(x)), where=total > 0)
    r = groups.confidence[x]
    s = groups.confidence[y]
    weighted = np.minimum(r, s) * matches.distance**order
    return np.stack([weighted * share, weighted * (1 - share), np.abs(r - s) / 2], axis=1)


def _levels(
    groups: Groups, coords: Points, x: Indices, y: Indices, matches: MatchColumns, cutoff: float | None
) -> Levels:
    """Return the level of each point of the predictions ``x``. The truth ``y`` is that of all frames, in its order."""
    sizes_of_x = _sizes(groups, x)
    points = coords[ranges(groups.offsets[x], sizes_of_x), :2]
    if cutoff is None:
        return np.zeros(len(points), np.uint8)
    # The true lines of a class stand together, so that each prediction is compared with a range of them.
    true = np.bincount(groups.side[y] // 2, minlength=len(groups.bounds))
    ends = true.cumsum()
    first = (ends - true)[groups.side // 2]
    stop = ends[groups.side // 2]
    number = np.empty(len(groups.row), np.int64)
    number[y] = np.arange(len(y))
    first[matches.prediction] = number[matches.truth]
    stop[matches.prediction] = number[matches.truth] + 1
    sizes_of_y = _sizes(groups, y)
    levels: Levels = kernels.marks.piece_levels(
        points,
        np.concatenate([[0], sizes_of_x.cumsum()]),
        groups.closed[x],
        truth=coords[ranges(groups.offsets[y], sizes_of_y), :2],
        truth_offsets=np.concatenate([[0], sizes_of_y.cumsum()]),
        truth_closed=groups.closed[y],
        first=first[x],
        stop=stop[x],
        cutoff=cutoff,
        steps=STEPS,
    )
    return levels
