"""Results with more metrics than they were evaluated with."""

from collections.abc import Sequence
from dataclasses import replace

from mapgauge.evaluation.scoring import score_frames
from mapgauge.metrics.table import METRICS
from mapgauge.results.results import Results
from mapgauge.results.tables import MemoryRows


def with_metrics(results: Results, metrics: Sequence[str], workers: int | None = None) -> Results:
    """Return results with further metrics, computed from the data. They use the matches of PLD again.

    Args:
        results: Results with data, or with all of the metrics.
        metrics: Names of metrics.
        workers: Number of threads. If None, the number of processors.
    """
    lacking = tuple(name for name in metrics if name not in results.metrics)
    if not lacking:
        return results
    further = score_frames(results.need_data(), lacking, known=results.scores, workers=workers)
    names = tuple(name for name in METRICS if name in (*results.metrics, *lacking))
    scores = results.scores.and_metrics(further, names)
    rows = MemoryRows(results.tokens, results.rows.scenes, scores)
    return replace(results, summary=replace(results.summary, metrics=names, source=scores), rows=rows)
