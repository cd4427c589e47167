"""``confidence``: PLD, AP, precision and recall over all thresholds on the confidence, and calibration."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from mapgauge.arguments import check_whole
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.evaluation.evaluate import with_metrics
from mapgauge.features.confidence.calibration import BINS, Reliability, reliability_of
from mapgauge.features.confidence.levels import Levels, levels_of
from mapgauge.features.confidence.operating import (
    CRITERIA,
    ClassConfidence,
    Units,
    class_confidence,
    hits_of,
    plain,
    recalibrate,
)
from mapgauge.features.confidence.radius import Radius, radii, radii_in_words
from mapgauge.features.confidence.solved import Solved, solve
from mapgauge.frames.findings import Finding
from mapgauge.io.files.writing import save
from mapgauge.markup import block, interval, line, note, number, table, text_table
from mapgauge.metrics.pld import PLD
from mapgauge.protocols import full_name
from mapgauge.results.bootstrap import SAMPLES, check_draws
from mapgauge.results.intervals import FEWEST, LEVEL, Estimate, too_few
from mapgauge.results.results import Results, check_results
from mapgauge.typing import Progress
from mapgauge.version import __version__
from mapgauge.words import did_you_mean

Target: TypeAlias = Literal["hit", "soft"]
ALL = "all"  # the predictions of all classes
GRID = tuple(k / 100 for k in range(101))  # thresholds of ``rows``


class CommonThreshold(NamedTuple):
    """The best common threshold of all classes, as means over classes."""

    threshold: float
    pld: float  # as it is
    rounded: float  # with confidences rounded at the threshold
    drops: bool = True  # whether predictions are below the threshold

    def in_words(self) -> str:
        """Return the values as a sentence."""
        change = self.rounded - self.pld
        if self.drops:
            what = f"Drop confidences below {self.threshold:.2f} and set others to 1"
        else:
            what = "Set all confidences to 1"
        return f"{what} to lower PLD to {self.rounded:.3f} ({change:+.3f})."


_ROUNDED = "PLD at threshold"  # the title of the column with confidences that are rounded at the threshold


@dataclass(frozen=True, eq=False, kw_only=True)
class Confidence:
    """What confidences are worth, for each class.

    ``classes`` has the values over the threshold, the recommended thresholds, the price of confidence and the effect of
    recalibration. ``calibration`` has the reliability of each class and of ``"all"`` predictions, for the targets
    ``"hit"`` (1 or 0) and ``"soft"`` (1 less the normalised SOSPA to the assigned truth, 0 if unassigned).
    """

    name: str  # of the predictions
    protocol: str
    cutoff: float  # metres
    hit: float  # largest normalised SOSPA of a hit
    classes: dict[str, ClassConfidence]
    common: CommonThreshold | None
    calibration: dict[str, dict[Target, Reliability]]
    unit: Literal["scene", "frame"]  # what is drawn and split
    units: int
    samples: int
    level: float
    radii: tuple[Radius, ...] = ()  # of classes, and of rings around the ego vehicle if they were evaluated
    findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        """Return the best common threshold in one line."""
        text = "no threshold"
        if self.common is not None:
            at, as_is, rounded, _ = self.common
            text = f"mean PLD {as_is:.3f}, {rounded:.3f} if rounded at {at:.3f}"
        return f"<Confidence {self.name or 'predictions'}: {text}>"

    def _repr_html_(self) -> str:
        """Return the table and the advice for a notebook, with a drawing of the price of confidence."""
        prices = [of_class.price for of_class in self.classes.values()]
        bounds = np.array([price for price in prices if price is not None] or [Estimate(0.0, low=0.0, high=1.0)])
        span = float(np.nanmin(bounds)), float(np.nanmax(bounds))
        drawn = [["-", ""] if price is None else [str(price), interval(*price, span)] for price in prices]
        header, rows = self.values()
        worrying = [finding.message for finding in self.findings if finding.level != "note"]
        return block(
            line(f"Confidence of {self.name or 'predictions'}, {self.units:,} {self.unit}s"),
            table([*header, "price", ""], [[*row, *price] for row, price in zip(rows, drawn, strict=True)]),
            *map(note, [*self.advice(), *worrying]),
        )

    @property
    def gains(self) -> bool:
        """Whether confidences that are rounded at the recommended thresholds lower the mean PLD."""
        prices = [of_class.price.value for of_class in self.classes.values() if of_class.price is not None]
        return sum(prices) > 0

    def advice(self) -> list[str]:
        """Return the best thresholds, what they gain, which classes are over-confident, and what recalibration does."""
        chosen = {name: of_class for name, of_class in self.classes.items() if of_class.best is not None}
        if not chosen:
            return []
        kept = ", ".join(f"{name} from {of_class.thresholds[CRITERIA[0]]:.3f}" for name, of_class in chosen.items())
        before, after, held = (
            _mean_of([value(of_class) for of_class in chosen.values()])
            for value in (lambda c: c.pld, lambda c: c.best, lambda c: c.held_out and c.held_out.pld)
        )
        judged = ""
        if not np.isnan(held):
            judged = f"; {held - before:+.3f} if each half of the {self.unit}s has the thresholds of the other half"
        over = [name for name in chosen if self.calibration[name]["hit"].excess.low > 0]
        first = f"No threshold lowers the mean PLD of {before:.3f}"
        if self.gains:
            first = (
                f"Keep {kept}, and set their confidence to 1: mean PLD {before:.3f} -> {after:.3f} "
                f"({after - before:+.3f}{judged})"
            )
        lines = [
            f"{first}. Over-confident on average (the mean confidence of all predictions is above the share of hits): "
            f"{', '.join(over) or 'no class'}"
        ]
        change = _mean_of([of_class.recalibrated and of_class.recalibrated.pld_change for of_class in chosen.values()])
        if not np.isnan(change):
            lines.append(
                f"Recalibrated confidences would change the mean PLD by {change:+.3f}. They can raise it, because "
                "confidences of 0 and 1 have the smallest PLD"
            )
        return lines + radii_in_words(self.radii, self.unit, self.cutoff)

    def thresholds(self) -> dict[str, Any]:
        """Return the recommended thresholds of each class, with the settings they were chosen with.

        Keep predictions of at least the threshold. Classes without truth or without predictions have none.
        """
        return {
            "mapgauge": __version__,
            "predictions": self.name,
            "protocol": self.protocol,
            "cutoff": self.cutoff,
            "hit": self.hit,
            "criteria": list(CRITERIA),
            "classes": {name: of_class.thresholds for name, of_class in self.classes.items() if of_class.thresholds},
            "common": None if self.common is None else {CRITERIA[0]: self.common.threshold},
        }

    def save_thresholds(self, path: str | os.PathLike[str]) -> None:
        """Write the recommended thresholds as JSON, for deployment."""
        save(Path(path), (json.dumps(self.thresholds(), indent=2, ensure_ascii=False) + "\n").encode())

    def rows(self, class_name: str, thresholds: Sequence[float] = GRID) -> list[dict[str, Any]]:
        """Return the values of a class at some thresholds. None where there is no value.

        Args:
            class_name: The class.
            thresholds: Predictions of at least this confidence are kept.
        """
        if class_name not in self.classes:
            hint = did_you_mean(class_name, self.classes)
            raise InvalidInput(f"no class {class_name!r}. Available: {', '.join(self.classes)}{hint}")
        levels = self.classes[class_name].levels
        given = np.asarray(thresholds)
        if given.ndim != 1 or given.dtype.kind not in "iuf" or np.isnan(given).any():
            raise InvalidInput(f"thresholds must be a list of numbers, got {thresholds!r}")
        place = levels.place(given.astype(np.float64))
        columns = {
            "kept": levels.kept,
            "dropped": levels.pld("dropped"),
            "rounded": levels.pld("rounded"),
            "precision": levels.precision,
            "recall": levels.recall,
            "f1": levels.f1,
            **levels.ap,
        }
        return [
            {"threshold": float(at)} | {key: _plain_number(column[k]) for key, column in columns.items()}
            for at, k in zip(given.tolist(), place.tolist(), strict=True)
        ]

    def table(self) -> str:
        """Return the values of each class and the advice as text. ``to_dict`` has all values."""
        return "\n".join([text_table(*self.values()), self.about(), *self.advice()])

    def about(self) -> str:
        """Return what the columns of the table are, in words."""
        return (
            f"{_ROUNDED}: predictions below it are dropped, the others get confidence 1. "
            f"{self._held_out}: the same, but the {self.unit}s are split in two halves, and each half has the "
            "threshold that is best for the other half"
        )

    @property
    def _held_out(self) -> str:
        return f"{_ROUNDED} of other {self.unit}s"

    def values(self) -> tuple[list[str], list[list[str]]]:
        """Return the header and the rows of the table of classes."""
        header = ["class", "PLD", "threshold", _ROUNDED, self._held_out, "PLD recalibrated", "ECE"]
        rows = []
        for name, of_class in self.classes.items():
            best = "-"
            held_out = "-"
            recalibrated = "-"
            error = "-"
            if_calibrated = "-"
            if of_class.best is not None:
                best = str(of_class.best)
            if of_class.held_out is not None:
                held_out = number(of_class.held_out.pld.value)
            if of_class.recalibrated is not None:
                recalibrated = number(of_class.recalibrated.pld_after.value)
            if name in self.calibration:
                reliability = self.calibration[name]["hit"]
                error = str(reliability.error)
                if_calibrated = number(plain(reliability.calibrated))
            threshold = number(of_class.thresholds.get(CRITERIA[0]))
            rows.append([name, str(of_class.pld), threshold, best, held_out, recalibrated, error, if_calibrated])
        return [*header, "ECE if calibrated"], rows

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python values, for JSON. Curves have the thresholds 0, 0.01, ..., 1."""
        return {
            "mapgauge": __version__,
            "name": self.name,
            "protocol": self.protocol,
            "cutoff": self.cutoff,
            "hit": self.hit,
            "unit": self.unit,
            "units": self.units,
            "samples": self.samples,
            "level": self.level,
            "common": None if self.common is None else self.common._asdict(),
            "classes": {name: one.to_dict() | {"curve": self.rows(name)} for name, one in self.classes.items()},
            "calibration": {
                name: {key: one.to_dict() for key, one in found.items()} for name, found in self.calibration.items()
            },
            "radii": [radius._asdict() for radius in self.radii],
            "findings": [asdict(finding) for finding in self.findings],
        }


