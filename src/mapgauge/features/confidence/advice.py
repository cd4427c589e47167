"""What thresholding and rounding the confidences would bring: advice at the end of an answer."""

from mapgauge.features.confidence.confidence import best_rounding
from mapgauge.hooks import tells_pld
from mapgauge.results.results import Results
from mapgauge.results.statement import Statement


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
