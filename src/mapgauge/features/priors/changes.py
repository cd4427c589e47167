"""``changes``: PLD by what changed since a prior map, the gain over copying the prior, and the detection of changes."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.arguments import check_share
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.features.priors import STATES
from mapgauge.features.priors.labels import MEAN, mean_accuracy, scores_of_labels
from mapgauge.features.priors.prior import aligned_prior, blocks_of
from mapgauge.features.priors.states import KEPT, PARTS, PriorComparison, compare, of_geometry
from mapgauge.frames.findings import Finding
from mapgauge.markup import text_table
from mapgauge.metrics.pld import added, normalised_parts, normalised_pld
from mapgauge.protocols import Protocol
from mapgauge.results.bootstrap import SAMPLES, added_by_unit, check_draws, draw_units, drawn_sums
from mapgauge.results.drawn_values import mean_over_classes
from mapgauge.results.estimation import difference
from mapgauge.results.intervals import LEVEL, Difference
from mapgauge.results.results import Results, check_results
from mapgauge.results.standard_errors import Draws
from mapgauge.scoring.data import in_threads
from mapgauge.scoring.prepare import Frames
from mapgauge.typing import Floats, Indices, Progress

_GAINS = (-1.0, 1.0)  # two values of PLD, from 0 to 1, differ by at most 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Changes:
    """What predictions make of a prior map.

    PLD has five parts that add up to it. ``kept``, ``moved`` and ``inserted`` are the costs of true lines that the
    prior has at the same place, has at another place, and does not have. ``stale`` are false predictions where the
    prior has a line that is gone, ``invented`` all other ones. The copy is the prior itself as a prediction with
    confidence 1.
    """

    name: str  # of the predictions
    prior_name: str
    protocol: Protocol  # of the results, with even sampling
    class_names: tuple[str, ...]
    tokens: tuple[str, ...]
    same: float  # normalised SOSPA up to which a line is kept
    floor: float  # confidence from which a prediction says something about the prior
    sums: Floats  # (2, frames, classes, 6): parts of PLD and the mass, of the predictions and of the copy
    confusion: NDArray[np.int64]  # (frames, classes, 5, 5): lines by true and by stated state; the last is none
    truth_states: tuple[str, ...]  # of the instances of the aligned truth
    prior_states: tuple[str, ...]  # of the instances of the aligned prior
    labels: dict[str, dict[str, float]] | None  # "mapc" by class, "macc" by kind of change; None without labels
    gains: dict[str, Difference]  # by class name or "mean": PLD of the copy less PLD of the predictions
    units: str  # what was drawn for the intervals: "scenes" or "frames"
    level: float
    findings: tuple[Finding, ...]  # about what the prior lacks

    def __repr__(self) -> str:
        """Return PLD, that of the copy and the gain in one line."""
        gain = self.gains.get(MEAN)
        return f"<Changes {self.name or 'predictions'}: gain {'without value' if gain is None else gain.numbers}>"

    def values(self) -> list[dict[str, Any]]:
        """Return a row for each class with lines, and for the mean over them: PLD and its parts, the copy, the gain."""
        totals = self.sums.sum(axis=1)
        rows = []
        for c, name in enumerate(self.class_names):
            if totals[:, c, -1].any():
                rows.append({"class": name, **_row("", totals[0, c]), **_row("copy_", totals[1, c])})
        if rows:
            keys = [key for key in rows[0] if key != "class"]
            rows.append({"class": MEAN} | {key: float(np.mean([row[key] for row in rows])) for key in keys})
        return [row | _ends(self.gains[str(row["class"])]) for row in rows]

    def detection(self) -> list[dict[str, Any]]:
        """Return a row for each state, all classes pooled: lines in this state, statements, precision, recall and F1.

        Values are None where there is nothing to divide by.
        """
        counts = self.confusion.sum(axis=(0, 1))
        rows = []
        for k, state in enumerate(STATES):
            right, true, stated = (int(value) for value in (counts[k, k], counts[k].sum(), counts[:, k].sum()))
            precision = None
            if stated:
                precision = right / stated
            recall = None
            if true:
                recall = right / true
            both = true + stated
            row = {"state": state, "true": true, "stated": stated, "right": right}
            rows.append(row | {"precision": precision, "recall": recall, "f1": 2 * right / both if both else None})
        return rows

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Whether the prior of each frame is changed."""
        return _changed(self.confusion.sum(axis=(1, 3)))

    @property
    def stated_changed(self) -> NDArray[np.bool_]:
        """Whether the predictions say so."""
        return _changed(self.confusion.sum(axis=(1, 2)))

    @property
    def mean_accuracy(self) -> float:
        """The balanced accuracy over frames, mAcc of TbV."""
        return mean_accuracy(self.changed, self.stated_changed)

    def table(self) -> str:
        """Return PLD by change as text: of the predictions, of the copy, and the gain."""
        return text_table(*cells_of({"": self}))

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain values, for JSON."""
        frames = {"frames": len(self.tokens), "changed": int(self.changed.sum())}
        return {
            "name": self.name,
            "prior": self.prior_name,
            "protocol": self.protocol.to_dict(),
            "same": self.same,
            "floor": self.floor,
            "level": self.level,
            "units": self.units,
            "values": self.values(),
            "detection": self.detection(),
            "labels": self.labels,
            "confusion": {
                state: dict(zip((*STATES, "nothing"), row, strict=True))
                for state, row in zip((*STATES, "nothing"), self.confusion.sum(axis=(0, 1)).tolist(), strict=True)
            },
            "findings": [asdict(finding) for finding in self.findings],
            "frames": frames | {"stated_changed": int(self.stated_changed.sum()), "mean_accuracy": self.mean_accuracy},
        }


def cells_of(methods: Mapping[str, Changes]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of the table of PLD by change. The copy of the prior comes after the methods."""
    rows = []
    for name in [row["class"] for row in next(iter(methods.values())).values()]:
        for called, method in methods.items():
            (row,) = [row for row in method.values() if row["class"] == name]
            numbers = [f"{row[key]:.3f}" for key in ("pld", *PARTS)]
            gain = method.gains.get(name)
            rows.append([name, called or "predictions", *numbers, "-" if gain is None else str(gain)])
        numbers = [f"{row[f'copy_{key}']:.3f}" for key in ("pld", *PARTS)]
        rows.append([name, "copy of the prior", *numbers, ""])
    return ["class", "of", "PLD ↓", *PARTS, "gain ↑"], rows