def _mean_of(values: Sequence[Estimate | None]) -> float:
    """Return the mean of some values; NaN if one is lacking."""
    return sum(np.nan if value is None else value.value for value in values) / len(values)


def _plain_number(value: Any) -> float | int | None:
    plain: float | int = value.item()
    if plain != plain:
        return None
    return plain


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
    check_results(results)
    if not isinstance(hit, int | float) or not 0 <= hit < 1:
        raise InvalidInput(f"hit must be a normalised SOSPA in [0, 1), got {hit!r}")
    check_draws(samples, level, seed)
    count = check_whole("bins", bins, least=1)
    length = results.cutoff_or_first(cutoff)
    solved = solve(results, length, float(hit), workers=workers, progress=progress)
    units = Units.of(results, samples, seed)
    if units.halves is not None and length in results.protocol.cutoffs:
        results = with_metrics(results, ["completeness"], workers)  # for the radii
    ordered = results.of_frames(sorted(range(len(results.tokens)), key=results.tokens.__getitem__))
    names = [(c, name) for c, name in enumerate(results.class_names) if PLD.covers(name, results.protocol)]
    levels = {name: levels_of(solved, c, frames=None, results=ordered) for c, name in names}
    new = recalibrate(solved, units)
    savings = None
    if new is not None:
        savings = solved.with_confidences(np.where(np.isnan(new), solved.confidence, new))
    classes = {
        name: class_confidence(
            solved, c, name, levels=levels[name], units=units, recalibrated=new, savings=savings, level=level
        )
        for c, name in names
        if levels[name].true or len(levels[name].threshold) > 1
    }
    return Confidence(
        name=results.input_names[0],
        protocol=full_name(results.protocol.replace(cutoffs=(length,))),
        cutoff=length,
        hit=float(hit),
        classes=classes,
        common=common_threshold([of_class.levels for of_class in classes.values()]),
        calibration=dict(_calibration(solved, names, units, bins=count, level=level)),
        unit=units.kind,
        units=units.count,
        samples=samples,
        level=level,
        radii=tuple(radii(ordered, units.halves, length)),
        findings=tuple(_findings(solved, classes, units)),
    )


