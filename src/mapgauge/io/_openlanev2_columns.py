"""OpenLane-V2's pickles read in columns, for sound files. ``openlanev2`` describes the files."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import Remedy, UnreadableFile
from mapgauge.frames.links import Links
from mapgauge.frames.map_frames import Names
from mapgauge.io._collect import Collector
from mapgauge.io._openlanev2_lists import INTERSECTION, LISTS, MATRICES, SEGMENT, Topology
from mapgauge.io.pickles.columns import codes_of, numbered, points_of, track_names
from mapgauge.io.pickles.tree import Irregular, PickleTree, Rows, expect
from mapgauge.protocols import TRAFFIC_ELEMENTS
from mapgauge.typing import Confidences, Flags, Indices, Points


class Entries(NamedTuple):
    """The entries of one list in all frames."""

    rows: Rows  # of the entries, by frame
    counts: Indices  # (frames,): number of entries; 0 where there is no list
    present: Flags  # (frames,): whether there is a list


class _Instances(NamedTuple):
    """The instances that the entries of one list give."""

    frame: Indices
    code: Indices
    prefix: Indices  # index of the name that begins a track: the class, or one name for all traffic elements
    points: Rows
    confidence: Confidences | None
    identity: Indices | None  # index of the number that ends a track
    inside: Flags | None  # whether it lies in an intersection


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
    numbers: list[str | int] = []  # of the tracks
    identities = _identities(tree, entries, collector.has_confidence, numbers)
    parts = [_instances(tree, collector, entries, key, identities.get(key)) for key in LISTS]
    counts = [len(part.frame) for part in parts]
    frame = np.concatenate([part.frame for part in parts])
    order = np.argsort(frame, kind="stable")  # in a frame, one list after the other
    frame = frame[order]
    code = np.concatenate([part.code for part in parts])[order]
    points = np.concatenate([part.points for part in parts])[order]
    confidence = None
    if collector.has_confidence:
        confidence = np.concatenate([cast("Confidences", part.confidence) for part in parts])[order]
    sizes, coords = _points(tree, points, np.array([name in collector.boxes for name in (*collector.codes, "")])[code])
    identity = _column([part.identity for part in parts], counts, -1)
    track = None
    if identity is not None:
        prefix = np.concatenate([part.prefix for part in parts])[order]
        track = _tracks(collector, frame, prefix, identity[order], numbers)
    inside = _column([part.inside for part in parts], counts, False)
    key = next((key for key in MATRICES if key in kinds), None)
    links = None
    if key is not None:
        bounds = np.searchsorted(frame, np.arange(len(annotations) + 1))
        links = _links(tree, collector, key, entries, annotations, bounds)
    collector.add_columns(
        frame, code, confidence, sizes, coords, track, links, None if inside is None else inside[order]
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


def _column(parts: Sequence[Any], counts: Sequence[int], missing: Any) -> Any:
    """Return a column from parts, with a value where a part is None; None if all are."""
    if all(part is None for part in parts):
        return None
    return np.concatenate(
        [np.full(count, missing) if part is None else part for part, count in zip(parts, counts, strict=True)]
    )


def _instances(
    tree: PickleTree, collector: Collector, entries: dict[str, Entries], key: str, identity: Indices | None
) -> _Instances:
    """Return the instances of one list: three for each lane segment."""
    rows, counts, _ = entries[key]
    frame = np.repeat(np.arange(len(counts)), counts)
    lines = SEGMENT if key == "lane_segment" else ("points",)
    intersection, confidences, *given = tree.find_all(rows, INTERSECTION, "confidence", *lines)
    inside = _intersection(tree, intersection) if key in MATRICES else None
    expect(np.array(given) >= 0, not collector.has_confidence or (confidences >= 0).all())
    confidence = tree.numbers(confidences) if collector.has_confidence else None
    points = np.stack(given, axis=1).ravel()
    if key == "lane_segment":
        code = np.tile([collector.codes.get(name, -1) for name in SEGMENT], len(rows)).astype(np.int64)
        frame = np.repeat(frame, 3)
        confidence = None if confidence is None else np.repeat(confidence, 3)
        identity = None if identity is None else np.repeat(identity, 3)
        inside = None if inside is None else np.repeat(inside, 3)
    elif key == "lane_centerline":
        code = np.full(len(rows), collector.codes.get("centerline", -1))
    elif key == "area":
        code = codes_of(collector, tree.wholes(tree.member(rows, "category")))
    else:
        names = [collector.codes.get(name, -1) for name in TRAFFIC_ELEMENTS]
        code = np.array(names)[attributes_of(tree, entries[key])]
    expect(code >= 0)
    prefix = np.full(len(code), len(collector.codes)) if key == "traffic_element" else code
    return _Instances(frame, code, prefix, points, confidence, identity, inside)


def _intersection(tree: PickleTree, rows: Rows) -> Flags | None:
    """Return the values that say whether lanes lie in an intersection; None if no lane says it."""
    if (rows < 0).all():
        return None
    expect(rows >= 0)
    tree.expect(rows, "TRUE", "FALSE")
    return tree.are(rows, "TRUE")


def _ids(tree: PickleTree, rows: Rows) -> tuple[Sequence[str | int], Indices] | None:
    """Return the different ids of entries, and the index of the id of each; None if they have none."""
    ids = tree.find(rows, "id")
    if (ids < 0).all():
        return None
    expect(ids >= 0)
    if tree.only(ids, "TEXT"):
        texts = tree.values(ids)
        known: dict[str, int] = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        return list(known), np.array([known[text] for text in texts])
    return numbered(tree.wholes(ids))


def _identities(
    tree: PickleTree, entries: dict[str, Entries], predicted: bool, numbers: list[str | int]
) -> dict[str, Indices]:
    """Refuse ids that occur twice in a frame. Lanes and traffic elements of a submission share their ids.

    For truth, append the ids of all lists to ``numbers``, and return their indices, for each list.
    """
    together = [key for key in LISTS if key != "area"] if predicted else []
    identities: dict[str, Indices] = {}
    for keys in (together, *([key] for key in LISTS if key not in together)):
        rows = np.concatenate([np.empty(0, np.int64), *(entries[key].rows for key in keys)])
        ids = _ids(tree, rows)
        if ids is not None:
            frame = np.concatenate(
                [np.repeat(np.arange(len(entries[key].counts)), entries[key].counts) for key in keys]
            )
            pairs = np.sort(frame * len(ids[0]) + ids[1])
            expect(pairs[1:] != pairs[:-1])
            if not predicted:
                identities[keys[0]] = ids[1] + len(numbers)
                numbers += ids[0]
    return identities


def _tracks(
    collector: Collector, frame: Indices, prefix: Indices, identity: Indices, numbers: Sequence[str | int]
) -> Names:
    """Return the names of tracks: ``segment/class/id``."""
    classes = [*collector.codes, "traffic_element"]
    scenes = dict.fromkeys(collector.scenes) or {"": None}
    of_frame = np.zeros(len(collector.tokens), np.int64)
    if collector.scenes:
        known = {scene: i for i, scene in enumerate(scenes)}
        of_frame = np.array([known[scene] for scene in collector.scenes])
    groups = [f"{scene}/{name}" if scene else name for scene in scenes for name in classes]
    group = of_frame[frame] * len(classes) + prefix
    named = identity >= 0
    if named.all():
        return track_names(groups, group, numbers, identity)
    tracks = track_names(groups, group[named], numbers, identity[named])
    names = np.zeros(len(frame), tracks.dtype)
    names[named] = tracks
    return names


def _points(tree: PickleTree, rows: Rows, box: Flags) -> tuple[Indices, Points]:
    """Return the points of all instances. A box has two corners, in order, and the height 0."""
    sizes, lines = points_of(tree, rows[~box])
    if not box.any():
        return sizes, lines
    corner_sizes, corners = points_of(tree, rows[box])
    expect(corner_sizes == 2, corners.shape[1] == 2)
    low, high = corners[::2], corners[1::2]
    expect(~(low > high), ~(high < 0))
    counts = np.full(len(rows), 2)
    counts[~box] = sizes
    width = lines.shape[1] if len(lines) else 3
    ends = np.concatenate([[0], counts.cumsum()])
    coords = np.empty((ends[-1], width))
    runs = ends[np.flatnonzero(np.diff(np.concatenate([[True], box, [True]])))]  # of points that are not of boxes
    at = 0
    for start, stop in runs.reshape(-1, 2).tolist():
        coords[start:stop] = lines[at : at + stop - start]
        at += stop - start
    first = ends[:-1][box]
    for k, corner in enumerate((low, high)):
        coords[first + k, :2], coords[first + k, 2:] = corner, 0
    return counts, coords
