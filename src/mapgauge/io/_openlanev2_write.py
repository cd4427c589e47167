"""Writes OpenLane-V2's pickles: submissions and truth, with centrelines or lane segments.

Lane segments are written if there are classes of lane lines. Lists have the order of the instances in a frame, and
matrices follow the lists. Not written: links of other kinds, tracks of predictions, and scenes and time stamps of
predictions whose tokens are not ``split/scene/timestamp``. The category of a traffic element with the attribute
``unknown`` is not known; 1 is written.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.findings import place_of
from mapgauge.frames.instances import is_box
from mapgauge.frames.lane_classes import LANE, TRAFFIC_ELEMENTS
from mapgauge.frames.links import CONTROLLED_BY, LEFT_LINE, RIGHT_LINE, SUCCESSOR
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._format import check_tokens_differ, confidences_of
from mapgauge.io._openlanev2_lists import AREAS, INTERSECTION, MATRICES, SEGMENT
from mapgauge.io.files.writing import portable_pickle
from mapgauge.typing import Flags, Indices

# The options of a submission, and the members of the document that they set.
META = {
    "method": "method",
    "authors": "authors",
    "email": "e-mail",
    "institution": "institution / company",
    "country": "country / region",
}
_LIGHTS = 4  # attributes below this are colours of traffic lights, the others are signs
_TYPES = ("float16", "float32", "float64")


def write_results(frames: MapFrames, classes: dict[int, str] | None, **options: Any) -> bytes:
    """Return the bytes of a submission."""
    confidences_of(frames, "openlanev2")
    meta: dict[str, Any] = {member: _text(name, options.get(name, "")) for name, member in META.items()}
    authors = options.get("authors", ())
    if isinstance(authors, str):
        meta["authors"] = [part.strip() for part in authors.split(",")]
    else:
        meta["authors"] = list(authors)
    keys = _keys(frames)
    lists = _Lists(frames, classes, options.get("points"), format_name="openlanev2")
    results = {key: {"predictions": lists.frame(i)} | _pose(frames, i) for i, key in enumerate(keys)}
    return portable_pickle(meta | {"results": results})


def write_truth(frames: MapFrames, classes: dict[int, str] | None, **options: Any) -> bytes:
    """Return the bytes of a file of truth."""
    frames = frames.with_confidence(confidence=None)
    keys = _keys(frames)
    lists = _Lists(frames, classes, options.get("points"), format_name="openlanev2-truth")
    document = {}
    for i, key in enumerate(keys):
        about: dict[str, Any] = {"version": "OpenLane-V2", "meta_data": {}, "sensor": {}}
        if frames.scenes is not None:
            about["segment_id"] = frames.scenes[i]
        if frames.timestamps is not None:
            about["timestamp"] = str(frames.timestamps[i])
        document[key] = about | _pose(frames, i) | {"annotation": lists.frame(i)}
    return portable_pickle(document)


def _text(name: str, value: Any) -> str:
    several = name == "authors" and isinstance(value, Sequence) and all(isinstance(author, str) for author in value)
    if not isinstance(value, str) and not several:
        if name == "authors":
            expected = "a text or a list of texts"
        else:
            expected = "a text"
        raise InvalidInput(f"{name} must be {expected}, got {value!r:.60}")
    if isinstance(value, str):
        return value
    return ""


def _keys(frames: MapFrames) -> list[Any]:
    """Return the keys of the frames: tuples if all tokens are ``split/scene/timestamp``, else the tokens."""
    check_tokens_differ(frames, "openlanev2")
    for token in frames.tokens:
        token.encode()  # a pickle could hold a token that cannot be printed, but it would not be read again
    parts = [tuple(token.split("/")) for token in frames.tokens]
    scenes = frames.scenes or [part[1:2] and part[1] for part in parts]
    whole = all(len(part) == 3 and all(part) and part[1] == scene for part, scene in zip(parts, scenes, strict=True))
    return list(parts if whole else frames.tokens)


def _pose(frames: MapFrames, i: int) -> dict[str, Any]:
    if frames.poses is None:
        return {}
    return {"pose": {"rotation": frames.poses[i, :3, :3].copy(), "translation": frames.poses[i, :3, 3].copy()}}


def smallest_type(values: NDArray[np.float64]) -> str:
    """Return the smaller of float32 and float64 that holds the values exactly."""
    with np.errstate(over="ignore"):
        if np.array_equal(values.astype(np.float32), values):
            return "float32"
        return "float64"


class _Lists:
    """Creates the lists and matrices of frames, as a file holds them."""

    def __init__(self, frames: MapFrames, classes: dict[int, str] | None, points: Any, format_name: str) -> None:
        """Check that the frames can be written."""
        if points is not None and points not in _TYPES:
            raise InvalidInput(f"points must be one of {', '.join(_TYPES)}, got {points!r:.60}")
        self._frames = frames
        self._category = {name: number for number, name in (AREAS if classes is None else classes).items()}
        for name, count in frames.counts.items():
            box = name in frames.boxes
            if box:
                names: tuple[str, ...] = TRAFFIC_ELEMENTS
            else:
                names = (*SEGMENT, *self._category)
            if count and name not in names:
                raise InvalidInput(
                    f"{format_name} has no {'class of boxes' if box else 'class'} {name}. Known: {', '.join(names)}",
                    remedy=Remedy(
                        "Rename the classes with .rename(), or leave some out with .select()",
                        "Rename the classes where the file is given: FILE,rename=OLD:NEW",
                    ),
                )
        segments = any(name in frames.classes for name in SEGMENT[1:])
        if segments:
            self._lanes = "lane_segment"
        else:
            self._lanes = "lane_centerline"
        # The list to which the instances of each class belong; "" for a lane line, which its lane holds.
        kinds = (
            {LANE: self._lanes} | dict.fromkeys(self._category, "area") | dict.fromkeys(frames.boxes, "traffic_element")
        )
        self._kinds = np.array([*(kinds.get(name, "") for name in frames.classes), ""], np.str_)
        self._side = self._sides_of_lanes()
        both = (SUCCESSOR, CONTROLLED_BY)
        if frames.links is None:
            self._of_kind = {}
        else:
            self._of_kind = {kind: frames.links.is_kind(kind) for kind in both}
        coords = frames.polylines.coords
        corners = coords[np.repeat(is_box(frames), np.diff(frames.polylines.offsets)), :2]
        with np.errstate(over="ignore"):
            self._corners = coords[:, :2].astype(smallest_type(corners))
            self._coords = coords.astype(points or smallest_type(coords))
        if not np.isfinite(self._coords).all():
            raise InvalidInput(f"{frames.name or 'frames'}: a coordinate is too large for points={points!r}")

    def _sides_of_lanes(self) -> dict[str, Indices]:
        """Return the index of the left and the right line of each lane, by class of the lines."""
        frames = self._frames
        if self._lanes == "lane_centerline":
            return {}
        sides = {}
        for class_name, kind in zip(SEGMENT[1:], (LEFT_LINE, RIGHT_LINE), strict=True):
            side = np.full(len(frames.label), -1)
            lanes, lines = (np.flatnonzero(self._is(name)) for name in (LANE, class_name))
            if frames.links is None:
                links = None
            else:
                links = frames.links.of_kind(kind)
            if links is not None:
                fits = self._is(LANE)[links.source] & self._is(class_name)[links.target]
                side[links.source[fits]] = links.target[fits]
            alone = [*lanes[side[lanes] < 0].tolist(), *np.setdiff1d(lines, side[lanes]).tolist()]
            if alone:
                i = min(alone)
                if frames.classes[frames.label[i]] == LANE:
                    what = f"no link of kind {kind}"
                else:
                    what = "no lane"
                raise InvalidInput(
                    f"{place_of(frames, i)} has {what}; a lane segment needs one {class_name} and a link to it",
                    remedy=Remedy(
                        'Leave the lane lines out with .select(["centerline"])',
                        "Read the file in Python, and leave the lane lines out with .select()",
                    ),
                )
            sides[class_name] = side
        return sides

    def _is(self, class_name: str) -> Flags:
        classes = self._frames.classes
        if class_name in classes:
            code = classes.index(class_name)
        else:
            code = -1
        flags: Flags = self._frames.label == code
        return flags

    def frame(self, i: int) -> dict[str, Any]:
        """Return the lists and matrices of a frame."""
        frames = self._frames
        first, last = frames.offsets[i : i + 2].tolist()
        kinds = self._kinds[frames.label[first:last]]
        lanes = self._lanes
        rows = {key: first + np.flatnonzero(kinds == key) for key in (lanes, "traffic_element", "area")}
        start = 0  # ids of a submission are different in all lists
        lists: dict[str, Any] = {}
        for key, members in rows.items():
            if key != "area" or any(name in self._category for name in frames.classes):
                lists[key] = [self._entry(key, row, start + k) for k, row in enumerate(members.tolist())]
                start += len(members)
        if frames.links is not None:
            lists |= self._matrices(slice(first, last), rows[lanes], rows["traffic_element"], names=MATRICES[lanes])
        return lists

    def _entry(self, key: str, row: int, number: int) -> dict[str, Any]:
        """Return one entry of a list."""
        frames = self._frames
        name = frames.classes[frames.label[row]]
        entry: dict[str, Any] = {}
        if frames.confidence is not None:
            entry["id"] = number
        elif frames.track is not None and frames.track[row]:
            if key == "traffic_element":
                entry["id"] = self._id(row, key)
            else:
                entry["id"] = self._id(row, name)
        if key == "traffic_element":
            attribute = TRAFFIC_ELEMENTS.index(name)
            if attribute < _LIGHTS:
                category = 1
            else:
                category = 2
            entry |= {"category": category, "attribute": attribute}
            entry["points"] = self._points(self._corners, row)
        elif key == "lane_segment":
            for side in SEGMENT:
                if side == LANE:
                    place = row
                else:
                    place = int(self._side[side][row])
                entry[side] = self._points(self._coords, place)
        else:
            if key == "area":
                entry |= {"category": self._category[name]}
            entry["points"] = self._points(self._coords, row)
        if key in MATRICES and frames.intersection is not None:
            entry[INTERSECTION] = bool(frames.intersection[row])
        if frames.confidence is not None:
            entry["confidence"] = float(frames.confidence[row])
        return entry

    def _points(self, coords: NDArray[Any], row: int) -> NDArray[Any]:
        start, stop = self._frames.polylines.offsets[row : row + 2]
        return coords[start:stop]

    def _id(self, row: int, within: str) -> str | int:
        """Return the id of a track. The reader makes the track from the scene, the class and the id."""
        frames = self._frames
        if frames.track is not None:
            track = str(frames.track[row])
        else:
            track = ""
        if frames.scenes is None:
            scene = ""
        else:
            scene = f"{frames.scenes[frames.frame[row]]}/"
        number = track.removeprefix(f"{scene}{within}/")
        whole = number.isascii() and number.isdigit() and len(number) < 19 and str(int(number)) == number
        if whole:
            return int(number)
        return number

    def _matrices(
        self, instances: slice, lanes: Indices, elements: Indices, names: tuple[str, str]
    ) -> Mapping[str, NDArray[Any]]:
        """Return the matrices of a frame."""
        frames = self._frames
        assert frames.links is not None
        some = slice(*np.searchsorted(frames.links.source, [instances.start, instances.stop]).tolist())
        place = np.full(instances.stop - instances.start, -1)
        place[lanes - instances.start] = np.arange(len(lanes))
        place[elements - instances.start] = np.arange(len(elements))
        is_lane, is_element = (np.isin(np.arange(instances.start, instances.stop), rows) for rows in (lanes, elements))
        source, target = (column[some] - instances.start for column in (frames.links.source, frames.links.target))
        weight = frames.links.weight[some]
        matrices = {}
        for name, link, is_target in zip(names, (SUCCESSOR, CONTROLLED_BY), (is_lane, is_element), strict=True):
            fits = self._of_kind[link][some] & is_lane[source] & is_target[target]
            above = np.flatnonzero(fits & (weight > 1))
            if len(above):
                where = place_of(frames, int(source[above[0]]) + instances.start)
                raise InvalidInput(f"{where} has a link of weight {weight[above[0]]}, expected a score from 0 to 1")
            matrix = np.zeros((len(lanes), np.count_nonzero(is_target)))
            matrix[place[source[fits]], place[target[fits]]] = weight[fits]
            whole = frames.confidence is None and np.isin(matrix, (0, 1)).all()
            matrices[name] = matrix.astype(np.int8 if whole else smallest_type(matrix))
        return matrices