def best_rounding(results: Results, *, workers: int | None = None) -> CommonThreshold | None:
    """Return the common threshold at which rounding gives the smallest mean PLD; None without predictions or truth."""
    solved = solve(results, results.cutoff_or_first(cutoff=None), HIT, workers=workers)
    occurs = (solved.true.sum(axis=0) > 0) | (np.bincount(solved.label, minlength=solved.true.shape[1]) > 0)
    names = enumerate(results.class_names)
    labels = [c for c, name in names if occurs[c] and PLD.covers(name, results.protocol)]
    return common_threshold([levels_of(solved, c) for c in labels])


def common_threshold(levels: list[Levels]) -> CommonThreshold | None:
    """Return the threshold with the smallest mean over classes of the rounded PLD; None without predictions."""
    candidates = np.unique(np.concatenate([np.empty(0), *(of_class.threshold[1:] for of_class in levels)]))[::-1]
    if not len(candidates) or not any(of_class.true for of_class in levels):
        return None
    mean = np.mean([of_class.pld("rounded")[of_class.place(candidates)] for of_class in levels], axis=0)
    best = int(mean.argmin())
    as_is = float(np.mean([of_class.pld("dropped")[-1] for of_class in levels]))
    drops = best < len(candidates) - 1  # candidates fall; at the last one, all predictions are kept
    return CommonThreshold(float(candidates[best]), as_is, float(mean[best]), drops=drops)


