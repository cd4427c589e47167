"""OpenLane-V2's pickles read in columns, for sound files. ``openlanev2`` describes the files."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import Remedy, UnreadableFile
from mapgauge.frames.links import Links
from mapgauge.io._collect import Collector
from mapgauge.io._openlanev2_lists import INTERSECTION, LISTS, MATRICES, SEGMENT, Topology
from mapgauge.io.pickles.columns import codes_of, points_of
from mapgauge.io.pickles.tree import Irregular, PickleTree, Rows, expect
from mapgauge.protocols import TRAFFIC_ELEMENTS
from mapgauge.typing import Flags, Indices, Points


class Entries(NamedTuple):
    """The entries of one list in all frames."""

    rows: Rows  # of the entries, by frame
    counts: Indices  # (frames,): number of entries; 0 where there is no list
    present: Flags  # (frames,): whether there is a list

    @property
    def frame(self) -> Indices:
        """The frame of each entry."""
        return np.repeat(np.arange(len(self.counts)), self.counts)


def entries_of(tree: PickleTree, annotations: Rows) -> dict[str, Entries]:
    """Return the entries of all lists of a file, by the keys of ``LISTS``."""
    entries = {}
    for key, lists in zip(LISTS, tree.find_all(annotations, *LISTS), strict=True):
        present = lists >= 0
        counts = np.zeros(len(lists), np.int64)
        counts[present], rows = tree.items(lists[present])
        tree.expect(rows, "DICT")
        entries[key] = Entries(rows, counts, present)
    expect(np.logical_or.reduce([entries[key].present for key in LISTS if LISTS[key]]))
    expect(not (len(entries["lane_centerline"].rows) and len(entries["lane_segment"].rows)))
    return entries


def attributes_of(tree: PickleTree, elements: Entries) -> Indices:
    """Return the attributes of traffic elements."""
    attribute = tree.wholes(tree.member(elements.rows, "attribute"))
    category = tree.find(elements.rows, "category")
    stated = tree.wholes(category[category >= 0])
    expect(attribute >= 0, attribute < len(TRAFFIC_ELEMENTS), (stated == 1) | (stated == 2))
    return attribute


def add_instances(
    tree: PickleTree, collector: Collector, entries: dict[str, Entries], kinds: Sequence[str], annotations: Rows
) -> None:
    """Add all instances and links, and the findings about matrices. The collector must have the frames."""
    ids = _ids_by_list(tree, entries, collector.has_confidence)
    parts = [_instances(tree, collector, entries[key], key, ids.get(key)) for key in LISTS]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")  # in a frame, one list after the other
    frame, code, points, confidence, identity, inside = (column[order] for column in columns)
    box = np.array([name in collector.boxes for name in (*collector.codes, "")])[code]
    lanes = next((key for key in MATRICES if key in kinds), None)
    links = None
    if lanes is not None:
        bounds = np.searchsorted(frame, np.arange(len(annotations) + 1))
        links = _links(tree, collector, lanes, entries, annotations, bounds)
    collector.add_columns(
        frame,
        code,
        confidence if collector.has_confidence else None,
        *_points(tree, points, box),
        _tracks(collector, frame, code, identity),
        links,
        None if (inside < 0).all() else inside > 0,
    )


def _links(
    tree: PickleTree,
    collector: Collector,
    key: str,
    entries: dict[str, Entries],
    annotations: Rows,
    bounds: Indices,
) -> Links | None:
    """Return the links of all frames, and add findings about missing matrices. ``bounds``: the instances of frames."""
    topology = Topology(_irregular, key)
    frames, names = np.flatnonzero(entries[key].present), MATRICES[key]
    matrices = [_given(tree, rows) for rows in tree.find_all(annotations[frames], *names)]
    lanes, elements = entries[key].counts, entries["traffic_element"].counts
    prefix, part = ("results", "predictions") if collector.has_confidence else ("", "annotation")
    for i, *given in zip(frames.tolist(), *matrices, strict=True):
        first, last = bounds[i : i + 2].tolist()
        where = f'{prefix}["{collector.tokens[i]}"].{part}'
        given_by_name = dict(zip(names, given, strict=True))
        topology.add(given_by_name, int(lanes[i]), first, range(last - int(elements[i]), last), where)
    collector.findings += topology.findings(collector.name)
    return topology.links()


def _irregular(message: str, *, remedy: Remedy | str | None = None) -> UnreadableFile:
    """Leave a wrong matrix to the reader of objects. It may come after another fault, which is reported first."""
    raise Irregular


def _given(tree: PickleTree, rows: Rows) -> list[NDArray[Any] | None]:
    """Return arrays; None where one is missing."""
    arrays = iter(tree.arrays(rows[rows >= 0]))
    return [next(arrays) if row >= 0 else None for row in rows.tolist()]


def _instances(
    tree: PickleTree, collector: Collector, entries: Entries, key: str, ids: Sequence[str | int] | None
) -> tuple[NDArray[Any], ...]:
    """Return the instances of one list, three for each lane segment.

    The columns are the frame, the code, the row of the points, the confidence (0 in truth), the id or None, and whether
    it lies in an intersection, or -1.
    """
    rows = entries.rows
    lines = SEGMENT if key == "lane_segment" else ("points",)
    intersection, confidences, *given = tree.find_all(rows, INTERSECTION, "confidence", *lines)
    expect(np.array(given) >= 0)
    inside = np.full(len(rows), -1)
    if key in MATRICES and (intersection >= 0).any():
        tree.expect(intersection[intersection >= 0], "TRUE", "FALSE")
        expect(intersection >= 0)
        inside = tree.are(intersection, "TRUE").astype(np.int64)
    confidence = np.zeros(len(rows))
    if collector.has_confidence:
        expect(confidences >= 0)
        confidence = tree.numbers(confidences)
    if key in MATRICES:
        code = np.tile([collector.codes.get(name, -1) for name in LISTS[key]], len(rows)).astype(np.int64)
    elif key == "area":
        code = codes_of(collector, tree.wholes(tree.member(rows, "category")))
    else:
        code = np.array([collector.codes.get(name, -1) for name in TRAFFIC_ELEMENTS])[attributes_of(tree, entries)]
    expect(code >= 0)
    identity = np.array([None] * len(rows) if ids is None else ids, np.object_)
    frame, confidence, identity, inside = (
        np.repeat(column, len(lines)) for column in (entries.frame, confidence, identity, inside)
    )
    return frame, code, np.stack(given, axis=1).ravel(), confidence, identity, inside


def _ids_by_list(tree: PickleTree, entries: dict[str, Entries], predicted: bool) -> dict[str, list[str | int]]:
    """Return the ids of entries in truth, and refuse ids that occur twice in a frame.

    Lanes and traffic elements of a submission share their ids.
    """
    together = [key for key in LISTS if key != "area"] if predicted else []
    ids_by_list: dict[str, list[str | int]] = {}
    for keys in (together, *([key] for key in LISTS if key not in together)):
        rows = np.concatenate([np.empty(0, np.int64), *(entries[key].rows for key in keys)])
        ids = tree.find(rows, "id")
        if (ids < 0).all():
            continue
        expect(ids >= 0)
        values: list[str | int] = tree.values(ids) if tree.only(ids, "TEXT") else tree.wholes(ids).tolist()
        frame = np.concatenate([entries[key].frame for key in keys])
        expect(len(set(zip(frame.tolist(), values, strict=True))) == len(values))
        if not predicted:
            ids_by_list[keys[0]] = values
    return ids_by_list


def _tracks(collector: Collector, frame: Indices, code: Indices, identity: NDArray[np.object_]) -> list[str]:
    """Return the names of tracks, ``segment/class/id``; an empty text for an instance without id."""
    scenes = [f"{scene}/" for scene in collector.scenes] or [""] * len(collector.tokens)
    classes = ["traffic_element" if name in collector.boxes else name for name in collector.codes]
    named = zip(frame.tolist(), code.tolist(), identity.tolist(), strict=True)
    return ["" if number is None else f"{scenes[i]}{classes[k]}/{number}" for i, k, number in named]


def _points(tree: PickleTree, rows: Rows, box: Flags) -> tuple[Indices, Points]:
    """Return the points of all instances. A box has two corners, in order, and the height 0."""
    sizes, lines = points_of(tree, rows[~box])
    if not box.any():
        return sizes, lines
    corner_sizes, corners = points_of(tree, rows[box])
    expect(corner_sizes == 2, corners.shape[1] == 2, ~(corners[::2] > corners[1::2]), ~(corners[1::2] < 0))
    counts = np.full(len(rows), 2)
    counts[~box] = sizes
    of_box = np.repeat(box, counts)
    lines = lines if len(lines) else np.empty((0, 3))
    coords = np.zeros((len(of_box), lines.shape[1]))
    coords[~of_box] = lines
    coords[of_box, :2] = corners
    return counts, coords
