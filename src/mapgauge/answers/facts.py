"""What is known about one method: how much it finds, how far off it is, and why PLD is what it is."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

from mapgauge.evaluation.evaluate import must_score, with_metrics
from mapgauge.hooks import expect_ahead
from mapgauge.metrics.causes import CAUSES, CAUSES_OF_PLD, FAMILIES
from mapgauge.metrics.completeness import COMPLETENESS, by_distance
from mapgauge.metrics.completeness import values_of as values_of_lengths
from mapgauge.metrics.metric import ValueKey
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import METRICS, combined_metrics
from mapgauge.protocols import Protocol
from mapgauge.results.results import Results
from mapgauge.results.values import Values
from mapgauge.typing import Floats


@dataclass(frozen=True, kw_only=True)
class MethodFacts:
    """What is known about one method. A number that does not exist or was not computed is None.

    Shares are from 0 to 1, lengths in metres. ``found`` is a share of the true length. ``far``, ``repeated``,
    ``pieces`` and ``other_class`` are shares of the predicted length, weighted by confidence. Parts of PLD are means
    over classes. ``distances`` are rings around the vehicle with the share of the true length in them that is found, by
    the matches of whole lines; the last ring has no end.
    """

    name: str
    pld: float | None = None  # mean over classes
    measure: str = ""  # the key of the value that methods are ranked by: "pld", or the main value of the first metric
    value: float | None = None  # its mean over classes
    found: float | None = None
    sure: float | None = None  # found by predictions with a confidence of at least 0.5
    found_length: float | None = None
    true_length: float | None = None
    predicted_length: float | None = None  # times confidence
    beside: float | None = None  # metres from matched points to the true line, median
    far: float | None = None  # without truth of the class within the cutoff
    other_class: float | None = None  # the part of ``far`` with truth of another class there
    repeated: float | None = None  # beside truth that is matched already
    pieces: float | None = None  # beside truth that is not matched
    families: dict[str, float] | None = None
    causes: dict[str, float] | None = None
    classes: dict[str, dict[str, Any]] = field(default_factory=dict)
    distances: list[dict[str, float | None]] | None = None
    ranges: list[dict[str, float | None]] | None = None  # those of the evaluation
    refused: str | None = None  # why nothing is said of the method

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain Python values."""
        return asdict(self)


def error_of(results: Results) -> str | None:
    """Return the first error among the findings, in words; None if there is none."""
    return next((finding.text for finding in results.findings if finding.level == "error"), None)


def measure_of(results: Results) -> str:
    """Return the key of the value that methods are ranked by; "" without metrics.

    It is the main value of the first metric of the protocol's headline, or else of PLD, or else of a metric that
    combines others, or else of the first metric in the order of the table.
    """
    order = [name for name in results.protocol.headline if name in results.metrics]
    order += [name for name in results.metrics if name == PLD.name]
    order += [metric.name for metric, _ in combined_metrics(results.metrics)]
    order += results.metrics
    if not order:
        return ""
    return METRICS[order[0]].main.key


def has_causes(protocol: Protocol) -> bool:
    """Whether PLD splits into causes: there is a cutoff, and the order is 1."""
    return bool(protocol.cutoffs) and protocol.order == 1


def explained(results: Results, workers: int | None) -> Results:
    """Return results with the metrics that the facts need, if they were scored or the geometry is there for it."""
    if PLD.name not in results.metrics or not results.protocol.cutoffs:
        return results
    wanted = [COMPLETENESS.name]
    if has_causes(results.protocol):
        wanted.append(CAUSES_OF_PLD.name)
    if results.geometry is None and not results.has_scored(wanted):
        return results
    if results.geometry is not None and must_score(results, wanted):
        expect_ahead(results.geometry, results.metrics, report=False)
    return with_metrics(results, wanted, workers)


def facts_of(results: Results, name: str) -> MethodFacts:
    """Return what is known about a method, from what was computed."""
    measure = measure_of(results)
    error = error_of(results)
    if error is not None:
        return MethodFacts(name=name, measure=measure, refused=error)
    return MethodFacts(
        name=name,
        pld=results.mean.get(PLD.main.key),
        measure=measure,
        value=results.mean.get(measure),
        **_lengths(results),
        families=families_of(results.mean),
        causes=causes_of(results.mean),
        classes={
            class_name: _class_facts(values)
            for class_name, values in results.classes.items()
            if values.get(measure) is not None
        },
        ranges=_ranges(results),
    )