def _calibration(
    solved: Solved, names: list[tuple[int, str]], units: Units, bins: int, level: float
) -> Iterator[tuple[str, dict[Target, Reliability]]]:
    """Yield the reliability of each class with predictions, and of all predictions, for both targets."""
    soft = np.where(np.isnan(solved.distance), 0.0, 1.0 - solved.distance)
    hits = hits_of(solved)
    unit = units.unit_of_frame[solved.frame]
    for label, name in ((None, ALL), *names):
        if label is None:
            chosen = np.ones(len(unit), np.bool_)
        else:
            chosen = solved.label == label
        if chosen.any():
            drawn = (unit[chosen], units.weights)
            how: dict[str, Any] = {"bins": bins, "level": level}
            yield (
                name,
                {
                    "hit": reliability_of(solved.confidence[chosen], hits[chosen], *drawn, **how),
                    "soft": reliability_of(solved.confidence[chosen], soft[chosen], *drawn, **how),
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
            count=units.count,
            remedy=Remedy("Pass scenes= to evaluate", "Evaluate with scenes: TRUTH,scenes=FILE"),
        )
    if units.halves is None:
        text = f"there is only one {units.kind}, so no threshold is judged on others, and there are no intervals"
        yield Finding("warning", "halves-none", text)
    elif few := too_few(units.count, units.kind):
        remedy = Remedy.of(f"Evaluate at least {FEWEST} {units.kind}s")
        yield Finding("warning", "scenes-few", few, count=units.count, remedy=remedy)
    found = classes.items()
    for code, text, names in (
        (
            "confidence-equal",
            "all confidences of {} are equal, so no threshold separates predictions",
            [name for name, of_class in found if of_class.predictions > 1 and len(of_class.levels.threshold) == 2],
        ),
        (
            "threshold-none",
            "no threshold is recommended for classes without truth or predictions: {}",
            [name for name, of_class in found if not of_class.thresholds],
        ),
        (
            "hits-none",
            f"no prediction of {{}} is a hit (normalised SOSPA of at most {solved.hit:g})",
            [name for name, of_class in found if of_class.thresholds and not of_class.levels.hits.any()],
        ),
        (
            "halves-uneven",
            f"no threshold is judged on other {units.kind}s, because one half of the {units.kind}s has no predictions "
            "or no truth: {}",
            [name for name, of_class in found if units.halves and of_class.thresholds and of_class.held_out is None],
        ),
    ):
        if names:
            yield Finding("warning", code, text.format(", ".join(names)), count=len(names))
