"""OpenLane-V2's pickles: lanes with their topology, areas and traffic elements, in three dimensions.

Submissions, ``result.pkl``, and truth, ``data_dict_*.pkl``::

    {"method": ..., "results": {(split, segment_id, timestamp): {"predictions": {...}}}}
    {(split, segment_id, timestamp): {"pose": {"rotation": ..., "translation": ...}, "annotation": {...}, ...}}

Predictions and annotations are lists of instances, with ``confidence`` in predictions, and matrices::

    "lane_centerline": [{"id": ..., "points": ..., "is_intersection_or_connector": ...}]
    "lane_segment":    [{"id": ..., "centerline": ..., "left_laneline": ..., "right_laneline": ..., ...}]
    "area":            [{"id": ..., "category": 1 or 2, "points": ...}]
    "traffic_element": [{"id": ..., "category": 1 or 2, "attribute": 0 to 12, "points": two corners in pixels}]
    "topology_lclc", "topology_lcte", "topology_lsls", "topology_lste": scores, see ``Topology``

The token of a frame is ``split/segment_id/timestamp``, and its scene is the segment. CGNet has tokens of nuScenes
instead, and points in two dimensions. A lane segment becomes three instances, and links lead from its centreline to its
lane lines. A traffic element becomes a box, whose class is its attribute. An id of the truth means the same object in
all frames of a segment, so ids become tracks named ``segment_id/class/id``. Ids of predictions do not. Types of lane
lines are ignored. Coordinates are metres in the frame of the ego vehicle.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import Remedy, UnreadableFile
from mapgauge.frames.findings import findings_about
from mapgauge.frames.lane_classes import TRAFFIC_ELEMENTS
from mapgauge.frames.links import Links
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._collect import Collector, with_poses
from mapgauge.io._format import Format, ReadOptions
from mapgauge.io._openlanev2_lists import (
    AREAS,
    INTERSECTION,
    LISTS,
    MATRICES,
    SEGMENT,
    ListReader,
    Lists,
    Topology,
    lists_of,
    place_of,
)
from mapgauge.io._openlanev2_write import META, write_results, write_truth
from mapgauge.io._values import ValueChecker, short
from mapgauge.io.files.json_documents import gc_paused
from mapgauge.io.files.source import Content
from mapgauge.io.pickles.tree import Irregular, PickleTree, Rows, arrays_of, expect, points_of
from mapgauge.typing import Flags, Indices, Points


class _Key(NamedTuple):
    """The key of a frame. A frame that is named by a single text has no segment and no timestamp of its own."""

    token: str
    segment: str = ""
    timestamp: str = ""


def _is_results(content: Content) -> bool:
    if content.is_pickled(dict):
        results = content.outline.get("results")
    else:
        results = None
    if isinstance(results, dict):
        frames = list(results.values())[:1]
    else:
        frames = []
    return any(isinstance(frame, dict) and "predictions" in frame for frame in frames)


def _is_truth(content: Content) -> bool:
    return content.is_pickled(dict) and any(
        ((isinstance(key, tuple) and len(key) == 3) or isinstance(key, str))
        and isinstance(frame, dict)
        and ("annotation" in frame or (isinstance(key, tuple) and "sensor" in frame))
        for key, frame in list(content.outline.items())[:1]
    )


def _read(content: Content, options: ReadOptions, part: str) -> MapFrames:
    """Read a file: in columns if it has no faults, else as objects. ``part`` is ``predictions`` or ``annotation``."""
    if options.classes is None:
        frames = content.columns(_frames_of_tree, content, options, part)
    else:
        frames = None
    if frames is not None:
        return frames
    document = content.document
    if part == "predictions":
        document = ValueChecker(content.error).member(document, "results", "the pickle")
    return _read_objects(content, options, document, part=part)


def _frames_of_tree(tree: PickleTree, content: Content, options: ReadOptions, part: str) -> MapFrames:
    predicted = part == "predictions"
    if predicted:
        top = tree.member(tree.root, "results")
    else:
        top = tree.root
    frames = tree.pairs(top)[2]
    annotations = tree.member(frames, part)
    document: dict[Any, dict[str, Any]] = {key: {} for key in tree.keys(int(top[0]))}
    for name in ("segment_id", "timestamp"):
        for (key, about), row in zip(document.items(), tree.find(frames, name).tolist(), strict=True):
            if isinstance(key, str) and row >= 0:
                about[name] = tree.value(row)
    keys = _keys(document, "results" if predicted else "the pickle", content)
    entries = _entries_of(tree, annotations)
    kinds = _kinds({key: bool(len(some.rows)) for key, some in entries.items() if some.present.any()})
    attributes = set(_attributes_of(tree, entries["traffic_element"]).tolist())

    def locate(frame: int, token: str, instance: int) -> str:
        counted: Lists = {key: range(some.counts[frame]) for key, some in entries.items() if some.present[frame]}
        return _where(part, token) + place_of(counted, instance)

    collector = _collector(content, options, locate, kinds=kinds, attributes=attributes, predicted=predicted)
    collector.tokens += [key.token for key in keys]
    collector.scenes += [key.segment for key in keys if key.segment]
    _add_instances(tree, collector, entries, kinds=kinds, annotations=annotations)
    result = _finish(collector, keys, (tree.find(annotations, "inter_points") >= 0).tolist())
    poses = tree.find(frames, "pose")
    if (poses < 0).all():
        return result
    expect(poses >= 0)
    return with_poses(result, *(arrays_of(tree, ends) for ends in tree.members(poses, "translation", "rotation")))


class _Entries(NamedTuple):
    """The entries of one list in all frames."""

    rows: Rows  # of the entries, by frame
    counts: Indices  # (frames,): number of entries; 0 where there is no list
    present: Flags  # (frames,): whether there is a list

    @property
    def frame(self) -> Indices:
        """The frame of each entry."""
        return np.repeat(np.arange(len(self.counts)), self.counts)


def _entries_of(tree: PickleTree, annotations: Rows) -> dict[str, _Entries]:
    """Return the entries of all lists of a file, by the keys of ``LISTS``."""
    entries = {}
    for key, lists in zip(LISTS, tree.find_all(annotations, *LISTS), strict=True):
        present = lists >= 0
        counts = np.zeros(len(lists), np.int64)
        counts[present], rows = tree.items(lists[present])
        tree.expect(rows, "DICT")
        entries[key] = _Entries(rows, counts, present)
    expect(np.logical_or.reduce([entries[key].present for key in LISTS if LISTS[key]]))
    expect(not (len(entries["lane_centerline"].rows) and len(entries["lane_segment"].rows)))
    return entries


def _attributes_of(tree: PickleTree, elements: _Entries) -> Indices:
    """Return the attributes of traffic elements."""
    attribute = tree.wholes(tree.member(elements.rows, "attribute"))
    category = tree.find(elements.rows, "category")
    stated = tree.wholes(category[category >= 0])
    expect(attribute >= 0, attribute < len(TRAFFIC_ELEMENTS), (stated == 1) | (stated == 2))
    return attribute


def _add_instances(
    tree: PickleTree, collector: Collector, entries: dict[str, _Entries], kinds: Sequence[str], annotations: Rows
) -> None:
    """Add all instances and links, and the findings about matrices. The collector must have the frames."""
    ids = _ids_by_list(tree, entries, collector.has_confidence)
    parts = [_instances(tree, collector, entries[key], key=key, ids=ids.get(key)) for key in LISTS]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")  # in a frame, one list after the other
    frame, code, points, confidence, identity, inside = (column[order] for column in columns)
    box = np.array([name in collector.boxes for name in (*collector.codes, "")])[code]
    lanes = next((key for key in MATRICES if key in kinds), None)
    links = None
    if lanes is not None:
        bounds = np.searchsorted(frame, np.arange(len(annotations) + 1))
        links = _links(tree, collector, lanes, entries=entries, annotations=annotations, bounds=bounds)
    intersection = None
    if not (inside < 0).all():
        intersection = inside > 0
    sizes, coords = _points(tree, points, box)
    collector.add_columns(
        frame,
        code,
        confidence if collector.has_confidence else None,
        sizes=sizes,
        coords=coords,
        track=_tracks(collector, frame, code, identity=identity),
        links=links,
        intersection=intersection,
    )


def _links(
    tree: PickleTree,
    collector: Collector,
    key: str,
    entries: dict[str, _Entries],
    annotations: Rows,
    bounds: Indices,
) -> Links | None:
    """Return the links of all frames, and add findings about missing matrices. ``bounds``: the instances of frames."""
    topology = Topology(_irregular, key)
    frames = np.flatnonzero(entries[key].present)
    names = MATRICES[key]
    matrices = [_given(tree, rows) for rows in tree.find_all(annotations[frames], *names)]
    lanes = entries[key].counts
    elements = entries["traffic_element"].counts
    part = "annotation"
    if collector.has_confidence:
        part = "predictions"
    for i, *given in zip(frames.tolist(), *matrices, strict=True):
        first, last = bounds[i : i + 2].tolist()
        where = _where(part, collector.tokens[i])
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
    tree: PickleTree, collector: Collector, entries: _Entries, key: str, ids: Sequence[str | int] | None
) -> tuple[NDArray[Any], ...]:
    """Return the instances of one list, three for each lane segment.

    The columns are the frame, the code, the row of the points, the confidence (0 in truth), the id or None, and whether
    it lies in an intersection, or -1.
    """
    rows = entries.rows
    lines = ["points"]
    if key == "lane_segment":
        lines = list(SEGMENT)
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
        code = collector.codes_of(tree.wholes(tree.member(rows, "category")))
    else:
        code = np.array([collector.codes.get(name, -1) for name in TRAFFIC_ELEMENTS])[_attributes_of(tree, entries)]
    expect(code >= 0)
    identity = np.array([None] * len(rows) if ids is None else ids, np.object_)
    frame, confidence, identity, inside = (
        np.repeat(column, len(lines)) for column in (entries.frame, confidence, identity, inside)
    )
    return frame, code, np.stack(given, axis=1).ravel(), confidence, identity, inside


def _ids_by_list(tree: PickleTree, entries: dict[str, _Entries], predicted: bool) -> dict[str, list[str | int]]:
    """Return the ids of entries in truth, and refuse ids that occur twice in a frame.

    Lanes and traffic elements of a submission share their ids.
    """
    if predicted:
        together = [key for key in LISTS if key != "area"]
    else:
        together = []
    ids_by_list: dict[str, list[str | int]] = {}
    for keys in (together, *([key] for key in LISTS if key not in together)):
        rows = np.concatenate([np.empty(0, np.int64), *(entries[key].rows for key in keys)])
        ids = tree.find(rows, "id")
        if (ids < 0).all():
            continue
        expect(ids >= 0)
        if tree.only(ids, "TEXT"):
            values: list[str | int] = tree.values(ids)
        else:
            values = tree.wholes(ids).tolist()
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
    if not len(lines):
        lines = np.empty((0, 3))
    coords = np.zeros((len(of_box), lines.shape[1]))
    coords[~of_box] = lines
    coords[of_box, :2] = corners
    return counts, coords


def _read_objects(content: Content, options: ReadOptions, document: Any, part: str) -> MapFrames:
    """Read a file with a fault, slowly."""
    predicted = part == "predictions"
    if predicted:
        what = "results"
        prefix = "results"
    else:
        what = "the pickle"
        prefix = ""
    if not isinstance(document, dict):
        raise content.error(f"{what} is a {type(document).__name__}, expected a dictionary by frame")
    keys = _keys(document, what, content)
    wheres = [_where(part, key.token) for key in keys]
    check = ValueChecker(content.error)
    annotations = [
        check.member(frame, part, f'{prefix}["{key.token}"]')
        for key, frame in zip(keys, document.values(), strict=True)
    ]
    lists = [lists_of(annotation, where, check) for annotation, where in zip(annotations, wheres, strict=True)]
    _refuse_both(lists, wheres, content)
    present = {key for instances in lists for key in instances}
    kinds = _kinds({key: any(len(instances.get(key, ())) for instances in lists) for key in present})
    elements = [entry for instances in lists for entry in instances.get("traffic_element", ())]
    given = [entry.get("attribute") for entry in elements if isinstance(entry, dict)]
    attributes = {attribute for attribute in given if isinstance(attribute, int | np.integer)}

    def locate(frame: int, token: str, instance: int) -> str:
        return wheres[frame] + place_of(lists[frame], instance)

    collector = _collector(content, options, locate, kinds=kinds, attributes=attributes, predicted=predicted)
    reader = ListReader(collector, kinds)
    with gc_paused():
        for key, where, instances, annotation in zip(keys, wheres, lists, annotations, strict=True):
            collector.add_frame(key.token, scene=key.segment or None)
            reader.add(instances, annotation, where, key.segment)
        reader.finish()
    result = _finish(collector, keys, ["inter_points" in annotation for annotation in annotations])
    poses: list[Any] = [frame.get("pose") for frame in document.values()]
    poses = [pose if isinstance(pose, dict) else {} for pose in poses]
    return with_poses(result, *([pose.get(name) for pose in poses] for name in ("translation", "rotation")))


def _where(part: str, token: str) -> str:
    """Return the place of the annotation or the predictions of a frame."""
    return f'{"results" if part == "predictions" else ""}["{token}"].{part}'


def _collector(
    content: Content,
    options: ReadOptions,
    locate: Callable[[int, str, int], str],
    kinds: Sequence[str],
    attributes: set[Any],
    predicted: bool,
) -> Collector:
    """Return a collector for the classes of a file."""
    elements = [name for number, name in enumerate(TRAFFIC_ELEMENTS) if number in attributes]
    classes = [*(name for key in kinds for name in LISTS[key]), *elements]
    if predicted:
        name = RESULTS.name
    else:
        name = TRUTH.name
    collector = Collector(content, name, options, locate=locate, classes=classes, confidence=predicted)
    if options.classes is None:
        collector.table = dict(AREAS)
    if "traffic_element" in kinds:
        collector.boxes = TRAFFIC_ELEMENTS
    return collector


def _finish(collector: Collector, keys: list[_Key], inter_points: list[bool]) -> MapFrames:
    """Return the frames. ``inter_points`` says which of them have such a member."""
    tokens = [token for token, has in zip(collector.tokens, inter_points, strict=True) if has]
    text = f"{collector.name}: {len(tokens)} frames have inter_points, which are not read"
    collector.findings += findings_about(tokens, "note", "inter-points-ignored", text=text)
    stamps = [key.timestamp for key in keys]
    if all(stamp.isascii() and stamp.isdigit() and len(stamp) < 19 for stamp in stamps):
        collector.timestamps = list(map(int, stamps))
    return collector.finish()


def _keys(document: dict[Any, Any], what: str, content: Content) -> list[_Key]:
    """Return the keys of all frames. Either all of them have a segment, or none has one."""
    # A text is split only if all texts can be split: tokens of other data sets may have slashes.
    split = all(len(_parts(key)) == 3 for key in document if isinstance(key, str))
    keys = [_key(key, frame, split, what=what, content=content) for key, frame in document.items()]
    bare = next((key for key in keys if not key.segment), None)
    whole = next((key for key in keys if key.segment), None)
    if bare is not None and whole is not None:
        raise content.error(
            f"{what} has the keys {short(bare.token)} and {short(whole.token)}, expected a segment in all or in none"
        )
    return keys


def _parts(key: Any) -> list[str]:
    """Return the parts of a key as texts. There are none if it is neither a text nor a tuple of texts and numbers."""
    if type(key) is tuple and set(map(type, key)) == {str}:  # the usual case
        if not all(key):
            return []
        return list(key)
    if isinstance(key, str):
        parts = key.split("/")
    else:
        parts = key
    plain = isinstance(parts, list | tuple) and all(isinstance(part, str | int | np.integer) for part in parts)
    if plain:
        texts = [str(part) for part in parts]
    else:
        texts = []
    if not all(texts):
        return []
    return texts


def _key(key: Any, frame: Any, split: bool, what: str, content: Content) -> _Key:
    """Return the token, the segment and the timestamp of a frame. ``split``: whether texts have all three."""
    parts = _parts(key)
    if isinstance(key, str) and key:
        stated = [frame.get(name) if isinstance(frame, dict) else None for name in ("segment_id", "timestamp")]
        texts = [str(value) if isinstance(value, str | int | np.integer) else "" for value in stated]
        if texts[0] or not split:
            segment, timestamp = texts
        else:
            segment, timestamp = parts[1:]
        return _Key(key, segment, timestamp)
    if len(parts) == 3:
        return _Key("/".join(parts), parts[1], parts[2])
    if parts or key == "":
        shown = "/".join(parts)[:80]
    else:
        shown = f"a {type(key).__name__}"
    raise content.error(f"{what} has the key {shown}, expected (split, segment_id, timestamp) or a text")


def _refuse_both(lists: list[Lists], wheres: list[str], content: Content) -> None:
    """Refuse a file with centrelines in two lists."""
    lanes, segments = (
        [where for where, instances in zip(wheres, lists, strict=True) if len(instances.get(key, ()))]
        for key in MATRICES
    )
    if lanes and segments:
        raise content.error(
            f"there are centrelines in {lanes[0]}.lane_centerline and in {segments[0]}.lane_segment, "
            "so they would count twice",
            remedy="Remove one of the two lists",
        )


def _kinds(filled: Mapping[str, bool]) -> list[str]:
    """Return the keys whose classes the file has. A list without instances counts.

    ``filled`` has the keys of the lists that occur, and whether one of them has instances.
    """
    lanes, segments = (filled.get(key, False) for key in MATRICES)
    if lanes:
        idle = "lane_segment"
    elif segments:
        idle = "lane_centerline"
    else:
        idle = ""
    return [key for key in LISTS if key != idle and key in filled]


RESULTS = Format(
    name="openlanev2",
    about="predictions: result.pkl of OpenLane-V2, also of CGNet, with lanes, topology, traffic elements and areas",
    recognise=_is_results,
    read=partial(_read, part="predictions"),
    write=write_results,
    write_options=("points", *META),
    forward="x",
)
TRUTH = Format(
    name="openlanev2-truth",
    about="truth: data_dict_*.pkl of OpenLane-V2, with lanes, topology, traffic elements and areas, in 3-D",
    recognise=_is_truth,
    read=partial(_read, part="annotation"),
    write=write_truth,
    write_options=("points",),
    forward="x",
)
