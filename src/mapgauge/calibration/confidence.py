"""``confidence``: what the confidences of a method are worth, and at which threshold it should operate."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mapgauge.arguments import check_cutoff, check_whole
from mapgauge.calibration.levels import Levels, levels_of
from mapgauge.calibration.operating import ClassConfidence, class_confidence, hits_of, recalibrate
from mapgauge.calibration.reliability import BINS, Reliability, reliability_of
from mapgauge.calibration.result import ALL, Common, Confidence, Target
from mapgauge.calibration.solved import Solved, solve
from mapgauge.calibration.units import Units
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.findings import Finding
from mapgauge.metrics.pld import PLD
from mapgauge.protocols import full_name
from mapgauge.results.comparison import LEVEL, SAMPLES
from mapgauge.results.intervals import FEWEST, too_few
from mapgauge.results.results import Results
from mapgauge.scoring.threads import Progress

HIT = 0.5


def confidence(
    results: Results,
    *,
    cutoff: float | None = None,
    hit: float = HIT,
    bins: int = BINS,
    samples: int = SAMPLES,
    level: float = LEVEL,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Confidence:
    """Measure what confidences are worth.

    Returns values over the threshold on the confidence, the best threshold of each class and the price of confidence,
    calibration, and what isotonic recalibration changes. Distances are computed once, and all thresholds in one pass.

    Args:
        results: Results of ``evaluate``, or loaded results with their data.
        cutoff: Cutoff of PLD in metres. If None, the first of the protocol.
        hit: A prediction hits if it is assigned to truth at a normalised SOSPA of at most this.
        bins: Number of bins of confidence.
        samples: Number of bootstrap samples of the intervals.
        level: The probability with which an interval covers the true value.
        seed: Seed of the draws and of the split into two halves.
        workers: Number of threads. If None, the number of processors.
        progress: A function that is called with the number of finished blocks of frames and the number of all blocks.

    Returns:
        Scenes are drawn and split; frames if the scenes are not known.

    >>> import mapgauge as mg
    >>> from mapgauge.demo import demo_world
    >>> found = confidence(mg.evaluate(*demo_world(40), metrics=["pld"]))
    >>> divider = found.classes["divider"]
    >>> divider.pld.value > divider.best.value
    True
    """
    if not isinstance(results, Results):
        raise InvalidInput(
            f"results must be results of one evaluation, got {type(results).__name__}",
            remedy="Evaluate first: confidence(mg.evaluate(predictions, truth))",
        )
    if not isinstance(hit, int | float) or not 0 <= hit < 1:
        raise InvalidInput(f"hit must be a normalised SOSPA in [0, 1), got {hit!r}")
    if not isinstance(samples, int) or samples < 1 or not isinstance(level, float | int) or not 0 < level < 1:
        raise InvalidInput(f"samples must be at least 1 and level between 0 and 1, got {samples!r} and {level!r}")
    if not isinstance(seed, int) or seed < 0:
        raise InvalidInput(f"seed must be a whole number of at least 0, got {seed!r}")
    count, length = check_whole("bins", bins, 1), cutoff_of(results, cutoff)
    solved = solve(results, length, float(hit), workers=workers, progress=progress)
    units = Units.of(results, samples, seed)
    ordered = results.of_frames(sorted(range(len(results.tokens)), key=results.tokens.__getitem__))
    names = [(c, name) for c, name in enumerate(results.class_names) if PLD.covers(name, results.protocol)]
    levels = {name: levels_of(solved, c, None, ordered) for c, name in names}
    new = recalibrate(solved, units)
    savings = None if new is None else solved.with_confidences(np.where(np.isnan(new), solved.confidence, new))
    classes = {
        name: class_confidence(solved, c, name, levels[name], units, new, savings, level)
        for c, name in names
        if levels[name].true or len(levels[name].threshold) > 1
    }
    return Confidence(
        name=results.summary.names[0],
        protocol=full_name(results.protocol.replace(cutoffs=(length,))),
        cutoff=length,
        hit=float(hit),
        classes=classes,
        common=common_threshold([found.levels for found in classes.values()]),
        calibration=dict(_calibration(solved, names, units, count, level)),
        unit=units.kind,
        units=units.count,
        samples=samples,
        level=level,
        findings=tuple(_findings(solved, classes, units)),
    )


def best_rounding(results: Results, *, workers: int | None = None) -> Common | None:
    """Return the common threshold at which rounding gives the smallest mean PLD; None without predictions or truth.

    Args:
        results: As for ``confidence``.
        workers: As for ``confidence``.
    """
    solved = solve(results, cutoff_of(results, None), HIT, workers=workers)
    there = (solved.true.sum(axis=0) > 0) | (np.bincount(solved.label, minlength=solved.true.shape[1]) > 0)
    names = enumerate(results.class_names)
    mine = [c for c, name in names if there[c] and PLD.covers(name, results.protocol)]
    return common_threshold([levels_of(solved, c) for c in mine])


def cutoff_of(results: Results, cutoff: float | None) -> float:
    """Return the cutoff in metres: as given, or the first of the protocol."""
    if cutoff is None and not results.protocol.cutoffs:
        raise InvalidInput(
            f"the protocol {full_name(results.protocol)} has no cutoff",
            remedy=Remedy("Pass cutoff= in metres", "Evaluate with --cutoff in metres"),
        )
    return results.protocol.cutoffs[0] if cutoff is None else check_cutoff("cutoff", cutoff)


def common_threshold(levels: list[Levels]) -> Common | None:
    """Return the threshold with the smallest mean over classes of the rounded PLD; None without predictions."""
    candidates = np.unique(np.concatenate([np.empty(0), *(found.threshold[1:] for found in levels)]))[::-1]
    if not len(candidates) or not any(found.true for found in levels):
        return None
    mean = np.mean([found.pld("rounded")[found.place(candidates)] for found in levels], axis=0)
    best = int(mean.argmin())
    as_is = float(np.mean([found.pld("dropped")[-1] for found in levels]))
    return Common(float(candidates[best]), as_is, float(mean[best]))


def _calibration(
    solved: Solved, names: list[tuple[int, str]], units: Units, bins: int, level: float
) -> Iterator[tuple[str, dict[Target, Reliability]]]:
    """Yield the reliability of each class with predictions, and of all predictions, for both targets."""
    soft = np.where(np.isnan(solved.distance), 0.0, 1.0 - solved.distance)
    hits = hits_of(solved)
    unit = units.of_frame[solved.frame]
    for label, name in ((None, ALL), *names):
        mine = np.ones(len(unit), np.bool_) if label is None else solved.label == label
        if mine.any():
            drawn = (unit[mine], units.draws)
            how: dict[str, Any] = {"bins": bins, "level": level}
            yield (
                name,
                {
                    "hit": reliability_of(solved.confidence[mine], hits[mine], *drawn, **how),
                    "soft": reliability_of(solved.confidence[mine], soft[mine], *drawn, **how),
                },
            )


def _findings(solved: Solved, classes: dict[str, ClassConfidence], units: Units) -> Iterator[Finding]:
    """Yield what limits the values."""
    if units.kind == "frame" and units.count > 1:
        yield Finding(
            "warning",
            "scenes-unknown",
            "the scenes are not known, so single frames were drawn and split. Frames of one scene are similar, so "
            "intervals are too narrow, and the halves are not independent",
            units.count,
            remedy=Remedy("Pass scenes= to evaluate", "Pass --scenes FILE"),
        )
    if units.halves is None:
        text = f"there is only one {units.kind}, so nothing is judged on another half, and there are no intervals"
        yield Finding("warning", "halves-none", text)
    elif few := too_few(units.count, units.kind):
        yield Finding("warning", "scenes-few", few, units.count, remedy=Remedy.of(f"Evaluate at least {FEWEST}"))
    equal = [name for name, found in classes.items() if found.predictions > 1 and len(found.levels.threshold) == 2]
    if equal:
        text = f"all confidences of {_listed(equal)} are equal, so no threshold separates predictions"
        yield Finding("warning", "confidence-equal", text, len(equal))
    empty = [name for name, found in classes.items() if not found.thresholds]
    if empty:
        text = f"no threshold is recommended for classes without truth or predictions: {_listed(empty)}"
        yield Finding("warning", "threshold-none", text, len(empty))
    unmatched = [name for name, found in classes.items() if found.thresholds and not found.levels.hits.any()]
    if unmatched:
        text = f"no prediction of {_listed(unmatched)} is a hit (normalised SOSPA of at most {solved.hit:g})"
        yield Finding("warning", "hits-none", text, len(unmatched))
    if units.halves is not None:
        one = [name for name, found in classes.items() if found.thresholds and found.held_out is None]
        if one:
            text = (
                f"no threshold is judged on the other half of the {units.kind}s, because one half has no predictions "
                f"or no truth: {_listed(one)}"
            )
            yield Finding("warning", "halves-uneven", text, len(one))


def _listed(names: list[str]) -> str:
    return ", ".join(names)
