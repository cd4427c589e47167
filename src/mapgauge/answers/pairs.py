"""What is known about two methods: which one is better, or that it cannot be told, and why."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias

from mapgauge.answers.facts import MethodFacts, measure_of
from mapgauge.metrics.causes import CAUSES_OF_PLD, FAMILIES
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import hit_metrics, value_named
from mapgauge.results.bootstrap import SAMPLES
from mapgauge.results.causes import compare_families
from mapgauge.results.comparison import Comparison, are_identical, compare
from mapgauge.results.intervals import LEVEL, Difference, too_few
from mapgauge.results.results import Results

Verdict: TypeAlias = Literal["better", "worse", "cannot tell", "identical", "disagree"]
MANY = 6  # methods from which on each is compared with the best one only: more would be dozens of pairs


class DifferenceFacts(NamedTuple):
    """A difference, second minus first, and its interval. The bounds are None if there is no interval."""

    value: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, difference: Difference) -> "DifferenceFacts | None":
        """Return a difference without its verdict; None if there is no value."""
        if not math.isfinite(difference.value):
            return None
        bounded = math.isfinite(difference.low) and math.isfinite(difference.high)
        if not bounded:
            return cls(difference.value, None, None)
        return cls(difference.value, difference.low, difference.high)

    def turned(self) -> "DifferenceFacts":
        """Return the difference of the first minus the second."""
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        return DifferenceFacts(-self.value, low, high)


@dataclass(frozen=True, kw_only=True)
class PairFacts:
    """What is known about two methods. Differences are those of the second minus the first, in means over classes."""

    first: str
    second: str
    verdict: Verdict  # of the second
    measure: str  # the key of the value that they are ranked by
    gap: DifferenceFacts | None  # in this value
    pld: DifferenceFacts | None
    families: dict[str, DifferenceFacts] = field(default_factory=dict)  # they add up to the difference
    classes: dict[str, DifferenceFacts] = field(default_factory=dict)  # in the measure
    families_of_classes: dict[str, dict[str, DifferenceFacts]] = field(default_factory=dict)
    drawn: str = ""  # what intervals are over: "scene" or "frame"
    units: int = 0
    why_not: str = ""  # why it cannot be told
    against: tuple[tuple[str, DifferenceFacts], ...] = ()  # values that contradict PLD, with their differences

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain Python values."""
        return {
            "first": self.first,
            "second": self.second,
            "verdict": self.verdict,
            "measure": self.measure,
            "value": _plain(self.gap),
            "pld": _plain(self.pld),
            "families": {family: gap._asdict() for family, gap in self.families.items()},
            "classes": {name: gap._asdict() for name, gap in self.classes.items()},
            "drawn": self.drawn,
            "units": self.units,
        }

    def turned(self) -> "PairFacts":
        """Return the same facts with the two methods in the other order."""
        opposite: dict[Verdict, Verdict] = {"better": "worse", "worse": "better"}
        return PairFacts(
            first=self.second,
            second=self.first,
            verdict=opposite.get(self.verdict, self.verdict),
            measure=self.measure,
            gap=None if self.gap is None else self.gap.turned(),
            pld=None if self.pld is None else self.pld.turned(),
            families=_turned(self.families),
            classes=_turned(self.classes),
            families_of_classes={name: _turned(gaps) for name, gaps in self.families_of_classes.items()},
            drawn=self.drawn,
            units=self.units,
            why_not=self.why_not,
            against=tuple((key, gap.turned()) for key, gap in self.against),
        )


def _plain(gap: DifferenceFacts | None) -> dict[str, float | None] | None:
    if gap is None:
        return None
    return gap._asdict()


def _turned(gaps: dict[str, DifferenceFacts]) -> dict[str, DifferenceFacts]:
    return {key: gap.turned() for key, gap in gaps.items()}


class _Ranked(NamedTuple):
    """A method with what is known about it."""

    facts: MethodFacts
    results: Results


def pairs_of(
    facts: Sequence[MethodFacts], methods: Sequence[Results], known: Comparison | None = None
) -> list[PairFacts]:
    """Return what is known about each two methods; from ``MANY`` methods on, about the best one and each other.

    The methods must be results of the same frames, protocol and metrics. ``known`` is a comparison of them. It is used
    if it has the pairs and the settings of an answer.
    """
    if len(methods) < 2:
        return []
    of = {known.name: _Ranked(known, method) for known, method in zip(facts, methods, strict=True)}
    if len(methods) >= MANY:
        order = ranked(list(of), methods)
        comparison = compare([of[name].results for name in order], names=order, pairs="first")
    elif known is not None and fits(known, list(of)):
        comparison = known
    else:
        comparison = compare(methods, names=list(of))
    return [_pair(comparison, of[first], of[second]) for first, second in comparison.differences]


def fits(known: Comparison, names: Sequence[str]) -> bool:
    """Whether a comparison is the one that ``compare`` would return for these methods, or has further values."""
    drawn_alike = (known.samples, known.level, known.correction) == (SAMPLES, LEVEL, "none")
    return drawn_alike and known.names == tuple(names) and set(known.differences) == set(combinations(names, 2))