def _lengths(results: Results) -> dict[str, Any]:
    """Return how much is found and how far off, over all classes together; nothing if it was not computed."""
    if COMPLETENESS.name not in results.metrics:
        return {}
    sums = results.totals.sums[COMPLETENESS.name].sums[0].sum(axis=0)
    value = _of_lengths(sums, results.protocol)
    return {
        "found": value["completeness"],
        "sure": value["sure_completeness"],
        "found_length": value["found_length"],
        "true_length": value["true_length"],
        "predicted_length": value["predicted_length"],
        "beside": value["median_across"],
        **{key: value[key] for key in ("far", "other_class", "repeated", "pieces")},
        "distances": _distances(sums, results.protocol),
    }


def _distances(sums: Floats, protocol: Protocol) -> list[dict[str, float | None]] | None:
    """Return what is found by distance from the vehicle; None if it is a map, which has no vehicle."""
    rings = [
        {"from": start, "to": end, "true_length": true, "found": min(found / true, 1.0) if true > 0 else None}
        for start, end, true, found in by_distance(sums, protocol)
    ]
    return rings or None


def _of_lengths(sums: Floats, protocol: Protocol) -> Values:
    values = {key: float(number) for key, number in values_of_lengths(sums, protocol).items()}
    return {key: number if math.isfinite(number) else None for key, number in values.items()}


def causes_of(values: Values) -> dict[str, float] | None:
    """Return the causes of PLD among values of a class or means; None if they were not computed."""
    parts = {cause: values.get(f"due_to_{cause}") for cause in CAUSES}
    known = {cause: part for cause, part in parts.items() if part is not None}
    if len(known) < len(CAUSES):
        return None
    return known


def families_of(values: Values) -> dict[str, float] | None:
    """Return the families of causes among values of a class or means; None if they were not computed."""
    causes = causes_of(values)
    if causes is None:
        return None
    return {family: math.fsum(causes[cause] for cause in members) for family, members in FAMILIES.items()}


def _class_facts(values: Values) -> dict[str, Any]:
    """Return what is known about one class."""
    causes = causes_of(values)
    families = families_of(values)
    return {
        "pld": values.get(PLD.main.key),
        "found": values.get("completeness"),
        "beside": values.get("median_across"),
        **{key: values.get(key) for key in ("far", "other_class", "repeated")},
        "largest_cause": largest(causes),
        "largest_family": largest(families),
        "families": families,
    }


def largest(parts: Mapping[str, float] | None) -> str | None:
    """Return the largest of some parts; None if all are 0."""
    if not parts:
        return None
    name = max(parts, key=lambda part: parts[part])
    if parts[name] <= 0:
        return None
    return name


def _ranges(results: Results) -> list[dict[str, float | None]] | None:
    """Return PLD and what is found in each ring around the ego; None if rings were not evaluated.

    A map has no ego, so its rings mean nothing.
    """
    if not results.ranges or not results.protocol.has_ego or PLD.name not in results.metrics:
        return None
    return [_ring(results, k, ring) for k, ring in enumerate(pairwise(results.ranges))]


def _ring(results: Results, number: int, ring: tuple[float, float]) -> dict[str, float | None]:
    found = None
    if COMPLETENESS.name in results.metrics:
        sums = results.totals.sums[COMPLETENESS.name].rings[number].sum(axis=0)
        found = _of_lengths(sums, results.protocol)["completeness"]
    pld = results.mean.get(str(ValueKey(PLD.main.key, ring=ring)))
    return {"from": ring[0], "to": ring[1], "pld": pld, "found": found}


def worst_of(values: dict[Any, float | None], *, lower_is_better: bool = True) -> Any:
    """Return the key of the worst value; None if fewer than two have values, or if the worst is not the only one.

    >>> worst_of({"divider": 0.7, "boundary": 0.8}), worst_of({"divider": 0.7}), worst_of({"a": 0.7, "b": 0.7})
    ('boundary', None, None)
    """
    known = {key: value for key, value in values.items() if value is not None}
    if len(known) < 2:
        return None
    if lower_is_better:
        worst = max(known.values())
    else:
        worst = min(known.values())
    keys = [key for key, value in known.items() if value == worst]
    if len(keys) > 1:
        return None
    return keys[0]


def rings_in_words(ring: Sequence[float]) -> str:
    """Return a ring in words.

    >>> rings_in_words((10.0, 20.0))
    '10 to 20 m'
    """
    return f"{ring[0]:g} to {ring[1]:g} m"
