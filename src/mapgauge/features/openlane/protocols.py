"""Protocols of OpenLane-V2."""

from collections.abc import Iterable
from itertools import product
from typing import Any

from mapgauge.frames.lane_classes import AREAS, LANE, LANE_LINES, TRAFFIC_ELEMENTS
from mapgauge.protocols.protocol import Protocol


def protocols_of_openlane() -> Iterable[Protocol]:
    """Yield the protocols of OpenLane-V2."""
    lanes = Protocol(name="", classes=(LANE,), closed=False, directed=True, ties="file")
    rules = {"strict": True, "interpolation": "11-point"}
    yield lanes.replace(
        name="openlanev2",
        about="OpenLane-V2's DET_l of centrelines: Fréchet of the points as they are, relaxed with range, 11-point AP",
        settings={"ap_frechet": {"thresholds": (1.0, 2.0, 3.0), "relaxed": True, "prefilter": 3.0} | rules},
    )
    for kind, version in product(("centrelines", "segments"), ("v1.0", "v1.1")):
        old: dict[str, Any] = {}
        if version == "v1.0":
            old = {"drop_closing": False}
        top: dict[str, Any] = {"rules": version, "lanes": kind} | old
        others: tuple[str, ...] = ()
        if kind == "centrelines":
            number = version[1:]
            scores = "centrelines, version {}: DET, TOP, OLS, F-score"
            settings = {"det_l": old, "det_l_ch": old, "f_lane": {}}
        else:
            number = f"2.{version[-1]}"
            scores = "lane segments, version {}: DET, TOP, OLUS"
            others = (*LANE_LINES, *AREAS)
            settings = {"det_ls": old, "det_a": old}
        yield lanes.replace(
            name=f"openlanev2-v{number}",
            about=f"OpenLane-V2's scores of {scores.format(number)}",
            boxes=TRAFFIC_ELEMENTS,
            classes=(LANE, *others, *TRAFFIC_ELEMENTS),
            settings=settings | {"det_t": {}, "top_ll": top, "top_lt": top},
        )