def ranked(names: Sequence[str], methods: Sequence[Results]) -> list[str]:
    """Return the names from the best to the worst mean. Equal ones keep their order; those without a value are last."""
    measure = measure_of(methods[0])
    sign = 1 if lower_is_better(measure) else -1

    def place(name_and_method: tuple[str, Results]) -> tuple[bool, float]:
        value = name_and_method[1].mean.get(measure)
        if value is None:
            return (True, 0.0)
        return (False, sign * value)

    return [name for name, _ in sorted(zip(names, methods, strict=True), key=place)]


def lower_is_better(key: str) -> bool:
    """Whether smaller values of a key are better."""
    metric, _ = value_named(key) or (None, None)
    return metric is None or metric.lower_is_better


def _pair(comparison: Comparison, first: _Ranked, second: _Ranked) -> PairFacts:
    """Return what is known about two methods of a comparison."""
    one = first.results
    other = second.results
    changes = comparison.differences[first.facts.name, second.facts.name]
    measure = measure_of(one)
    difference = changes["mean"].get(measure)
    families = _families(first, second)
    against = _against(one, measure, changes["mean"])
    return PairFacts(
        first=first.facts.name,
        second=second.facts.name,
        verdict=_verdict(one, other, measure, difference=difference, contradicted=bool(against)),
        measure=measure,
        gap=None if difference is None else DifferenceFacts.of(difference),
        pld=DifferenceFacts.of(changes["mean"][PLD.main.key]) if PLD.main.key in changes["mean"] else None,
        families=families.get("mean", {}),
        classes=_gaps((name, gaps[measure]) for name, gaps in changes.items() if name != "mean" and measure in gaps),
        families_of_classes={name: gaps for name, gaps in families.items() if name != "mean"},
        drawn=comparison.drawn,
        units=comparison.units,
        why_not=_why_not(comparison, difference),
        against=against,
    )


def _families(first: _Ranked, second: _Ranked) -> dict[str, dict[str, DifferenceFacts]]:
    """Return what PLD differs by, by class or "mean". There are no intervals without causes in every frame."""
    both = (first.results, second.results)
    if all(CAUSES_OF_PLD.name in method.metrics for method in both):
        compared = compare_families(*both)
        return {
            name: _gaps((key, gap) for key, gap in gaps.items() if key in FAMILIES) for name, gaps in compared.items()
        }
    of_first, of_second = ({"mean": method.facts.families} | _by_class(method.facts) for method in (first, second))
    return {
        name: {family: DifferenceFacts(other[family] - part, low=None, high=None) for family, part in parts.items()}
        for name, parts in of_first.items()
        if parts is not None and (other := of_second.get(name)) is not None
    }


def _by_class(facts: MethodFacts) -> dict[str, dict[str, float] | None]:
    return {name: of_class["families"] for name, of_class in facts.classes.items()}


def _gaps(differences: Iterable[tuple[str, Difference]]) -> dict[str, DifferenceFacts]:
    """Return the differences that have values."""
    gaps = ((key, DifferenceFacts.of(difference)) for key, difference in differences)
    return {key: gap for key, gap in gaps if gap is not None}


def _verdict(
    one: Results, other: Results, measure: str, difference: Difference | None, *, contradicted: bool
) -> Verdict:
    """Return which of two methods is better, by the value that they are ranked by."""
    if difference is None or not math.isfinite(difference.value):
        return "cannot tell"
    if are_identical(one, other):
        return "identical"
    if not difference.decided:
        return "cannot tell"
    if contradicted:
        return "disagree"
    if (difference.value < 0) == lower_is_better(measure):
        return "better"
    return "worse"


def _against(one: Results, measure: str, changes: dict[str, Difference]) -> tuple[tuple[str, DifferenceFacts], ...]:
    """Return the average precisions that say the opposite of PLD, if both are decided."""
    main = changes.get(measure)
    if measure != PLD.main.key or main is None or not main.decided:
        return ()
    found = []
    for metric, _ in hit_metrics(one.metrics):
        change = changes.get(metric.main.key)
        if change is None or not change.decided:
            continue
        gap = DifferenceFacts.of(change)
        # PLD is better where it is lower, average precision where it is higher.
        if gap is not None and (gap.value > 0) == (main.value > 0):
            found.append((metric.main.key, gap))
    return tuple(found)


def _why_not(comparison: Comparison, difference: Difference | None) -> str:
    """Return why nothing is decided about a difference; "" if it is only too small for its interval."""
    if difference is None or not math.isfinite(difference.value):
        return "there is no value to compare"
    if difference.decided is not None:
        return ""
    few = too_few(comparison.units, comparison.drawn)
    if comparison.units == 1:
        return f"there is only one {comparison.drawn}"
    if few:
        return f"{comparison.units} {comparison.drawn}s are too few"
    return f"a class occurs in too few {comparison.drawn}s"
