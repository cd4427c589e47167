"""Protocols of maps over time."""

from collections.abc import Iterable

from mapgauge.protocols.protocol import Protocol
from mapgauge.protocols.rows import sized


def protocols_of_tracks() -> Iterable[Protocol]:
    """Yield the protocols of tracks."""
    yield from sized(
        "maptracker-c",
        "MapTracker's C-mAP at {} m, and the mAP that its code prints beside it",
        ("ap_chamfer", "c_map"),
        count=200,
        truth_count=20,
        skip_without_truth=True,
        ties="file",
    )
    yield Protocol(
        name="mas-60x30",
        about="mAS as its paper defines it, not as its public code computes it",
        region=(60.0, 30.0),
        spacing=0.5,
        settings={"mas": {"intervals": (2,)}},
    )
