"""``Protocol``: all settings of an evaluation.

A protocol defines how polylines are sampled, which of them are closed, which cutoffs and thresholds apply, and how
average precision is computed. Every result records all settings of its protocol.
"""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from mapgauge.arguments import (
    check_class_names,
    check_closed,
    check_confidence,
    check_cutoff,
    check_flag,
    check_length,
    check_link_floor,
    check_not_mean,
    check_order,
    check_switch_cost,
    check_tolerance,
    check_whole,
)
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.geometry.cropping import check_region
from mapgauge.geometry.polylines import CLOSED_TOLERANCE
from mapgauge.markup import facts
from mapgauge.typing import Closed

CLASSES = ("ped_crossing", "divider", "boundary")
LANE = "centerline"  # the class of lanes, which metrics of lane graphs compare
AREAS = ("ped_crossing", "boundary")  # the classes of areas in OpenLane-V2
# The classes of traffic elements in OpenLane-V2, by attribute.
TRAFFIC_ELEMENTS = (
    *("unknown", "red", "green", "yellow", "go_straight", "turn_left", "turn_right", "no_left_turn", "no_right_turn"),
    *("u_turn", "no_u_turn", "slight_left", "slight_right"),
)
LANE_LINES = ("left_laneline", "right_laneline")  # the classes of the lines on both sides of a lane segment
PARTS = ("near", "far", "intersection", "elsewhere")  # of the lanes, see ``metrics.lane_parts``
TOPOLOGY = ("v1.0", "v1.1")  # versions of the rules of TOP
TIES = ("content", "file")
GRAPH_RULES = ("corrected", "cgnet")  # of the graph scores
SWITCH_COST = 0.5  # the recommended cost of a switch of tracks; docs/explanation/time.md gives the reason
LINK_COST = 0.1  # the recommended cost of a wrong link; docs/explanation/lane-graphs.md gives the reason
BREAK_COST = 0.5  # the recommended cost of a break of a line; docs/explanation/fragments.md gives the reason
LINK_FLOOR = 0.1  # networks give every pair of lanes a score above 0; scores up to this are no links
_THRESHOLDS = ("chamfer", "frechet", "sospa", "consistent", "lanes", "segments", "areas", "overlaps")
FIRST_SHOWN = ("cutoffs", "intervals")  # settings with several values, of which tables and figures show the first
MOST_THRESHOLDS = 16  # per metric: a result stores one bit for each


