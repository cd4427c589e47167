"""``Protocol``: all settings of an evaluation.

A protocol has what all metrics share: classes, region, sampling, closed polylines, direction, order, cutoffs. The
settings of single metrics are in ``settings``, by the name of the metric. Every result records all of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mapgauge.arguments import (
    check_class_names,
    check_closed,
    check_count,
    check_cutoff,
    check_length,
    check_not_mean,
    check_order,
    check_tolerance,
)
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.geometry.cropping import check_region, check_window
from mapgauge.geometry.polylines import CLOSED_TOLERANCE
from mapgauge.geometry.resampling import check_sampling
from mapgauge.markup import facts
from mapgauge.metrics.rows import METRICS, SELECTIONS
from mapgauge.metrics.settings import Settings, checked, fields_of, hints_of, no_such, setting
from mapgauge.protocols.names import PROTOCOLS

CLASSES = ("ped_crossing", "divider", "boundary")
# Fields that are checked by their types, and by the checks that they name.
_CHECKED = (
    "window",
    "spacing",
    "count",
    "truth_count",
    "sampling",
    "cutoffs",
    "crop",
    "directed",
    "skip_without_truth",
    "has_ego",
    "headline",
)
NO_SETTINGS = ("name", "about", "headline", "settings")  # fields of ``Protocol`` that change no number
PLUG_IN = Remedy(
    "If it belongs to a plug-in, install it or call mapgauge.plugin.use", "If it belongs to a plug-in, pass --plugin"
)


class MetricSettings(Mapping[str, Any]):
    """Settings by the name of their metric, in the order of the table of metrics. It cannot be changed."""

    __slots__ = ("_rows",)

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        """Check settings, or mappings with some of their values, by name of metric. The others are recommended ones."""
        if given is None:
            given = {}
        if not isinstance(given, Mapping):
            raise InvalidInput(
                f"settings must be a mapping by metric, got {given!r}",
                remedy='Write settings={"ap_chamfer": {"thresholds": [0.5, 1.0]}}',
            )
        rows = {name: settings_of(name, values) for name, values in given.items()}
        self._rows = {name: rows[name] for name in METRICS.in_order(rows)}

    def __getitem__(self, name: str) -> Any:
        """Return the settings of a metric."""
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        """Return the names of the metrics."""
        return iter(self._rows)

    def __len__(self) -> int:
        """Return the number of metrics."""
        return len(self._rows)

    def __hash__(self) -> int:
        """Return a hash of all settings."""
        return hash(tuple(self._rows.items()))

    def __repr__(self) -> str:
        """Return the settings as text."""
        return repr(self._rows)


def settings_type(metric: str, where: str, got: str = "") -> type[Settings]:
    """Return the class of the settings of a metric. Messages begin with ``where`` and end with ``got``."""
    if metric not in METRICS:
        raise no_such(f"{where}unknown metric", str(metric), list(METRICS), remedy=PLUG_IN)
    kind = METRICS[metric].settings_type
    if kind is None:
        raise InvalidInput(f"{where}the metric {metric} has no settings of its own{got}")
    return kind


def settings_of(metric: str, values: Any, base: Settings | None = None) -> Settings:
    """Return the settings of a metric from settings or some values. The others are in ``base`` or recommended."""
    kind = settings_type(metric, "", f", got {values!r}")
    if isinstance(values, kind):
        return values
    if not isinstance(values, Mapping):
        raise InvalidInput(f"settings of {metric} must be a mapping of values by name, got {values!r}")
    known = list(fields_of(kind))
    for name in values:
        if name not in known:
            raise no_such(f"the metric {metric} has no setting", str(name), known)
    try:
        if base is None:
            return kind(**values)
        return replace(base, **values)
    except InvalidInput as error:
        raise InvalidInput(f"{metric}: {error.message}", remedy=error.remedy) from error
    except TypeError as error:
        lacking = [name for name in known if name not in values and name in str(error)]
        raise InvalidInput(f"{metric}: there is no value for {', '.join(lacking)}, and none is recommended") from error


def check_part(name: str, value: Any) -> str:
    """Return the name of a part of the instances. Features say which there are."""
    if isinstance(value, str) and value in SELECTIONS:
        return value
    if not len(SELECTIONS):
        raise InvalidInput(f"{name} must be None, because no feature has parts of instances, got {value!r}")
    raise InvalidInput(f"{name} must be {' or '.join(map(repr, SELECTIONS))}, got {value!r}", remedy=PLUG_IN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """All settings of an evaluation. ``replace`` returns a copy with some settings changed.

    >>> from mapgauge.protocols import PROTOCOLS
    >>> PROTOCOLS["paper-60x30"].replace(cutoffs=(0.5, 1.0, 1.5)).cutoffs
    (1.5, 0.5, 1.0)
    """

    name: str
    about: str = ""
    classes: tuple[str, ...] | None = setting(CLASSES, help="Classes to compare. If none, all that occur.")
    boxes: tuple[str, ...] = setting((), help="Classes whose instances are boxes in an image.")
    region: tuple[float, float] | None = setting(
        default=None, unit="m", help="Length and width around the ego vehicle. The checks use it."
    )
    crop: bool = setting(
        default=False,
        word="cropped",
        help="Whether both sides are cropped to the region. The public evaluators do not.",
    )
    window: str | None = setting(
        default=None,
        check=check_window,
        help="Part of the region at whose edge both sides are cut: ahead, rear, left or right of the ego, "
        "X_MIN,Y_MIN,X_MAX,Y_MAX in metres, or corridor:5, within 5 m of the path of the next 6 s. If none, all.",
    )
    spacing: float | None = setting(
        default=None, unit="m", check=check_length, help="Distance between points after resampling."
    )
    count: int | None = setting(
        default=None,
        check=check_count,
        help="Points per polyline after resampling. Without spacing and count, points stay as they are.",
    )
    sampling: Literal["paper", "even"] = setting(
        "paper",
        help="Where points lie with spacing s: at 0, s, 2s, ... and at the end (paper), or at the ends of round(length "
        "/ s) equal pieces (even). With even, the geometry of a closed polyline decides where its points begin.",
    )
    truth_count: int | None = setting(
        default=None, check=check_count, help="Points to which true polylines are resampled before that (MapTracker)."
    )
    closed: bool | Literal["auto"] = setting(
        "auto", help='Which polylines are closed. "auto" decides by the distance of their ends.'
    )
    closed_tolerance: float = setting(CLOSED_TOLERANCE, unit="m", help="Distance of the ends of a closed polyline.")
    directed: bool = setting(default=False, help="Whether the direction of a polyline matters.")
    order: float = setting(1.0, help="Order p of SOSPA and PLD.")
    cutoffs: tuple[float, ...] = setting(
        (), unit="m", check=check_cutoff, help="Cutoffs of PLD. The summary shows the first."
    )
    part: str | None = setting(
        default=None, check=check_part, help="Part of the instances to compare, such as near lanes. If none, all."
    )
    skip_without_truth: bool = setting(
        default=False,
        help="Whether average precision leaves out predictions in frames without truth of their class (MapTracker).",
    )
    ties: Literal["content", "file"] = setting(
        "content", help="What decides between equal distances, confidences and link scores."
    )
    has_ego: bool = setting(
        default=True,
        help="Whether frames are around an ego vehicle. Two maps have none, and predictions without confidences in "
        "them are certain.",
    )
    headline: tuple[str, ...] = setting(
        (), help="Metrics that are computed if none are named, beside the usual ones. Tables begin with them."
    )
    settings: Mapping[str, Any] = field(default_factory=MetricSettings)  # of metrics, by name

    def __post_init__(self) -> None:
        """Refuse settings that are invalid or contradict each other."""
        if not isinstance(self.name, str) or not isinstance(self.about, str):
            raise InvalidInput(f"name and about must be texts, got {self.name!r} and {self.about!r}")

        def store(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        known = fields_of(self)
        hints = hints_of(Protocol)
        for name in (*_CHECKED, "part", "ties"):
            store(name, checked(name, hints[name], getattr(self, name), check=known[name].metadata["check"]))
        if self.classes is not None:
            if not isinstance(self.classes, tuple | list) or not all(isinstance(name, str) for name in self.classes):
                raise InvalidInput(f"classes must be a tuple of names, got {self.classes!r}")
            store("classes", tuple(self.classes))
            if not self.classes or len(set(self.classes)) < len(self.classes):
                raise InvalidInput(f"classes must be one or more different names, got {self.classes!r}")
            check_not_mean(self.classes)
        store("boxes", tuple(check_class_names(self.boxes)))
        if self.spacing is not None and self.count is not None:
            raise InvalidInput(f"give spacing or count, not both, got {self.spacing!r} and {self.count!r}")
        check_sampling(self.sampling, self.spacing)
        if self.region is not None:
            check_region(self.region)
            store("region", tuple(float(value) for value in self.region))
        store("closed", check_closed(self.closed))
        store("closed_tolerance", check_tolerance(self.closed_tolerance))
        store("order", check_order(self.order))
        if self.crop and self.region is None:
            raise InvalidInput("crop needs a region", remedy=Remedy("Set region=", "Choose a protocol with a region"))
        store("settings", MetricSettings(self.settings))
        for values in self.settings.values():
            values.check(self)

    @property
    def sampling_in_words(self) -> str:
        """How polylines are sampled, in words.

        >>> [Protocol(name="", **how).sampling_in_words for how in ({"spacing": 0.5}, {"count": 200}, {})]
        ['a point every 0.5 m', '200 points per polyline', 'points as in the file']
        >>> Protocol(name="", spacing=0.5, sampling="even").sampling_in_words
        'equal pieces of about 0.5 m'
        """
        if self.spacing is not None:
            return f"{'equal pieces of about' if self.sampling == 'even' else 'a point every'} {self.spacing:g} m"
        if self.count is None:
            return "points as in the file"
        return f"{self.count} points per polyline"

    def _repr_html_(self) -> str:
        given = {key: value for key, value in self.flat().items() if key not in NO_SETTINGS}
        shown = {key: value for key, value in given.items() if value not in (None, ()) and value is not False}
        return facts(f"Protocol {self.name} with these settings", shown)

    def replace(self, **changes: Any) -> "Protocol":
        """Return a copy with some fields changed.

        Setting ``spacing`` removes ``count``, and the other way round. The first of ``cutoffs`` and of ``intervals``,
        which tables and figures show, stays the first if it is among the new values. ``settings`` changes the values
        that it names and keeps the others. Settings of further metrics are added; None removes all settings of one.

        >>> from mapgauge.protocols import PROTOCOLS
        >>> changed = PROTOCOLS["paper-60x30"].replace(settings={"ap_sospa": {"thresholds": [0.5]}, "ap_frechet": None})
        >>> list(changed.settings)
        ['ap_chamfer', 'ap_sospa']
        """
        for name in changes:
            if name not in fields_of(self):
                raise _no_field(name)
        if changes.get("spacing") is not None:
            changes.setdefault("count", None)
        if changes.get("count") is not None:
            changes |= {"spacing": None, "sampling": "paper"} | changes
        if "settings" in changes:
            changes["settings"] = self._merged(changes["settings"])
        changed = replace(self, **changes)
        kept = _first_kept(self.cutoffs, changed.cutoffs)
        if kept == changed.cutoffs:
            return changed
        return replace(changed, cutoffs=kept)

    def _merged(self, given: Any) -> MetricSettings:
        """Return the settings of all metrics, some of them changed."""
        if not isinstance(given, Mapping):
            return MetricSettings(given)
        merged = dict(self.settings)
        for name, values in given.items():
            if values is None:
                merged.pop(name, None)
                continue
            own = merged.get(name)
            merged[name] = changed = settings_of(name, values, own)
            shown = METRICS[name].setting
            if own is not None and shown is not None and METRICS[name].shows_first and hasattr(own, shown.field):
                kept = _first_kept(getattr(own, shown.field), getattr(changed, shown.field))
                merged[name] = replace(changed, **{shown.field: kept})
        return MetricSettings(merged)

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as plain values.

        ``has_ego`` is left out where the name says it. ``from_dict`` adds it.
        """
        plain = _plain(self)
        if self.has_ego == _named_has_ego(self.name):
            del plain["has_ego"]
        return plain | {"settings": {name: _plain(values) for name, values in self.settings.items()}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Protocol":
        """Return the protocol from the result of ``to_dict``, also after a JSON round trip."""
        settings: dict[str, Any] = {"has_ego": _named_has_ego(values.get("name"))}
        for name, value in values.items():
            if isinstance(value, list):
                settings[name] = tuple(value)
            else:
                settings[name] = value
        return cls(**settings)

    def flat(self) -> dict[str, Any]:
        """Return all settings by name; settings of a metric are named ``metric.setting``."""
        return flat_settings(self.to_dict())


def _named_has_ego(name: Any) -> bool:
    """Return whether the protocol of this name in the table has an ego; yes if there is none."""
    row = PROTOCOLS.at_hand(name)
    return row is None or row.has_ego


def _plain(values: Any) -> dict[str, Any]:
    return {name: getattr(values, name) for name in fields_of(values)}


def flat_settings(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of ``Protocol.to_dict`` by name; settings of a metric are named ``metric.setting``."""
    shared = {key: value for key, value in plain.items() if key != "settings"}
    settings: Mapping[str, Mapping[str, Any]] = plain.get("settings", {})
    return shared | {f"{name}.{key}": value for name, values in settings.items() for key, value in values.items()}


def _first_kept(own: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the new values, with the first own one first if it is among them."""
    if own and own[0] in new[1:]:
        return (own[0], *(value for value in new if value != own[0]))
    return new


def _no_field(name: str) -> InvalidInput:
    """Return the error for an unknown field, which may be a setting of some metrics."""
    owners = [row.name for row in METRICS.values() if row.settings_type and name in hints_of(row.settings_type)]
    if not owners:
        return no_such(
            "a protocol has no setting", name, [key for key in fields_of(Protocol) if key not in NO_SETTINGS]
        )
    return InvalidInput(
        f"a protocol has no setting {name!r}: it belongs to {' and '.join(owners)}",
        remedy=Remedy(f'Write settings={{"{owners[0]}": {{"{name}": ...}}}}', f"Write --set {owners[0]}.{name}=..."),
    )
