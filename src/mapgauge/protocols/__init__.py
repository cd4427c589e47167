"""Protocols: named sets of evaluation settings."""

from mapgauge.protocols.protocol import (
    AREAS,
    CLASSES,
    LANE,
    LANE_LINES,
    MAP,
    NO_SETTINGS,
    PARTS,
    TRAFFIC_ELEMENTS,
    Protocol,
)
from mapgauge.protocols.table import PROTOCOLS, changes, full_name, protocol, with_settings

__all__ = [
    "AREAS",
    "CLASSES",
    "LANE",
    "LANE_LINES",
    "MAP",
    "NO_SETTINGS",
    "PARTS",
    "PROTOCOLS",
    "TRAFFIC_ELEMENTS",
    "Protocol",
    "changes",
    "full_name",
    "protocol",
    "with_settings",
]
