"""The table of protocols, and the names of protocols with changed settings."""

from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

from mapgauge.errors import InvalidInput
from mapgauge.protocols.protocol import (
    AREAS,
    FIRST_SHOWN,
    LANE,
    LANE_LINES,
    LINK_COST,
    LINK_FLOOR,
    PARTS,
    TRAFFIC_ELEMENTS,
    Protocol,
)

_PAPER = Protocol("", spacing=0.5, cutoffs=(1.5,), frechet=(1.0, 2.0, 3.0))
_NEAR, _FAR = (0.5, 1.0, 1.5), (1.0, 1.5, 2.0)  # metres; usual thresholds at 60x30 and 100x50
_MAPTRACKER = Protocol("", count=200, truth_count=20, skip_without_truth=True, ties="file")
_OPENLANE = Protocol(
    "openlanev2",
    "OpenLane-V2's DET_l of centrelines: Fréchet of the points as they are, relaxed with range, 11-point AP",
    classes=(LANE,),
    closed=False,
    directed=True,
    frechet=(1.0, 2.0, 3.0),
    relaxed=True,
    prefilter=3.0,
    strict=True,
    interpolation="11-point",
    ties="file",
)
_GRAPH = _OPENLANE.replace(boxes=TRAFFIC_ELEMENTS, frechet=(), overlaps=(0.75,))
_CENTRES = _GRAPH.replace(
    name="openlanev2-v1.0",
    about="OpenLane-V2's scores of centrelines, version 1.0: DET, TOP, OLS, F-score",
    classes=(LANE, *TRAFFIC_ELEMENTS),
    lanes=(1.0, 2.0, 3.0),
    topology="v1.0",
)
_SEGMENTS = _GRAPH.replace(
    name="openlanev2-v2.0",
    about="OpenLane-V2's scores of lane segments, version 2.0: DET, TOP, OLUS",
    classes=(LANE, *LANE_LINES, *AREAS, *TRAFFIC_ELEMENTS),
    segments=(1.0, 2.0, 3.0),
    areas=_NEAR,
    topology="v1.0",
)
_LANES = Protocol("", classes=(LANE,), closed=False, directed=True, graph_rules="corrected")
_NEW: dict[str, Any] = {"topology": "v1.1", "drop_closing": True}

PROTOCOLS: Mapping[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        _PAPER.replace(
            name="paper-60x30", about="the paper's evaluation at 60 x 30 m", region=(60.0, 30.0), chamfer=_NEAR
        ),
        _PAPER.replace(
            name="paper-100x50", about="the paper's evaluation at 100 x 50 m", region=(100.0, 50.0), chamfer=_FAR
        ),
        Protocol(
            "streammapnet-60x30",
            "StreamMapNet's and MapTracker's Chamfer-AP at 60 x 30 m",
            region=(60.0, 30.0),
            count=200,
            chamfer=_NEAR,
        ),
        Protocol(
            "streammapnet-100x50",
            "StreamMapNet's and MapTracker's Chamfer-AP at 100 x 50 m",
            region=(100.0, 50.0),
            count=200,
            chamfer=_FAR,
        ),
        Protocol(
            "maptr",
            "MapTR's and MapTRv2's Chamfer-AP: 100 points, pairs whose 2 m buffers do not meet are left out",
            count=100,
            chamfer=_NEAR,
            buffers=2.0,
        ),
        _MAPTRACKER.replace(
            name="maptracker-c-60x30",
            about="MapTracker's C-mAP at 60 x 30 m, and the mAP that its code prints beside it",
            region=(60.0, 30.0),
            chamfer=_NEAR,
            consistent=_NEAR,
        ),
        _MAPTRACKER.replace(
            name="maptracker-c-100x50",
            about="MapTracker's C-mAP at 100 x 50 m, and the mAP that its code prints beside it",
            region=(100.0, 50.0),
            chamfer=_FAR,
            consistent=_FAR,
        ),
        Protocol(
            "mas-60x30",
            "mAS as its paper defines it, not as its public code computes it",
            region=(60.0, 30.0),
            spacing=0.5,
            intervals=(2,),
        ),
        _OPENLANE,
        _CENTRES,
        _CENTRES.replace(name="openlanev2-v1.1", about=_CENTRES.about.replace("1.0", "1.1"), **_NEW),
        _SEGMENTS,
        _SEGMENTS.replace(name="openlanev2-v2.1", about=_SEGMENTS.about.replace("2.0", "2.1"), **_NEW),
        _LANES.replace(
            name="graph", about="graph scores of lanes: GEO, TOPO, JTOPO, APLS, split points and reachability"
        ),
        _LANES.replace(
            name="cgnet-graph",
            about="graph scores as CGNet's evaluator computes them",
            graph_rules="cgnet",
            ties="file",
        ),
        Protocol(
            "lane-graph",
            "lane-graph PLD of centrelines, their links and traffic elements, and PLD of the centrelines",
            classes=(LANE, *TRAFFIC_ELEMENTS),
            boxes=TRAFFIC_ELEMENTS,
            closed=False,
            directed=True,
            spacing=0.5,
            cutoffs=(1.5,),
            link_cost=LINK_COST,
            link_floor=LINK_FLOOR,
        ),
    )
}


