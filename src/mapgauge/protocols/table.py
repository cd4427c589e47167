"""The table of protocols, changes of settings, and the names of protocols with changed settings."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import Field, fields
from itertools import product
from typing import Any

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.metrics.rows import METRICS
from mapgauge.metrics.settings import as_text, fields_of, from_text, hints_of, no_such, word_of
from mapgauge.plugins import Table
from mapgauge.protocols.protocol import (
    AREAS,
    LANE,
    LANE_LINES,
    MAP,
    NO_SETTINGS,
    PARTS,
    TRAFFIC_ELEMENTS,
    Protocol,
    settings_type,
)

_NEAR = (0.5, 1.0, 1.5)  # metres
_REGIONS = {"60x30": ((60.0, 30.0), _NEAR), "100x50": ((100.0, 50.0), (1.0, 1.5, 2.0))}  # with usual thresholds
_GRAPHS = ("geo", "topo", "jtopo", "apls", "sda", "reach")


def _built_in() -> Mapping[str, Protocol]:
    return {row.name: row for row in (*_of_lines(), *_of_rasters(), *_of_openlane(), *_of_graphs())}


def _sized(
    name: str,
    about: str,
    metrics: Iterable[str] = ("ap_chamfer",),
    settings: Mapping[str, Any] | None = None,
    **shared: Any,
) -> Iterable[Protocol]:
    """Yield a protocol for each region. Some metrics have the usual thresholds there."""
    for size, (region, thresholds) in _REGIONS.items():
        own = {metric: {"thresholds": thresholds} for metric in metrics} | dict(settings or {})
        words = about.format(size.replace("x", " x "))
        yield Protocol(f"{name}-{size}", words, region=region, settings=own, **shared)


def _of_lines() -> Iterable[Protocol]:
    for name, sampling, more in (
        ("paper", "paper", ""),
        ("even", "even", ", with equal pieces: a line and its reversal are equal"),
    ):
        yield from _sized(
            name,
            f"the paper's evaluation at {{}} m{more}",
            spacing=0.5,
            sampling=sampling,
            cutoffs=(1.5,),
            settings={"ap_frechet": {"thresholds": (1.0, 2.0, 3.0)}},
        )
    hard = {"ap_chamfer": {"thresholds": (0.2, 0.5, 1.0)}}  # of BeMapNet and PivotNet, then GeMap, MapQR and DAMap
    yield from _sized("streammapnet", "StreamMapNet's and MapTracker's Chamfer-AP at {} m", count=200)
    yield from _sized("hard", "StreamMapNet's Chamfer-AP at {} m with the hard thresholds", settings=hard, count=200)
    yield Protocol(
        "maptr",
        "MapTR's and MapTRv2's Chamfer-AP: 100 points, pairs whose 2 m buffers do not meet are left out",
        count=100,
        settings={"ap_chamfer": {"thresholds": _NEAR, "buffers": 2.0}},
    )
    yield Protocol(
        "maptr-hard",
        "MapTR's Chamfer-AP with the hard thresholds of GeMap, MapQR and others",
        count=100,
        settings={"ap_chamfer": hard["ap_chamfer"] | {"buffers": 2.0}},
    )
    yield from _sized(
        "maptracker-c",
        "MapTracker's C-mAP at {} m, and the mAP that its code prints beside it",
        ("ap_chamfer", "c_map"),
        count=200,
        truth_count=20,
        skip_without_truth=True,
        ties="file",
    )
    yield Protocol(
        MAP,
        "two maps without an ego: all classes, network PLD, completeness and offsets in metres by points, PLD",
        classes=None,
        spacing=0.5,
        sampling="even",
        cutoffs=(1.5,),
        # Maps have lines in pieces, so points are assigned, not lines.
        headline=("network_pld", "network_completeness", "pld"),
        settings={"network_pld": {}},
    )
    yield Protocol(
        "mas-60x30",
        "mAS as its paper defines it, not as its public code computes it",
        region=(60.0, 30.0),
        spacing=0.5,
        settings={"mas": {"intervals": (2,)}},
    )


def _of_rasters() -> Iterable[Protocol]:
    crossings = {"filled": ("ped_crossing",)}
    mapvr = crossings | {"pixels": (480, 240), "forward": "rows", "rounding": "nearest", "thickness": 1, "spread": 5}
    yield Protocol(
        "mapvr-60x30",
        "MapVR's raster AP and frame IoU: 0.125 m a pixel, lines 5 pixels wide, crossings filled",
        region=(60.0, 30.0),
        settings={"raster_ap": mapvr, "raster_frame_iou": mapvr},
    )
    wide = {"thickness": 5, "cut": True, "floors": (0.5,)}
    for name, region, pixels in (
        ("hdmapnet-60x30", (60.0, 30.0), (400, 200)),
        ("pmapnet-120x60", (120.0, 60.0), (400, 200)),
        ("pmapnet-240x60", (240.0, 60.0), (800, 200)),
    ):
        metres = region[0] / pixels[0]
        also = ", also P-MapNet's" if name.startswith("hdmapnet") else ""
        yield Protocol(
            name,
            f"{'HDMapNet' if also else 'P-MapNet'}'s IoU{also}: {metres:g} m a pixel, lines and outlines of crossings "
            "of thickness 5",
            region=region,
            settings={"raster_iou": wide | {"pixels": pixels}},
        )
    for size, (region, _) in _REGIONS.items():
        words = f"{region[0] / 200:g} m a pixel, lines of thickness 3"
        yield Protocol(
            f"maptracker-iou-{size}",
            f"MapTracker's IoU: {words}, crossings filled, one class a pixel in predictions",
            region=region,
            settings={"raster_iou": crossings | {"covers": True}},
        )
        yield Protocol(
            f"streammapnet-iou-{size}",
            f"StreamMapNet's IoU: {words}, crossings as outlines",
            region=region,
            settings={"raster_iou": {}},
        )


def _of_openlane() -> Iterable[Protocol]:
    lanes = Protocol("", classes=(LANE,), closed=False, directed=True, ties="file")
    rules = {"strict": True, "interpolation": "11-point"}
    yield lanes.replace(
        name="openlanev2",
        about="OpenLane-V2's DET_l of centrelines: Fréchet of the points as they are, relaxed with range, 11-point AP",
        settings={"ap_frechet": {"thresholds": (1.0, 2.0, 3.0), "relaxed": True, "prefilter": 3.0} | rules},
    )
    for kind, version in product(("centrelines", "segments"), ("v1.0", "v1.1")):
        old: dict[str, Any] = {"drop_closing": False} if version == "v1.0" else {}
        top: dict[str, Any] = {"rules": version, "lanes": kind} | old
        others: tuple[str, ...] = ()
        if kind == "centrelines":
            number, scores = version[1:], "centrelines, version {}: DET, TOP, OLS, F-score"
            settings = {"det_l": old, "det_l_ch": old, "f_lane": {}}
        else:
            number, scores = f"2.{version[-1]}", "lane segments, version {}: DET, TOP, OLUS"
            others, settings = (*LANE_LINES, *AREAS), {"det_ls": old, "det_a": old}
        yield lanes.replace(
            name=f"openlanev2-v{number}",
            about=f"OpenLane-V2's scores of {scores.format(number)}",
            boxes=TRAFFIC_ELEMENTS,
            classes=(LANE, *others, *TRAFFIC_ELEMENTS),
            settings=settings | {"det_t": {}, "top_ll": top, "top_lt": top},
        )


def _of_graphs() -> Iterable[Protocol]:
    lanes = Protocol("", classes=(LANE,), closed=False, directed=True)
    yield lanes.replace(
        name="graph",
        about="graph scores of lanes: GEO, TOPO, JTOPO, APLS, split points and reachability",
        settings={name: {"rules": "corrected"} for name in _GRAPHS},
    )
    yield lanes.replace(
        name="cgnet-graph",
        about="graph scores as CGNet's evaluator computes them",
        ties="file",
        settings={name: {"rules": "cgnet"} for name in _GRAPHS},
    )
    yield lanes.replace(
        name="lane-graph",
        about="lane-graph PLD of centrelines, their links and traffic elements, and PLD of the centrelines",
        classes=(LANE, *TRAFFIC_ELEMENTS),
        boxes=TRAFFIC_ELEMENTS,
        spacing=0.5,
        cutoffs=(1.5,),
        settings={"lane_graph_pld": {"link_cost": 0.1, "link_floor": 0.1}},
    )


PROTOCOLS: Table[Protocol] = Table("mapgauge.protocols", "mapgauge.protocols.protocol:Protocol", _built_in)


def protocol(base: str | Protocol | None = None, /, **fields: Any) -> Protocol:
    """Return a protocol by its name, with some settings changed.

    Args:
        base: One of ``mapgauge.protocols.PROTOCOLS``, or a ``Protocol``. It can also be given as ``name=``. A protocol
            for lane graphs can be restricted to a part of the lanes: ``"openlanev2-v1.1-near"``, and likewise
            ``-far``, ``-intersection`` and ``-elsewhere``.
        fields: Fields of ``Protocol`` to change. After a base, ``name=`` gives the changed protocol another name. The
            cutoff of the base stays the first if it is among several. ``settings=`` has values by metric and name. It
            changes these values and keeps all others; None removes a metric.

    >>> import mapgauge as mg
    >>> mg.protocol("paper-60x30", spacing=0.25, cutoffs=[0.5, 1.0, 1.5]).cutoffs
    (1.5, 0.5, 1.0)
    >>> mg.protocol("paper-60x30", settings={"track_pld": {"switch_cost": 0.5}}).settings["track_pld"]
    TrackPldSettings(switch_cost=0.5)
    """
    if base is None:
        base = fields.pop("name", None)
    if not isinstance(base, Protocol):
        known = named(base) if isinstance(base, str) else None
        if known is None:
            raise InvalidInput(f"unknown protocol {base!r}. Known: {', '.join(PROTOCOLS)}")
        base = known
    return base.replace(**fields) if fields else base


def named(name: str) -> Protocol | None:
    """Return a protocol of the table, or one of them for a part of the lanes; None if there is none of this name."""
    whole, _, part = name.rpartition("-")
    base = PROTOCOLS.get(whole)
    if part in PARTS and base is not None and {"det_l", "det_ls"} & {*base.settings}:
        return base.replace(name=name, part=part)
    return PROTOCOLS.get(name)


def with_settings(protocol: Protocol, texts: Iterable[str]) -> Protocol:
    """Return a protocol with settings changed by texts.

    ``"metric.setting=value"`` is for a setting of a metric, ``"field=value"`` for a field of ``Protocol``. Commas
    separate several values. Settings of a further metric are added with recommended values.

    >>> import mapgauge as mg
    >>> full_name(with_settings(mg.protocol("paper-60x30"), ["track_pld.switch_cost=0.25", "spacing=0.25"]))
    'paper-60x30, spacing 0.25 m, switch cost 0.25'
    """
    changed: dict[str, Any] = {}
    settings: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise InvalidInput(
                f"{text!r} is no setting, expected NAME=VALUE",
                remedy=Remedy('Write "track_pld.switch_cost=0.5"', "Write --set track_pld.switch_cost=0.5"),
            )
        metric, dot, key = name.partition(".")
        if not dot:
            hints = hints_of(Protocol)
            if name not in hints or name in NO_SETTINGS:
                protocol.replace(**{name: None})  # raises the error for this name
            value = value.lower().replace("x", ",") if name == "region" else value
            changed[name] = from_text(name, hints[name], value.strip())
            continue
        hints = hints_of(settings_type(metric, f"{text}: "))
        if key not in hints:
            raise no_such(f"{text}: the metric {metric} has no setting", key, list(hints))
        settings.setdefault(metric, {})[key] = from_text(name, hints[key], value.strip())
    return protocol.replace(**changed, settings=settings)


_MOST = 4  # values of one setting that are listed


def changes(protocol: Protocol) -> dict[str, Any]:
    """Return what differs from the protocol of this name in the table: fields by name, settings as ``metric.setting``.

    A protocol with a name of its own has no changes: the name stands for its settings. For a metric that
    the base lacks, the changes are its first setting and all settings that are not recommended; a metric that was
    removed is None.
    """
    base = named(protocol.name)
    if base is None:
        return {}
    keys = [field.name for field in fields(protocol) if field.name not in NO_SETTINGS]
    changed = {key: getattr(protocol, key) for key in keys if getattr(protocol, key) != getattr(base, key)}
    for name in METRICS if protocol.settings != base.settings else ():
        own, other = protocol.settings.get(name), base.settings.get(name)
        if own is None:
            changed |= {} if other is None else {name: None}
            continue
        for k, field in enumerate(fields(own)):
            value = getattr(own, field.name)
            if (k == 0 or value != field.default) if other is None else value != getattr(other, field.name):
                changed[f"{name}.{field.name}"] = value
    return changed


def full_name(protocol: Protocol, *, without: Collection[str] = ()) -> str:
    """Return the name of a protocol with the settings that were changed, ``without`` some that a table names.

    >>> import mapgauge as mg
    >>> full_name(mg.protocol("paper-60x30")), full_name(mg.protocol("paper-60x30", cutoffs=[0.5], count=20))
    ('paper-60x30', 'paper-60x30, count 20, cutoff 0.5 m')
    >>> full_name(mg.protocol("paper-60x30", cutoffs=[0.5, 1.0, 1.5], crop=True))
    'paper-60x30, cropped, cutoff 1.5 m, also 0.5 and 1 m'
    >>> full_name(mg.protocol("paper-60x30", settings={"ap_chamfer": {"strict": True}}))
    'paper-60x30, strict of Chamfer-AP'
    """
    changed = {key: value for key, value in changes(protocol).items() if key not in without}
    for key_set, key_removed in (("spacing", "count"), ("count", "spacing")):
        if changed.get(key_set) is not None:
            changed.pop(key_removed, None)  # setting one removes the other
    return ", ".join(
        dict.fromkeys([protocol.name, *(_in_words(key, value, protocol) for key, value in changed.items())])
    )


def _in_words(key: str, value: Any, protocol: Protocol) -> str:
    metric, dot, name = key.partition(".")
    if not dot and metric in METRICS:
        return f"no {word_of(next(iter(fields_of(METRICS[metric].settings_type).values())))}"
    if key == "classes" and value is None:
        return "all classes"
    if not dot:
        return _setting_in_words(fields_of(protocol)[key], value, first=key == "cutoffs")
    row = METRICS[metric]
    field = fields_of(row.settings_type)[name]
    first = row.shows_first and row.setting is not None and row.setting.field == name
    alike = {
        getattr(values, own.name)
        for values in protocol.settings.values()
        for own in fields(values)
        if word_of(own) == word_of(field)
    }
    return _setting_in_words(field, value, first=first) + ("" if len(alike) == 1 else f" of {row.title}")


def _setting_in_words(field: "Field[Any]", value: Any, *, first: bool) -> str:
    """Return a setting and its value in words. Of several values, ``first`` says that tables show the first."""
    word = word_of(field).removesuffix("s") if first else word_of(field)
    unit = " m" if field.metadata["unit"] == "m" else ""
    if value is None or value == ():
        return f"no {word}"
    if isinstance(value, bool):
        return word if value else f"{word} off"
    if not isinstance(value, tuple):
        return f"{word} {as_text(value)}{unit}"
    texts = list(map(as_text, value))
    if not first:
        joined = f"{word} {('x' if field.name == 'region' else '/').join(texts)}{unit}"
        return joined if len(value) <= _MOST else f"{len(value)} values of {word}"
    also = f", also {' and '.join(filter(None, [', '.join(texts[1:-1]), texts[-1]]))}{unit}" if texts[1:] else ""
    return f"{word} {texts[0]}{unit}{also}"
