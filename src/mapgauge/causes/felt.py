"""The numbers of ``completeness`` in a sentence: how far off, how much of the map is found, how much is not there."""

from mapgauge.causes.instances import data_of
from mapgauge.evaluation.in_memory import score_frames
from mapgauge.metrics.completeness import COMPLETENESS
from mapgauge.results.results import Results
from mapgauge.results.values import Values, mean_of, values_of_classes
from mapgauge.scoring.totals import Totals


def completeness_of(results: Results, workers: int | None = None) -> Values:
    """Return the means over classes of completeness, correctness and offsets, computed from the data if needed."""
    if COMPLETENESS.name in results.metrics:
        return results.mean
    names = (COMPLETENESS.name,)
    scores = score_frames(*data_of(results), results.protocol, names, (), workers=workers)
    totals = Totals.of(scores, results.protocol)
    return mean_of(values_of_classes(totals, results.class_names, names, results.protocol, ()).values(), names)


def felt(results: Results, workers: int | None = None) -> str:
    """Return how far off a method is, and how much it finds, in words."""
    mean = completeness_of(results, workers)
    words = []
    if (offset := mean["median_offset"]) is not None:
        words.append(f"{offset:.2f} m off (median)")
    if (found := mean["completeness"]) is not None:
        words.append(f"{found:.0%} of the true length found")
    if (right := mean["correctness"]) is not None:
        words.append(f"{1 - right:.0%} of the predicted length not there")
    return ", ".join(words) or "nothing to compare"
