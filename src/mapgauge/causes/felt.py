"""Results with more or fewer metrics, and the numbers of ``completeness`` in a sentence."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mapgauge.causes.instances import unsorted_data_of
from mapgauge.evaluation.in_memory import score_frames
from mapgauge.metrics.completeness import COMPLETENESS
from mapgauge.metrics.table import METRICS
from mapgauge.results.results import Results
from mapgauge.results.rows import MemoryRows
from mapgauge.scoring.scores import Scores


def with_metrics(results: Results, metrics: Sequence[str], workers: int | None = None) -> Results:
    """Return results with further metrics of frames, computed from the data. They share one assignment.

    Args:
        results: Results with data, or with all of the metrics.
        metrics: Names of metrics.
        workers: Number of threads. If None, the number of processors.
    """
    lacking = tuple(name for name in metrics if name not in results.metrics)
    if not lacking:
        return results
    data = unsorted_data_of(results)
    known = results.scores if data[1].tokens == results.tokens else None
    scores = score_frames(*data, results.protocol, lacking, (), workers=workers, known=known)
    if known is None:
        scores = scores.at(np.array([data[1].index[token] for token in results.tokens], np.int64))
    names = tuple(name for name in METRICS if name in (*results.metrics, *lacking))
    return _of(results, results.scores.and_metrics(scores, names), names)


def only_metrics(results: Results, metrics: Sequence[str]) -> Results:
    """Return results in memory with some of their metrics.

    Args:
        results: Results with rows in memory.
        metrics: Names of metrics. Those that the results lack are left out.
    """
    names = tuple(name for name in results.metrics if name in metrics)
    return (
        results if names == results.metrics else _of(results, results.scores.and_metrics(results.scores, names), names)
    )


def _of(results: Results, scores: Scores, metrics: tuple[str, ...]) -> Results:
    """Return results with the scores of other metrics."""
    rows = MemoryRows(results.tokens, results.rows.scenes, scores)
    return replace(results, summary=replace(results.summary, metrics=metrics, source=scores), rows=rows)


def felt(results: Results) -> str:
    """Return how far off a method is, and how much it finds, in words."""
    more = with_metrics(results, [COMPLETENESS.name])
    mean, words = more.mean, []
    if (offset := mean["median_offset"]) is not None:
        words.append(f"{offset:.2f} m off (median)")
    if (found := mean["completeness"]) is not None:
        metres = [
            math.fsum(row[key] or 0.0 for row in more.classes.values()) for key in ("found_length", "true_length")
        ]
        words.append(f"{found:.0%} of the true length found ({metres[0] / 1000:.3g} of {metres[1] / 1000:.3g} km)")
    if (right := mean["correctness"]) is not None:
        words.append(f"{1 - right:.0%} of the predicted length not there")
    return ", ".join(words) or "nothing to compare"
