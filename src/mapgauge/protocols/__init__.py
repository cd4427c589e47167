"""Protocols: named sets of evaluation settings."""

from mapgauge.protocols.names import PROTOCOLS
from mapgauge.protocols.protocol import CLASSES, NO_SETTINGS, Protocol
from mapgauge.protocols.table import changes, full_name, protocol, with_settings

__all__ = [
    "CLASSES",
    "NO_SETTINGS",
    "PROTOCOLS",
    "Protocol",
    "changes",
    "full_name",
    "protocol",
    "with_settings",
]
