"""A protocol with the price."""

from collections.abc import Iterable

import mapgauge as mg


def protocols() -> Iterable[mg.Protocol]:
    """Yield the protocol. It changes a protocol of mapgauge."""
    yield mg.protocol("paper-60x30", name="prices-60x30", settings={"price": {"price": 2.0}})
