"""Which metrics explain PLD. Sentences, figures and the report use them, so they are scored along with PLD."""

from collections.abc import Collection

from mapgauge.metrics.causes import CAUSES_OF_PLD
from mapgauge.metrics.completeness import COMPLETENESS
from mapgauge.metrics.pld import PLD
from mapgauge.protocols import Protocol

EXPLAINING = (COMPLETENESS.name, CAUSES_OF_PLD.name)


def is_about_pld(protocol: Protocol, metrics: Collection[str]) -> bool:
    """Whether PLD is what an evaluation is about: it is computed, and no other metric comes before it."""
    if protocol.headline and protocol.headline[0] != PLD.name:
        return False
    return PLD.name in metrics and bool(protocol.cutoffs)


def explaining(protocol: Protocol, metrics: Collection[str]) -> tuple[str, ...]:
    """Return the metrics that explain PLD; none if an evaluation is not about PLD, or if its order is not 1."""
    if protocol.order != 1 or not is_about_pld(protocol, metrics):
        return ()
    return EXPLAINING
