"""The table of protocols. Manifests name the functions that return its rows."""

from typing import TYPE_CHECKING

from mapgauge.manifest import RowTable

if TYPE_CHECKING:
    from mapgauge.protocols.protocol import Protocol

PROTOCOLS: "RowTable[Protocol]" = RowTable(
    "protocols", "mapgauge.protocols.protocol:Protocol", rows=lambda made: made()
)
