"""The lists of instances in a frame of OpenLane-V2: lanes, areas and traffic elements, and the matrices of links."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding, Level, findings_about
from mapgauge.frames.lane_classes import AREAS as AREA_CLASSES
from mapgauge.frames.lane_classes import TRAFFIC_ELEMENTS
from mapgauge.frames.links import CONTROLLED_BY, LEFT_LINE, RIGHT_LINE, SUCCESSOR, Links
from mapgauge.io._collect import Collector
from mapgauge.io._format import known_ids
from mapgauge.io._values import ValueChecker, short
from mapgauge.io.files.json_documents import MakeError
from mapgauge.typing import Points

SEGMENT = ("centerline", "left_laneline", "right_laneline")
AREAS = dict(enumerate(AREA_CLASSES, start=1))  # by category
CATEGORIES = {1: "traffic light", 2: "road sign"}  # of traffic elements
# The lists, in the order of the instances of a frame, and their classes. A class of a traffic element is only present
# if an instance has it.
LISTS: dict[str, tuple[str, ...]] = {
    "lane_centerline": ("centerline",),
    "lane_segment": SEGMENT,
    "area": AREA_CLASSES,
    "traffic_element": (),
}
INTERSECTION = "is_intersection_or_connector"

Lists: TypeAlias = dict[str, Sequence[Any]]  # the instances of a frame, by the keys of LISTS

# The matrices between lanes, and between lanes and traffic elements, by the list of lanes.
MATRICES = {
    "lane_centerline": ("topology_lclc", "topology_lcte"),
    "lane_segment": ("topology_lsls", "topology_lste"),
}

KINDS = {  # sorted, as Links requires
    "lane_centerline": (CONTROLLED_BY, SUCCESSOR),
    "lane_segment": (CONTROLLED_BY, LEFT_LINE, RIGHT_LINE, SUCCESSOR),
}
CODES = {"lane_centerline": (1,), "lane_segment": (3, 1, 2)}  # of links to the instances of a lane
_SCORES = Remedy.of("Apply the sigmoid function to logits before saving, or clip the scores to the range from 0 to 1")
_IDS = Remedy.of("Give every lane and every traffic element of a frame an id of its own")
_ROWS = Remedy.of("Write one row for each lane, in the order of the list of lanes, and one column for each target")


class Topology:
    """Collects the links of all frames."""

    def __init__(self, error: MakeError, key: str) -> None:
        """Start without links. ``key`` is the list of lanes: ``lane_centerline`` or ``lane_segment``."""
        self._error = error
        self._key = key
        # Of each frame the scores between lanes, the scores between lanes and elements, and the first index of both.
        self._frames: list[tuple[NDArray[Any], NDArray[Any], int, int]] = []
        self._given: set[str] = set()  # matrices that a frame has
        self._lacking: dict[str, list[str]] = {}  # frames that have lanes and no matrix

    def add(self, matrices: dict[str, Any], lanes: int, first: int, elements: range, where: str) -> None:
        """Add the links of a frame.

        ``first`` is the index of the first lane in the file, where a lane segment has three instances. ``elements`` are
        the indices of the traffic elements.
        """
        scores = []
        for name, count in zip(MATRICES[self._key], (lanes, len(elements)), strict=True):
            given = matrices.get(name)
            if given is not None:
                self._given.add(name)
            elif lanes and count:
                self._lacking.setdefault(name, []).append(where)
            size = (lanes, count)
            scores.append(np.zeros(size) if given is None else self._scores(given, size, f"{where}.{name}"))
        self._frames.append((scores[0], scores[1], first, elements.start))

    def _scores(self, given: Any, size: tuple[int, int], where: str) -> NDArray[Any]:
        """Return a matrix of scores after checking it."""
        try:
            matrix = np.asarray(given)
        except (ValueError, TypeError):  # rows of different lengths
            matrix = np.empty(0, np.object_)
        if matrix.dtype.kind not in "biuf" or isinstance(given, str | bytes):
            if isinstance(given, list | tuple):
                shown = "ragged or not numbers"
            else:
                shown = short(given)
            raise self._error(f"{where} is {shown}, expected a matrix of {size[0]} x {size[1]} scores", remedy=_ROWS)
        if matrix.size == 0 and 0 in size:
            return np.zeros(size)
        if matrix.shape != size:
            shape = " x ".join(map(str, matrix.shape)) or "a single number"
            raise self._error(f"{where} is {shape}, expected {size[0]} x {size[1]}", remedy=_ROWS)
        if not 0 <= matrix.min() <= matrix.max() <= 1:  # also if one is not a number
            wrong = ~((matrix >= 0) & (matrix <= 1))
            i, j = np.argwhere(wrong)[0].tolist()
            if wrong.sum() > 1:
                more = f" ({np.count_nonzero(wrong)} of {matrix.size} are outside)"
            else:
                more = ""
            raise self._error(
                f"{where}[{i}, {j}] is {matrix[i, j]}, expected a score from 0 to 1{more}", remedy=_SCORES
            )
        return matrix

    def links(self) -> Links | None:
        """Return the links, or None if no frame has a matrix and there are no lane segments."""
        if not self._given and self._key == "lane_centerline":
            return None
        codes = np.array([0, *CODES[self._key]], np.uint8)
        most: Any = sum(np.count_nonzero(scores) for frame in self._frames for scores in frame[:2])
        if self._key == "lane_segment":
            most += 2 * sum(len(lanes) for lanes, *_ in self._frames)
        source = np.empty(most, np.int64)
        target = np.empty(most, np.int64)
        weight = np.empty(most)
        code = np.empty(most, np.uint8)
        at: Any = np.uint64(0)
        for *given, first, first_element in self._frames:
            lanes, elements = (np.array(scores, np.float64, order="C") for scores in given)
            at = kernels.matrix_links.links_of_frame(
                lanes,
                elements,
                np.uint64(first),
                first_element=np.uint64(first_element),
                codes=codes,
                at=at,
                source=source,
                target=target,
                weight=weight,
                code=code,
            )
        return Links.unchecked(source, target, weight, code, KINDS[self._key])

    def findings(self, name: str) -> list[Finding]:
        """Return a finding for each matrix that frames with lanes lack."""
        findings = []
        for matrix, places in self._lacking.items():
            everywhere = matrix not in self._given
            if everywhere:
                count = "no frame has"
            else:
                count = f"{len(places)} frames with lanes have no"
            text = f"{name}: {count} {matrix}. These lanes have no links of its kind"
            level: Level = "warning"
            if everywhere:
                level = "note"
            findings += findings_about(places, level, "topology-missing", text=text)
        return findings


def lists_of(annotation: Any, where: str, check: ValueChecker) -> Lists:
    """Return the lists of instances of a frame."""
    if not isinstance(annotation, dict):
        raise check.error(f"{where} is a {type(annotation).__name__}, expected a dictionary of lists")
    lines = [key for key in LISTS if LISTS[key]]
    if not any(key in annotation for key in lines):
        if annotation:
            hint = ""
        else:
            hint = ". The truth of the test split is not public"
        raise check.error(f"{where} has none of {', '.join(lines)}{hint}")
    return {
        key: check.sequence(annotation[key], f"{where}.{key}")
        for key in LISTS
        if annotation.get(key) is not None or (key in annotation and key in lines)
    }


def place_of(lists: Lists, instance: int) -> str:
    """Return the place of an instance within its frame."""
    for key, entries in lists.items():
        if key == "lane_segment":
            lines = len(SEGMENT)
        else:
            lines = 1
        if instance < lines * len(entries):
            entry, line = divmod(instance, lines)
            return f".{key}[{entry}].{SEGMENT[line] if lines > 1 else 'points'}"
        instance -= lines * len(entries)
    return ""


class ListReader:
    """Adds the instances and links of frames to a collector."""

    def __init__(self, collector: Collector, kinds: Sequence[str]) -> None:
        """Start without frames. ``kinds`` are the lists that the file has."""
        self._collector = collector
        self._check = collector.check
        self._lanes = next((key for key in MATRICES if key in kinds), None)
        if self._lanes is None:
            self._topology = None
        else:
            self._topology = Topology(collector.error, self._lanes)
        self._inside: list[bool] = []  # whether an instance is a lane in an intersection
        self._known = 0  # lanes that say it
        # Places by the code of a finding.
        codes = ("boxes-swapped", "boxes-outside", "ids-repeated", "intersection-left-out")
        self._places: dict[str, list[str]] = {code: [] for code in codes}

    def add(self, lists: Lists, annotation: dict[str, Any], where: str, segment: str) -> None:
        """Add the instances and links of a frame."""
        self._note_ids(lists, where)
        starts = {}
        for key, entries in lists.items():
            starts[key] = len(self._inside)
            for i, entry in enumerate(entries):
                if segment:
                    scene = f"{segment}/"
                else:
                    scene = ""
                self._add(key, entry, f"{where}.{key}[{i}]", scene=scene)
        count = len(self._inside)
        elements = range(count - len(lists.get("traffic_element", ())), count)
        if self._topology is not None and self._lanes in lists:
            self._topology.add(annotation, len(lists[self._lanes]), starts[self._lanes], elements, where)

    def _add(self, key: str, entry: Any, where: str, scene: str) -> None:
        """Add one entry of a list: an instance, or the three instances of a lane segment."""
        collector = self._collector
        check = self._check
        check.member(entry, "centerline" if key == "lane_segment" else "points", where)
        if collector.has_confidence:
            confidence = check.member(entry, "confidence", where)
        else:
            confidence = None
        box = key == "traffic_element"
        if key == "lane_segment":
            lines = [(name, name) for name in SEGMENT]
        elif key == "lane_centerline":
            lines = [("points", "centerline")]
        elif box:
            lines = [("points", self._attribute(entry, where))]
        else:
            lines = [("points", collector.class_of(check.member(entry, "category", where), f"{where}.category"))]
        inside = key in MATRICES and self._intersection(entry, where)
        for name, class_name in lines:
            points = check.member(entry, name, where)
            if box:
                points = self._corners(check.points(points, f"{where}.points"), where)
            # A traffic light has the same id when its colour changes.
            track = self._track(entry, where, f"{scene}{key if box else class_name}")
            if box:
                place = f"{where}.points"
            else:
                place = None
            collector.add_instance(points, class_name, confidence=confidence, track=track, box=box, where=place)
            self._inside.append(inside)

    def _corners(self, points: Points, where: str) -> Points:
        """Return the two corners of a box, sorted."""
        if points.shape[1] != 2 or len(points) > 2:
            size = " x ".join(map(str, points.shape))
            raise self._collector.error(f"{where}.points is {size}, expected 2 x 2: two corners in pixels")
        if len(points) == 2:
            low = points.min(axis=0)
            high = points.max(axis=0)
            if (points[0] > points[1]).any():
                self._places["boxes-swapped"].append(where)
                points = np.stack([low, high])
            if (high < 0).any():
                self._places["boxes-outside"].append(where)
        return points

    def _attribute(self, entry: Any, where: str) -> str:
        """Return the class of a traffic element."""
        attribute = self._check.member(entry, "attribute", where)
        for name, value, known in (
            ("attribute", attribute, dict(enumerate(TRAFFIC_ELEMENTS))),
            ("category", entry.get("category", 1), CATEGORIES),
        ):
            plain = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not plain or value not in known:
                if plain:
                    shown = value
                else:
                    shown = short(value)
                raise self._collector.error(f"{where}.{name} is {shown}, expected one of {known_ids(known)}")
        return TRAFFIC_ELEMENTS[int(attribute)]

    def _intersection(self, entry: Any, where: str) -> bool:
        """Return whether a lane lies in an intersection."""
        value = entry.get(INTERSECTION)
        if value is None:
            self._places["intersection-left-out"].append(where)
            return False
        if not isinstance(value, bool | np.bool_ | int | np.integer) or value not in (0, 1):
            raise self._collector.error(f"{where}.{INTERSECTION} is {short(value)}, expected true or false")
        self._known += 1
        return bool(value)

    def _track(self, entry: Any, where: str, within: str) -> str:
        if self._collector.has_confidence:
            number = None
        else:
            number = entry.get("id")
        if number is None:
            return ""
        if isinstance(number, bool) or not isinstance(number, str | int | np.integer):
            raise self._collector.error(f"{where}.id is a {type(number).__name__}, expected a whole number or a text")
        return f"{within}/{number}"

    def _note_ids(self, lists: Lists, where: str) -> None:
        """Remember ids that occur twice. Lanes and traffic elements of a submission share their ids."""
        seen: set[tuple[str, Any]] = set()
        for key, entries in lists.items():
            if self._collector.has_confidence and key != "area":
                among = ""
            else:
                among = key
            for i, entry in enumerate(entries):
                if isinstance(entry, dict):
                    number = entry.get("id")
                else:
                    number = None
                if isinstance(number, str | int | np.integer):
                    if (among, number) in seen:
                        self._places["ids-repeated"].append(f"{where}.{key}[{i}]")
                    seen.add((among, number))

    def finish(self) -> None:
        """Give the collector the links, the intersections and the findings."""
        collector = self._collector
        if not self._known:
            self._places["intersection-left-out"] = []
        elif not self._places["intersection-left-out"]:
            collector.columns["intersection"] = np.array(self._inside, np.bool_)
        if self._topology is not None:
            collector.links = self._topology.links()
            collector.findings += self._topology.findings(collector.name)
        texts = {
            "boxes-swapped": "traffic elements had their corners swapped. They were sorted",
            "boxes-outside": "traffic elements lie at negative pixels, outside of any image",
            "ids-repeated": "instances have the id of another instance of their frame",
            "intersection-left-out": f"lanes do not say {INTERSECTION}, so it is left out of all",
        }
        for code, places in self._places.items():
            text = f"{collector.name}: {len(places)} {texts[code]}"
            if code == "ids-repeated":
                remedy = _IDS
            else:
                remedy = None
            collector.findings += findings_about(places, "warning", code, text=text, remedy=remedy)
