"""PLD of line networks, in which a break costs less than a line."""

from mapgauge.manifest import Feature

FEATURE = Feature(
    metrics=("lengths:NETWORK_COMPLETENESS", "network_pld:NETWORK_PLD"),
    protocols=("protocols:protocols_of_maps",),
    citations=("citations:OWN",),
    sentences=("lengths:statement",),
    names={
        "NetworkParts": "network_pld:NetworkParts",
        "NetworkPldResult": "network_pld:NetworkPldResult",
        "Overlap": "network_pld:Overlap",
        "network_pld": "network_pld:network_pld",
    },
)
