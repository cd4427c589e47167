"""``causes``: PLD by cause, with fixes, and the difference between two methods by cause."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mapgauge.arguments import check_whole
from mapgauge.errors import InvalidInput
from mapgauge.markup import bars, block, legend, line, note, number, shortened, table, text_table
from mapgauge.metrics.causes import (
    CAUSES,
    CAUSES_OF_PLD,
    FAMILIES,
    THRESHOLDS,
    Thresholds,
    label_of,
    normalised_costs,
    noun_of,
)
from mapgauge.metrics.completeness import COMPLETENESS
from mapgauge.metrics.table import part_colours, title_of
from mapgauge.protocols import Protocol, full_name
from mapgauge.results.bootstrap import SAMPLES, added_by_unit, check_draws, draw
from mapgauge.results.comparison import check_comparable, sorted_by_token
from mapgauge.results.drawn_values import count_units, draws_of, mean_over_classes, units_with_class
from mapgauge.results.estimation import difference
from mapgauge.results.families import Correction, check_correction, correct_together
from mapgauge.results.instance_costs import Fix, Instances, check_settings, fixes_of, instances_of
from mapgauge.results.intervals import FEWEST, LEVEL, Difference
from mapgauge.results.results import Results, check_results
from mapgauge.results.standard_errors import Draws
from mapgauge.typing import Flags, Floats, Progress
from mapgauge.words import did_you_mean

OFFSET = "median_across"  # the value of ``completeness`` that says how far off a method is


@dataclass(frozen=True, eq=False, kw_only=True)
class Causes:
    """PLD by cause. The causes of a class add up to its PLD, and their means to the mean PLD.

    A class with neither predictions nor truth is left out.
    """

    classes: dict[str, dict[str, float]]  # by class and cause: the part of PLD
    mean: dict[str, float]  # means over classes, by cause
    pld: dict[str, float]  # PLD by class, and "mean"
    thresholds: Thresholds
    fixes: tuple[Fix, ...]  # what fixing one cause alone would bring; empty unless asked for
    tokens: tuple[str, ...]
    class_names: tuple[str, ...]
    protocol: Protocol
    per_frame: Floats = field(repr=False)  # (frames, classes, causes): costs that are not normalised
    instances: Instances | None = field(default=None, repr=False)  # None if the results had the metric already

    def __repr__(self) -> str:
        """Return the largest causes in one line."""
        return f"<Causes: {self.title} {self.pld['mean']:.3f}. {self.sentence()}>"

    @property
    def title(self) -> str:
        """PLD, with its cutoff if readers cannot know it."""
        return title_of("pld", protocol=self.protocol)

    def _repr_html_(self) -> str:
        """Return the parts of PLD for a notebook: a bar for each class, the causes, and what fixes would bring."""
        colours = dict(zip(CAUSES, part_colours(CAUSES_OF_PLD).values(), strict=True))
        columns = [*self.classes.items(), ("mean", self.mean)]
        drawn = [
            [name, number(self.pld[name]), bars([(parts[cause], colour) for cause, colour in colours.items()])]
            for name, parts in columns
        ]
        pieces = [
            line(f"{self.title} by cause, {full_name(self.protocol)}"),
            table(["class", self.title, "causes"], drawn),
            legend({label_of(cause): colour for cause, colour in colours.items()}),
            *(table(header, rows) for header, rows in self.tables()),
            note(self.sentence()),
        ]
        return block(*pieces)

    @property
    def by_share(self) -> list[str]:
        """The causes, from the largest to the smallest mean."""
        return sorted(self.mean, key=lambda cause: -self.mean[cause])

    def share(self, *causes: str) -> float:
        """Return the share of causes of the mean PLD."""
        total = self.pld["mean"]
        if total > 0:
            return math.fsum(self.mean[cause] for cause in causes) / total
        return 0.0

    def sentence(self) -> str:
        """Return the three largest causes, with their shares of PLD, in words."""
        return largest_causes(self.mean)

    def frames(self, cause: str, *, class_name: str | None = None, count: int | None = None) -> list[tuple[str, float]]:
        """Return the frames with most of a cause: their tokens, and the cost, of which a missed line has 0.5.

        Args:
            cause: The name of a cause.
            class_name: Only this class. If None, all.
            count: Largest number of frames.
        """
        if cause not in CAUSES:
            hint = did_you_mean(cause, CAUSES)
            raise InvalidInput(f"no cause {cause!r}. Available: {', '.join(CAUSES)}{hint}")
        if class_name is not None and class_name not in self.class_names:
            hint = did_you_mean(class_name, self.class_names)
            raise InvalidInput(f"no class {class_name!r}. Available: {', '.join(self.class_names)}{hint}")
        chosen: slice | list[int] = slice(None)
        if class_name is not None:
            chosen = [self.class_names.index(class_name)]
        costs = self.per_frame[:, chosen, list(CAUSES).index(cause)].sum(axis=1)
        order = sorted(range(len(costs)), key=lambda i: (-costs[i], self.tokens[i]))
        if count is None:
            most = None
        else:
            most = check_whole("count", count, least=0)
        return [(self.tokens[i], float(costs[i])) for i in order[:most] if costs[i] > 0]

    def table(self) -> str:
        """Return the causes as text: one row per cause, one column per class, and the share of the mean PLD."""
        return "\n\n".join(text_table([*map(shortened, header)], rows) for header, rows in self.tables())

    def tables(self, *, about: bool = False) -> Iterator[tuple[list[str], list[list[str]]]]:
        """Yield the header and the rows of the causes, the largest first, and of the fixes if there are any.

        Fixes stand beside the causes that they repair. With ``about``, the causes are explained.
        """
        names = [*self.classes, "mean"]
        columns = [*self.classes.values(), self.mean]
        header = ["cause", "what it is", *names, "share"]
        rows = []
        for cause in self.by_share:
            values = [number(column[cause]) for column in columns]
            rows.append([label_of(cause), CAUSES[cause], *values, f"{self.share(cause):.0%}"])
        whole = "-"
        if self.pld["mean"] > 0:
            whole = "100%"
        rows.append([self.title, "", *(number(self.pld[name]) for name in names), whole])
        if about:
            yield header, rows
        else:
            yield [header[0], *header[2:]], [[row[0], *row[2:]] for row in rows]
        if self.fixes:
            keys = list(dict.fromkeys(key for fix in self.fixes for key in fix.gain))
            rows = [
                [
                    ", ".join(map(label_of, fix.causes)),
                    fix.name.replace("_", " "),
                    f"{self.share(*fix.causes):.0%}",
                    *(f"{fix.gain[key]:+.3f}" for key in keys),
                ]
                for fix in sorted(self.fixes, key=lambda fix: -self.share(*fix.causes))
            ]
            titles = [title_of(key, protocol=self.protocol) for key in keys]
            yield ["causes", "fix", "share", *(f"change of {title}" for title in titles)], rows

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the rows of frames as plain Python values."""
        return {
            "protocol": full_name(self.protocol),
            "pld": self.pld,
            "classes": self.classes,
            "mean": self.mean,
            "thresholds": asdict(self.thresholds),
            "fixes": {
                fix.name: {"about": fix.about, "causes": list(fix.causes), "change": fix.gain} for fix in self.fixes
            },
        }


