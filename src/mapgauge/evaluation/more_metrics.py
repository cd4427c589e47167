"""Results with more metrics than they were evaluated with."""

from collections.abc import Sequence
from dataclasses import replace

from mapgauge.evaluation.scoring import score_frames
from mapgauge.metrics.table import METRICS
from mapgauge.results.results import Results
from mapgauge.results.tables import MemoryRows


def with_metrics(results: Results, metrics: Sequence[str], workers: int | None = None) -> Results:
    """Return results with further metrics, computed from the data once. They use the matches of PLD again.

    Args:
        results: Results with data, or with all of the metrics.
        metrics: Names of metrics.
        workers: Number of threads. If None, the number of processors.
    """
    lacking = tuple(name for name in metrics if name not in results.metrics)
    if not lacking:
        return results
    data, scores, names = results.need_data(), results.scores, results.metrics
    computed = {name for group in data.added for name in group}
    if new := tuple(name for name in lacking if name not in computed):
        data.added[new] = score_frames(data, new, known=results.scores, workers=workers)
    for group, added in data.added.items():
        if wanted := {*group} & {*lacking}:
            names = tuple(name for name in METRICS if name in {*names, *wanted})
            scores = scores.and_metrics(added, names)
    rows = MemoryRows(results.tokens, results.rows.scenes, scores)
    return replace(results, summary=replace(results.summary, metrics=names, source=scores), rows=rows)