@dataclass(frozen=True, slots=True)
class Protocol:
    """All settings of an evaluation. ``replace`` returns a copy with some settings changed.

    >>> from mapgauge.protocols import PROTOCOLS
    >>> PROTOCOLS["paper-60x30"].replace(cutoffs=(0.5, 1.0, 1.5)).cutoffs
    (1.5, 0.5, 1.0)
    """

    name: str
    about: str = ""
    classes: tuple[str, ...] | None = CLASSES  # names of the classes to compare; all that occur if None
    boxes: tuple[str, ...] = ()  # names of the classes whose instances are boxes in an image
    region: tuple[float, float] | None = None  # (length, width) in metres around the ego; used by the checks
    crop: bool = False  # crop both sides to the region first; the public evaluators do not
    spacing: float | None = None  # metres between points after resampling
    count: int | None = None  # points per polyline after resampling; without spacing and count, points stay as they are
    truth_count: int | None = None  # points to which true polylines are resampled before that (MapTracker)
    closed: Closed = "auto"  # which polylines are closed; "auto" decides by the distance between their ends
    closed_tolerance: float = CLOSED_TOLERANCE  # metres
    directed: bool = False  # whether the direction of a polyline matters
    order: float = 1.0  # order p of SOSPA and PLD
    cutoffs: tuple[float, ...] = ()  # cutoffs of PLD, metres; the summary shows the first
    switch_cost: float | None = None  # cost of a switch of tracks; T-PLD is computed only if it is set
    link_cost: float | None = None  # cost of a wrong link of lanes; lane-graph PLD is computed only if it is set
    break_cost: float | None = None  # cost of a break of a line; network PLD is computed only if it is set
    link_floor: float = 0.0  # the score up to which there is no link; higher scores are stretched to 0 .. 1
    chamfer: tuple[float, ...] = ()  # thresholds of Chamfer-AP, metres
    frechet: tuple[float, ...] = ()  # thresholds of Fréchet-AP, metres
    sospa: tuple[float, ...] = ()  # thresholds of SOSPA-AP, on normalised SOSPA at the first cutoff
    consistent: tuple[float, ...] = ()  # thresholds of C-mAP, metres
    lanes: tuple[float, ...] = ()  # thresholds of DET_l, DET_l_ch and of TOP between centrelines, metres
    segments: tuple[float, ...] = ()  # thresholds of DET_ls and of TOP between lane segments, metres
    areas: tuple[float, ...] = ()  # thresholds of DET_a, metres
    overlaps: tuple[float, ...] = ()  # thresholds of DET_t, on 1 minus the intersection over union of boxes
    topology: Literal["v1.0", "v1.1"] | None = None  # version of the rules of TOP; None if it is not computed
    part: Literal["near", "far", "intersection", "elsewhere"] | None = None  # of the lanes; all lanes if None
    intervals: tuple[int, ...] = ()  # largest intervals of mAS, frames; the summary shows the first
    presence: float = 0.3  # confidence from which mAS takes a line as present
    buffers: float | None = None  # metres: pairs whose flat-capped buffers do not intersect are left out (MapTR)
    relaxed: bool = False  # distances are reduced with the range of the truth (OpenLane-V2)
    prefilter: float | None = None  # metres: Fréchet pairs with at least this (relaxed) Chamfer distance are left out
    drop_closing: bool = False  # Chamfer of lanes and areas drops the last true point if it repeats the first
    skip_without_truth: bool = False  # AP leaves out predictions in frames without truth of their class (MapTracker)
    strict: bool = False  # a hit needs a distance below the threshold; otherwise one equal to it is a hit, too
    interpolation: Literal["area", "11-point"] = "area"  # how AP is computed from precision and recall
    ties: Literal["content", "file"] = "content"  # what decides between equal distances, confidences and link scores
    graph_rules: Literal["corrected", "cgnet"] | None = None  # rules of the graph scores; they are computed only if set

    def __post_init__(self) -> None:
        """Refuse settings that are invalid or contradict each other."""
        if not isinstance(self.name, str) or not isinstance(self.about, str):
            raise InvalidInput(f"name and about must be texts, got {self.name!r} and {self.about!r}")
        for name in ("cutoffs", *_THRESHOLDS):
            values = getattr(self, name)
            if isinstance(values, str) or not isinstance(values, tuple | list):
                raise InvalidInput(f"{name} must be a tuple of lengths in metres, got {values!r}")
            check = check_cutoff if name == "cutoffs" else check_length
            checked = tuple(check(name, value) for value in values)
            if len(set(checked)) < len(checked):
                raise InvalidInput(f"{name} must differ from each other, got {values!r}")
            if name != "cutoffs" and len(checked) > MOST_THRESHOLDS:
                raise InvalidInput(f"{name} must be at most {MOST_THRESHOLDS} thresholds, got {len(checked)}")
            object.__setattr__(self, name, checked)
        if self.classes is not None:
            names: Any = self.classes
            if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
                raise InvalidInput(f"classes must be a tuple of names, got {self.classes!r}")
            object.__setattr__(self, "classes", tuple(self.classes))
            if not self.classes or len(set(self.classes)) < len(self.classes):
                raise InvalidInput(f"classes must be one or more different names, got {self.classes!r}")
            check_not_mean(self.classes)
        object.__setattr__(self, "boxes", tuple(check_class_names(self.boxes)))
        if self.spacing is not None and self.count is not None:
            raise InvalidInput(f"give spacing or count, not both, got {self.spacing!r} and {self.count!r}")
        for name in ("spacing", "buffers", "prefilter"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_length(name, getattr(self, name)))
        for name in ("count", "truth_count"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_whole(name, getattr(self, name), 2))
        intervals: Any = self.intervals
        if not isinstance(intervals, tuple | list):
            raise InvalidInput(f"intervals must be a tuple of numbers of frames, got {self.intervals!r}")
        object.__setattr__(self, "intervals", tuple(check_whole("intervals", k, 1) for k in self.intervals))
        if len(set(self.intervals)) < len(self.intervals):
            raise InvalidInput(f"intervals must differ from each other, got {self.intervals!r}")
        object.__setattr__(self, "presence", float(check_confidence("presence", [self.presence], 1, "protocol")[0]))
        if self.region is not None:
            check_region(self.region)
            object.__setattr__(self, "region", tuple(float(value) for value in self.region))
        object.__setattr__(self, "closed", check_closed(self.closed))
        object.__setattr__(self, "closed_tolerance", check_tolerance(self.closed_tolerance))
        object.__setattr__(self, "order", check_order(self.order))
        object.__setattr__(self, "link_floor", check_link_floor("link_floor", self.link_floor))
        for name in ("switch_cost", "link_cost", "break_cost"):
            if getattr(self, name) is None:
                continue
            object.__setattr__(self, name, check_switch_cost(name, getattr(self, name)))
            if self.order != 1 or not self.cutoffs:
                raise InvalidInput(
                    f"{name} needs order 1 and a cutoff, got order {self.order:g} and cutoffs {self.cutoffs!r}",
                    remedy=Remedy("Set order=1 and cutoffs=", "Pass --cutoff"),
                )
        for name in ("crop", "directed", "strict", "relaxed", "drop_closing", "skip_without_truth"):
            object.__setattr__(self, name, check_flag(name, getattr(self, name)))
        if self.crop and self.region is None:
            raise InvalidInput("crop needs a region", remedy=Remedy("Set region=", "Choose a protocol with a region"))
        if self.sospa and not self.cutoffs:
            raise InvalidInput("sospa thresholds need a cutoff", remedy=Remedy("Set cutoffs=", "Pass --cutoff"))
        if self.lanes and self.segments:
            raise InvalidInput(f"give lanes or segments, not both, got {self.lanes!r} and {self.segments!r}")
        if self.topology is not None and not self.lanes + self.segments:
            raise InvalidInput("topology needs thresholds of lanes", remedy="Set lanes= or segments=")
        for name, known in (
            ("interpolation", ("area", "11-point")),
            ("ties", TIES),
            ("topology", TOPOLOGY),
            ("part", PARTS),
            ("graph_rules", GRAPH_RULES),
        ):
            value = getattr(self, name)
            if value not in known and not (value is None and name not in ("interpolation", "ties")):
                raise InvalidInput(f"{name} must be {' or '.join(map(repr, known))}, got {value!r}")

    @property
    def sampling(self) -> str:
        """How polylines are sampled, in words.

        >>> [Protocol("", **how).sampling for how in ({"spacing": 0.5}, {"count": 200}, {})]
        ['a point every 0.5 m', '200 points per polyline', 'points as in the file']
        """
        how = "points as in the file" if self.count is None else f"{self.count} points per polyline"
        return how if self.spacing is None else f"a point every {self.spacing:g} m"

    @property
    def sampling_short(self) -> str:
        """How polylines are sampled, for table cells and legends.

        >>> [Protocol("", **how).sampling_short for how in ({"spacing": 0.5}, {"count": 200}, {})]
        ['0.5 m', 'N = 200', 'as is']
        """
        how = "as is" if self.count is None else f"N = {self.count}"
        return how if self.spacing is None else f"{self.spacing:g} m"

    def _repr_html_(self) -> str:
        given = {key: value for key, value in self.to_dict().items() if key not in ("name", "about")}
        there = {key: value for key, value in given.items() if value not in (None, ()) and value is not False}
        return facts(f"Protocol {self.name} with these settings", there)  # they may be changed

    def replace(self, **settings: Any) -> "Protocol":
        """Return a copy with some settings changed.

        Setting ``spacing`` removes ``count``, and the other way round. The first of ``cutoffs`` and of ``intervals``,
        which tables and figures show, stays the first if it is among the new values.
        """
        unknown = [name for name in settings if name not in {field.name for field in fields(self)}]
        if unknown:
            known = ", ".join(field.name for field in fields(self) if field.name not in ("name", "about"))
            raise InvalidInput(f"a protocol has no setting {', '.join(unknown)}. It has: {known}")
        if settings.get("spacing") is not None:
            settings.setdefault("count", None)
        if settings.get("count") is not None:
            settings.setdefault("spacing", None)
        changed = replace(self, **settings)
        for name in FIRST_SHOWN:
            own, new = getattr(self, name)[:1], getattr(changed, name)
            if own and own[0] in new[1:]:
                moved: dict[str, Any] = {name: (*own, *(value for value in new if value != own[0]))}
                changed = replace(changed, **moved)
        return changed

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as plain values."""
        return asdict(self)
