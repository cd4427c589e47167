"""``FrameGraphs``: the lanes, traffic elements and links of one frame, for lane-graph PLD.

Elements are in an order that depends on their content and links only. The best assignment may not be unique, and then
the solver finds the same one for any order of the input.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mapgauge import kernels
from mapgauge.errors import InvalidInput
from mapgauge.features.lanes.linked_graphs import LinkGraph
from mapgauge.frames.content import told_apart
from mapgauge.frames.links import CONTROLLED_BY, SUCCESSOR, links_between
from mapgauge.geometry.polylines import ranges
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.pld import score_groups
from mapgauge.protocols import LANE
from mapgauge.typing import Floats, Indices

KINDS = (SUCCESSOR, CONTROLLED_BY)  # the links that count: from lane to lane, and from lane to traffic element
LANES, TRAFFIC = 0, 1  # kinds of elements


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """The lanes of one side of a frame, then its traffic elements."""

    instance: Indices  # indices of instances of the groups
    lanes: int  # number of lanes
    confidence: Floats
    graph: LinkGraph
    kind: Indices  # index into KINDS of each link of the graph
    score: Floats  # the weight of each link before the floor

    @property
    def kinds(self) -> Indices:
        """Whether each element is a lane (0) or a traffic element (1)."""
        kinds: Indices = (np.arange(len(self.instance)) >= self.lanes).astype(np.int64)
        return kinds


@dataclass(frozen=True, slots=True, eq=False)
class FrameGraphs:
    """Both sides of a frame and the distances between their elements."""

    x: Elements
    y: Elements
    saving: Floats  # (elements of x, elements of y): what a pair saves; 0 for a lane and a traffic element
    matched: Floats  # of the same shape: the distance of matched points, weighted by the smaller confidence
    unmatched: Floats  # the same for unmatched points, and for traffic elements their whole distance
    plain: Floats  # (6,): the five parts of PLD of the lanes, and its mass
    truth_of: Indices  # (lanes of x,): the lane of y that PLD assigns, or -1

    @property
    def linked(self) -> bool:
        """Whether either side has links."""
        return bool(len(self.x.graph.weight) or len(self.y.graph.weight))


def frame_graphs(groups: Groups, directed: bool, cutoff: float, floor: float) -> Iterator[tuple[int, FrameGraphs]]:
    """Yield the graphs of each frame, and the group of its lanes.

    There is no link up to the score ``floor``. Scores above it are stretched, so that 1 stays 1.
    """
    own = groups.of_classes([LANE])
    lanes, rows = groups.pick(own), groups.rows(own)
    plain, truth_of, _ = score_groups(lanes, directed, cutoff, 1.0)
    pairs = kernels.pld.near_pairs(lanes.lines, lanes.confidence, lanes.bounds, cutoff)
    long = kernels.sospa.is_long(lanes.lines, lanes.closed)
    numbers = kernels.pld.savings_of_pairs(lanes.lines, lanes.closed, lanes.confidence, pairs, directed, cutoff, long)
    truth_of = np.where(truth_of >= 0, rows[truth_of], -1)  # instances of all groups
    begin = np.searchsorted(pairs[:, 0], lanes.bounds[:, [0, 1]])
    boxes = np.isin(groups.label, groups.boxes)
    at = np.empty(len(groups.confidence), np.int64)  # the place of an instance among the elements of its frame
    for k, g in enumerate(own.tolist()):
        first = g - g % groups.classes
        traffic = first + np.flatnonzero(boxes[first : first + groups.classes])
        bounds = groups.bounds[[g, *traffic.tolist()]]
        whole = int(groups.bounds[first, 0]), int(groups.bounds[first + groups.classes - 1, 2])
        x, y = (_elements(groups, bounds[:, side], bounds[:, side + 1], whole, floor) for side in (0, 1))
        rows_of_frame = slice(*begin[k].tolist())
        tables = np.zeros((3, len(x.instance), len(y.instance)))
        at[x.instance], at[y.instance] = np.arange(len(x.instance)), np.arange(len(y.instance))
        i, j = at[rows[pairs[rows_of_frame]]].T
        tables[:, i, j] = numbers[rows_of_frame].T
        tables[::2, x.lanes :, y.lanes :] = _traffic(groups, x, y)
        partner = truth_of[np.searchsorted(rows, x.instance[: x.lanes])]
        yield g, FrameGraphs(x, y, tables[0], tables[1], tables[2], plain[k], np.where(partner >= 0, at[partner], -1))


def _elements(groups: Groups, start: Indices, stop: Indices, whole: tuple[int, int], floor: float) -> Elements:
    """Return the elements of one side of a frame: the lanes, then the boxes of each class.

    ``start`` and ``stop`` bound the instances of each group of elements, ``whole`` those of the frame.
    """
    instance = ranges(start, stop - start)
    lanes = int(stop[0] - start[0])
    place = np.full(whole[1] - whole[0], -1)
    place[instance - whole[0]] = np.arange(len(instance))
    links = links_between(groups.links, *whole)
    if links is None:
        source = target = kind = np.empty(0, np.int64)
        score = np.empty(0)
    else:
        source, target, score = place[links.source], place[links.target], links.weight
        into = np.where(target < lanes, SUCCESSOR, CONTROLLED_BY)
        kept = (source >= 0) & (source < lanes) & (target >= 0) & (links.kind == into)
        source, target, score = source[kept], target[kept], score[kept]
        kind = (target >= lanes).astype(np.int64)
        if score.max(initial=0.0) > 1:
            raise InvalidInput(f"links: a link has weight {score.max():g}, expected a number in [0, 1]")
    weight = np.maximum(score - floor, 0.0) / (1.0 - floor) if floor else score
    order = _by_content(groups, instance, lanes, source, target, weight)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    sort = np.lexsort((rank[target], rank[source]))
    sort = sort[weight[sort] > 0]
    graph = LinkGraph(len(instance), rank[source][sort], rank[target][sort], weight[sort])
    return Elements(instance[order], lanes, groups.confidence[instance[order]], graph, kind[sort], score[sort])


def _by_content(
    groups: Groups, instance: Indices, lanes: int, source: Indices, target: Indices, weight: Floats
) -> Indices:
    """Return the order of the elements by content, lanes first. Links tell equal elements apart."""
    offsets, coords = groups.polylines.offsets, groups.polylines.coords
    label = groups.label[groups.side[instance] // 2].tolist()
    keys = [
        groups.names[c].encode() + groups.confidence[i].tobytes()
        + coords[offsets[i] : offsets[i + 1]].tobytes()
        for i, c in zip(instance.tolist(), label, strict=True)
    ]  # fmt: skip
    keys = told_apart(keys, source.tolist(), target.tolist(), [share.tobytes() for share in weight])
    return np.array(sorted(range(len(keys)), key=lambda k: (k >= lanes, keys[k])), np.int64)


def _traffic(groups: Groups, x: Elements, y: Elements) -> Floats:
    """Return what pairs of traffic elements save, and their weighted distances, as ``(2, elements, elements)``.

    The distance of two boxes is 1 if their attributes differ, and otherwise the Jaccard distance, 1 - IoU. Boxes
    without an area are at distance 0 if they are equal.
    """
    own, other = x.instance[x.lanes :], y.instance[y.lanes :]
    if not len(own) or not len(other):
        return np.zeros((2, len(own), len(other)))
    label = groups.label[groups.side // 2]
    (low, high), (other_low, other_high) = (_corners(groups, boxes) for boxes in (own, other))
    inside = np.minimum(high[:, None], other_high) - np.maximum(low[:, None], other_low)
    shared = np.maximum(inside, 0.0).prod(axis=2)
    whole = (high - low).prod(axis=1)[:, None] + (other_high - other_low).prod(axis=1) - shared
    distance = np.where(whole > 0, 1.0 - shared / np.where(whole > 0, whole, 1.0), 1.0)
    equal = (low[:, None] == other_low).all(axis=2) & (high[:, None] == other_high).all(axis=2)
    distance = np.where(equal, 0.0, np.maximum(distance, 0.0))
    distance[label[own, None] != label[None, other]] = 1.0
    weight = np.minimum(x.confidence[x.lanes :, None], y.confidence[None, y.lanes :])
    return np.stack([weight * (1.0 - distance), weight * distance])


def _corners(groups: Groups, boxes: Indices) -> tuple[Floats, Floats]:
    """Return the smallest and the largest corners of boxes."""
    start = groups.polylines.offsets[boxes]
    return groups.polylines.coords[start, :2], groups.polylines.coords[start + 1, :2]
