"""The protocol of two maps."""

from collections.abc import Iterable

from mapgauge.protocols.protocol import Protocol


def protocols_of_maps() -> Iterable[Protocol]:
    """Yield the protocol of two maps. Maps have lines in pieces, so points are assigned, not lines."""
    yield Protocol(
        name="map",
        about="two maps without an ego: all classes, network PLD, completeness and offsets in metres by points, PLD",
        classes=None,
        spacing=0.5,
        sampling="even",
        has_ego=False,
        cutoffs=(1.5,),
        headline=("network_pld", "network_completeness", "pld"),
        settings={"network_pld": {}},
    )
