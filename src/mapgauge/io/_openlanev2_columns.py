"""OpenLane-V2's pickles read in columns, for sound files. ``openlanev2`` describes the files."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from mapgauge import kernels
from mapgauge.files.pickle_table import Rows, expect
from mapgauge.files.pickle_tree import PickleTree
from mapgauge.frames.links import Links
from mapgauge.frames.map_frames import Names
from mapgauge.io._collect import Collector
from mapgauge.io._openlanev2_lists import INTERSECTION, LISTS, SEGMENT
from mapgauge.io._openlanev2_topology import CODES, KINDS, MATRICES, missing_matrices
from mapgauge.io._tree_columns import codes_of, points_of, track_names
from mapgauge.protocols import TRAFFIC_ELEMENTS
from mapgauge.typing import Confidences, Flags, Indices, Points

_BLOCK = 1 << 19  # scores that are converted at once


class Entries(NamedTuple):
    """The entries of one list in all frames."""

    rows: Rows  # of the entries, by frame
    counts: Indices  # (frames,): number of entries; 0 where there is no list
    present: Flags  # (frames,): whether there is a list


class _Instances(NamedTuple):
    """The instances that the entries of one list give."""

    frame: Indices
    place: Indices  # place of the list in the order of a frame
    code: Indices
    points: Rows
    confidence: Confidences | None
    track: Names | None
    inside: Flags | None  # whether it lies in an intersection


def entries_of(tree: PickleTree, annotations: Rows) -> dict[str, Entries]:
    """Return the entries of all lists of a file, by the keys of ``LISTS``."""
    found = {}
    for key in LISTS:
        lists = tree.find(annotations, key)
        present = lists >= 0
        counts = np.zeros(len(lists), np.int64)
        counts[present], rows = tree.items(lists[present])
        tree.expect(rows, "DICT")
        found[key] = Entries(rows, counts, present)
    expect(np.logical_or.reduce([found[key].present for key in LISTS if LISTS[key]]))
    expect(not (len(found["lane_centerline"].rows) and len(found["lane_segment"].rows)))
    return found


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
    _expect_different_ids(tree, entries, collector.has_confidence)
    parts = [_instances(tree, collector, entries, key) for key in LISTS]
    frame = np.concatenate([part.frame for part in parts])
    order = np.lexsort((np.concatenate([part.place for part in parts]), frame))
    frame = frame[order]
    code = np.concatenate([part.code for part in parts])[order]
    points = np.concatenate([part.points for part in parts])[order]
    confidence = None
    if collector.has_confidence:
        confidence = np.concatenate([cast("Confidences", part.confidence) for part in parts])[order]
    sizes, coords = _points(tree, points, np.array([name in collector.boxes for name in (*collector.codes, "")])[code])
    track = _column([part.track for part in parts], [len(part.frame) for part in parts], "")
    inside = _column([part.inside for part in parts], [len(part.frame) for part in parts], False)
    links = _links(
        tree, collector, entries, kinds, annotations, np.searchsorted(frame, np.arange(len(annotations) + 1))
    )
    collector.add_columns(
        frame,
        code,
        confidence,
        sizes,
        coords,
        None if track is None else track[order],
        links,
        None if inside is None else inside[order],
    )


def _column(parts: Sequence[Any], counts: Sequence[int], missing: Any) -> Any:
    """Return a column from parts, with a value where a part is None; None if all are."""
    if all(part is None for part in parts):
        return None
    return np.concatenate(
        [np.full(count, missing) if part is None else part for part, count in zip(parts, counts, strict=True)]
    )


def _instances(tree: PickleTree, collector: Collector, entries: dict[str, Entries], key: str) -> _Instances:
    """Return the instances of one list: three for each lane segment."""
    rows, counts, _ = entries[key]
    frame = np.repeat(np.arange(len(counts)), counts)
    confidence = tree.numbers(tree.member(rows, "confidence")) if collector.has_confidence else None
    inside = _intersection(tree, rows) if key in MATRICES else None
    place = np.full(len(rows), list(LISTS).index(key))
    if key == "lane_segment":
        points = np.stack([tree.member(rows, name) for name in SEGMENT], axis=1).ravel()
        code = np.tile([collector.codes.get(name, -1) for name in SEGMENT], len(rows)).astype(np.int64)
        rows, frame, place = (np.repeat(column, 3) for column in (rows, frame, place))
        confidence = None if confidence is None else np.repeat(confidence, 3)
        inside = None if inside is None else np.repeat(inside, 3)
    else:
        points = tree.member(rows, "points")
        if key == "lane_centerline":
            code = np.full(len(rows), collector.codes.get("centerline", -1))
        elif key == "area":
            code = codes_of(collector, tree.wholes(tree.member(rows, "category")))
        else:
            names = [collector.codes.get(name, -1) for name in TRAFFIC_ELEMENTS]
            code = np.array(names)[attributes_of(tree, entries[key])]
    expect(code >= 0)
    track = None
    if not collector.has_confidence:
        track = _tracks(tree, collector, rows, frame, code, key)
    return _Instances(frame, place, code, points, confidence, track, inside)


def _intersection(tree: PickleTree, rows: Rows) -> Flags | None:
    """Return whether lanes lie in an intersection; None if no lane says it."""
    found = tree.find(rows, INTERSECTION)
    if not len(rows) or (found < 0).all():
        return None
    expect(found >= 0)
    tree.expect(found, "TRUE", "FALSE")
    return tree.are(found, "TRUE")


def _ids(tree: PickleTree, rows: Rows) -> tuple[list[str | int], Indices] | None:
    """Return the different ids of entries, and the index of the id of each; None if they have none."""
    found = tree.find(rows, "id")
    if (found < 0).all():
        return None
    expect(found >= 0)
    if tree.are(found, "TEXT").all():
        texts = tree.values(found)
        known: dict[str | int, int] = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        return list(known), np.array([known[text] for text in texts])
    numbers, which = np.unique(tree.wholes(found), return_inverse=True)
    return list(numbers.tolist()), which


def _tracks(
    tree: PickleTree, collector: Collector, rows: Rows, frame: Indices, code: Indices, key: str
) -> Names | None:
    """Return the names of tracks: ``segment/class/id``."""
    ids = _ids(tree, rows)
    if ids is None:
        return None
    classes = ["traffic_element"] if key == "traffic_element" else list(collector.codes)
    kind = np.zeros_like(code) if key == "traffic_element" else code
    scenes = dict.fromkeys(collector.scenes) or {"": None}
    of_frame = np.zeros(len(collector.tokens), np.int64)
    if collector.scenes:
        known = {scene: i for i, scene in enumerate(scenes)}
        of_frame = np.array([known[scene] for scene in collector.scenes])
    groups = [f"{scene}/{name}" if scene else name for scene in scenes for name in classes]
    return track_names(groups, of_frame[frame] * len(classes) + kind, *ids)


def _expect_different_ids(tree: PickleTree, entries: dict[str, Entries], predicted: bool) -> None:
    """Refuse ids that occur twice in a frame. Lanes and traffic elements of a submission share their ids."""
    together = [key for key in LISTS if key != "area"] if predicted else []
    for keys in (together, *([key] for key in LISTS if key not in together)):
        rows = np.concatenate([np.empty(0, np.int64), *(entries[key].rows for key in keys)])
        ids = _ids(tree, rows)
        if ids is not None:
            frame = np.concatenate(
                [np.repeat(np.arange(len(entries[key].counts)), entries[key].counts) for key in keys]
            )
            pairs = np.sort(frame * len(ids[0]) + ids[1])
            expect(pairs[1:] != pairs[:-1])


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
    coords = np.zeros((counts.sum(), width))
    wide = np.repeat(box, counts)
    coords[~wide] = lines.reshape(-1, width)
    coords[wide, :2] = corners
    return counts, coords


def _links(
    tree: PickleTree,
    collector: Collector,
    entries: dict[str, Entries],
    kinds: Sequence[str],
    annotations: Rows,
    offsets: Indices,
) -> Links | None:
    """Return the links of all frames, and add findings about matrices that are missing."""
    key = next((key for key in MATRICES if key in kinds), None)
    if key is None:
        return None
    frames = np.flatnonzero(entries[key].present)
    lanes, elements = entries[key].counts[frames], entries["traffic_element"].counts[frames]
    given: dict[str, int] = {}
    lacking: dict[str, list[int]] = {}
    matrices, counts = [], np.zeros((len(frames), 2), np.int64)
    for k, (name, targets) in enumerate(zip(MATRICES[key], (lanes, elements), strict=True)):
        rows = tree.find(annotations[frames], name)
        there = rows >= 0
        tree.expect(rows[there], "ARRAY")
        full = there & (lanes * targets > 0)
        dimensions, extents = tree.shapes(rows[full])
        expect(dimensions == 2, extents[:, 0] == lanes[full], extents[:, 1] == targets[full])
        expect(tree.shapes(rows[there & ~full])[1].prod(axis=1) == 0)
        counts[full, k] = (lanes * targets)[full]
        matrices.append(rows)
        if there.any():
            given[name] = int(there.sum())
        without = frames[~there & (lanes * targets > 0)].tolist()
        if without:
            lacking[name] = without
    prefix, where = ("results", "predictions") if collector.has_confidence else ("", "annotation")
    places = {
        name: [f'{prefix}["{collector.tokens[i]}"].{where}' for i in some]
        for name, some in sorted(lacking.items(), key=lambda item: item[1][0])
    }
    collector.findings += missing_matrices(collector.name, given, places)
    if not given and key == "lane_centerline":
        return None
    codes = np.array([0, *CODES[key]], np.uint64)
    most = int(counts.sum() + (2 * lanes.sum() if len(codes) == 4 else 0))
    source, target, weight = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most)
    code = np.empty(most, np.uint8)
    convert: Any = kernels.matrix_links.links_of_matrices
    at: Any = np.uint64(0)
    ends = counts.sum(axis=1).cumsum()
    start = 0
    while start < len(frames):
        stop = max(start + 1, int(np.searchsorted(ends, (ends[start - 1] if start else 0) + _BLOCK)))
        some = slice(start, stop)
        scores = [
            tree.array_values(rows[some][counts[some, k] > 0], "iufb").astype(np.float64)
            for k, rows in enumerate(matrices)
        ]
        bounds = (offsets[frames[some]], offsets[frames[some] + 1])
        whole = (column.astype(np.uint64) for column in (lanes[some], elements[some], counts[some], *bounds))
        at, sound = convert(*whole, *scores, codes, at, source, target, weight, code)
        expect(sound)
        start = stop
    sparse, count = 2 * int(at) < most, int(at)
    if sparse:
        source, target, weight = source[:count].copy(), target[:count].copy(), weight[:count].copy()
    return Links.unchecked(source[:count], target[:count], weight[:count], code[:count].copy(), KINDS[key])
