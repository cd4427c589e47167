"""The table of protocols, changes of settings, and the names of protocols with changed settings."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from typing import Any

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.metrics.rows import METRICS
from mapgauge.metrics.settings import fields_of, from_text, hints_of, no_such, word_of
from mapgauge.plugins import Table
from mapgauge.protocols.protocol import AREAS, LANE, LANE_LINES, PARTS, PLUG_IN, TRAFFIC_ELEMENTS, Protocol

_NEAR, _FAR = (0.5, 1.0, 1.5), (1.0, 1.5, 2.0)  # metres; usual thresholds at 60x30 and 100x50
_REGIONS = {"60x30": ((60.0, 30.0), _NEAR), "100x50": ((100.0, 50.0), _FAR)}
_GRAPHS = ("geo", "topo", "jtopo", "apls", "sda", "reach")


def _built_in() -> Mapping[str, Protocol]:
    return {row.name: row for row in (*_of_lines(), *_of_openlane(), *_of_graphs())}


def _of_lines() -> Iterable[Protocol]:
    papers = [
        Protocol(
            f"paper-{size}",
            f"the paper's evaluation at {size.replace('x', ' x ')} m",
            region=region,
            spacing=0.5,
            cutoffs=(1.5,),
            settings={"ap_chamfer": {"thresholds": thresholds}, "ap_frechet": {"thresholds": (1.0, 2.0, 3.0)}},
        )
        for size, (region, thresholds) in _REGIONS.items()
    ]
    yield from papers
    for paper in papers:
        yield paper.replace(
            name=paper.name.replace("paper", "even"),
            about=f"{paper.about}, with equal pieces: a line and its reversal are equal",
            sampling="even",
        )
    for size, (region, thresholds) in _REGIONS.items():
        yield Protocol(
            f"streammapnet-{size}",
            f"StreamMapNet's and MapTracker's Chamfer-AP at {size.replace('x', ' x ')} m",
            region=region,
            count=200,
            settings={"ap_chamfer": {"thresholds": thresholds}},
        )
    yield Protocol(
        "maptr",
        "MapTR's and MapTRv2's Chamfer-AP: 100 points, pairs whose 2 m buffers do not meet are left out",
        count=100,
        settings={"ap_chamfer": {"thresholds": _NEAR, "buffers": 2.0}},
    )
    for size, (region, thresholds) in _REGIONS.items():
        yield Protocol(
            f"maptracker-c-{size}",
            f"MapTracker's C-mAP at {size.replace('x', ' x ')} m, and the mAP that its code prints beside it",
            region=region,
            count=200,
            truth_count=20,
            skip_without_truth=True,
            ties="file",
            settings={"ap_chamfer": {"thresholds": thresholds}, "c_map": {"thresholds": thresholds}},
        )
    yield Protocol(
        "mas-60x30",
        "mAS as its paper defines it, not as its public code computes it",
        region=(60.0, 30.0),
        spacing=0.5,
        settings={"mas": {"intervals": (2,)}},
    )


def _of_openlane() -> Iterable[Protocol]:
    lanes = Protocol("", classes=(LANE,), closed=False, directed=True, ties="file")
    rules = {"strict": True, "interpolation": "11-point"}
    yield lanes.replace(
        name="openlanev2",
        about="OpenLane-V2's DET_l of centrelines: Fréchet of the points as they are, relaxed with range, 11-point AP",
        settings={"ap_frechet": {"thresholds": (1.0, 2.0, 3.0), "relaxed": True, "prefilter": 3.0} | rules},
    )
    for kind in ("centrelines", "segments"):
        for version in ("v1.0", "v1.1"):
            first = version == "v1.0"
            old: dict[str, Any] = {"drop_closing": False} if first else {}
            top: dict[str, Any] = {"rules": version, "lanes": kind} | old
            shared = {"det_t": {}, "top_ll": top, "top_lt": top}
            if kind == "centrelines":
                yield lanes.replace(
                    name=f"openlanev2-{version}",
                    about=f"OpenLane-V2's scores of centrelines, version {version[1:]}: DET, TOP, OLS, F-score",
                    boxes=TRAFFIC_ELEMENTS,
                    classes=(LANE, *TRAFFIC_ELEMENTS),
                    settings={"det_l": old, "det_l_ch": old, "f_lane": {}} | shared,
                )
            else:
                yield lanes.replace(
                    name=f"openlanev2-v2.{version[-1]}",
                    about=f"OpenLane-V2's scores of lane segments, version 2.{version[-1]}: DET, TOP, OLUS",
                    boxes=TRAFFIC_ELEMENTS,
                    classes=(LANE, *LANE_LINES, *AREAS, *TRAFFIC_ELEMENTS),
                    settings={"det_ls": old, "det_a": old} | shared,
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

    Args:
        protocol: The protocol.
        texts: ``"metric.setting=value"`` for a setting of a metric, ``"field=value"`` for a field of ``Protocol``.
            Several values are separated by commas. Settings of a further metric are added with recommended values.

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
            hints = {key: hint for key, hint in hints_of(Protocol).items() if key not in ("name", "about", "settings")}
            if name in hints:
                changed[name] = _value(name, hints[name], value.strip())
            else:
                protocol.replace(**{name: None})  # raises the error for this name
            continue
        if metric not in METRICS:
            raise no_such(f"{text}: unknown metric", metric, list(METRICS), remedy=PLUG_IN)
        kind = METRICS[metric].settings_type
        if kind is None:
            raise InvalidInput(f"{text}: the metric {metric} has no settings of its own")
        if key not in hints_of(kind):
            raise no_such(f"{text}: the metric {metric} has no setting", key, list(hints_of(kind)))
        settings.setdefault(metric, {})[key] = _value(name, hints_of(kind)[key], value.strip())
    if settings:
        changed["settings"] = settings
    return protocol.replace(**changed) if changed else protocol


def _value(name: str, hint: Any, text: str) -> Any:
    if name == "region":
        text = text.lower().replace("x", ",")
    return from_text(name, hint, text)


_MOST = 4  # values of one setting that are listed


def changes(protocol: Protocol) -> dict[str, Any]:
    """Return what differs from the protocol of this name in the table: fields by name, settings as ``metric.setting``.

    A protocol with a name of its own has no changes: the name stands for its settings. Settings of a metric that the
    base lacks are its first setting and those that are not recommended; a metric that was removed is None.
    """
    base = named(protocol.name)
    if base is None:
        return {}
    keys = [field.name for field in fields(protocol) if field.name not in ("name", "about", "settings")]
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
    """Return the name of a protocol with the settings that were changed.

    Args:
        protocol: The protocol.
        without: Fields that are not named, because a table has a column for them.

    >>> import mapgauge as mg
    >>> full_name(mg.protocol("paper-60x30")), full_name(mg.protocol("paper-60x30", cutoffs=[0.5], count=20))
    ('paper-60x30', 'paper-60x30, count 20, cutoff 0.5 m')
    >>> full_name(mg.protocol("paper-60x30", cutoffs=[0.5, 1.0, 1.5], crop=True))
    'paper-60x30, crop, cutoff 1.5 m, also 0.5 and 1 m'
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
    if not dot:
        field = fields_of(protocol)[key]
        return _setting_in_words(
            word_of(field), value, field.metadata["unit"], first=key == "cutoffs", by="x" * (key == "region")
        )
    row = METRICS[metric]
    field = fields_of(row.settings_type)[name]
    first = row.shows_first and row.setting is not None and row.setting.field == name
    text = _setting_in_words(word_of(field), value, field.metadata["unit"], first=first)
    alike = {
        getattr(values, own.name)
        for values in protocol.settings.values()
        for own in fields(values)
        if word_of(own) == word_of(field)
    }
    return text if len(alike) == 1 else f"{text} of {row.title}"


def _setting_in_words(word: str, value: Any, unit: str, *, first: bool, by: str = "") -> str:
    """Return a setting and its value in words. Of several values, ``first`` says that tables show the first."""
    word = word.removesuffix("s") if first else word
    unit = f" {unit}" if unit == "m" else ""
    if value is None or value == ():
        return f"no {word}"
    if isinstance(value, bool):
        return word if value else f"{word} off"
    if not isinstance(value, tuple):
        return f"{word} {_text(value)}{unit}"
    if len(value) > _MOST and not first:
        return f"{len(value)} values of {word}"
    texts = [_text(single) for single in value]
    if first:
        *others, last = texts[1:] or [""]
        also = f", also {', '.join(others)}{' and ' if others else ''}{last}{unit}"
        return f"{word} {texts[0]}{unit}" + (also if last else "")
    return f"{word} {(by or '/').join(texts)}{unit}"


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
