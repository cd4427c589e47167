"""Ranks of methods with ties: methods whose difference cannot be decided may share a rank."""

import math
from typing import NamedTuple

from mapgauge.errors import InvalidInput
from mapgauge.metrics.metric import ValueKey
from mapgauge.metrics.table import METRICS, value_named
from mapgauge.results.comparison import Comparison, plain_keys
from mapgauge.results.families import correct_together
from mapgauge.results.intervals import FEWEST, Difference, Estimate

FEWEST_RANKED = 3  # methods; the table of differences says who of two is better
TIES = "cannot be told from"  # the heading of ties


class Rank(NamedTuple):
    """The place of a method among several."""

    name: str
    estimate: Estimate
    rank: int | None  # 1 + the number of methods that are decided to be better; None without a value
    ties: tuple[str, ...]  # the methods from which the difference cannot be decided


def ranks(comparison: Comparison, key: str | None = None, class_name: str = "mean") -> list[Rank]:
    """Rank methods by one value, the best first. Methods that cannot be told from the best share the first rank.

    A method has the rank 1 + the number of methods that are decided to be better than it. The verdicts have Holm's
    correction over all pairs of methods. Ties are not transitive: if A and B cannot be decided, nor B and C, then A may
    still be better than C. B then shares the rank of A, and C ties with B.

    Args:
        comparison: A comparison of all pairs of methods: ``compare(..., pairs="all")``.
        key: The value. If None, the first one of the comparison, which is PLD where it was computed.
        class_name: The class, or ``"mean"`` for the mean over classes.

    Returns:
        One row for each method, sorted by rank and then by value. Methods without a value come last.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({f"t{i}": {"divider": [[[0, i], [9, i]]]} for i in range(8)})
    >>> settings = mg.protocol("paper-60x30", classes=["divider"])
    >>> methods = [mg.evaluate(truth.with_confidence(c), truth, settings) for c in (0.5, 0.9, 0.9)]
    >>> for row in ranks(mg.compare(methods, names=["A", "B", "C"])):
    ...     print(row.rank, row.name, row.ties)
    1 B ('C',)
    1 C ('B',)
    3 A ()
    """
    if comparison.correction != "none":
        raise InvalidInput(
            "the verdicts of this comparison are corrected already, and ranks have a correction of their own",
            remedy='Compare with correction="none"',
        )
    _check_has(comparison, class_name)
    if key is None:
        key = plain_keys(comparison.estimates[0][class_name])[0]
    lower_is_better = _direction(key)
    _check_has(comparison, class_name, key)
    pairs = [(first, second) for k, first in enumerate(comparison.names) for second in comparison.names[k + 1 :]]
    missing = [pair for pair in pairs if pair not in comparison.differences]
    if missing:
        first, second = missing[0]
        raise InvalidInput(
            f"ranks need the differences of all pairs; {first} and {second} were not compared",
            remedy='Compare with pairs="all"',
        )
    # One family: the pairs of methods at this value.
    table = {pair: {class_name: {key: comparison.differences[pair][class_name][key]}} for pair in pairs}
    (corrected,) = correct_together(table, level=comparison.level)
    better: dict[str, set[str]] = {name: set() for name in comparison.names}
    ties: dict[str, list[str]] = {name: [] for name in comparison.names}
    for first, second in pairs:
        found: Difference = corrected[first, second][class_name][key]
        if not found.decided:
            ties[first].append(second)
            ties[second].append(first)
        elif (found.value < 0) == lower_is_better:
            better[first].add(second)
        else:
            better[second].add(first)
    rows = []
    for name, estimates in zip(comparison.names, comparison.estimates, strict=True):
        value = estimates[class_name][key]
        rank = None
        if not math.isnan(value.value):
            rank = 1 + len(better[name])
        rows.append(Rank(name, value, rank, ties=tuple(ties[name])))

    def place(row: Rank) -> tuple[float, float]:
        if row.rank is None:
            return (math.inf, 0.0)
        if lower_is_better:
            return (row.rank, row.estimate.value)
        return (row.rank, -row.estimate.value)

    return sorted(rows, key=place)


def can_rank(comparison: Comparison) -> bool:
    """Whether tables show ranks: there are several methods, all pairs were compared, and something can be decided."""
    count = len(comparison.names)
    if count < FEWEST_RANKED or comparison.units < FEWEST:
        return False  # with too few scenes nothing is decided, and all would be the first
    return len(comparison.differences) == count * (count - 1) // 2


def title_of_ranks(class_name: str) -> str:
    """Return the title of a table of ranks, which says what a shared rank means."""
    return f"Ranks, {class_name}: methods of which none is decided to be better share a rank (Holm, all pairs)"


def directed_keys(comparison: Comparison, class_name: str) -> list[tuple[str, bool]]:
    """Return the keys of tables for which better has a direction, and whether lower is better."""
    found = []
    for key in plain_keys(comparison.estimates[0][class_name]):
        metric, value = value_named(ValueKey.parse(key).name) or (None, None)
        if metric is None or value is None:
            continue
        arrow = metric.arrow_of(value).strip()
        if arrow:
            found.append((key, arrow == "↓"))
    return found


def _check_has(comparison: Comparison, class_name: str, key: str = "") -> None:
    """Refuse a class, or a value of a class, that some method does not have."""
    for name, by_class in zip(comparison.names, comparison.estimates, strict=True):
        if class_name not in by_class:
            raise InvalidInput(f"{name} has no values of {class_name!r}. Available: {', '.join(by_class)}")
        if key and key not in by_class[class_name]:
            available = ", ".join(plain_keys(by_class[class_name]))
            raise InvalidInput(f"{name} has no value {key!r} of {class_name!r}. Available: {available}")


def _direction(key: str) -> bool:
    """Return whether lower values of a key are better. A value without a direction cannot rank methods."""
    metric, value = value_named(ValueKey.parse(key).name) or (None, None)
    if metric is None or value is None:
        raise InvalidInput(f"no value {key!r}. Known metrics: {', '.join(METRICS)}")
    arrow = metric.arrow_of(value).strip()
    if not arrow:
        raise InvalidInput(f"{key!r} cannot rank methods: a lower value is not always better", remedy="Choose another")
    return arrow == "↓"
