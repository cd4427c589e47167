"""Results with more or fewer metrics, and the numbers of ``completeness`` in a sentence."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mapgauge.evaluation.scores import Scores
from mapgauge.evaluation.scoring import score_frames
from mapgauge.features.causes.instances import unsorted_data_of
from mapgauge.metrics.completeness import COMPLETENESS, values_of
from mapgauge.metrics.table import METRICS
from mapgauge.results.results import Results
from mapgauge.results.tables import MemoryRows


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
    """Return how far off a method is, and how much it finds, in words. All classes are taken together."""
    sums = with_metrics(results, [COMPLETENESS.name]).scores.sums[COMPLETENESS.name][0].sum(axis=(0, 1))
    value = {key: float(found) for key, found in values_of(sums, results.protocol).items()}
    words = []
    if math.isfinite(value["median_offset"]):
        words.append(f"{value['median_offset']:.2f} m off (median)")
    if math.isfinite(value["completeness"]):
        lengths = _lengths(value["found_length"], value["true_length"])
        words.append(f"{value['completeness']:.0%} of the true length found ({lengths})")
    if math.isfinite(value["correctness"]):
        words.append(f"{1 - value['correctness']:.0%} of the predicted length not there")
    return ", ".join(words) or "nothing to compare"


def _lengths(part: float, whole: float) -> str:
    """Return two lengths in metres or kilometres, with the same number of digits.

    >>> _lengths(21120, 26000), _lengths(80.4, 412)
    ('21.1 of 26.0 km', '80 of 412 m')
    """
    if whole < 1000:
        return f"{part:.0f} of {whole:.0f} m"
    digits = max(5 - math.floor(math.log10(whole)), 0)
    return f"{part / 1000:.{digits}f} of {whole / 1000:.{digits}f} km"
