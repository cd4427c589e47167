"""Protocols: named sets of evaluation settings."""

from mapgauge.protocols.protocol import (
    AREAS,
    BREAK_COST,
    CLASSES,
    LANE,
    LANE_LINES,
    LINK_COST,
    LINK_FLOOR,
    MOST_THRESHOLDS,
    PARTS,
    SWITCH_COST,
    TRAFFIC_ELEMENTS,
    Protocol,
)
from mapgauge.protocols.table import PROTOCOLS, changes, full_name, protocol

__all__ = [
    "AREAS",
    "BREAK_COST",
    "CLASSES",
    "LANE",
    "LANE_LINES",
    "LINK_COST",
    "LINK_FLOOR",
    "MOST_THRESHOLDS",
    "PARTS",
    "PROTOCOLS",
    "SWITCH_COST",
    "TRAFFIC_ELEMENTS",
    "Protocol",
    "changes",
    "full_name",
    "protocol",
]
