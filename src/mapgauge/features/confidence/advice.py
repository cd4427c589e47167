"""What thresholding and rounding the confidences would bring: advice at the end of an answer."""

from collections.abc import Sequence

from mapgauge.features.confidence.confidence import HIT, best_rounding
from mapgauge.features.confidence.solved import work_of
from mapgauge.hooks import tells_pld
from mapgauge.metrics.explaining import is_about_pld
from mapgauge.results.results import Results
from mapgauge.results.statement import Statement
from mapgauge.scoring.data import BlockWork, Data


def advice(results: Results, workers: int | None) -> Statement | None:
    """Return what rounding the confidences would bring; None if it would not lower PLD, or if that takes files."""
    if not tells_pld(results) or results.geometry is None or not results.geometry.is_read:
        return None
    best = best_rounding(results, workers=workers)
    if best is None or best.rounded >= best.pld:
        return None
    change = best.rounded - best.pld
    values = {"threshold": best.threshold, "pld": best.rounded, "change": change}
    return Statement("confidence", best.in_words(), values, change=change)


def ahead(data: Data, metrics: Sequence[str], *, report: bool) -> BlockWork | None:
    """Return what ``advice`` needs from every block of frames. The answer and the report have it."""
    if not is_about_pld(data.protocol, metrics):
        return None
    return work_of(data.protocol, data.protocol.cutoffs[0], HIT)