def protocol(base: str | Protocol | None = None, /, **settings: Any) -> Protocol:
    """Return a protocol by its name, with some settings changed.

    Args:
        base: One of ``mapgauge.protocols.PROTOCOLS``, or a ``Protocol``. It can also be given as ``name=``. A protocol
            for lane graphs can be restricted to a part of the lanes: ``"openlanev2-v1.1-near"``, and likewise
            ``-far``, ``-intersection`` and ``-elsewhere``.
        settings: Fields of ``Protocol`` to change. After a base, ``name=`` gives the changed protocol another name.
            The cutoff of the base stays the first if it is among several.

    >>> import mapgauge as mg
    >>> mg.protocol("paper-60x30", spacing=0.25, cutoffs=[0.5, 1.0, 1.5]).cutoffs
    (1.5, 0.5, 1.0)
    """
    if base is None:
        base = settings.pop("name", None)
    if not isinstance(base, Protocol):
        found = named(base) if isinstance(base, str) else None
        if found is None:
            raise InvalidInput(f"unknown protocol {base!r}. Known: {', '.join(PROTOCOLS)}")
        base = found
    return base.replace(**settings) if settings else base


def named(name: str) -> Protocol | None:
    """Return a protocol of the table, or one of them for a part of the lanes; None if there is none of this name."""
    whole, _, part = name.rpartition("-")
    base = PROTOCOLS.get(whole)
    if part in PARTS and base is not None and base.lanes + base.segments:
        return base.replace(name=name, part=part)
    return PROTOCOLS.get(name)


_METRES = (
    *("region", "spacing", "closed_tolerance", "cutoffs", "chamfer", "frechet", "consistent", "lanes", "segments"),
    *("areas", "buffers", "prefilter"),
)
_MOST = 4  # values of one setting that are listed


def changes(protocol: Protocol) -> dict[str, Any]:
    """Return the settings that differ from those of the protocol of this name in the table, by their fields.

    A protocol with a name of its own has no changes: the name stands for its settings.
    """
    base = named(protocol.name)
    keys = [field.name for field in fields(protocol) if field.name not in ("name", "about")]
    return {
        key: getattr(protocol, key) for key in keys if base is not None and getattr(protocol, key) != getattr(base, key)
    }


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
    """
    found = {key: value for key, value in changes(protocol).items() if key not in without}
    for one, other in (("spacing", "count"), ("count", "spacing")):
        if found.get(one) is not None:
            found.pop(other, None)  # setting one removes the other
    return ", ".join([protocol.name, *(_in_words(key, value) for key, value in found.items())])


def _in_words(key: str, value: Any) -> str:
    word = key.removesuffix("s") if key in FIRST_SHOWN else key.replace("_", " ")
    unit = " m" if key in _METRES else ""
    if value is None or value == ():
        return f"no {word}"
    if isinstance(value, bool):
        return word if value else f"{word} off"
    if not isinstance(value, tuple):
        return f"{word} {_text(value)}{unit}"
    if len(value) > _MOST and key not in FIRST_SHOWN:
        return f"{len(value)} values of {word}"
    texts = [_text(one) for one in value]
    if key in FIRST_SHOWN:
        *others, last = texts[1:] or [""]
        also = f", also {', '.join(others)}{' and ' if others else ''}{last}{unit}"
        return f"{word} {texts[0]}{unit}" + (also if last else "")
    return f"{word} {('x' if key == 'region' else '/').join(texts)}{unit}"


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