def largest_causes(mean: Mapping[str, float]) -> str:
    """Return the three largest parts of the mean PLD, by cause, with their shares in words."""
    total = math.fsum(mean.values())
    order = sorted(mean, key=lambda cause: -mean[cause])[:3]
    shares = {cause: mean[cause] / total for cause in order if total > 0}
    largest = [f"{noun_of(cause)} {100 * share:.0f} %" for cause, share in shares.items() if share > 0.005]
    if not largest:
        return "PLD is 0: there is no error to explain"
    return f"Largest causes: {', '.join(largest)}"


def causes(
    results: Results,
    *,
    fixes: bool = False,
    thresholds: Thresholds | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Causes:
    """Split the PLD of results by cause: localisation, fragments, duplicates, missed truth and so on.

    The causes exclude each other and add up to PLD. ``docs/explanation/causes.md`` defines them.

    Args:
        results: Results of a protocol with a cutoff and order 1. They need the geometry, unless the metric ``causes``
            was computed and neither fixes nor other thresholds are asked for.
        fixes: Also compute what fixing one cause alone would bring. This evaluates the predictions ten times.
        thresholds: Other numbers in the definitions. PLD does not depend on them.
        workers: Number of threads. If None, the number of processors.
        progress: A function that is called with the number of finished frames and the number of all frames.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [20, 0]]]}})
    >>> halves = mg.MapFrames.of(
    ...     {"a": {"divider": [[[0, 0], [9.5, 0]], [[10, 0], [20, 0]]]}}, confidence={"a": {"divider": [1, 1]}}
    ... )
    >>> found = mg.causes(mg.evaluate(halves, truth))
    >>> found.sentence(), {cause: round(part, 3) for cause, part in found.mean.items() if part}
    ('Largest causes: fragments 100 %', {'fragment': 0.794})
    """
    check_results(results)
    check_settings(results.protocol)
    if thresholds is None:
        chosen = THRESHOLDS
    else:
        chosen = thresholds
    if not isinstance(chosen, Thresholds):
        raise InvalidInput(f"thresholds must be Thresholds, got {type(chosen).__name__}")
    instances = None
    if CAUSES_OF_PLD.name in results.metrics and chosen == THRESHOLDS and not fixes:
        sums = sums_by_cause(results)
    else:
        instances = instances_of(results, chosen, workers, progress=progress)
        sums = _sums_of(results, instances)
    pooled = np.array([[math.fsum(column) for column in of_class.T.tolist()] for of_class in sums.swapaxes(0, 1)])
    parts = normalised_costs(pooled.reshape(len(results.class_names), len(CAUSES) + 1))
    covered = [(c, name) for c, name in enumerate(results.class_names) if name not in results.without_value]
    covered = [(c, name) for c, name in covered if CAUSES_OF_PLD.covers(name, results.protocol)]
    classes = {name: dict(zip(CAUSES, parts[c].tolist(), strict=True)) for c, name in covered}
    mean = {cause: math.fsum(row[cause] for row in classes.values()) / max(len(classes), 1) for cause in CAUSES}
    pld = {name: math.fsum(row.values()) for name, row in [*classes.items(), ("mean", mean)]}
    all_fixes: tuple[Fix, ...] = ()
    if fixes and instances is not None:
        all_fixes = fixes_of(results, instances, workers)
    return Causes(
        classes=classes,
        mean=mean,
        pld=pld,
        thresholds=chosen,
        fixes=all_fixes,
        tokens=results.tokens,
        class_names=results.class_names,
        protocol=results.protocol,
        per_frame=sums[..., :-1],
        instances=instances,
    )


def sums_by_cause(results: Results) -> Floats:
    """Return the costs and the mass of each frame and class, ``(frames, classes, causes + 1)``.

    Results with the metric ``causes`` have them. Otherwise they are computed from the data.
    """
    check_settings(results.protocol)
    if CAUSES_OF_PLD.name in results.metrics:
        sums: Floats = results.scores.sums[CAUSES_OF_PLD.name][0]
        return sums
    return _sums_of(results, instances_of(results))


def _sums_of(results: Results, instances: Instances) -> Floats:
    """Return the costs and the mass of each frame and class, ``(frames, classes, causes + 1)``."""
    data = results.need_data().sorted_sides
    shape = (len(results.tokens), len(results.class_names))
    place = np.concatenate([side.frame * shape[1] + side.label for side in data])
    mass = np.concatenate([np.ones(len(side.label)) if side.confidence is None else side.confidence for side in data])
    columns = [
        *(np.concatenate(both) for both in zip(instances.predicted.T, instances.true.T, strict=True)),
        0.5 * mass,
    ]
    sums = np.stack([np.bincount(place, column, shape[0] * shape[1]) for column in columns], axis=1)
    return sums.astype(np.float64, copy=False).reshape(*shape, -1)


def compare_causes(
    first: Results,
    second: Results,
    *,
    samples: int = SAMPLES,
    level: float = LEVEL,
    seed: int = 0,
    correction: Correction = "none",
) -> dict[str, dict[str, Difference]]:
    """Split the difference in PLD between two methods by cause, with intervals.

    Args:
        first: Results of a method. They need the geometry, or the metric ``causes``.
        second: Results of another method on the same frames, with the same protocol.
        samples: Number of bootstrap samples.
        level: The probability with which an interval covers the true value.
        seed: Seed of the draws.
        correction: ``"holm"`` corrects p-values and verdicts for the number of differences, over all classes and
            causes. ``"none"`` tests each difference alone. ``correct_together`` corrects them together with others.

    Returns:
        By class (or ``"mean"``) and cause, the PLD of the second method minus the PLD of the first. The causes of a
        class add up to its difference in PLD, which has the key ``"pld"``. Scenes are drawn if they are known,
        otherwise frames. A cause that occurs in fewer than 5 of them has no interval.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({f"t{i}": {"divider": [[[0, i], [9, i]]]} for i in range(8)})
    >>> settings = mg.protocol("paper-60x30", classes=["divider"])
    >>> good, poor = (mg.evaluate(truth.with_confidence(sure), truth, settings) for sure in (0.9, 0.5))
    >>> found = mg.compare_causes(good, poor)["mean"]
    >>> print(found["under_confident"]), found["missed"].value
    +0.400 [+0.400, +0.400]
    (None, 0.0)
    """
    check_correction(correction)
    changes = _compare_groups(
        first, second, {cause: (cause,) for cause in CAUSES}, samples=samples, level=level, seed=seed
    )
    if correction == "holm":
        (changes,) = correct_together(changes, level=level)
    return changes


def compare_families(
    first: Results, second: Results, *, samples: int = SAMPLES, level: float = LEVEL, seed: int = 0
) -> dict[str, dict[str, Difference]]:
    """Split the difference in PLD between two methods by families of causes, with intervals.

    Arguments and returned values are as in ``compare_causes``, with families in place of causes.
    """
    return _compare_groups(first, second, FAMILIES, samples=samples, level=level, seed=seed)


def _compare_groups(
    first: Results, second: Results, groups: Mapping[str, Sequence[str]], samples: int, *, level: float, seed: int
) -> dict[str, dict[str, Difference]]:
    """Return the difference in PLD by class and group of causes, as ``compare_causes`` does. Each cause is in one."""
    check_draws(samples, level, seed)
    for name, method in (("the first results", first), ("the second", second)):
        check_results(method, name)
    check_comparable([first, second], ("the first results", "the second"), metrics=False)
    methods = [sorted_by_token(method) for method in (first, second)]
    drawn = draw(methods, samples, seed)
    unit_of_frame = drawn.unit_of_frame
    weights = np.concatenate([np.ones((1, drawn.count)), drawn.weights])  # the first sample is all units
    sums = [added_by_unit(sums_by_cause(method), unit_of_frame, drawn.count) for method in methods]
    parts = [_drawn(method, of_unit, weights) for method, of_unit in zip(methods, sums, strict=True)]
    apart = {name: parts[1][name] - values for name, values in parts[0].items() if name in parts[1]}
    whole = {name: {"pld": values[1:, -1]} for name, values in apart.items()}
    count = count_units([units_with_class(method, unit_of_frame) for method in methods])
    occurs: Flags = np.logical_or(*(of_unit[..., :-1] > 0 for of_unit in sums))  # (units, classes, causes)
    columns = {group: [list(CAUSES).index(cause) for cause in causes_of] for group, causes_of in groups.items()}
    changes: dict[str, dict[str, Difference]] = {}
    for name, values in apart.items():
        if name == "mean":
            there: Flags = np.logical_or.reduce(occurs, axis=1)
        else:
            there = occurs[:, first.class_names.index(name)]
        draws = {}
        whole_values = []
        for group, chosen in columns.items():
            # A cause in few units says nothing about its spread, so it has no interval.
            having = int(there[:, chosen].any(axis=1).sum())
            of_group = values[:, chosen].sum(axis=1)
            draws[group] = Draws(of_group[1:], having if having >= FEWEST else 1)
            whole_values.append(float(of_group[0]))
        draws["pld"] = draws_of(whole, name, "pld", count=count)
        whole_values.append(float(values[0, -1]))
        changes[name] = {
            key: difference(value, draws[key], level, limits=(-1.0, 1.0))
            for key, value in zip(draws, whole_values, strict=True)
        }
    return changes


def _drawn(method: Results, of_unit: Floats, weights: Floats) -> dict[str, Floats]:
    """Return the causes and PLD of each sample, ``(samples, causes + 1)``, by class (or ``"mean"``).

    They are NaN where a sample has no instances of the class.
    """
    drawn = np.einsum("su,uck->sck", weights, of_unit)
    parts = np.where(drawn[..., -1:] > 0, normalised_costs(drawn), np.nan)
    parts = np.concatenate([parts, parts.sum(axis=2, keepdims=True)], axis=2)
    by_class = {
        name: parts[:, c]
        for c, name in enumerate(method.class_names)
        if CAUSES_OF_PLD.covers(name, method.protocol) and name not in method.without_value
    }
    nothing = np.full(parts.shape[::2], np.nan)
    return by_class | {"mean": mean_over_classes(list(by_class.values()) or [nothing])}


class Lengths(NamedTuple):
    """Numbers of one class (or the mean over classes) that do not share a denominator."""

    offset: float  # metres across the true line, the median of matched points
    completeness: float  # the share of the true length that is found
    per_km: dict[str, float]  # by cause: the cost per kilometre of truth. A missed line costs 0.5


def lengths_of(results: Results) -> dict[str, Lengths]:
    """Return offsets, completeness and costs per kilometre of truth, by class and ``"mean"``.

    There are none without the metrics ``causes`` and ``completeness``. Parts of PLD share a denominator, so an error
    that grows lowers the parts of all others. These numbers do not depend on each other.
    """
    if not {CAUSES_OF_PLD.name, COMPLETENESS.name} <= set(results.metrics):
        return {}
    kilometres = results.scores.sums[COMPLETENESS.name][0][..., 0].sum(axis=0) / 1000
    costs = sums_by_cause(results)[..., :-1].sum(axis=0) / np.where(kilometres > 0, kilometres, np.nan)[:, None]
    rows = {name: costs[c] for c, name in enumerate(results.class_names) if name in results.classes}
    rows["mean"] = mean_over_classes(list(rows.values()) or [np.full(len(CAUSES), np.nan)])
    values = results.classes | {"mean": results.mean}
    return {
        name: Lengths(
            _number(values[name].get(OFFSET)),
            _number(values[name].get("completeness")),
            dict(zip(CAUSES, row.tolist(), strict=True)),
        )
        for name, row in rows.items()
    }


def _number(value: float | None) -> float:
    if value is None:
        return math.nan
    return value