def changes(
    results: Results,
    prior: Frames,
    *,
    same: float = 0.25,
    floor: float = 0.4,
    samples: int = SAMPLES,
    level: float = LEVEL,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Changes:
    """Split the PLD of results by what changed since a prior map, and compare it with copying the prior.

    Lines are sampled evenly, whatever the protocol of the results says, so that neither the direction of a line nor the
    first point of a closed one has an effect. With the paper's sampling, PLD of the results is a little different.

    Args:
        results: From ``evaluate``, with order 1, a cutoff and their data.
        prior: The prior map in the coordinates of each frame: frames with the tokens of the truth, or a file of them.
            Frames that it lacks have no prior. Or the file of one map in world metres, which is cut at the poses of the
            truth. Confidences in it are not used.
        same: Largest normalised SOSPA of a line that is kept. It must exceed the inaccuracy of the prior.
        floor: Least confidence of predictions that say something about the prior, for the detection of changes.
        samples: Number of bootstrap samples.
        level: Confidence level of the intervals of the gain.
        seed: Seed of the random numbers. Scenes are drawn; frames if the scenes are not known.
        workers: Number of threads.
        progress: Called with the number of finished blocks and of all blocks.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]], [[0, 5], [9, 5]]]}})
    >>> prior = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]], [[0, 9], [9, 9]]]}})
    >>> copied = mg.changes(mg.evaluate(prior.with_confidence(1), truth), prior)
    >>> {key: round(copied.values()[0][key], 3) for key in ("pld", "kept", "inserted", "stale", "gain")}
    {'pld': 0.667, 'kept': 0.0, 'inserted': 0.333, 'stale': 0.333, 'gain': 0.0}
    """
    check_results(results)
    protocol = results.protocol
    if protocol.order != 1 or not protocol.cutoffs:
        raise InvalidInput(
            f"changes need order 1 and a cutoff, got order {protocol.order:g} and cutoffs {protocol.cutoffs!r}",
            remedy=Remedy("Evaluate with the protocol paper-60x30", "Pass --protocol paper-60x30"),
        )
    same = check_share("same", same)
    floor = check_share("floor", floor)
    check_draws(samples, level, seed)
    x, y = results.need_data().sides
    if y.ignore is not None:
        raise InvalidInput(
            f"{results.input_names[1] or 'truth'}: some lines are ignored, and lines of the prior there are neither "
            "kept nor deleted",
            remedy=Remedy("Evaluate with truth.with_ignore(None)", "Leave the flags out of the file"),
        )
    sampled = of_geometry(protocol)
    aligned = aligned_prior(prior, y, sampled, workers=workers)
    z = aligned.prior

    def work(some: slice) -> PriorComparison:
        return compare(x.between(some), y.between(some), z.between(some), protocol=sampled, same=same, floor=floor)

    parts = in_threads(work, blocks_of(y), workers, progress=progress)
    sums = np.concatenate([part.sums for part in parts], axis=1)
    of_truth = np.concatenate([part.truth for part in parts])
    if results.scenes is None:
        units = "frames"
    else:
        units = "scenes"
    return Changes(
        name=results.input_names[0],
        prior_name=z.name,
        protocol=sampled,
        class_names=y.classes,
        tokens=y.tokens,
        same=same,
        floor=floor,
        sums=sums,
        confusion=np.concatenate([part.confusion for part in parts]),
        truth_states=_in_words(of_truth),
        prior_states=_in_words(np.concatenate([part.prior for part in parts])),
        labels=scores_of_labels(x, y, protocol, floor=floor),
        gains=_gains(sums, y.classes, results.scenes or y.tokens, samples=samples, level=level, seed=seed),
        units=units,
        level=level,
        findings=aligned.findings(of_truth),
    )


def _ends(gain: Difference) -> dict[str, float | None]:
    """Return a gain and the ends of its interval, which are None if there is none."""
    values = (None if isnan(value) else value for value in gain[:3])
    return dict(zip(("gain", "gain_low", "gain_high"), values, strict=True))


def _in_words(states: Indices) -> tuple[str, ...]:
    return tuple(STATES[state] for state in states.tolist())


def _row(prefix: str, sums: Floats) -> dict[str, float]:
    parts = dict(zip(PARTS, normalised_parts(sums).tolist(), strict=True))
    return {f"{prefix}{key}": value for key, value in ({"pld": float(added(parts.values()))} | parts).items()}


def _changed(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the frames with lines in other states than kept; ``(frames, 5)``."""
    others = [k for k in range(len(STATES)) if k != KEPT]
    return np.asarray(counts[:, others].any(axis=1))


def _gains(
    sums: Floats, classes: tuple[str, ...], keys: tuple[str, ...], samples: int, level: float, seed: int
) -> dict[str, Difference]:
    """Return PLD of the copy less PLD of the predictions, with intervals, by class name and for the mean."""
    unit, weights = draw_units(keys, samples, np.random.default_rng(seed))
    gains = {}
    drawn = []
    for c, name in enumerate(classes):
        by_unit = [added_by_unit(side[:, c], unit, weights.shape[1]) for side in sums]
        totals = np.stack([side.sum(axis=0) for side in by_unit])
        if not totals[:, -1].any():
            continue
        draws = np.stack([drawn_sums(weights, side) for side in by_unit])
        of_samples = np.where(draws[:, :, -1].any(axis=0), _gain_of(draws), np.nan)
        units = int(np.count_nonzero((by_unit[0] + by_unit[1])[:, -1]))
        drawn.append((float(_gain_of(totals)), Draws(of_samples, units)))
        gains[name] = difference(*drawn[-1], level, _GAINS)
    if drawn:
        of_mean = mean_over_classes([draws.samples for _, draws in drawn])
        parts = tuple(draws for _, draws in drawn)
        mean = float(np.mean([value for value, _ in drawn]))
        gains[MEAN] = difference(mean, Draws(of_mean, weights.shape[1], parts), level, limits=_GAINS)
    return gains


def _gain_of(sums: Floats) -> Any:
    predicted, copied = normalised_pld(sums, order=1.0)
    return copied - predicted
